"""Connections to one database.

server  sessions with our options, and what is asked of a server once
"""

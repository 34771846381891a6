"""Connections to one database, or to all of a task.

server           sessions with our options, and what is asked of a server once
shared_question  one question to several databases, of which one may hang
"""

"""The catalogue, and the types of columns.

facts  what the catalogue has
"""

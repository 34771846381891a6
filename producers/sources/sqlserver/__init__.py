"""SQL Server: change tables in their clustered order.  It is being built, and can't be chosen yet.

What needs no server is here.  What asks one, and the plug-in itself, come with the reader of the token
stream.

config    the settings

connect/  names in SQL, errors                  discover/  types, collations
log/      places, pages, their order            rows/      a row's cells
follow/   which capture instance is read        chunks/    existing rows, marks
check/    the preflight
"""

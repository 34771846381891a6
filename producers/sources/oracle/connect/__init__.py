"""Sessions: log-in, formats, errors, names in SQL.

driver         what we use of python-oracledb
connector      opens sessions: in the root, in the database that is copied, on each node
session        one connection, with our formats
quoting        names and texts as SQL writes them
meanings       what settings mean in more than one room
server_errors  what an error means, and who acts
"""

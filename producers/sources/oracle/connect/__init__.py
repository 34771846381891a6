"""Sessions: log-in, formats, errors, names in SQL.

driver         what we use of python-oracledb
session        one connection, with our formats
server_errors  what an error means, and who acts
"""

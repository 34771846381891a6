"""What the catalogue says about columns.

types         SQL Server's types, in the catalogue and on the wire, and the kind of each
collations    the code page of a text
database_sql  which log a database has
"""

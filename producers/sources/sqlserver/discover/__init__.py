"""What the catalogue says about columns.

discover      tables, their capture instances, their shapes
table_sql     the statements that ask for them
types         SQL Server's types, in the catalogue and on the wire, and the kind of each
collations    the code page of a text
code_pages    what Windows reads in a code page, and Python does not
database_sql  which log a database has
"""

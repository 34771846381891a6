"""T-SQL: what is read of it, and how it is run over the model.

words         a text cut into words
syntax        the parts of a statement
expressions   expressions, read
parser        statements, read
scope         which column a name means
compiling     expressions as functions
queries       SELECT
sources       what a name in FROM means
writes        INSERT, UPDATE, DELETE
settings      SET
functions     functions that know the server
procedures    procedures
session       a connection's state, and the order of all this
"""

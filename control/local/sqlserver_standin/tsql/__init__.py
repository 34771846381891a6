"""T-SQL over the model.

reading/        statements, read
scope           which column a name means
compiling       expressions as functions
conversions     CAST, COLLATE, REPLACE
queries         SELECT
sources         what a name in FROM means
writes          INSERT, UPDATE, DELETE
schema_changes  CREATE, ALTER, DROP, TRUNCATE
rights          who may do what
settings        SET
functions       functions that know the server
procedures      procedures
session         a connection's state, and the order of all this
"""

"""Which tables there are at a place of the log, and whether the log continues where we stopped.  Pure.

ddl_statement  what a statement of the log does to its table
table_tracker  the catalogue and such statements into steps
continuity     which log this is, and where to begin
"""

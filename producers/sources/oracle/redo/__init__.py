"""SQL_REDO: the statement that LogMiner writes for a change of a row.

kinds          operations, kinds of values, what is refused
statement      a statement: what it does, to which table, and its cells (compiled)
cells          its words, names and values, found in its bytes (compiled)
values         what a cell says
"""

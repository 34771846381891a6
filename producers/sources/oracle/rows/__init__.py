"""A row's cells.

rows           rows into events (compiled)
cells          one cell into Avro (compiled)
moments        a moment's text as microseconds (compiled)
cell_forms     what is done to each column's cells
cell_readers   an odd cell as a value
cell_sql       a chunk's cells, written as SQL_REDO writes them
signal_row     the texts of a row of the signal table
source_record  where an event comes from
"""

"""A row's cells.

rows           rows into events (compiled)
cells          one cell into Avro (compiled)
cell_forms     what is done to each column's cells
packed_row     a row's cells in one piece of bytes (compiled)
answers        small answers as Python values
source_record  where an event comes from
cell_values    a cell's bytes as a value, and as the server's text
before_images  what an update did not touch, put back into the image before
"""

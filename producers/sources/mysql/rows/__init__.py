"""Rows to Avro: the rows of the log and of a SELECT, through the same encoder.

In: the bytes of a rows event, or one binary row of a result.  Out: keys and values as Avro bytes.

    rows               the row decoders of the log and of results (compiled)
    images             where each cell of a rows event lies (compiled)
    result_cells       where each cell of a result's row lies (compiled)
    cell_codecs        chooses, once for each shape, how each column's cells are written
    cells              writes one cell as Avro (compiled)
    temporal           numbers, dates and times in all their forms (compiled)
    json_text          binary JSON as text, diffs applied (compiled)
    odd_cells          the less common forms, in plain Python
    result_rows        makes the decoder of one statement's rows
    oversized_row      the decoder of a row that is larger than allowed
    source_record      the `source` record of an event
"""

"""Rows to Avro: the rows of the log and of a COPY, through the same encoder.

In: messages of pgoutput, lines of COPY.  Out: keys and values as Avro bytes; other messages as frozen values.

    rows               the row decoder of one relation (compiled)
    row_run            consecutive rows of one relation, in one call each (compiled)
    cells              writes one cell as Avro (compiled)
    odd_cells          the less common forms, in plain Python
    copy_text          a line of COPY as a tuple of the log (compiled)
    column_masking     masks and drops columns before a row is encoded (compiled)
    messages           the messages of pgoutput that are not rows
    source_record      the `source` record of an event
    parse.pxd          C functions of CPython that `cells` calls
"""

"""Rows into events, and events into Kafka records: the hot path.

In: a row's cells in the server's bytes, or a row as Python values.  Out: keys and values in Avro, and
records.  The log and the snapshot use the same encoder, so equal rows have equal bytes.

    row_events.py    the events of one table; every source's row decoder extends it (compiled)
    slices.py        rows of one statement into slices of a chunk (compiled)
    row_records.py   row changes into records, with their tombstones (compiled)
    zoned_text.py    a moment as a text of Avro (compiled)
    python_rows.py   rows given as Python values into Avro (compiled)
    unfit_values.py  what becomes of a value that its column's type can't hold
"""

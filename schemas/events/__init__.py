"""The bytes of an event: its Avro schemas, and the parts that a row's bytes are made of.

In: a table's shape, and what the settings hide of it.  Out: schemas, and Avro bytes for keys and values.

    envelope.py        the Avro schemas of a table's key and value
    projection.py      which columns are published, and how
    avro_names.py      a database's names as Avro allows them
    avro_writer.py     Avro's primitives, written into a growing buffer (compiled)
    frame.py           the bytes around a row, made once for a transaction or a chunk (compiled)
    splice.py          takes columns out of one event and puts them into another
    unavailable.py     what replaces a value that the log did not send
    control_events.py  heartbeats, transactions, schema changes, messages and notifications
"""

"""The bytes of one topic as typed changes.

In: a frame of keys and values as Kafka keeps them, and the schemas that wrote them.  Out: the newest change
of each key, or each event, as a target stages it. Frames come in and go out; only a count runs Spark.

    wire              the schema ids in a record, and its Avro bytes
    writer_schema     a registered schema as the shape of its table
    decode            records to changes of the plan's columns
    dedupe            changes to one change for each key
    fast_path         a batch that has the schemas of the table's newest change
    replaced_records  drops records whose key has a newer one, before they are parsed
    slow_path         every other batch
    event_rows        one row for each event, for a history or an append table
    unfit_values      finds records with a value that the target can't hold
    seq_form          whether a source of ours can have written a seq
"""

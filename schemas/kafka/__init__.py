"""Names in Kafka, and every record there that is not an event.

In: bytes and names as Kafka has them.  Out: frozen values, and the bytes that they are written as.

    topic_names.py      the names of topics, and the partition that a key belongs to
    offsets_records.py  the records of the offsets topic
    offset_replay.py    the fold of these records: where a task starts
    signals.py          requests to a running pipeline, as Debezium's signals
    receipts.py         the state of each request
    board_records.py    what the two halves of a pipeline report of themselves
    board_shapes.py     what the fields of these reports must be
    column_maps.py      which column goes where, in each half of a pipeline
    past/               how often each error came
    wish_records.py     what operators wish for single tables
    draft_records.py    drafts of pipelines
    moment_queue.py     through which moment something is complete
    schema_registry.py  the client of the schema registry
    login_errors.py     why Kafka refuses a login
"""

"""A log's steps, cut into the content of Kafka transactions.  Pure.

In: steps from a source's log, and slices from the snapshot.  Out: publications: records, the position behind
them, and the tables' saved states.

    cutter.py             cuts one source partition's log
    split_transaction.py  what is saved of a source transaction that needs several Kafka transactions
    record_buffer.py      a growing list of records, with their counts
    control_records.py    the records beside the rows
    skipped_changes.py    changes that single tables leave out
    message_filter.py     which logical messages are published
    table_topics.py       the topic of each table, which no other table may have
    unpublishable.py      tables whose rows can't be published
    key_memory.py         whether two rows of a table have the same key
    table_fault.py        why a table is set aside, as its saved state says it
"""

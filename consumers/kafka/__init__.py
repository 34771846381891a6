"""What a consumer asks Kafka.

In: the kafka.* settings, and what a table has applied.  Out: the next range of offsets, and its records.

    client_settings   the settings as librdkafka and Spark's Java client name them
    topic_offsets     which topics there are, and how far each may be read
    read_range        the records of a range as a frame of Spark
    record_reader     the records of a range in the driver's memory
    native_consumer   librdkafka without the Python client, for record_reader
    transactions      the next range that ends where source transactions end
    boundaries        where such a range may end; pure
    transaction_ends  which source transactions have ended
    retention         how soon Kafka deletes events that a table has not read; pure
    wish_topic.py        what operators wish for single tables
"""

"""A pipeline's events, read from Kafka and decoded: for `wrackline tail`, for the console and for REST.

    topic_choice      names that were given -> topics
    start_offsets     where to begin        -> the offset where each partition starts
    feed              Kafka                 -> records, up to an end or forever
    record_decoder    bytes and schemas     -> events, or why a record can't be one
    logical_types     dates, times and decimals without loss
    schema_bounds     refuses schemas whose values have no bound
    row_columns       events                -> each column before and after, and what differs
    event_documents   events                -> a JSON object; value_text writes each value
    event_looks       one bounded look at the events of a table
    table_shapes      schemas               -> the columns of each shape, and what differs
    shape_looks       the newest shapes of a table, from the schema registry

Everything but `feed` and the two looks is pure.
"""

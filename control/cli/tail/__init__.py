"""`wrackline tail`: a pipeline's events, decoded.

    topic_choice      names that were given -> topics
    start_offsets     --from                -> the offset where each partition starts
    feed              Kafka                 -> records, up to an end or forever
    record_decoder    bytes and schemas     -> events, or why a record can't be one
    logical_types     dates, times and decimals without loss
    schema_bounds     refuses schemas whose values have no bound
    event_lines       events                -> a line for people; value_text writes each value
    event_documents   events                -> a JSON object

Everything but `feed` and `tail_command` is pure.
"""

"""The source contract as tests.

In: a `SourceWorld`, which is a source and its database from the other side.  Out: the promises.

    source_suite   all promises: catalogue, log, chunks, marks; a plug-in's tests subclass `SourceSuite`
    log_suite      the promises of the log
    whole_suite    the promises of reads without a key
    source_world   what a world offers
    reading        reads a stream until something was seen
    schema_ids     the ids of schemas, and events decoded by them
"""

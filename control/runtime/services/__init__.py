"""One function for each operation on a pipeline that an operator needs.  No typer and no web framework.

In: a good pipeline.  Out: values and documents; the command line and REST print them.

    status, status_documents   both sides of each table, and the same as plain values
    offsets                    stored positions: show, set, reset, rewind
    requests, signalling       receipts of requests for existing rows; sending such a request
    one_record                 sends a record, and waits until it is there
    table_wishes               pause, resume or retry one table of the target
    requested_tables           table names of a request in the spelling that the task takes
    table_survey               captured tables, and what of each is in Kafka
    topic_ends                 the first and last readable offsets of topics
    deletion_plan, deletion    what a pipeline created, and removing it
"""

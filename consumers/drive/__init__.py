"""Which table is merged when, and by which consumer.

In: the ends of the topics, and the outcome of each batch.  Out: batches handed to a pool of threads, until
the operator asks for an end.

    driver         the rounds of a pipeline
    retry_state    whether a table runs, waits for its next try, or has stopped
    departures     which copies of tables that are gone at the source may go, and when
    leaving        takes such a copy away, once all of its rows are merged
    upkeep_worker  upkeep of the tables on a thread of its own
    claim          of two consumers of the same tables the newer one merges, and the older one is refused
"""

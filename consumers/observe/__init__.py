"""What an operator can see of a consumer.

In: reports of batches, failures and upkeep, and the offsets of the topics.  Out: metrics, a status document,
and warnings. Nothing here changes a table.

    figures          the counters and states of all tables
    metric_names     name, type and meaning of every metric
    metrics          the figures as metrics
    slo_figures      which minutes were good, and how many
    status           the figures as one document
    source_progress  what the source half says it has published
    offset_poll      asks how far topics may be read, and warns of what may be late or lost
"""

"""The two halves of a pipeline in the foreground: source to Kafka, and Kafka to target.

In: a good pipeline and a log.  Out: published and merged data until a stop is requested.

    run                      the source half
    status_line              what the source half reports: lines, and the status line
    consume                  the target half
    consumer_loop            the driver's loop, also for scripts over feeds
    consumer_log             what the target half reports
    batch_rules              what the settings say of every batch
    transaction_boundaries   batches that split no transaction
"""

"""What a running task shows: metrics, and the document of `wrackline status`.

In: publications that Kafka has committed, and the state of each log as its server shows it.  Out: metric
families, and plain values for JSON.  Nothing here changes what a task does.

    task_metrics.py       adds up one task's figures
    task_metric_names.py  every metric that a task serves
    table_figures.py      the status of each table
    status_document.py    the figures as one document
    log_lag_poller.py     looks at each log from outside, every few seconds
    published_through.py  through which moment a log is in Kafka
"""

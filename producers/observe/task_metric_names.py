"""Every metric that a task serves: name, type and meaning, declared once; docs/metrics.md is printed from it.

Server, task and database are labels of all metrics.

Our own names begin with `wrackline_`.  An alias is the attribute of Debezium's metrics with the same
meaning, served as its JMX exporter serves it, so that a dashboard for it finds its figures.
"""

from dataclasses import dataclass

from wrackline.schemas.language.exposition import Metric, Type


@dataclass(frozen=True, slots=True)
class Alias:
    """An attribute of Debezium's streaming or snapshot metrics."""

    attribute: str
    meaning: str

    @property
    def name(self) -> str:
        """The metric's name."""
        return f"debezium_metrics_{self.attribute}"


_C, _G = Type.COUNTER, Type.GAUGE

RUNNING = Metric(
    "wrackline_running", _G, "1 while the log is read and published, 0 while it starts or recovers."
)
EVENTS = Metric("wrackline_events_total", _C, "Events that Kafka has committed.", ("table", "operation"))
BYTES = Metric("wrackline_event_bytes_total", _C, "Bytes of the keys and values of committed records.")
TRANSACTIONS = Metric(
    "wrackline_transactions_total", _C, "The database's transactions that Kafka has committed."
)
COMMITS = Metric("wrackline_commit_seconds", Type.HISTOGRAM, "Duration of Kafka's commits.")
RECOVERIES = Metric(
    "wrackline_recoveries_total", _C, "Errors after which the task restarted automatically.", ("code",)
)
FAULTS = Metric("wrackline_faults_total", _C, "Tables that were set aside.", ("table", "code"))
UNFIT = Metric(
    "wrackline_unfit_values_total",
    _C,
    "Values that did not fit their column's type: letter set the row aside, null published null.",
    ("table", "column", "policy"),
)
ASIDE = Metric(
    "wrackline_table_set_aside",
    _G,
    "1 while a table is set aside, even if it was before a restart.",
    ("table", "code"),
)
TABLE_STATE = Metric(
    "wrackline_table_state",
    _G,
    "1 for the table's current state, in the words of `wrackline snapshot status`.",
    ("table", "state"),
)
ROWS_READ = Metric(
    "wrackline_snapshot_rows",
    _G,
    "Rows of the current read of a table that Kafka has committed.",
    ("table",),
)
ROWS_EXPECTED = Metric(
    "wrackline_snapshot_expected_rows",
    _G,
    "How many rows the database estimated when that read was planned; absent if it can't estimate.",
    ("table",),
)
LAG_MS = Metric(
    "wrackline_lag_milliseconds",
    _G,
    "Time from the database's commit of the newest published transaction to its commit in Kafka.",
)
IDLE_MS = Metric("wrackline_idle_milliseconds", _G, "Time since the newest event was committed in Kafka.")
LAG_BYTES = Metric(
    "wrackline_lag_bytes",
    _G,
    "Bytes of log between the confirmed position and the end of the log; grows when stuck.",
)
QUEUE = Metric("wrackline_queue_bytes", _G, "Bytes that were read and are not yet in a Kafka transaction.")
QUEUE_MOST = Metric("wrackline_queue_most_bytes", _G, "The queue's size at which reading pauses.")
DATABASES = Metric("wrackline_task_databases", _G, "How many databases the task has.")
CONNECTED = Metric("wrackline_task_connected", _G, "How many of them have their log read and published.")
POSITION = Metric(
    "wrackline_position_bytes",
    _G,
    "The confirmed position in the log; in MySQL's, counted from the file in which the process started.",
)
RETAINED = Metric(
    "wrackline_slot_retained_bytes", _G, "Bytes of log that the database keeps for this pipeline."
)
SPARE = Metric(
    "wrackline_slot_safe_bytes",
    _G,
    "Bytes of log that may still be written before log that we need is lost; +Inf without a limit.",
)
STATUS = Metric("wrackline_slot_status", _G, "1 for the state that the database reports.", ("status",))
WRITTEN = Metric("wrackline_log_bytes_per_second", _G, "Bytes of log that the database writes a second.")
LOST_IN = Metric(
    "wrackline_slot_seconds_until_lost",
    _G,
    "Time until log that we need is lost, if the log grows at this rate and nothing is confirmed, or"
    " because of its age; +Inf: never.",
)
KEPT = Metric(
    "wrackline_log_kept_seconds",
    _G,
    "How long the database keeps a full file of its log, read or not; absent if it ignores age.",
)
RECOUNTED = Metric(
    "wrackline_recounted_ranges_total",
    _C,
    "SQL Server: ranges of the log that were counted again after they were read; log.audit.interval.ms.",
)
RECOUNT_AGE = Metric(
    "wrackline_recount_age_seconds",
    _G,
    "Time since a range was last counted again; grows while nothing is written; absent before the first.",
)
OPEN = Metric(
    "wrackline_open_transactions",
    _G,
    "Oracle: the database's transactions whose end was not mined yet; their changes are kept until then.",
)
OPEN_AGE = Metric(
    "wrackline_oldest_open_transaction_age_seconds",
    _G,
    "Time since the oldest of them began: the redo from there on is needed after a stop; 0: there is none.",
)
OPEN_FILES = Metric(
    "wrackline_open_transactions_file_bytes",
    _G,
    "Bytes of their changes in files, because memory has no room for them.",
)

METRICS = (
    RUNNING,
    EVENTS,
    BYTES,
    TRANSACTIONS,
    COMMITS,
    RECOVERIES,
    FAULTS,
    UNFIT,
    ASIDE,
    TABLE_STATE,
    ROWS_READ,
    ROWS_EXPECTED,
    LAG_MS,
    IDLE_MS,
    LAG_BYTES,
    QUEUE,
    QUEUE_MOST,
    DATABASES,
    CONNECTED,
    POSITION,
    RETAINED,
    SPARE,
    STATUS,
    WRITTEN,
    LOST_IN,
    KEPT,
    RECOUNTED,
    RECOUNT_AGE,
    OPEN,
    OPEN_AGE,
    OPEN_FILES,
)

# the label `plugin`, where the name of Debezium's beans is not its connector's: debezium.sql_server
PLUGINS = {"sqlserver": "sql_server"}

ALIASES = (
    Alias("Connected", "1 while the log is read."),
    Alias("MilliSecondsBehindSource", "As wrackline_lag_milliseconds; -1 before the first event."),
    Alias("MilliSecondsSinceLastEvent", "As wrackline_idle_milliseconds; -1 before the first event."),
    Alias("TotalNumberOfEventsSeen", "All events that Kafka has committed."),
    Alias("TotalNumberOfCreateEventsSeen", "Events that are inserts."),
    Alias("TotalNumberOfUpdateEventsSeen", "Events that are updates."),
    Alias("TotalNumberOfDeleteEventsSeen", "Events that are deletes."),
    Alias("NumberOfErroneousEvents", "Tables and rows that were set aside."),
    Alias("NumberOfCommittedTransactions", "As wrackline_transactions_total."),
)

# of a source that keeps open transactions
ACTIVE = Alias("NumberOfActiveTransactions", "As wrackline_open_transactions.")
OLDEST = Alias("OldestScnAgeInMilliseconds", "As wrackline_oldest_open_transaction_age_seconds.")

# of the task, once, however many databases it has
QUEUE_ALIASES = (
    Alias("QueueTotalCapacity", "As wrackline_queue_most_bytes, because the queue is limited by bytes."),
    Alias("QueueRemainingCapacity", "The free part of the queue, in bytes."),
    Alias("MaxQueueSizeInBytes", "As wrackline_queue_most_bytes."),
    Alias("CurrentQueueSizeInBytes", "As wrackline_queue_bytes."),
)

# of its snapshot metrics, with another `context`
SNAPSHOT_ALIASES = (
    Alias("TotalTableCount", "Tables that are captured."),
    Alias("RemainingTableCount", "Tables that are to be read, are being read, or are paused."),
    Alias("SnapshotRunning", "1 while any table is to be read or is being read."),
    Alias("SnapshotPaused", "1 while all remaining tables are paused."),
    Alias("SnapshotAborted", "1 if no table remains and the reading of one failed."),
    Alias("SnapshotCompleted", "1 if no table remains and none failed."),
)
SCANNED = Alias("RowsScanned", "By table: rows that were read and committed in Kafka.")

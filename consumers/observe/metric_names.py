"""Every metric of a consumer: name, type and meaning, declared once; docs/metrics.md is printed from it.

All of them have the server as a label.
"""

from wrackline.schemas.language.exposition import Metric, Type

_C, _G = Type.COUNTER, Type.GAUGE

RUNNING = Metric(
    "wrackline_consume_running", _G, "1 while Kafka is asked for news and answers, 0 while it does not."
)
TABLES = Metric("wrackline_consume_tables", _G, "How many tables stand so.", ("standing",))
STANDING = Metric(
    "wrackline_consume_table_standing",
    _G,
    "1 for how a table stands: going, waiting for its next try, or stopped until somebody acts.",
    ("table", "standing"),
)
EVENTS = Metric(
    "wrackline_consume_events_total",
    _C,
    "Changes that are merged, of a key its newest of a batch: inserts (c), updates (u), deletes (d), rows"
    " read (r), and truncates (t).",
    ("table", "operation"),
)
LETTERS = Metric(
    "wrackline_consume_dead_letters_total",
    _C,
    "Records that were set aside as dead letters.",
    ("table",),
)
BATCHES = Metric("wrackline_consume_batches_total", _C, "Batches that are committed.", ("table",))
STEPS = Metric(
    "wrackline_consume_step_seconds_total",
    _C,
    "Where the time of committed batches went: ask, read, shape, stage, apply.",
    ("table", "step"),
)
SECONDS = Metric("wrackline_consume_batch_seconds", Type.HISTOGRAM, "How long committed batches took.")
LAG = Metric(
    "wrackline_consume_lag_milliseconds",
    _G,
    "Of the newest change that is merged: from its commit at the source to Kafka (publish), from there until"
    " it was read (wait), from there until it stood in the target (merge).",
    ("table", "stage"),
)
BEHIND = Metric(
    "wrackline_consume_offsets_behind", _G, "Offsets of the topic that are not merged yet.", ("table",)
)
BEHIND_S = Metric(
    "wrackline_consume_behind_seconds",
    _G,
    "For how long the oldest offset that is not merged has been seen; grows when stuck.",
    ("table",),
)
OFFSET = Metric(
    "wrackline_consume_offset", _G, "The next offset to merge of a partition.", ("table", "partition")
)
MERGED_AT = Metric(
    "wrackline_consume_last_merge_timestamp_seconds",
    _G,
    "When the newest batch was committed in the target, in seconds since 1970.",
    ("table",),
)
RETAINED = Metric(
    "wrackline_consume_retained_ratio",
    _G,
    "Of what the topic keeps, how much lies behind what is merged: 1 at its end, 0 where what is not merged"
    " goes next; of the partition where it is least. Left out until the topic has dropped"
    " anything, and while all is merged.",
    ("table",),
)
FAILURES = Metric(
    "wrackline_consume_failures_total", _C, "Batches that failed, also those tried again.", ("table", "code")
)
OUTAGES = Metric("wrackline_consume_outages_total", _C, "Times that Kafka went away.")
UPKEEPS = Metric(
    "wrackline_consume_upkeeps_total",
    _C,
    "Upkeeps of a table, by outcome: done or failed.",
    ("table", "outcome"),
)
UPKEEP_S = Metric("wrackline_consume_upkeep_seconds_total", _C, "How long upkeep took.", ("table",))
REMOVED = Metric(
    "wrackline_consume_upkeep_removed_total",
    _C,
    "What upkeep has removed: tombstones, files, snapshots (versions of a Delta table).",
    ("table", "what"),
)
INCOMPLETE = Metric(
    "wrackline_consume_incomplete_rows",
    _G,
    "Rows that no reader sees, because nobody has sent all of their values yet; counted by upkeep.",
    ("table",),
)

METRICS = (
    RUNNING,
    TABLES,
    STANDING,
    EVENTS,
    LETTERS,
    BATCHES,
    STEPS,
    SECONDS,
    LAG,
    BEHIND,
    BEHIND_S,
    OFFSET,
    MERGED_AT,
    RETAINED,
    FAILURES,
    OUTAGES,
    UPKEEPS,
    UPKEEP_S,
    REMOVED,
    INCOMPLETE,
)

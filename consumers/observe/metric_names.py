"""Every metric of a consumer: name, type and meaning, declared once; docs/metrics.md is printed from it.

All of them have the server as a label.
"""

from wrackline.schemas.language.exposition import Metric, Type

_C, _G = Type.COUNTER, Type.GAUGE

RUNNING = Metric("wrackline_consume_running", _G, "1 while Kafka answers, 0 while it does not.")
TABLES = Metric("wrackline_consume_tables", _G, "The number of tables in each state.", ("standing",))
STANDING = Metric(
    "wrackline_consume_table_standing",
    _G,
    "1 for a table's state: going, waiting for its next try, or stopped until the operator acts.",
    ("table", "standing"),
)
EVENTS = Metric(
    "wrackline_consume_events_total",
    _C,
    "Merged changes, only the newest of each key in a batch: inserts (c), updates (u), deletes (d), rows"
    " read (r), and truncates (t).",
    ("table", "operation"),
)
SCHEMA_CHANGES = Metric(
    "wrackline_consume_schema_changes_total",
    _C,
    "Changes of shape that committed batches have made in the target: add_column, drop_column, rename_column,"
    " alter_type.",
    ("table", "change"),
)
LETTERS = Metric(
    "wrackline_consume_dead_letters_total",
    _C,
    "Records that were set aside as dead letters.",
    ("table",),
)
BATCHES = Metric("wrackline_consume_batches_total", _C, "Committed batches.", ("table",))
DIRECT = Metric(
    "wrackline_consume_direct_batches_total",
    _C,
    "Committed batches that the driver merged by itself, without Spark's MERGE.",
    ("table",),
)
STEPS = Metric(
    "wrackline_consume_step_seconds_total",
    _C,
    "Seconds that committed batches spent in each step: ask, read, shape, stage, apply.",
    ("table", "step"),
)
SECONDS = Metric("wrackline_consume_batch_seconds", Type.HISTOGRAM, "Duration of committed batches.")
LAG = Metric(
    "wrackline_consume_lag_milliseconds",
    _G,
    "Of the newest merged change: from its commit at the source to its record in Kafka (publish), from there"
    " until it was read (wait), and from there until it was in the target (merge).",
    ("table", "stage"),
)
BEHIND = Metric(
    "wrackline_consume_offsets_behind", _G, "Offsets of the topic that are not merged yet.", ("table",)
)
BEHIND_S = Metric(
    "wrackline_consume_behind_seconds",
    _G,
    "Time since the oldest unmerged offset was first seen; grows when stuck.",
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
SLO_MINUTES = Metric(
    "wrackline_slo_minutes_total",
    _C,
    "Minutes in which the table was as fresh as `slo.minutes` promises, or was not; those without a process"
    " are among them once there is one again, and those of a pause that somebody wished are in neither.",
    ("table", "good"),
)
SLO_BUDGET = Metric(
    "wrackline_slo_budget_ratio",
    _G,
    "Part of the bad minutes that are left to the table: `slo.percent` of `slo.window.days` allows 1; below 0"
    " the promise is broken.",
    ("table",),
)
SLO_OBJECTIVE = Metric("wrackline_slo_objective_ratio", _G, "`slo.percent` as a part of 1.")
FRESHNESS = Metric(
    "wrackline_freshness_seconds",
    _G,
    "Time since the moment through which the table is complete: all that the database showed by then is in"
    " the target, or set aside as dead letters, or left out by settings. It grows while either half is stuck,"
    " and while the table is read again, when rows may be missing; it stays at some seconds for an idle"
    " database. Absent until the source half has reported the table.",
    ("table",),
)
RETAINED = Metric(
    "wrackline_consume_retained_ratio",
    _G,
    "The part of what the topic keeps that is merged: 1 at the topic's end, 0 if the topic drops unmerged"
    " events next; for the partition with the least. Absent until the topic has dropped"
    " anything, and while everything is merged.",
    ("table",),
)
FAILURES = Metric(
    "wrackline_consume_failures_total",
    _C,
    "Batches that failed, including those tried again.",
    ("table", "code"),
)
OUTAGES = Metric("wrackline_consume_outages_total", _C, "How often Kafka became unreachable.")
UPKEEPS = Metric(
    "wrackline_consume_upkeeps_total",
    _C,
    "Upkeep runs of a table, by outcome: done or failed.",
    ("table", "outcome"),
)
UPKEEP_S = Metric("wrackline_consume_upkeep_seconds_total", _C, "Seconds spent on upkeep.", ("table",))
REMOVED = Metric(
    "wrackline_consume_upkeep_removed_total",
    _C,
    "What upkeep has removed: tombstones, files, snapshots (versions of a Delta table).",
    ("table", "what"),
)
INCOMPLETE = Metric(
    "wrackline_consume_incomplete_rows",
    _G,
    "Rows that readers do not see, because some of their values have not arrived; counted by upkeep.",
    ("table",),
)

METRICS = (
    RUNNING,
    TABLES,
    STANDING,
    EVENTS,
    SCHEMA_CHANGES,
    LETTERS,
    BATCHES,
    DIRECT,
    STEPS,
    SECONDS,
    LAG,
    BEHIND,
    BEHIND_S,
    OFFSET,
    MERGED_AT,
    FRESHNESS,
    SLO_MINUTES,
    SLO_BUDGET,
    SLO_OBJECTIVE,
    RETAINED,
    FAILURES,
    OUTAGES,
    UPKEEPS,
    UPKEEP_S,
    REMOVED,
    INCOMPLETE,
)

"""How rows that exist already are read, beside the log or before it; names are Debezium's."""

from wrackline.schemas.setting import Importance, Setting
from wrackline.schemas.setting_kinds import (
    Kind,
    between,
    each,
    matching,
    not_empty,
    one_of,
    regular_expression,
)

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
PATTERNS = each(regular_expression)

SNAPSHOT = (
    Setting(
        "snapshot.mode",
        Kind.STRING,
        "Whether rows that exist already are read: initial is once, no_data never, always at each start. "
        "This version does not do initial_only, when_needed and recovery: they read as initial does.",
        "initial",
        HIGH,
        "Snapshot",
        validator=one_of("initial", "always", "initial_only", "no_data", "when_needed", "recovery"),
        recommended=("initial", "no_data", "initial_only", "when_needed", "always", "recovery"),
    ),
    Setting(
        "snapshot.include.collection.list",
        Kind.LIST,
        "Regular expressions of the captured tables whose existing rows are read; empty: all.",
        None,
        MEDIUM,
        "Snapshot",
        validator=PATTERNS,
    ),
    Setting(
        "snapshot.select.statement.overrides",
        Kind.LIST,
        "Tables whose existing rows are read by a SELECT of your own.",
        None,
        LOW,
        "Snapshot",
    ),
    Setting(
        "snapshot.select.statement.overrides.<table>",
        Kind.STRING,
        "The SELECT for one of these tables.",
        None,
        LOW,
        "Snapshot",
        validator=matching(r"(?is)\s*select\s.*", "a SELECT statement"),
    ),
    Setting(
        "snapshot.fetch.size",
        Kind.INT,
        "How many rows are fetched at once.",
        "10240",
        LOW,
        "Snapshot",
        validator=between(1, 1_000_000),
    ),
    Setting(
        "snapshot.max.threads",
        Kind.INT,
        "How many connections read existing rows at once; a large table is read in several parts.",
        "2",
        MEDIUM,
        "Snapshot",
        validator=between(1, 64),
    ),
    Setting(
        "incremental.snapshot.chunk.size",
        Kind.INT,
        "How many rows a chunk between two watermarks has at the most; it ends earlier with its share of "
        "memory, or after 2 s.",
        "50000",
        MEDIUM,
        "Snapshot",
        validator=between(1, 1_000_000),
    ),
    Setting(
        "incremental.snapshot.watermarking.strategy",
        Kind.STRING,
        "How a chunk is found again in the log: two rows of the signal table (insert_insert, insert_delete), "
        "a logical message (message), or the log's position (fence), which is meant where none is named.",
        None,
        LOW,
        "Snapshot",
        validator=one_of("insert_insert", "insert_delete", "message", "fence"),
        recommended=("fence", "message", "insert_insert", "insert_delete"),
    ),
    Setting(
        "read.only",
        Kind.BOOLEAN,
        "Whether nothing is written into the database: no publication, no heartbeat, no mark but the fence. "
        "The slot is made all the same, for without it there is no log.",
        "false",
        MEDIUM,
        "Snapshot",
    ),
    Setting(
        "signal.data.collection",
        Kind.STRING,
        "The signal table that the connector reads and may write.",
        None,
        MEDIUM,
        "Snapshot",
        validator=not_empty,
    ),
    Setting(
        "signal.enabled.channels",
        Kind.LIST,
        "Where signals are taken from: the signal table (source), the topic of signals (kafka).",
        "source,kafka",
        LOW,
        "Snapshot",
        validator=each(one_of("source", "kafka")),
        recommended=("source", "kafka"),
    ),
    Setting(
        "signal.kafka.topic",
        Kind.STRING,
        "The topic of signals; empty: <topic.prefix>-signal.",
        None,
        LOW,
        "Snapshot",
        validator=matching(r"[A-Za-z0-9._-]{1,249}", "the name of a topic"),
    ),
)

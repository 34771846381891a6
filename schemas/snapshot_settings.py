"""How rows that exist already are read, beside the log or before it; names are Debezium's."""

from wrackline.schemas import overrides
from wrackline.schemas.setting import Importance, Need, Setting
from wrackline.schemas.setting_kinds import (
    Kind,
    Validator,
    Value,
    between,
    each,
    matching,
    not_empty,
    one_of,
    regular_expression,
)

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
PATTERNS = each(regular_expression)

_MODES = (
    "initial",
    "initial_only",
    "when_needed",
    "always",
    "no_data",
    "configuration_based",
    "never",
    "schema_only",
    "exported",
)
_NO_HISTORY = "the schema stands in the log itself, so there is no history topic to recover; choose initial"
_REFUSED_MODES = {
    "recovery": _NO_HISTORY,
    "schema_only_recovery": _NO_HISTORY,
    "custom": "a class of your own can't be loaded into a Python worker; choose configuration_based",
}


def _mode() -> Validator:
    known = one_of(*_MODES)

    def check(value: Value) -> str | None:
        return _REFUSED_MODES.get(str(value)) or known(value)

    return check


SNAPSHOT = (
    Setting(
        "snapshot.mode",
        Kind.STRING,
        "Whether rows that exist already are read, beside the log: initial reads each table once; "
        "initial_only does and then ends; when_needed does, and reads all again where the log was lost; "
        "always reads all at each start; no_data (never, schema_only) reads none; configuration_based does "
        "as the three settings below it say. exported is initial.",
        "initial",
        HIGH,
        "Snapshot",
        validator=_mode(),
        recommended=_MODES[:6],
    ),
    *(
        Setting(f"snapshot.mode.configuration.based.{name}", Kind.BOOLEAN, doc, "false", LOW, "Snapshot")
        for name, doc in (
            ("snapshot.data", "With configuration_based: whether all rows are read at each start."),
            (
                "start.stream",
                "With configuration_based: whether the log goes on; else the end comes with the last row.",
            ),
            (
                "snapshot.on.data.error",
                "With configuration_based: whether all rows are read again where the log was lost.",
            ),
        )
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
        overrides.LIST,
        Kind.LIST,
        "Tables, as schema.table, of which only the rows of a SELECT of your own are read at first. "
        "Requests and the log are not concerned.",
        None,
        LOW,
        "Snapshot",
    ),
    Setting(
        overrides.STATEMENT,
        Kind.STRING,
        "The SELECT for one of these tables: SELECT * FROM table WHERE condition. The condition knows "
        "columns, operators and literals; nothing of it is run as it stands.",
        None,
        LOW,
        "Snapshot",
        validator=overrides.statement,
    ),
    Setting(
        "snapshot.truncate.events",
        Kind.BOOLEAN,
        "Whether a t goes out before the rows of a table without a key, and before rows that are read again "
        "since some of the log was missed. false is for readers of other makers that stop at it: a copy that "
        "wrackline consume merges then keeps rows that are gone, and doubles those of a table without a key.",
        "true",
        LOW,
        "Snapshot",
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
    Setting(
        "notification.enabled.channels",
        Kind.LIST,
        "Where Debezium's notifications of snapshots go: to a topic that is named (sink); empty: nowhere.",
        None,
        LOW,
        "Snapshot",
        validator=each(one_of("sink", "log", "jmx")),
        recommended=("sink",),
    ),
    Setting(
        "notification.sink.topic.name",
        Kind.STRING,
        "The topic of notifications.",
        None,
        LOW,
        "Snapshot",
        validator=matching(r"[A-Za-z0-9._-]{1,249}", "the name of a topic"),
    ),
)

SNAPSHOT_EXCLUSIVE = (("snapshot.truncate.events", "target.kind"),)  # the target would not be exact
SNAPSHOT_NEEDS = (Need("notification.enabled.channels", "notification.sink.topic.name", when=("sink",)),)

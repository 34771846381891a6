"""How rows that exist already are read, beside the log or before it; names are Debezium's."""

from wrackline.schemas.settings import overrides
from wrackline.schemas.settings.setting import Importance, Requirement, Setting
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
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
_NO_HISTORY = "the log itself contains the schema, so there is no history topic to recover; choose initial"
_REFUSED_MODES = {
    "recovery": _NO_HISTORY,
    "schema_only_recovery": _NO_HISTORY,
    "custom": "a custom class can't be loaded into a Python worker; choose configuration_based",
}


def _mode() -> Validator:
    known = one_of(*_MODES)

    def check(value: Value) -> str | None:
        return _REFUSED_MODES.get(str(value)) or known(value)

    return check


SNAPSHOT = (
    Setting(
        "snapshot.mode",
        SettingKind.STRING,
        "Whether rows that already exist are read, in parallel with the log. initial: each table is read"
        " once. initial_only: the same, and then the pipeline ends. when_needed: the same as initial, and"
        " all rows are read again if the log was lost. always: all rows are read at each start. no_data"
        " (never, schema_only): none are read. configuration_based: as the three settings below it say."
        " exported is the same as initial.",
        "initial",
        HIGH,
        "Snapshot",
        validator=_mode(),
        recommended=_MODES[:6],
    ),
    *(
        Setting(
            f"snapshot.mode.configuration.based.{name}", SettingKind.BOOLEAN, doc, "false", LOW, "Snapshot"
        )
        for name, doc in (
            ("snapshot.data", "With configuration_based: whether all rows are read at each start."),
            (
                "start.stream",
                "With configuration_based: whether the log is followed; if not, the last row is the end.",
            ),
            (
                "snapshot.on.data.error",
                "With configuration_based: whether all rows are read again if the log was lost.",
            ),
        )
    ),
    Setting(
        "snapshot.include.collection.list",
        SettingKind.LIST,
        "Regular expressions for the captured tables whose existing rows are read; empty: all.",
        None,
        MEDIUM,
        "Snapshot",
        validator=PATTERNS,
    ),
    Setting(
        overrides.LIST,
        SettingKind.LIST,
        "Tables, as schema.table, of which the first read covers only the rows of a SELECT of your own."
        " Snapshot requests and the log are not affected.",
        None,
        LOW,
        "Snapshot",
    ),
    Setting(
        overrides.STATEMENT,
        SettingKind.STRING,
        "The SELECT for one of these tables: SELECT * FROM table WHERE condition. The condition may"
        " contain columns, operators and literals; it is never run as written.",
        None,
        LOW,
        "Snapshot",
        validator=overrides.statement,
    ),
    Setting(
        "snapshot.truncate.events",
        SettingKind.BOOLEAN,
        "Whether a t is published before the rows of a table without a key, and before rows that are read"
        " again because part of the log was missed. false is for other readers that stop at it: a copy that"
        " wrackline consume merges then keeps rows that no longer exist, and has duplicates in a table"
        " without a key.",
        "true",
        LOW,
        "Snapshot",
    ),
    Setting(
        "snapshot.max.threads",
        SettingKind.INT,
        "How many connections read existing rows at once, in turn for all databases of a task; a large table"
        " is read in several parts.",
        "2",
        MEDIUM,
        "Snapshot",
        validator=between(1, 64),
    ),
    Setting(
        "incremental.snapshot.chunk.size",
        SettingKind.INT,
        "The largest number of rows in a chunk between two watermarks; a chunk ends earlier when it has"
        " used its share of memory, or after 2 s.",
        "50000",
        MEDIUM,
        "Snapshot",
        validator=between(1, 1_000_000),
    ),
    Setting(
        "incremental.snapshot.watermarking.strategy",
        SettingKind.STRING,
        "How a chunk is found in the log: by two rows of the signal table (insert_insert, insert_delete),"
        " a logical message (message), or the log's position (fence, the default).",
        None,
        LOW,
        "Snapshot",
        validator=one_of("insert_insert", "insert_delete", "message", "fence"),
        recommended=("fence", "message", "insert_insert", "insert_delete"),
    ),
    Setting(
        "read.only",
        SettingKind.BOOLEAN,
        "Whether nothing is written to the database: no publication, no heartbeat, and no watermark except"
        " the fence. The slot is created nevertheless, because without it there is no log.",
        "false",
        MEDIUM,
        "Snapshot",
    ),
    Setting(
        "signal.data.collection",
        SettingKind.STRING,
        "The signal table, which the connector reads and may write to.",
        None,
        MEDIUM,
        "Snapshot",
        validator=not_empty,
    ),
    Setting(
        "signal.enabled.channels",
        SettingKind.LIST,
        "Where signals are read from: the signal table (source), the topic of signals (kafka).",
        "source,kafka",
        LOW,
        "Snapshot",
        validator=each(one_of("source", "kafka")),
        recommended=("source", "kafka"),
    ),
    Setting(
        "signal.kafka.topic",
        SettingKind.STRING,
        "The topic of signals; empty: <topic.prefix>-signal.",
        None,
        LOW,
        "Snapshot",
        validator=matching(r"[A-Za-z0-9._-]{1,249}", "the name of a topic"),
    ),
    Setting(
        "notification.enabled.channels",
        SettingKind.LIST,
        "Where Debezium's notifications of snapshots go: to the topic of notification.sink.topic.name"
        " (sink); empty: nowhere.",
        None,
        LOW,
        "Snapshot",
        validator=each(one_of("sink", "log", "jmx")),
        recommended=("sink",),
    ),
    Setting(
        "notification.sink.topic.name",
        SettingKind.STRING,
        "The topic of notifications.",
        None,
        LOW,
        "Snapshot",
        validator=matching(r"[A-Za-z0-9._-]{1,249}", "the name of a topic"),
    ),
)

SNAPSHOT_EXCLUSIVE = (("snapshot.truncate.events", "target.kind"),)  # the target would not be exact
SNAPSHOT_NEEDS = (
    Requirement("notification.enabled.channels", "notification.sink.topic.name", when=("sink",)),
)

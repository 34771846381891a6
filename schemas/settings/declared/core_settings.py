"""The settings of every pipeline, whatever its source and target.

Names, meanings and defaults are Debezium's and Kafka Connect's where they have them.
Settings that only one database or target understands are declared in that plug-in's `config` module.
"""

from wrackline.schemas.events.unavailable import placeholder_fault
from wrackline.schemas.settings.declared.consume_settings import CONSUME, SLO, SLO_NEEDS
from wrackline.schemas.settings.declared.guardrail_settings import GUARDRAIL
from wrackline.schemas.settings.declared.handling_mode_settings import MODES
from wrackline.schemas.settings.declared.kafka_client_settings import KAFKA_CLIENT
from wrackline.schemas.settings.declared.lineage_settings import LINEAGE, LINEAGE_EXCLUSIVE, LINEAGE_NEEDS
from wrackline.schemas.settings.declared.not_yet_settings import NOT_YET
from wrackline.schemas.settings.declared.notify_settings import NOTIFY, NOTIFY_NEEDS
from wrackline.schemas.settings.declared.snapshot_settings import SNAPSHOT, SNAPSHOT_EXCLUSIVE, SNAPSHOT_NEEDS
from wrackline.schemas.settings.declared.source_settings import NAMING
from wrackline.schemas.settings.declared.target_settings import DROPPING, EXCLUSIVE, KEEPING, TARGET
from wrackline.schemas.settings.declared.unhonoured_settings import UNHONOURED
from wrackline.schemas.settings.filters import HASH, HASH_V2, KEYS, STARS, TRUNCATE, UNFIT, OnUnfit, mask_of
from wrackline.schemas.settings.secret_refs import SECURE_PROVIDER
from wrackline.schemas.settings.setting import Declared, Importance, Setting, ends_with_table
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    at_least,
    between,
    each,
    matching,
    not_empty,
    one_of,
    regular_expression,
)

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
LONGEST_WAIT = 86_400_000
ROW_BYTES_MAX = 1_000_000_000  # librdkafka's own limit for a record
PATTERNS = each(regular_expression)
URLS = each(
    matching(
        r"https?://[^\s/@]+(?:/[^\s@]*)?",
        "http:// or https:// addresses, separated by commas; a login goes into"
        " schema.registry.basic.auth.user.info",
    ),
    least=1,
)

_PIPELINE = (
    Setting(
        "logs.topic",
        SettingKind.STRING,
        "Whether both halves also send what they log to the topic wrackline-<name>-logs, which is kept for"
        " three days and shown by REST. off: it is on standard error alone.",
        "on",
        LOW,
        validator=one_of("on", "off"),
        recommended=("on", "off"),
    ),
    Setting(
        "name",
        SettingKind.STRING,
        "The pipeline's name in commands, over REST and in the offsets topic.",
        None,
        HIGH,
        "Pipeline",
        required=True,
        validator=matching(
            r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}", "1 to 100 letters, digits, dots, _ or -, but not . or .."
        ),
    ),
    Setting(
        "connector.class",
        SettingKind.CLASS,
        "The kind of source (postgres, mysql, mariadb, sqlserver, oracle), or the class name of Debezium's"
        " connector for it.",
        None,
        HIGH,
        "Pipeline",
        required=True,
    ),
    Setting(
        "topic.prefix",
        SettingKind.STRING,
        "Your name for the database server; the first part of every topic's name. Never change it later.",
        None,
        HIGH,
        "Pipeline",
        required=True,
        validator=matching(
            r"[A-Za-z0-9_-]{1,200}", "1 to 200 letters, digits, _ or -; dots separate a topic's parts"
        ),
    ),
    NAMING,
    Setting(
        "tasks.max",
        SettingKind.INT,
        "The largest number of tasks that a worker reads the databases of database.names with, each a process"
        " of its own. A pipeline of one database has one task, and so has one of MySQL or MariaDB, where a"
        " server has one log.",
        "1",
        MEDIUM,
        "Pipeline",
        validator=between(1, 128),
    ),
    Setting(
        "assess.accept",
        SettingKind.LIST,
        "Warnings that an assessment accepts, each with its reason: <id>=<reason>. It prints the reasons.",
        None,
        LOW,
        "Pipeline",
        validator=each(matching(r"[a-z0-9_]+(\.[a-z0-9_]+)+=.*\S.*", "<id>=<reason>")),
    ),
    Setting(
        "secrets.allow.env",
        SettingKind.LIST,
        "Environment variables that ${env:...} may read besides WRACKLINE_*; * stands for anything. It"
        " takes effect in a pipeline's file only, not over REST.",
        None,
        LOW,
        "Pipeline",
        validator=each(matching(r"[\w*]+", "names of variables")),
    ),
    Setting(
        "secrets.allow.folders",
        SettingKind.LIST,
        "Folders whose files ${file:...}, ${dir:...}, kafka.*.location and database.ssl* may read. It"
        " takes effect in a pipeline's file only, not over REST.",
        None,
        LOW,
        "Pipeline",
        validator=each(matching(r"/.*", "absolute paths")),
    ),
    Setting(
        "secrets.secure.provider",
        SettingKind.STRING,
        "What stands behind ${secure(key)}: dir:FOLDER, with a file for each key; env:PREFIX, with a"
        " variable for each key, in upper case, with _ for - and .; or file:PATH, a properties file. What it"
        " reads must be allowed too. It takes effect in a pipeline's or a group's file only, not over REST.",
        SECURE_PROVIDER,
        LOW,
        "Pipeline",
        validator=matching(r"(?:dir|file):/.*|env:\w+", "dir:FOLDER, env:PREFIX or file:PATH"),
    ),
)

_FILTERS = tuple(
    Setting(f"{what}.{way}.list", SettingKind.LIST, doc, None, importance, "Filters", validator=PATTERNS)
    for what, way, doc, importance in (
        (
            "schema",
            "include",
            "Regular expressions for the schemas to copy; not with schema.exclude.list.",
            MEDIUM,
        ),
        ("schema", "exclude", "Regular expressions for the schemas to leave out.", MEDIUM),
        (
            "table",
            "include",
            "Regular expressions for schema.table (MySQL: database.table); not with table.exclude.list.",
            HIGH,
        ),
        ("table", "exclude", "Regular expressions for schema.table to leave out.", MEDIUM),
        ("column", "include", "Regular expressions for schema.table.column to copy.", MEDIUM),
        ("column", "exclude", "Regular expressions for schema.table.column to leave out.", MEDIUM),
    )
)

_COLUMNS = (
    Setting(
        KEYS,
        SettingKind.STRING,
        "Keys other than the tables' own: <schema.table pattern>:<column>,<column>; several separated by ;."
        " The columns must identify each row, and old rows must carry them (REPLICA IDENTITY FULL).",
        None,
        MEDIUM,
        "Columns",
        validator=matching(r"[^:;]+:[^:;]+(?:;[^:;]+:[^:;]+)*;?", "table:column,column;table:column"),
    ),
    Setting(
        "column.as.text",
        SettingKind.LIST,
        "Regular expressions for columns that are carried as text, for values that their type can't hold.",
        None,
        LOW,
        "Columns",
        validator=PATTERNS,
    ),
    Setting(
        UNFIT,
        SettingKind.STRING,
        "What happens to a row with a value that its column's type can't hold. stop: the table is set"
        " aside. letter: the row is set aside as a dead letter, with its key and without its values, on"
        " <topic.prefix>.letter. null: the row is published with null for that value. A key column is never"
        " null; there, null means stop.",
        OnUnfit.STOP.value,
        MEDIUM,
        "Columns",
        validator=one_of(*(policy.value for policy in OnUnfit)),
        recommended=tuple(policy.value for policy in OnUnfit),
    ),
    *(
        Setting(
            policy.setting,
            SettingKind.LIST,
            f"Regular expressions for columns for which value.unfit is {policy.value}, whatever it is for"
            " others. Where the lists overlap, stop takes precedence over letter, and letter over null.",
            None,
            LOW,
            "Columns",
            validator=PATTERNS,
        )
        for policy in OnUnfit
    ),
    *(
        Setting(
            name,
            SettingKind.LIST,
            f"Regular expressions for columns {doc}",
            None,
            LOW,
            "Columns",
            validator=PATTERNS,
            named=mask_of,
        )
        for name, doc in (
            (
                HASH,
                "whose text, as Java serializes it, becomes its salted hash, cut to the column's length.",
            ),
            (
                HASH_V2,
                "whose text, as UTF-8, becomes its salted hash, cut to the column's length.",
            ),
            (STARS, "whose values, of any type, are replaced by this number of asterisks."),
            (TRUNCATE, "whose text is cut to this number of characters."),
        )
    ),
)

_EVENTS = (
    Setting(
        "tombstones.on.delete",
        SettingKind.BOOLEAN,
        "Whether a delete is followed by a record without a value (a tombstone).",
        "true",
        MEDIUM,
        "Events",
    ),
    Setting(
        "skipped.operations",
        SettingKind.LIST,
        "Operations that are not published: c, u, d, t, or none. Debezium's own default is t. A t is still"
        " published before the rows of a table that is read again because part of its log was missed;"
        " otherwise the copy would keep rows that no longer exist.",
        "none",
        LOW,
        "Events",
        validator=each(one_of("c", "u", "d", "t", "none")),
        recommended=("none", "c", "u", "d", "t"),
    ),
    Setting(
        "skipped.operations.<table>",
        SettingKind.LIST,
        "Operations of one table, written as schema.table, that are not published besides those of"
        " skipped.operations.",
        None,
        LOW,
        "Events",
        validator=each(one_of("c", "u", "d", "t")),
        named=ends_with_table("skipped.operations"),
    ),
    Setting(
        "skip.messages.without.change",
        SettingKind.BOOLEAN,
        "Whether an update that changes no captured column is left out. In PostgreSQL this needs a table"
        " with REPLICA IDENTITY FULL, because otherwise the log does not show the row before the update.",
        "false",
        LOW,
        "Events",
    ),
    Setting(
        "provide.transaction.metadata",
        SettingKind.BOOLEAN,
        "Whether BEGIN and END of the database's transactions are published to <topic.prefix>.transaction.",
        "false",
        LOW,
        "Events",
    ),
    Setting(
        "include.schema.changes",
        SettingKind.BOOLEAN,
        "Whether schema changes are published to the topic <topic.prefix>.",
        "true",
        LOW,
        "Events",
    ),
    Setting(
        "unavailable.value.placeholder",
        SettingKind.STRING,
        "What a column contains if PostgreSQL's log did not send its value (unchanged TOAST), so that"
        " other readers can recognize it; hex: and bytes in hexadecimal form are accepted too. Columns"
        " whose type can't hold this text, such as numbers, are null. If the setting is empty, every such"
        " column is null. source.unchanged names the columns in any case.",
        "__debezium_unavailable_value",
        LOW,
        "Events",
        validator=placeholder_fault,
    ),
    Setting(
        "max.row.bytes",
        SettingKind.LONG,
        "The largest row that is carried; a larger one sets its table aside.",
        "67108864",
        MEDIUM,
        "Events",
        validator=between(1024, ROW_BYTES_MAX),
    ),
    Setting(
        "heartbeat.interval.ms",
        SettingKind.INT,
        "How often a heartbeat is published, and written to the log, while nothing changes; 0 is never.",
        "0",
        MEDIUM,
        "Events",
        validator=between(0, LONGEST_WAIT),
    ),
    Setting(
        "topic.heartbeat.prefix",
        SettingKind.STRING,
        "First part of the heartbeat topic's name; topic.prefix is the second.",
        "__debezium-heartbeat",
        LOW,
        "Events",
        validator=matching(r"[A-Za-z0-9._-]{1,40}", "1 to 40 letters, digits, dots, _ or -"),
    ),
)

_TOPICS = (
    Setting(
        "topic.creation.default.partitions",
        SettingKind.INT,
        "How many partitions a new topic has.",
        "1",
        MEDIUM,
        "Topics",
        validator=between(1, 100_000),
    ),
    Setting(
        "topic.creation.default.replication.factor",
        SettingKind.INT,
        "How many replicas a new topic has; -1 is the broker's default.",
        "-1",
        MEDIUM,
        "Topics",
        validator=matching(r"-1|[1-9][0-9]{0,4}", "-1, or 1 to 99999"),
    ),
    Setting(
        "topic.creation.groups",
        SettingKind.LIST,
        "Names of groups of topics that are created with settings of their own.",
        None,
        LOW,
        "Topics",
        validator=each(matching(r"(?!default$)[A-Za-z0-9_-]+", "letters, digits, _ or -, and not default")),
    ),
    *(
        Setting(f"topic.creation.<group>.{last}", kind, doc, None, LOW, "Topics", validator=validator)
        for last, kind, doc, validator in (
            ("include", SettingKind.LIST, "Regular expressions for the group's topics.", PATTERNS),
            (
                "exclude",
                SettingKind.LIST,
                "Regular expressions for topics that are not in the group.",
                PATTERNS,
            ),
            (
                "partitions",
                SettingKind.INT,
                "How many partitions the group's topics have.",
                between(1, 100_000),
            ),
            (
                "replication.factor",
                SettingKind.INT,
                "How many replicas the group's topics have.",
                matching(r"-1|[1-9][0-9]{0,4}", "-1, or 1 to 99999"),
            ),
            (
                "cleanup.policy",
                SettingKind.STRING,
                "What Kafka does with old records.",
                one_of("delete", "compact", "compact,delete", "delete,compact"),
            ),
            (
                "<config>",
                SettingKind.STRING,
                "Any other topic setting, under Kafka's name for it.",
                not_empty,
            ),
        )
    ),
)

_REGISTRY = (
    Setting(
        "schema.registry.url",
        SettingKind.LIST,
        "The schema registry, with the Confluent REST interface; separate several with commas.",
        None,
        HIGH,
        "Schema registry",
        required=True,
        validator=URLS,
        host=True,
    ),
    Setting(
        "schema.registry.basic.auth.user.info",
        SettingKind.PASSWORD,
        "user:password for the registry.",
        None,
        MEDIUM,
        "Schema registry",
        validator=not_empty,
    ),
    Setting(
        "schema.registry.ssl.ca.location",
        SettingKind.STRING,
        "The file with the certificate authorities that sign the registry's certificate.",
        None,
        LOW,
        "Schema registry",
        validator=not_empty,
        file=True,
    ),
    Setting(
        "schema.registry.compatibility",
        SettingKind.STRING,
        "The compatibility level of subjects that Wrackline creates.",
        "NONE",
        LOW,
        "Schema registry",
        validator=one_of(
            "NONE",
            "BACKWARD",
            "BACKWARD_TRANSITIVE",
            "FORWARD",
            "FORWARD_TRANSITIVE",
            "FULL",
            "FULL_TRANSITIVE",
        ),
        recommended=("NONE", "BACKWARD", "FORWARD", "FULL"),
    ),
)

_FAILURES = (
    Setting(
        "errors.max.retries",
        SettingKind.INT,
        "How often a transient error is retried; -1 is without limit.",
        "-1",
        MEDIUM,
        "Failures",
        validator=at_least(-1),
    ),
    Setting(
        "retriable.restart.connector.wait.ms",
        SettingKind.LONG,
        "The longest wait before a retry.",
        "10000",
        LOW,
        "Failures",
        validator=between(1, LONGEST_WAIT),
    ),
)

_METRICS = (
    Setting(
        "metrics.port",
        SettingKind.INT,
        "The port of 127.0.0.1 that serves metrics in Prometheus format, as /metrics; 0: none. A second"
        " pipeline on the machine needs another. Of several tasks, each serves its own: they take the ports"
        " from this one on, in turn, without consume.metrics.port.",
        "0",
        LOW,
        "Metrics",
        validator=between(0, 65_535),
    ),
)


CORE = Declared(
    settings=(
        *_PIPELINE,
        *_FILTERS,
        *GUARDRAIL,
        *_COLUMNS,
        *MODES,
        *_EVENTS,
        *_TOPICS,
        *_REGISTRY,
        *SNAPSHOT,
        *_FAILURES,
        *_METRICS,
        *LINEAGE,
        *NOTIFY,
        *SLO,
        *TARGET,
        *KEEPING,
        *DROPPING,
        *CONSUME,
        *KAFKA_CLIENT.settings,
    ),
    at_most=KAFKA_CLIENT.at_most,
    needs=(*KAFKA_CLIENT.needs, *SNAPSHOT_NEEDS, *LINEAGE_NEEDS, *NOTIFY_NEEDS, *SLO_NEEDS),
    exclusive=(
        *((f"{what}.include.list", f"{what}.exclude.list") for what in ("schema", "table", "column")),
        EXCLUSIVE,
        LINEAGE_EXCLUSIVE,
        *SNAPSHOT_EXCLUSIVE,
    ),
    not_honoured=(*KAFKA_CLIENT.not_honoured, *UNHONOURED),
    not_yet=NOT_YET,
)
FEEDS = Declared(  # a pipeline whose events other programs wrote: it has no source, and no registry
    settings=(
        *(one for one in _PIPELINE if one.name == "name" or one.name.startswith("secrets.")),
        *(one for one in TARGET if not one.name.startswith("target.schema.change.")),
        *CONSUME,
        *KAFKA_CLIENT.settings,
    ),
    at_most=KAFKA_CLIENT.at_most,
    needs=KAFKA_CLIENT.needs,
    not_honoured=KAFKA_CLIENT.not_honoured,
)

"""The settings of every pipeline, whatever its source and target.

Names, meanings and defaults are Debezium's and Kafka Connect's where they have them.
What only one database or target understands is declared in that plug-in's `config` module.
"""

from wrackline.schemas.consume_settings import CONSUME
from wrackline.schemas.filters import HASH, HASH_V2, KEYS, STARS, TRUNCATE, mask_of
from wrackline.schemas.kafka_client_settings import KAFKA_CLIENT
from wrackline.schemas.keeping_settings import EXCLUSIVE, KEEPING
from wrackline.schemas.lineage_settings import LINEAGE, LINEAGE_EXCLUSIVE, LINEAGE_NEEDS
from wrackline.schemas.mode_settings import MODES
from wrackline.schemas.not_yet_settings import NOT_YET
from wrackline.schemas.setting import Declared, Importance, Setting
from wrackline.schemas.setting_kinds import (
    Kind,
    at_least,
    between,
    each,
    matching,
    not_empty,
    one_of,
    regular_expression,
)
from wrackline.schemas.snapshot_settings import SNAPSHOT, SNAPSHOT_EXCLUSIVE, SNAPSHOT_NEEDS
from wrackline.schemas.unavailable import refused
from wrackline.schemas.unhonoured_settings import UNHONOURED

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
LONGEST_WAIT = 86_400_000
ROW_BYTES_MAX = 1_000_000_000  # librdkafka's own limit for a record
PATTERNS = each(regular_expression)
URLS = each(
    matching(
        r"https?://[^\s/@]+(?:/[^\s@]*)?",
        "http:// or https:// addresses with commas between; "
        "a log-in stands in schema.registry.basic.auth.user.info",
    ),
    least=1,
)

_PIPELINE = (
    Setting(
        "name",
        Kind.STRING,
        "The pipeline's name, as commands, REST and the offsets know it.",
        None,
        HIGH,
        "Pipeline",
        required=True,
        validator=matching(
            r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}", "1 to 100 letters, digits, dots, _ or -, and not . or .."
        ),
    ),
    Setting(
        "connector.class",
        Kind.CLASS,
        "The kind of the source (postgres, mysql, mariadb), or Debezium's class name of a connector for it.",
        None,
        HIGH,
        "Pipeline",
        required=True,
    ),
    Setting(
        "topic.prefix",
        Kind.STRING,
        "Your name for the database server; the first part of every topic's name. Never change it later.",
        None,
        HIGH,
        "Pipeline",
        required=True,
        validator=matching(
            r"[A-Za-z0-9_-]{1,200}", "1 to 200 letters, digits, _ or -, for dots part a topic's name in four"
        ),
    ),
    Setting(
        "tasks.max",
        Kind.INT,
        "The most tasks that the connector is cut into.",
        "1",
        MEDIUM,
        "Pipeline",
        validator=between(1, 128),
    ),
    Setting(
        "secrets.allow.env",
        Kind.LIST,
        "Environment variables that ${env:...} may read besides WRACKLINE_*; * stands for anything. "
        "Obeyed in a pipeline's file only, not over REST.",
        None,
        LOW,
        "Pipeline",
        validator=each(matching(r"[\w*]+", "names of variables")),
    ),
    Setting(
        "secrets.allow.folders",
        Kind.LIST,
        "Folders whose files ${file:...}, ${dir:...}, kafka.*.location and database.ssl* may read. "
        "Obeyed in a pipeline's file only, not over REST.",
        None,
        LOW,
        "Pipeline",
        validator=each(matching(r"/.*", "absolute paths")),
    ),
)

_FILTERS = tuple(
    Setting(f"{what}.{way}.list", Kind.LIST, doc, None, importance, "Filters", validator=PATTERNS)
    for what, way, doc, importance in (
        (
            "schema",
            "include",
            "Regular expressions of the schemas to copy; not with schema.exclude.list.",
            MEDIUM,
        ),
        ("schema", "exclude", "Regular expressions of the schemas to leave out.", MEDIUM),
        (
            "table",
            "include",
            "Regular expressions of schema.table (MySQL: database.table); not with table.exclude.list.",
            HIGH,
        ),
        ("table", "exclude", "Regular expressions of schema.table to leave out.", MEDIUM),
        ("column", "include", "Regular expressions of schema.table.column to copy.", MEDIUM),
        ("column", "exclude", "Regular expressions of schema.table.column to leave out.", MEDIUM),
    )
)

_COLUMNS = (
    Setting(
        KEYS,
        Kind.STRING,
        "Keys other than the tables' own: <schema.table pattern>:<column>,<column>; several with ; between. "
        "The columns must tell rows apart, and old rows must carry them (REPLICA IDENTITY FULL).",
        None,
        MEDIUM,
        "Columns",
        validator=matching(r"[^:;]+:[^:;]+(?:;[^:;]+:[^:;]+)*;?", "table:column,column;table:column"),
    ),
    Setting(
        "column.as.text",
        Kind.LIST,
        "Regular expressions of columns that are carried as text, for values that their type can't hold.",
        None,
        LOW,
        "Columns",
        validator=PATTERNS,
    ),
    *(
        Setting(
            name,
            Kind.LIST,
            f"Regular expressions of columns {doc}",
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
            (STARS, "whose values, of any type, are replaced by so many stars."),
            (TRUNCATE, "whose text is cut to so many characters."),
        )
    ),
)

_EVENTS = (
    Setting(
        "tombstones.on.delete",
        Kind.BOOLEAN,
        "Whether a delete is followed by a null value.",
        "true",
        MEDIUM,
        "Events",
    ),
    Setting(
        "skipped.operations",
        Kind.LIST,
        "Operations that are not published: c, u, d, t, or none. Debezium's own default is t. One t is there "
        "all the same, before the rows of a table that is read anew since some of its log was missed: else "
        "the copy would keep rows that are gone.",
        "none",
        LOW,
        "Events",
        validator=each(one_of("c", "u", "d", "t", "none")),
        recommended=("none", "c", "u", "d", "t"),
    ),
    Setting(
        "skip.messages.without.change",
        Kind.BOOLEAN,
        "Whether an update that changes no captured column is left out.",
        "false",
        LOW,
        "Events",
    ),
    Setting(
        "provide.transaction.metadata",
        Kind.BOOLEAN,
        "Whether BEGIN and END of the database's transactions are published to <topic.prefix>.transaction.",
        "false",
        LOW,
        "Events",
    ),
    Setting(
        "include.schema.changes",
        Kind.BOOLEAN,
        "Whether schema changes are published to the topic <topic.prefix>.",
        "true",
        LOW,
        "Events",
    ),
    Setting(
        "unavailable.value.placeholder",
        Kind.STRING,
        "What a column holds whose value PostgreSQL's log did not send (unchanged TOAST), so that readers"
        " that are not ours can recognize it; hex: and bytes in hexadecimal form are accepted too. Numbers"
        " and all that can't hold it are null. If the setting is empty, every such column is null."
        " source.unchanged names the columns in any case.",
        "__debezium_unavailable_value",
        LOW,
        "Events",
        validator=refused,
    ),
    Setting(
        "max.row.bytes",
        Kind.LONG,
        "The largest row that is carried; a larger one pauses its table.",
        "67108864",
        MEDIUM,
        "Events",
        validator=between(1024, ROW_BYTES_MAX),
    ),
    Setting(
        "heartbeat.interval.ms",
        Kind.INT,
        "How often a heartbeat is published, and written into the log, while nothing changes; 0 is never.",
        "0",
        MEDIUM,
        "Events",
        validator=between(0, LONGEST_WAIT),
    ),
    Setting(
        "topic.heartbeat.prefix",
        Kind.STRING,
        "First part of the heartbeats' topic; topic.prefix is the second.",
        "__debezium-heartbeat",
        LOW,
        "Events",
        validator=matching(r"[A-Za-z0-9._-]{1,40}", "1 to 40 letters, digits, dots, _ or -"),
    ),
)

_TOPICS = (
    Setting(
        "topic.creation.default.partitions",
        Kind.INT,
        "How many partitions a new topic has.",
        "1",
        MEDIUM,
        "Topics",
        validator=between(1, 100_000),
    ),
    Setting(
        "topic.creation.default.replication.factor",
        Kind.INT,
        "How many replicas a new topic has; -1 is the broker's own choice.",
        "-1",
        MEDIUM,
        "Topics",
        validator=matching(r"-1|[1-9][0-9]{0,4}", "-1, or 1 to 99999"),
    ),
    Setting(
        "topic.creation.groups",
        Kind.LIST,
        "Names of groups of topics that are created in their own way.",
        None,
        LOW,
        "Topics",
        validator=each(matching(r"(?!default$)[A-Za-z0-9_-]+", "letters, digits, _ or -, and not default")),
    ),
    *(
        Setting(f"topic.creation.<group>.{last}", kind, doc, None, LOW, "Topics", validator=validator)
        for last, kind, doc, validator in (
            ("include", Kind.LIST, "Regular expressions of the group's topics.", PATTERNS),
            ("exclude", Kind.LIST, "Regular expressions of topics that are not of the group.", PATTERNS),
            ("partitions", Kind.INT, "How many partitions the group's topics have.", between(1, 100_000)),
            (
                "replication.factor",
                Kind.INT,
                "How many replicas the group's topics have.",
                matching(r"-1|[1-9][0-9]{0,4}", "-1, or 1 to 99999"),
            ),
            (
                "cleanup.policy",
                Kind.STRING,
                "What Kafka does with old records.",
                one_of("delete", "compact", "compact,delete", "delete,compact"),
            ),
            ("<config>", Kind.STRING, "Any other setting of a topic, as Kafka names it.", not_empty),
        )
    ),
)

_REGISTRY = (
    Setting(
        "schema.registry.url",
        Kind.LIST,
        "The schema registry, with the Confluent REST interface; several with commas between.",
        None,
        HIGH,
        "Schema registry",
        required=True,
        validator=URLS,
    ),
    Setting(
        "schema.registry.basic.auth.user.info",
        Kind.PASSWORD,
        "user:password for the registry.",
        None,
        MEDIUM,
        "Schema registry",
        validator=not_empty,
    ),
    Setting(
        "schema.registry.ssl.ca.location",
        Kind.STRING,
        "The file with the authorities that sign the registry's certificate.",
        None,
        LOW,
        "Schema registry",
        validator=not_empty,
        file=True,
    ),
    Setting(
        "schema.registry.compatibility",
        Kind.STRING,
        "The compatibility of subjects that are created here.",
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
        Kind.INT,
        "How often a transient error is tried again; -1 is without end.",
        "-1",
        MEDIUM,
        "Failures",
        validator=at_least(-1),
    ),
    Setting(
        "retriable.restart.connector.wait.ms",
        Kind.LONG,
        "The longest wait before a try.",
        "10000",
        LOW,
        "Failures",
        validator=between(1, LONGEST_WAIT),
    ),
)

_METRICS = (
    Setting(
        "metrics.port",
        Kind.INT,
        "The port of 127.0.0.1 at which metrics are served in Prometheus' form, as /metrics, and as /status"
        " what `wrackline status` shows of the log; 0: none.",
        "0",
        LOW,
        "Metrics",
        validator=between(0, 65_535),
    ),
)

_TARGET = (
    Setting(
        "target.kind",
        Kind.CLASS,
        "The kind of the target; without it the pipeline ends in Kafka.",
        None,
        HIGH,
        "Target",
    ),
    Setting(
        "target.schema.change.behavior",
        Kind.STRING,
        "What a changed table does to its target: exception stops it, evolve follows or stops it, try_evolve "
        "follows as far as the target can, lenient adds and widens, ignore changes nothing.",
        "evolve",
        MEDIUM,
        "Target",
        validator=one_of("exception", "evolve", "try_evolve", "lenient", "ignore"),
        recommended=("evolve", "try_evolve", "lenient", "ignore", "exception"),
    ),
    Setting(
        "target.column.prefix",
        Kind.STRING,
        "How our own columns in a target begin. Never change it for tables that are there.",
        "_wl_",
        LOW,
        "Target",
        validator=matching(r"[A-Za-z_][A-Za-z0-9_]{0,19}", "1 to 20 letters, digits or _"),
    ),
)

CORE = Declared(
    settings=(
        *_PIPELINE,
        *_FILTERS,
        *_COLUMNS,
        *MODES,
        *_EVENTS,
        *_TOPICS,
        *_REGISTRY,
        *SNAPSHOT,
        *_FAILURES,
        *_METRICS,
        *LINEAGE,
        *_TARGET,
        *KEEPING,
        *CONSUME,
        *KAFKA_CLIENT.settings,
    ),
    at_most=KAFKA_CLIENT.at_most,
    needs=(*KAFKA_CLIENT.needs, *SNAPSHOT_NEEDS, *LINEAGE_NEEDS),
    exclusive=(
        *((f"{what}.include.list", f"{what}.exclude.list") for what in ("schema", "table", "column")),
        EXCLUSIVE,
        LINEAGE_EXCLUSIVE,
        *SNAPSHOT_EXCLUSIVE,
    ),
    not_honoured=(*KAFKA_CLIENT.not_honoured, *UNHONOURED),
    not_yet=NOT_YET,
)
FEEDS = Declared(  # a pipeline whose events no worker of ours wrote: it has no source, and no registry
    settings=(
        *(one for one in _PIPELINE if one.name == "name" or one.name.startswith("secrets.")),
        *(one for one in _TARGET if one.name != "target.schema.change.behavior"),
        *CONSUME,
        *KAFKA_CLIENT.settings,
    ),
    at_most=KAFKA_CLIENT.at_most,
    needs=KAFKA_CLIENT.needs,
    not_honoured=KAFKA_CLIENT.not_honoured,
)

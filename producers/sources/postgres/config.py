"""What can be set about a PostgreSQL source; names and defaults are Debezium's."""

from wrackline.schemas.settings.declared.core_settings import PATTERNS
from wrackline.schemas.settings.declared.libpq_settings import (
    DATABASE,
    GROUP,
    HIGH,
    LOW,
    MEDIUM,
    connection,
)
from wrackline.schemas.settings.declared.source_settings import ACTION_NEEDS, action_query, instants
from wrackline.schemas.settings.setting import Declared, NotHonoured, Setting
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    Value,
    between,
    each,
    in_bytes,
    matching,
    one_of,
)

_PREFIXES = (
    "Regular expressions for the prefixes of logical messages {what}; each must match the whole prefix,"
    " ignoring case."
)
_OURS = "Wrackline's own reader supports pgoutput only"
_TAKE_OUT = "remove the line"


def _refuse_drop(value: Value) -> str | None:
    return "expected false: without the slot the next start could not continue" if value else None


def _names(value: Value) -> str | None:
    """Each is named once, as itself."""
    items = value if isinstance(value, tuple) else ()
    if not items or len(set(items)) < len(items):
        return "expected at least one database, and each of them once"
    return each(DATABASE)(value)


SETTINGS = Declared(
    settings=(
        *connection(
            "database",
            host="The server's host name or address.",
            role="The role to log in as; it needs LOGIN and REPLICATION.",
            database="The database to copy.",
            authorities=" (/etc/ssl, /etc/pki, /usr/share/ca-certificates, /usr/local/share/ca-certificates)",
        ),
        Setting(
            "database.names",
            SettingKind.LIST,
            "The databases to copy, instead of database.dbname. Each has a slot and a publication of its own;"
            " slot.name is then how the names of the slots begin.",
            None,
            HIGH,
            GROUP,
            validator=_names,
        ),
        Setting(
            "plugin.name",
            SettingKind.STRING,
            "The server's output plug-in.",
            "pgoutput",
            LOW,
            GROUP,
            validator=one_of("pgoutput"),
        ),
        Setting(
            "slot.name",
            SettingKind.STRING,
            "The replication slot; each pipeline needs its own. By default it is wrackline_ and the"
            " pipeline's name.",
            None,
            HIGH,
            GROUP,
            validator=matching(r"[a-z0-9_]{1,63}", "1 to 63 lower-case letters, digits or _"),
        ),
        Setting(
            "slot.drop.on.stop",
            SettingKind.BOOLEAN,
            "Always false: without its slot a pipeline can't continue, because changes made in the"
            " meantime are lost. The slot is dropped with its pipeline: wrackline delete; or by hand:"
            " SELECT pg_drop_replication_slot('<slot.name>').",
            "false",
            LOW,
            GROUP,
            validator=_refuse_drop,
        ),
        Setting(
            "slot.failover",
            SettingKind.BOOLEAN,
            "Whether the slot is copied to a standby (PostgreSQL 17).",
            "false",
            LOW,
            GROUP,
        ),
        Setting(
            "publication.name",
            SettingKind.STRING,
            "The publication with the captured tables.",
            "wrackline",
            HIGH,
            GROUP,
            validator=in_bytes(63, "a name of 1 to 63 bytes"),
        ),
        Setting(
            "publication.autocreate.mode",
            SettingKind.STRING,
            "Which publication is created if there is none: of the captured tables, of all tables, or none"
            " at all.",
            "filtered",
            MEDIUM,
            GROUP,
            validator=one_of("filtered", "all_tables", "no_tables", "disabled"),
            recommended=("filtered", "all_tables", "no_tables", "disabled"),
        ),
        action_query(GROUP),
        *(
            Setting(
                f"message.prefix.{way}.list",
                SettingKind.LIST,
                _PREFIXES.format(what=what),
                None,
                LOW,
                GROUP,
                validator=PATTERNS,
            )
            for way, what in (("include", "to publish"), ("exclude", "to leave out"))
        ),
        Setting(
            "status.update.interval.ms",
            SettingKind.INT,
            "How often the server is informed how far Kafka has committed.",
            "10000",
            LOW,
            GROUP,
            validator=between(100, 600_000),
        ),
        Setting(
            "wal.receiver.timeout.ms",
            SettingKind.INT,
            "How long the server may be silent: after half of this time it is asked for an answer, and at"
            " the end its connection is given up.",
            "60000",
            LOW,
            GROUP,
            validator=between(1000, 3_600_000),
        ),
        instants(GROUP, "timestamp with time zone"),
    ),
    exclusive=(
        ("database.dbname", "database.names"),
        ("message.prefix.include.list", "message.prefix.exclude.list"),
    ),
    needs=(ACTION_NEEDS,),
    not_honoured=(
        NotHonoured(
            "hstore.handling.mode",
            'an hstore is always the server\'s own text, as "a"=>"1"',
            _TAKE_OUT,
            refused=True,
        ),
        *(
            NotHonoured(name, why, _TAKE_OUT)
            for name, why in (
                ("slot.stream.params", _OURS),
                ("slot.max.retries", "errors.max.retries counts every try"),
                ("slot.retry.delay.ms", "retriable.restart.connector.wait.ms limits every wait"),
                ("publish.via.partition.root", "partitions are always mapped to their root"),
                ("lsn.flush.mode", "the server is informed only after Kafka has committed"),
                ("lsn.flush.timeout.<rest>", "the server is informed only after Kafka has committed"),
                ("flush.lsn.source", "the server is informed only after Kafka has committed"),
                ("include.schema.comments", "comments of tables and columns are not published"),
                ("table.ignore.builtin", "the server's own tables are never copied"),
                (
                    "offset.mismatch.strategy",
                    'such a slot stops the pipeline, or snapshot.mode = "when_needed" reads all tables again',
                ),
                ("xmin.fetch.interval.ms", "the log itself says what is needed"),
                ("schema.refresh.mode", "the catalogue is read at each change of a table's columns"),
                (
                    "replica.identity.autoset.values",
                    "tables are never altered; wrackline check prints the SQL",
                ),
                ("database.initial.statements", "custom statements are not run on Wrackline's connections"),
                ("database.tcpKeepAlive", "it is always on"),
                ("database.query.timeout.ms", "set it for the role: ALTER ROLE ... SET statement_timeout"),
                ("database.sslfactory", "Java is not used"),
            )
        ),
    ),
)

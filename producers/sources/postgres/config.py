"""What can be set about a PostgreSQL source; names and defaults are Debezium's."""

from wrackline.schemas.core_settings import PATTERNS
from wrackline.schemas.libpq_settings import GROUP, HIGH, LOW, MEDIUM, connection
from wrackline.schemas.setting import Declared, NotHonoured, Setting
from wrackline.schemas.setting_kinds import Kind, Value, between, in_bytes, matching, one_of
from wrackline.schemas.source_settings import ACTION_NEEDS, action_query, instants

_PREFIXES = "Regular expressions of the logical messages' prefixes {what}; the whole prefix, in either case."
_OURS = "our own reader speaks pgoutput only"
_TAKE_OUT = "take the line out"


def _kept(value: Value) -> str | None:
    return "expected false: the next start could not go on without the slot" if value else None


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
            "plugin.name",
            Kind.STRING,
            "The server's output plug-in.",
            "pgoutput",
            LOW,
            GROUP,
            validator=one_of("pgoutput"),
        ),
        Setting(
            "slot.name",
            Kind.STRING,
            "The replication slot; each pipeline needs its own. Unless it is given it is wrackline_ and the "
            "pipeline's name.",
            None,
            HIGH,
            GROUP,
            validator=matching(r"[a-z0-9_]{1,63}", "1 to 63 small letters, digits or _"),
        ),
        Setting(
            "slot.drop.on.stop",
            Kind.BOOLEAN,
            "Always false: without its slot a pipeline can't go on, for what changes meanwhile is lost. "
            "It is dropped with its pipeline: wrackline delete; or by hand: "
            "SELECT pg_drop_replication_slot('<slot.name>').",
            "false",
            LOW,
            GROUP,
            validator=_kept,
        ),
        Setting(
            "slot.failover",
            Kind.BOOLEAN,
            "Whether the slot follows to a standby (PostgreSQL 17).",
            "false",
            LOW,
            GROUP,
        ),
        Setting(
            "publication.name",
            Kind.STRING,
            "The publication with the captured tables.",
            "wrackline",
            HIGH,
            GROUP,
            validator=in_bytes(63, "a name of 1 to 63 bytes"),
        ),
        Setting(
            "publication.autocreate.mode",
            Kind.STRING,
            "Which publication is made when there is none: of the captured tables, of all, or none at all.",
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
                Kind.LIST,
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
            Kind.INT,
            "How often the server is told how far Kafka has committed.",
            "10000",
            LOW,
            GROUP,
            validator=between(100, 600_000),
        ),
        Setting(
            "wal.receiver.timeout.ms",
            Kind.INT,
            "How long the server may say nothing: halfway it is asked, then its connection is given up.",
            "60000",
            LOW,
            GROUP,
            validator=between(1000, 3_600_000),
        ),
        instants(GROUP, "timestamp with time zone"),
    ),
    exclusive=(("message.prefix.include.list", "message.prefix.exclude.list"),),
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
                ("slot.retry.delay.ms", "retriable.restart.connector.wait.ms bounds every wait"),
                ("publish.via.partition.root", "partitions are always mapped to their root"),
                ("lsn.flush.mode", "the server is told only after Kafka has committed"),
                ("flush.lsn.source", "the server is told only after Kafka has committed"),
                (
                    "offset.mismatch.strategy",
                    "such a slot stops the pipeline, or snapshot.mode=when_needed reads all tables again",
                ),
                ("xmin.fetch.interval.ms", "the log says what is needed"),
                ("schema.refresh.mode", "the catalogue is read at each change of a table's shape"),
                (
                    "replica.identity.autoset.values",
                    "tables are never altered; wrackline check prints the SQL",
                ),
                ("database.initial.statements", "statements of your own do not run on our connections"),
                ("database.tcpKeepAlive", "it is always on"),
                ("database.query.timeout.ms", "set it for the role: ALTER ROLE ... SET statement_timeout"),
                ("database.sslfactory", "there is no Java here"),
            )
        ),
    ),
)

"""What can be set about a MySQL or MariaDB source; names and defaults are Debezium's connectors' for them.

Debezium's TLS modes are the drivers' own words, which differ between the two; either's are taken for both.
"""

from wrackline.producers.sources.mysql.tls import MODES, VERIFIED
from wrackline.schemas.libpq_settings import HIGH, LOW, MEDIUM, clear_password
from wrackline.schemas.setting import Declared, Need, NotHonoured, Setting
from wrackline.schemas.setting_kinds import (
    Kind,
    between,
    each,
    matching,
    not_empty,
    one_of,
    regular_expression,
)
from wrackline.schemas.source_settings import ACTION_NEEDS, action_query, instants

GROUP = "MySQL"
SERVER_IDS = 1, (1 << 32) - 1

_HOST = r"(?!-)(?=.*[A-Za-z0-9])[A-Za-z0-9._-]+|(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+"
_PATTERNS = each(regular_expression)
_TAKE_OUT = "take the line out"
_PEM = "name PEM files in its place: database.ssl.ca, database.ssl.cert, database.ssl.key"
_OF_OUR_FOLDERS = "It lies in one of secrets.allow.folders"

_SERVER = (
    Setting(
        "database.hostname",
        Kind.STRING,
        "The server's host name or address.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=matching(_HOST, "a host name or an address, not a path or a list, and without a port"),
    ),
    Setting("database.port", Kind.INT, "Its port.", "3306", HIGH, GROUP, validator=between(1, 65535)),
    Setting(
        "database.user",
        Kind.STRING,
        "The user to log in as; it needs REPLICATION SLAVE and REPLICATION CLIENT.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=not_empty,
    ),
    Setting("database.password", Kind.PASSWORD, "Its password.", None, HIGH, GROUP),
    Setting(
        "database.server.id",
        Kind.LONG,
        "Our own number among the readers of the server's log: no server and no other reader of the same log "
        "may have it. Empty: one that is made of name and topic.prefix, and stays the same.",
        None,
        MEDIUM,
        GROUP,
        validator=between(*SERVER_IDS),
    ),
    Setting(
        "connect.timeout.ms",
        Kind.INT,
        "How long a connection may take, log-in included.",
        "30000",
        LOW,
        GROUP,
        validator=between(100, 600_000),
    ),
    Setting(
        "connect.keep.alive.interval.ms",
        Kind.INT,
        "How long the server may say nothing: its log tells four times as often that it is there, and then "
        "the connection is given up.",
        "60000",
        LOW,
        GROUP,
        validator=between(1000, 3_600_000),
    ),
)

_TLS = (
    Setting(
        "database.ssl.mode",
        Kind.STRING,
        "How the connection is protected; less than verify_identity only where you trust the network. "
        "required and preferred take any certificate: a false server in between reads all rows, and gets the "
        "password, because caching_sha2_password and sha256_password send it over TLS in clear. "
        "MariaDB's words disable, trust, verify-ca and verify-full are taken too.",
        "verify_identity",
        MEDIUM,
        GROUP,
        validator=one_of(*MODES),
        recommended=("verify_identity", "verify_ca", "required", "preferred", "disabled"),
    ),
    *(
        Setting(
            f"database.ssl.{name}",
            Kind.STRING,
            document,
            None,
            LOW,
            GROUP,
            validator=not_empty,
            file=True,
            authorities=name == "ca",
        )
        for name, document in (
            (
                "ca",
                f"The file (PEM) with the server's signers; or the system's own. {_OF_OUR_FOLDERS}.",
            ),
            ("cert", f"The file (PEM) with our certificate. {_OF_OUR_FOLDERS}."),
            ("key", f"The file (PEM) with our private key. {_OF_OUR_FOLDERS}."),
        )
    ),
    Setting("database.ssl.key.password", Kind.PASSWORD, "What unlocks our private key.", None, LOW, GROUP),
    Setting(
        "database.allowPublicKeyRetrieval",
        Kind.BOOLEAN,
        "Whether an unprotected connection may ask the server for the key that our password is sent with; "
        "who stands in between could give their own.",
        "false",
        LOW,
        GROUP,
    ),
    clear_password(
        "database",
        GROUP,
        " It does not concern caching_sha2_password and sha256_password, which send it over any TLS.",
    ),
)

_DATABASES = tuple(
    Setting(f"database.{way}.list", Kind.LIST, document, None, importance, GROUP, validator=_PATTERNS)
    for way, document, importance in (
        ("include", "Regular expressions of the databases to copy; not with database.exclude.list.", HIGH),
        ("exclude", "Regular expressions of the databases to leave out.", MEDIUM),
    )
)

_NOT_HONOURED = (
    *(
        NotHonoured(f"database.ssl.{store}", "there is no Java here, and its key stores are not read", _PEM)
        for store in ("keystore", "keystore.password", "truststore", "truststore.password")
    ),
    *(
        NotHonoured(name, why, _TAKE_OUT)
        for name, why in (
            ("connect.keep.alive", "it is always on"),
            ("use.nongraceful.disconnect", "a connection that says nothing is always given up"),
            ("gtid.source.includes", "every transaction of the server's log is read, whoever began it"),
            ("gtid.source.excludes", "every transaction of the server's log is read, whoever began it"),
            ("gtid.source.filter.dml.events", "every transaction of the server's log is read"),
            ("include.query", "statements, which hold rows' values, are not published: source.query is null"),
            ("include.schema.comments", "comments of tables and columns are not published"),
            ("binlog.buffer.size", "a transaction is never held back: its rows stand between two commits"),
            ("inconsistent.schema.handling.mode", "the log says itself what its rows' columns are"),
            ("event.converting.failure.handling.mode", "a row that can't be carried pauses its table"),
            ("table.ignore.builtin", "the server's own databases are never copied"),
            ("enable.time.adjuster", "a year is what the server stored, which adjusts it by itself"),
            ("min.row.count.to.stream.results", "rows are always taken as the server sends them"),
            ("database.initial.statements", "statements of your own do not run on our connections"),
            (
                "database.query.timeout.ms",
                "a statement of ours ends by itself, and one on a dead connection is given up",
            ),
            *(
                (f"database.{name}", "there is no Java driver here")
                for name in (
                    "jdbc.driver",
                    "jdbc.protocol",
                    "protocol",
                    "useSSL",
                    "sslMode",
                    "connectionTimeZone",
                    "serverTimezone",
                    "characterEncoding",
                    "zeroDateTimeBehavior",
                    "useLegacyDatetimeCode",
                )
            ),
        )
    ),
)

SETTINGS = Declared(
    settings=(
        *_SERVER,
        *_TLS,
        *_DATABASES,
        action_query(GROUP),
        instants(GROUP, "timestamp"),
    ),
    exclusive=(
        ("database.include.list", "database.exclude.list"),
        ("database.include.list", "schema.include.list"),
        ("database.exclude.list", "schema.exclude.list"),
    ),
    needs=(
        ACTION_NEEDS,
        Need("database.ssl.ca", "database.ssl.mode", among=VERIFIED),
        Need("database.ssl.key", "database.ssl.cert"),
    ),
    not_honoured=_NOT_HONOURED,
)

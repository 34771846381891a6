"""What can be set about a MySQL or MariaDB source; names and defaults are those of Debezium's connectors.

Debezium's TLS modes are the drivers' own words, which differ; either driver's words are accepted for both.
"""

from wrackline.producers.sources.mysql.connect.tls import MODES, VERIFIED
from wrackline.schemas.settings.declared.libpq_settings import HIGH, LOW, MEDIUM, clear_password
from wrackline.schemas.settings.declared.source_settings import ACTION_NEEDS, action_query, instants
from wrackline.schemas.settings.setting import Declared, NotHonoured, Requirement, Setting
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    between,
    each,
    matching,
    not_empty,
    one_of,
    regular_expression,
)

GROUP = "MySQL"
SERVER_IDS = 1, (1 << 32) - 1

_HOST = r"(?!-)(?=.*[A-Za-z0-9])[A-Za-z0-9._-]+|(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+"
_PATTERNS = each(regular_expression)
_TAKE_OUT = "remove the line"
_PEM = "name PEM files instead: database.ssl.ca, database.ssl.cert, database.ssl.key"
_OF_OUR_FOLDERS = "It must be in one of secrets.allow.folders"

_SERVER = (
    Setting(
        "database.hostname",
        SettingKind.STRING,
        "The server's host name or address.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=matching(_HOST, "a host name or an address, not a path or a list, and without a port"),
        host=True,
    ),
    Setting("database.port", SettingKind.INT, "Its port.", "3306", HIGH, GROUP, validator=between(1, 65535)),
    Setting(
        "database.user",
        SettingKind.STRING,
        "The user to log in as; it needs REPLICATION SLAVE and REPLICATION CLIENT.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=not_empty,
    ),
    Setting("database.password", SettingKind.PASSWORD, "Its password.", None, HIGH, GROUP),
    Setting(
        "database.server.id",
        SettingKind.LONG,
        "Our own server id among the readers of the server's log: no server and no other reader of the"
        " same log may have it. Empty: a number that is derived from name and topic.prefix, and stays the"
        " same.",
        None,
        MEDIUM,
        GROUP,
        validator=between(*SERVER_IDS),
    ),
    Setting(
        "connect.timeout.ms",
        SettingKind.INT,
        "How long a connection may take, login included.",
        "30000",
        LOW,
        GROUP,
        validator=between(100, 600_000),
    ),
    Setting(
        "connect.keep.alive.interval.ms",
        SettingKind.INT,
        "How long the server may be silent: it sends heartbeats four times as often, and without one for"
        " this time the connection is given up.",
        "60000",
        LOW,
        GROUP,
        validator=between(1000, 3_600_000),
    ),
)

_TLS = (
    Setting(
        "database.ssl.mode",
        SettingKind.STRING,
        "How the connection is protected; use less than verify_identity only where you trust the network."
        " required and preferred accept any certificate: an impostor between us and the server reads all"
        " rows, and gets the password, because caching_sha2_password and sha256_password send it over TLS"
        " in clear text. MariaDB's words disable, trust, verify-ca and verify-full are accepted too.",
        "verify_identity",
        MEDIUM,
        GROUP,
        validator=one_of(*MODES),
        recommended=("verify_identity", "verify_ca", "required", "preferred", "disabled"),
        left_out="the server must speak TLS, with a certificate that is verified and carries the name in"
        ' database.hostname; where you trust the network: database.ssl.mode = "required" (any certificate) or'
        " disabled (no TLS)",
    ),
    *(
        Setting(
            f"database.ssl.{name}",
            SettingKind.STRING,
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
                f"The file (PEM) with the server's authorities; or the system's. {_OF_OUR_FOLDERS}.",
            ),
            ("cert", f"The file (PEM) with our certificate. {_OF_OUR_FOLDERS}."),
            ("key", f"The file (PEM) with our private key. {_OF_OUR_FOLDERS}."),
        )
    ),
    Setting(
        "database.ssl.key.password",
        SettingKind.PASSWORD,
        "The password of our private key.",
        None,
        LOW,
        GROUP,
    ),
    Setting(
        "database.allowPublicKeyRetrieval",
        SettingKind.BOOLEAN,
        "Whether an unprotected connection may ask the server for the key that encrypts our password; an"
        " impostor could send a key of its own.",
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
    Setting(f"database.{way}.list", SettingKind.LIST, document, None, importance, GROUP, validator=_PATTERNS)
    for way, document, importance in (
        ("include", "Regular expressions for the databases to copy; not with database.exclude.list.", HIGH),
        ("exclude", "Regular expressions for the databases to leave out.", MEDIUM),
    )
)

_NOT_HONOURED = (
    *(
        NotHonoured(
            name,
            "every transaction of the server's log is read, whichever server started it, so the"
            " transactions that this leaves out would be published",
            _TAKE_OUT,
            refused=True,
            done=done,
        )
        for name, done in (("gtid.source.includes", (".*",)), ("gtid.source.excludes", ()))
    ),
    *(
        NotHonoured(f"database.ssl.{store}", "Java is not used, and its key stores are not read", _PEM)
        for store in ("keystore", "keystore.password", "truststore", "truststore.password")
    ),
    *(
        NotHonoured(name, why, _TAKE_OUT)
        for name, why in (
            ("connect.keep.alive", "it is always on"),
            ("use.nongraceful.disconnect", "a silent connection is always given up"),
            ("gtid.source.filter.dml.events", "every transaction of the server's log is read"),
            (
                "include.query",
                "statements, which contain rows' values, are not published: source.query is null",
            ),
            ("include.schema.comments", "comments of tables and columns are not published"),
            (
                "binlog.buffer.size",
                "a transaction is never held back; its rows are published between two commits",
            ),
            ("table.ignore.builtin", "the server's own databases are never copied"),
            (
                "enable.time.adjuster",
                "a year is published as the server stored it; the server itself adjusts it",
            ),
            ("min.row.count.to.stream.results", "rows are always taken as the server sends them"),
            ("database.initial.statements", "custom statements are not run on Wrackline's connections"),
            (
                "database.query.timeout.ms",
                "Wrackline's statements end by themselves, and one on a dead connection is given up",
            ),
            *(
                (f"database.{name}", "the Java driver is not used")
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
        Requirement("database.ssl.ca", "database.ssl.mode", among=VERIFIED),
        Requirement("database.ssl.key", "database.ssl.cert"),
    ),
    not_honoured=_NOT_HONOURED,
)

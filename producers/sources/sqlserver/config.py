"""What can be set about a SQL Server source; names and defaults are those of Debezium's connector.

What Debezium hands to its driver begins with `driver.`: the few of these that have a meaning here are
settings.
"""

from wrackline.schemas.settings.declared.libpq_settings import HIGH, LOW, MEDIUM
from wrackline.schemas.settings.declared.source_settings import ACTION_NEEDS, action_query, instants
from wrackline.schemas.settings.setting import Declared, NotHonoured, Requirement, Setting
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    Value,
    between,
    each,
    matching,
    not_empty,
    one_of,
)

GROUP = "SQL Server"

_HOST = r"(?!-)(?=.*[A-Za-z0-9])[A-Za-z0-9._-]+|(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+"
_NAME = matching(r"[^\0]{1,128}", "a database's name of 1 to 128 characters")
_TAKE_OUT = "remove the line"
_PEM = "name a PEM file with the server's authorities instead: driver.serverCertificate"
_SCHEMES = ("JavaKerberos", "NTLM")  # the names of Microsoft's JDBC driver
_ISOLATIONS = ("read_committed", "repeatable_read", "snapshot")


def _names(value: Value) -> str | None:
    """Each is named once; whether two names mean one database, only the server's collation says."""
    items = value if isinstance(value, tuple) else ()
    if not items or len(set(items)) < len(items):
        return "expected at least one database, and each of them once"
    return each(_NAME)(value)


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
    Setting("database.port", SettingKind.INT, "Its port.", "1433", HIGH, GROUP, validator=between(1, 65535)),
    Setting(
        "database.instance",
        SettingKind.STRING,
        "The server's named instance, whose port is asked from the SQL Server Browser; instead of"
        " database.port.",
        None,
        LOW,
        GROUP,
        validator=matching(r"[^\\/\0]{1,16}", "the name of an instance, without the server's name"),
    ),
    Setting(
        "database.user",
        SettingKind.STRING,
        "The login; what it needs is printed by wrackline check. With a token, the name of its user in the"
        " databases.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=not_empty,
    ),
    Setting("database.password", SettingKind.PASSWORD, "Its password.", None, HIGH, GROUP),
    Setting(
        "driver.accessTokenFile",
        SettingKind.STRING,
        "The file with a token of Microsoft Entra, to log in with instead of a password. It is read again at"
        " each login, so whatever renews the token replaces the file. It must be in one of"
        " secrets.allow.folders.",
        None,
        MEDIUM,
        GROUP,
        validator=not_empty,
        file=True,
    ),
    Setting(
        "driver.integratedSecurity",
        SettingKind.BOOLEAN,
        "Whether database.user is a user of Active Directory, who logs in as driver.authenticationScheme"
        " says.",
        "false",
        MEDIUM,
        GROUP,
    ),
    Setting(
        "driver.authenticationScheme",
        SettingKind.STRING,
        "How such a user logs in: with NTLM and database.password, or with Kerberos (JavaKerberos, as it is"
        " called elsewhere; no Java is used) and a ticket, or a password.",
        "JavaKerberos",
        LOW,
        GROUP,
        validator=one_of(*_SCHEMES),
        recommended=_SCHEMES,
    ),
    Setting(
        "driver.domain",
        SettingKind.STRING,
        "The domain of such a user; SQL Server then knows the login as domain\\user.",
        None,
        LOW,
        GROUP,
        validator=matching(r"[^\\/@\0]{1,255}", "a domain's name, without a user"),
    ),
    Setting(
        "database.names",
        SettingKind.LIST,
        "The databases to copy. Each has a log and positions of its own.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=_names,
    ),
    Setting(
        "driver.applicationIntent",
        SettingKind.STRING,
        "ReadOnly: a readable secondary of an availability group is read. Nothing can be written there, so"
        ' snapshot.isolation.mode must be "snapshot".',
        "ReadWrite",
        LOW,
        GROUP,
        validator=one_of("ReadWrite", "ReadOnly"),
        recommended=("ReadWrite", "ReadOnly"),
    ),
)

_WAITING = (
    Setting(
        "driver.loginTimeout",
        SettingKind.INT,
        "How many seconds the server may be silent while we connect and log in.",
        "30",
        LOW,
        GROUP,
        validator=between(1, 600),
    ),
    Setting(
        "driver.socketTimeout",
        SettingKind.INT,
        "How many milliseconds the server may be silent within an answer, such as while it sorts; behind that"
        " the connection counts as lost.",
        "600000",
        LOW,
        GROUP,
        validator=between(1000, 86_400_000),
    ),
)

_TLS = (
    Setting(
        "driver.encrypt",
        SettingKind.STRING,
        "How the connection is protected: true is TLS inside TDS, strict is TLS before anything else (SQL"
        " Server 2022), false is no protection.",
        "true",
        MEDIUM,
        GROUP,
        validator=one_of("true", "strict", "false"),
        recommended=("true", "strict", "false"),
        left_out="the server must speak TLS, with a certificate that is verified and carries the name in"
        " database.hostname; where you trust the network: driver.trustServerCertificate = true (any"
        " certificate) or driver.encrypt = false (no TLS)",
    ),
    Setting(
        "driver.trustServerCertificate",
        SettingKind.BOOLEAN,
        "Whether any certificate is accepted: then an impostor between us and the server reads all rows and"
        " the password.",
        "false",
        MEDIUM,
        GROUP,
    ),
    Setting(
        "driver.hostNameInCertificate",
        SettingKind.STRING,
        "The name that the server's certificate must have, if it is not database.hostname.",
        None,
        LOW,
        GROUP,
        validator=matching(_HOST, "a host name"),
    ),
    Setting(
        "driver.serverCertificate",
        SettingKind.STRING,
        "The file (PEM) with the server's authorities; or the system's. It must be in one of"
        " secrets.allow.folders.",
        None,
        LOW,
        GROUP,
        validator=not_empty,
        file=True,
        authorities=True,
    ),
)

_READING = (
    Setting(
        "poll.interval.ms",
        SettingKind.INT,
        "How long to wait before change tables are read again, if the last time nothing was new; a tenth of a"
        " second at most, while existing rows wait for their marks.",
        "500",
        LOW,
        GROUP,
        validator=between(10, 60_000),
    ),
    Setting(
        "max.iteration.transactions",
        SettingKind.INT,
        "How many transactions one poll of a database takes at most.",
        "500",
        MEDIUM,
        GROUP,
        validator=between(1, 100_000),
    ),
    Setting(
        "log.audit.interval.ms",
        SettingKind.INT,
        "How often the rows that were handed out since the last time are counted again, so that a commit that"
        " the server shows late is found; 0: never.",
        "30000",
        LOW,
        GROUP,
        validator=between(0, 86_400_000),
    ),
    Setting(
        "capture.instance.rotate",
        SettingKind.BOOLEAN,
        "Whether a new capture instance is created when a table gets columns, and the old one dropped when"
        " Kafka has all of its changes. It needs db_owner. Without it, wrackline check prints statements.",
        "false",
        MEDIUM,
        GROUP,
    ),
    Setting(
        "snapshot.isolation.mode",
        SettingKind.STRING,
        "How existing rows are read: read_committed waits for writers, and a writer waits at most for one"
        " chunk; snapshot reads versions and waits for nobody, where the database has"
        " ALLOW_SNAPSHOT_ISOLATION. repeatable_read is read as read_committed.",
        "read_committed",
        MEDIUM,
        GROUP,
        validator=one_of(*_ISOLATIONS),
        recommended=_ISOLATIONS,
    ),
)

SETTINGS = Declared(
    settings=(
        *_SERVER,
        *_WAITING,
        *_TLS,
        *_READING,
        action_query(GROUP),
        instants(GROUP, "datetimeoffset"),
    ),
    exclusive=(
        ("database.port", "database.instance"),
        ("database.password", "driver.accessTokenFile"),
        ("driver.integratedSecurity", "driver.accessTokenFile"),
    ),
    needs=(
        ACTION_NEEDS,
        Requirement("driver.domain", "driver.integratedSecurity", among=("true",)),
        Requirement("driver.authenticationScheme", "driver.integratedSecurity", among=("true",)),
    ),
    not_honoured=(
        NotHonoured(
            "data.query.mode",
            "change tables are read directly, in the order of their index",
            _TAKE_OUT,
            done=("direct",),
        ),
        *(
            NotHonoured(f"driver.{name}", "Java is not used, and its key stores are not read", _PEM)
            for name in ("trustStore", "trustStorePassword", "trustStoreType")
        ),
        NotHonoured(
            "driver.authentication",
            "the login would be another one than the setting says",
            "log in with a token, which something outside renews: driver.accessTokenFile; or with"
            " database.user and database.password",
            refused=True,
            done=("SqlPassword", "NotSpecified"),
        ),
        NotHonoured(
            "driver.accessToken",
            "it expires within the hour, and a setting stays as it is",
            "write it to a file, and replace that before it expires: driver.accessTokenFile",
            refused=True,
        ),
        *(
            NotHonoured(name, why, _TAKE_OUT)
            for name, why in (
                ("driver.<rest>", "the Java driver is not used"),
                ("streaming.fetch.size", "a page has as many rows as fit into its bytes"),
                ("incremental.snapshot.option.recompile", "keys are literals, so no plan is made for others"),
                ("source.timestamp.mode", "the time is always that of the commit"),
                ("database.query.timeout.ms", "statements wait for locks for 10 s at most"),
                ("include.schema.comments", "comments of tables and columns are not published"),
                ("table.ignore.builtin", "the server's own tables are never copied"),
            )
        ),
    ),
)

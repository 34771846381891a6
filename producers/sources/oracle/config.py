"""What can be set about an Oracle source; names and defaults are those of Debezium's connector.

Debezium hands names that begin with `driver.` to Oracle's Java driver: the few of these that have a meaning
here are settings.  Names of databases and users are folded to capital letters, as the server does, unless
they are in quotation marks.
"""

from typing import Final

from wrackline.producers.sources.oracle.connect.meanings import DISABLED, VERIFIED, VERIFY_IDENTITY
from wrackline.producers.sources.oracle.unhonoured import UNHONOURED_HERE
from wrackline.schemas.settings.declared.libpq_settings import HIGH, LOW, MEDIUM
from wrackline.schemas.settings.declared.source_settings import ACTION_NEEDS, action_query, instants
from wrackline.schemas.settings.setting import Declared, Requirement, Setting
from wrackline.schemas.settings.value_kinds import (
    SettingKind,
    Value,
    between,
    each,
    matching,
    not_empty,
    one_of,
)

GROUP = "Oracle"
DEFAULT_PORT: Final = 1521

_HOST = r"(?:(?!-)(?=.*[A-Za-z0-9])[A-Za-z0-9._-]+|(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+)"
_NODE = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[^/\0]+)?"
_NAME = r'[^"\0]{1,128}|"[^"\0]{1,128}"'
_SERVICE = r'[^",;/()=\0\s]{1,128}|"[^"()=\0]{1,128}"'  # neither a list, an address nor a descriptor
_TABLE = rf"(?:(?:{_NAME.replace('^', '^.')})\.)?(?:{_NAME.replace('^', '^.')})"
_ADAPTERS = ("logminer", "logminer_unbuffered")


def _adapter(value: Value) -> str | None:
    """XStream needs Oracle's own libraries; what reads redo by itself is another program."""
    if value in _ADAPTERS:
        return None
    return "only logminer is supported; XStream and OpenLogReplicator are not read"


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
    Setting(
        "database.port",
        SettingKind.INT,
        "The port of its listener.",
        str(DEFAULT_PORT),
        HIGH,
        GROUP,
        validator=between(1, 65535),
    ),
    Setting(
        "database.user",
        SettingKind.STRING,
        "The user; what it needs is printed by wrackline check. In a container database it must be a common"
        " user, such as C##WRACKLINE, because LogMiner runs in the root.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=not_empty,
    ),
    Setting("database.password", SettingKind.PASSWORD, "Its password.", None, HIGH, GROUP),
    Setting(
        "database.dbname",
        SettingKind.STRING,
        "The service of the database, as the listener knows it; of a container database, that of its root.",
        None,
        HIGH,
        GROUP,
        required=True,
        validator=matching(_SERVICE, "the name of one service, without host and port"),
    ),
    Setting(
        "database.pdb.name",
        SettingKind.STRING,
        "The pluggable database to copy, of a container database.",
        None,
        HIGH,
        GROUP,
        validator=matching(_NAME, "the name of a pluggable database"),
    ),
    Setting(
        "rac.nodes",
        SettingKind.LIST,
        "The nodes of a cluster, each as host or host:port: what a node has committed is only safe to read"
        " once it has written to its own redo. A node that is down is left out for as long.",
        "",
        HIGH,
        GROUP,
        validator=each(matching(_NODE, "host or host:port")),
        host=True,
    ),
    Setting(
        "database.connection.adapter",
        SettingKind.STRING,
        "How changes are read. logminer_unbuffered is read as logminer.",
        "logminer",
        LOW,
        GROUP,
        validator=_adapter,
        recommended=_ADAPTERS,
    ),
)

_WAITING = (
    Setting(
        "driver.oracle.net.CONNECT_TIMEOUT",
        SettingKind.INT,
        "How many milliseconds it may take to connect, and then to log in.",
        "30000",
        LOW,
        GROUP,
        validator=between(1000, 600_000),
    ),
    Setting(
        "driver.oracle.jdbc.ReadTimeout",
        SettingKind.INT,
        "How many milliseconds one call of the server may take, such as the start of a mining; behind that"
        " the call is cancelled and tried again.",
        "600000",
        LOW,
        GROUP,
        validator=between(1000, 86_400_000),
    ),
)

_TLS = (
    Setting(
        "database.ssl.mode",
        SettingKind.STRING,
        "How the connection is protected. disabled: rows are readable on the network, and the password is"
        " not. verify_ca and verify_identity need the port of a TCPS listener; verify_identity also compares"
        " the name in the server's certificate.",
        DISABLED,
        MEDIUM,
        GROUP,
        validator=one_of(DISABLED, *VERIFIED),
        recommended=(DISABLED, *VERIFIED),
    ),
    Setting(
        "database.ssl.ca",
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
    Setting(
        "database.ssl.wallet",
        SettingKind.STRING,
        "The folder with a wallet, as ewallet.pem: more authorities, and our certificate. It must be in one"
        " of secrets.allow.folders.",
        None,
        LOW,
        GROUP,
        validator=not_empty,
        file=True,
    ),
    Setting(
        "database.ssl.wallet.password",
        SettingKind.PASSWORD,
        "The password of the wallet.",
        None,
        LOW,
        GROUP,
    ),
    Setting(
        "database.ssl.server.dn",
        SettingKind.STRING,
        "The distinguished name that the server's certificate must have, instead of the name in"
        " database.hostname.",
        None,
        LOW,
        GROUP,
        validator=not_empty,
    ),
)

_MINING = (
    Setting(
        "poll.interval.ms",
        SettingKind.INT,
        "How long to wait before the log is mined again, once its end was reached; a tenth of a second at"
        " most, while existing rows wait for their place in it.",
        "1000",
        LOW,
        GROUP,
        validator=between(10, 60_000),
    ),
    Setting(
        "log.mining.archive.log.only.mode",
        SettingKind.BOOLEAN,
        "Whether only archived logs are mined: then nothing is written to the database, and a change comes"
        " when its log is full. read.only has the same effect.",
        "false",
        MEDIUM,
        GROUP,
    ),
    Setting(
        "log.mining.archive.log.only.scn.poll.interval.ms",
        SettingKind.INT,
        "How long to wait before new archived logs are looked for.",
        "10000",
        LOW,
        GROUP,
        validator=between(100, 3_600_000),
    ),
    Setting(
        "log.mining.flush.table.name",
        SettingKind.STRING,
        "The table into which a row is written, and removed at once, so that the server writes its redo to"
        " the log before it is mined. It is created if it is missing: LAST_SCN NUMBER(19). Of the user"
        " itself, or owner.table.",
        "LOG_MINING_FLUSH",
        LOW,
        GROUP,
        validator=matching(_TABLE, "the name of a table"),
    ),
    *(
        Setting(
            f"log.mining.batch.size.{name}",
            SettingKind.LONG,
            document,
            default,
            LOW,
            GROUP,
            validator=between(1, 1 << 40),
        )
        for name, document, default in (
            ("default", "How many SCNs are mined at once, at first.", "20000"),
            ("min", "How few, where they take long.", "1000"),
            ("max", "How many, where they are mined quickly.", "10000000"),
        )
    ),
    Setting(
        "log.mining.username.exclude.list",
        SettingKind.LIST,
        "Users whose transactions are not published. Which user it was is known by the transaction's start.",
        "",
        LOW,
        GROUP,
        validator=each(matching(_NAME, "the name of a user")),
    ),
    Setting(
        "archive.destination.name",
        SettingKind.LIST,
        "The destinations whose archived logs are mined, such as LOG_ARCHIVE_DEST_1; or each that is local.",
        "",
        LOW,
        GROUP,
        validator=each(matching(r"[A-Za-z0-9_]+", "the name of an archive destination")),
    ),
)

SETTINGS = Declared(
    settings=(
        *_SERVER,
        *_WAITING,
        *_TLS,
        *_MINING,
        action_query(GROUP),
        instants(GROUP, "timestamp with time zone"),
    ),
    at_most=(
        ("log.mining.batch.size.min", "log.mining.batch.size.default"),
        ("log.mining.batch.size.default", "log.mining.batch.size.max"),
    ),
    needs=(
        ACTION_NEEDS,
        *(
            Requirement(f"database.ssl.{name}", "database.ssl.mode", among=VERIFIED)
            for name in ("ca", "wallet", "wallet.password")
        ),
        Requirement("database.ssl.server.dn", "database.ssl.mode", among=(VERIFY_IDENTITY,)),
    ),
    not_honoured=UNHONOURED_HERE,
)

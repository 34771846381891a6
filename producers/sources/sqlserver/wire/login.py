"""The address of a server and our login; `connect` returns a session that is ready for statements.

python-tds logs in (`driver.py`), to the database itself: so a user may exist in it only, and a wrong password
is tried once.  A database that starts, is restored or has gone fails such a login with one number for all
causes, behind a password that was right.  Then a login to `master` and `USE` say which it is.  Three logins
do not ask further: to Azure SQL Database, which has no USE; one that only reads, because a server decides by
the database whether it sends such a client to a secondary; and one with a token, which is read again.
"""

from dataclasses import dataclass, field
from typing import Final

from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.connect.server_errors import DATABASE_MISSING, in_database
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.redaction import Redactor, Secret
from wrackline.schemas.settings.settings_registry import Values

DRIVER_MISSING = define(
    "sqlserver.driver_missing",
    OperatorNeeded,
    "the module {module}, which logs in to SQL Server, is not installed",
    hint="in the clone: .venv/bin/python -m pip install -e '.[sqlserver]'",
)

MASTER: Final = "master"
OURS: Final = "wrackline"  # the names of our sessions begin with this
_DOING: Final = "open the database"
# Without the first, a login that is not ODBC's gets the first 4096 bytes of a long value, without a word.
_FIRST: Final = "SET TEXTSIZE 2147483647;"
_EDITION: Final = "SELECT SERVERPROPERTY('EngineEdition');"
_NO_USE: Final = "5"  # the edition of Azure SQL Database


@dataclass(frozen=True, slots=True)
class ServerLogin:
    """Where the server is, how the connection is protected, and who we are."""

    host: str
    port: int
    user: str
    password: Secret
    application: str
    token_file: str | None = None  # its token is sent, and no password
    scheme: str | None = None  # of an integrated login: `integrated_login.py` has the words
    domain: str | None = None  # of an integrated login
    instance: str | None = None  # its port is asked from the SQL Server Browser
    encrypt: str = "true"
    trusts_any: bool = False  # any certificate
    name_in_certificate: str | None = None
    authorities: str | None = None  # the system's if None
    login_s: float = 30.0
    silence_s: float = 600.0
    most_row: int = 1 << 28
    redactor: Redactor = field(default_factory=lambda: Redactor(()))

    @classmethod
    def of_settings(cls, settings: Values) -> "ServerLogin":
        """Read the settings."""
        given = settings["database.password"] is not None
        return cls(
            host=settings.text("database.hostname"),
            port=settings.integer("database.port"),
            user=settings.text("database.user"),
            password=settings.secret("database.password") if given else Secret(""),
            token_file=_named(settings, "driver.accessTokenFile"),
            scheme=settings.text("driver.authenticationScheme")
            if settings.flag("driver.integratedSecurity")
            else None,
            domain=_named(settings, "driver.domain"),
            application=f"{OURS} {settings.text('topic.prefix')}",
            instance=_named(settings, "database.instance"),
            encrypt=settings.text("driver.encrypt"),
            trusts_any=settings.flag("driver.trustServerCertificate"),
            name_in_certificate=_named(settings, "driver.hostNameInCertificate"),
            authorities=_named(settings, "driver.serverCertificate"),
            login_s=settings.integer("driver.loginTimeout"),
            silence_s=settings.integer("driver.socketTimeout") / 1000,
            most_row=2 * settings.integer("max.row.bytes")
            + (1 << 20),  # a text is UTF-16 here, UTF-8 in Kafka
            redactor=settings.redactor,
        )

    @property
    def account(self) -> str:
        """Our name as the server knows it."""
        return self.user if self.domain is None else f"{self.domain}\\{self.user.partition('@')[0]}"


class RefusedLoginError(Exception):
    """A part of a login has failed with an error of ours, which was not raised where the password is."""

    def __init__(self, error: WracklineError) -> None:
        super().__init__()
        self.error = error


def connect(where: ServerLogin, *, database: str = MASTER, intent_read_only: bool = False) -> TdsSession:
    """Open a session in a database; each statement is its own transaction."""
    try:
        made = _logged_in(where, database, reads_only=intent_read_only)
    except OperatorNeeded as error:
        final = database == MASTER or intent_read_only or where.token_file is not None
        if final or error.code != DATABASE_MISSING.code:
            raise
        return _entered(where, database, error)
    try:
        made.execute(_FIRST, _DOING)
    except BaseException:
        made.close()
        raise
    return made


def _entered(where: ServerLogin, database: str, refusal: WracklineError) -> TdsSession:
    """Enter a database that a login can't open, or raise why that is not possible."""
    try:
        made = _logged_in(where, MASTER, reads_only=False)
    except WracklineError:  # who exists in that database only
        raise refusal from None
    try:
        ((edition,),) = made.values(_EDITION, _DOING)
        if edition != _NO_USE:
            made.execute(f"{_FIRST} USE {identifier(database)};", _DOING)
            return made
    except WracklineError as error:
        made.close()
        raise in_database(error, identifier(database), identifier(where.account)) from None
    except BaseException:
        made.close()
        raise
    made.close()
    raise refusal


def _logged_in(where: ServerLogin, database: str, *, reads_only: bool) -> TdsSession:
    try:
        from wrackline.producers.sources.sqlserver.wire.driver import log_in  # noqa: PLC0415 - settings need no driver
    except ModuleNotFoundError as exc:
        raise DRIVER_MISSING(module=exc.name) from None
    wire, packet_size = log_in(where, database, reads_only=reads_only)
    return TdsSession(wire, packet_size=packet_size, silence_s=where.silence_s, most_row=where.most_row)


def _named(settings: Values, name: str) -> str | None:
    return None if settings[name] is None else settings.text(name)

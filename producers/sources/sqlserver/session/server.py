"""Connections to one database, and what is asked of it once.

In: the settings, with the database's name.  Out: sessions with our options, and facts.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from wrackline.producers.sources.sqlserver.connect.quoting import identifier, literal
from wrackline.producers.sources.sqlserver.connect.server_errors import DATABASE_MISSING
from wrackline.producers.sources.sqlserver.discover import database_sql
from wrackline.producers.sources.sqlserver.discover.database_sql import DatabaseRow
from wrackline.producers.sources.sqlserver.log.page_sql import SESSION
from wrackline.producers.sources.sqlserver.rows.answers import python_rows
from wrackline.producers.sources.sqlserver.wire.login import ServerLogin, connect
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values

NOT_ENABLED = define(
    "sqlserver.not_enabled",
    OperatorNeeded,
    "change data capture is disabled in {database}",
    hint="as sysadmin: USE {quoted}; EXEC sys.sp_cdc_enable_db; on Amazon RDS: EXEC"
    " msdb.dbo.rds_cdc_enable_db N'{database}'; then see: wrackline check <pipeline.toml>",
)
DATABASE_TWICE = define(
    "sqlserver.database_twice",
    OperatorNeeded,
    "database.names has {name} and another spelling of it, but both are the database {real}",
    hint="name it once, as the server does: {real}",
)

AZURE_DATABASE: Final = 5
AZURE: Final = frozenset({AZURE_DATABASE, 8})  # with Managed Instance: both are as new as can be, and say 12
_ZONED: Final = 16  # SQL Server 2022 knows its zone by name
_EDITION: Final = (
    "SELECT CAST(SERVERPROPERTY('EngineEdition') AS int),"
    " CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128));"
)
_READS_VERSIONS: Final = "SET TRANSACTION ISOLATION LEVEL SNAPSHOT;"


@dataclass(frozen=True, slots=True)
class SqlServerEdition:
    """Which server it is."""

    number: int
    version: str

    @property
    def azure(self) -> bool:
        """Whether it is Azure SQL Database."""
        return self.number == AZURE_DATABASE

    @property
    def zoned(self) -> bool:
        """Whether it knows its zone by name."""
        return self.number in AZURE or int(self.version.split(".", maxsplit=1)[0]) >= _ZONED


class SqlServerConnector:
    """Opens sessions in one database."""

    def __init__(self, settings: Values, database: str) -> None:
        self.database = database
        self._login = ServerLogin.of_settings(settings)
        names = settings.listed("database.names")
        self._alike = sum(name.casefold() == database.casefold() for name in names) > 1
        self.reads_only = settings.text("driver.applicationIntent") == "ReadOnly"
        self.reads_versions = self.reads_only or settings.text("snapshot.isolation.mode") == "snapshot"

    @property
    def user(self) -> str:
        """Our login, as the server knows it."""
        return self._login.account

    def refuse_twin(self, row: DatabaseRow) -> None:
        """Raise if the server takes another name of the settings for the same database."""
        if self._alike and row.name != self.database:
            raise DATABASE_TWICE(name=self.database, real=row.name)

    def connect(self, silence_s: float | None = None) -> TdsSession:
        """Open a session with our options; the server may be silent for so long, or as the settings say."""
        login = self._login if silence_s is None else replace(self._login, silence_s=silence_s)
        made = connect(login, database=self.database, intent_read_only=self.reads_only)
        try:
            made.execute(SESSION, "take a session's settings")
        except BaseException:
            made.close()
            raise
        return made

    def connect_as(self, user: str, password: Secret, host: str | None, port: int | None) -> TdsSession:
        """Open a session of another SQL login, without our options; None is as the settings have it."""
        login = replace(self._login, user=user, password=password, token_file=None, scheme=None, domain=None)
        if host is not None:
            login = replace(login, host=host)
        if port is not None:
            login = replace(login, port=port, instance=None)
        return connect(login, database=self.database)

    def connect_to_read(self) -> TdsSession:
        """Open a session for existing rows."""
        made = self.connect()
        try:
            if self.reads_versions:
                made.execute(_READS_VERSIONS, "take a session's settings")
        except BaseException:
            made.close()
            raise
        return made


class OpenedSession:
    """A session for as long as a block runs."""

    def __init__(self, session: TdsSession) -> None:
        self.session = session

    def __enter__(self) -> TdsSession:
        return self.session

    def __exit__(self, *_error: object) -> None:
        self.session.close()


@contextmanager
def as_it_is(_: TdsSession, action: str) -> Iterator[None]:
    """Let errors pass: the session's are ours already."""
    del action
    yield


def ask_values(session: TdsSession, sql: str, doing: str) -> Sequence[Sequence[tuple[Any, ...]]]:
    """Run a batch; return the values of each result."""
    return [list(python_rows(answer)) for answer in session.answers(sql, doing)]


def ask_named(session: TdsSession, sql: str, doing: str) -> list[dict[str, Any]]:
    """Run a batch; return the rows of its first result with the names of its columns."""
    answer = session.rows(sql, doing)
    names = [column.name for column in answer.columns]
    return [dict(zip(names, row, strict=True)) for row in python_rows(answer)]


def edition_of(session: TdsSession) -> SqlServerEdition:
    """Ask which server it is."""
    (((number, version),),) = ask_values(session, _EDITION, "say which server it is")
    return SqlServerEdition(int(number), str(version))


def database_row(session: TdsSession, edition: SqlServerEdition, database: str) -> DatabaseRow:
    """Ask which log a database has."""
    statement = database_sql.azure_sql() if edition.azure else database_sql.databases_sql([database])
    (rows,) = ask_values(session, statement, "describe the database")
    for name, captured, state, versions, collation, created, server, group, family, fork in rows:
        return DatabaseRow(
            name, bool(captured), state, bool(versions), collation, created, server, group, family, fork
        )
    raise DATABASE_MISSING(doing="describe the database", reason=f"there is no database {literal(database)}")


def refuse_uncaptured(row: DatabaseRow) -> None:
    """Raise if nothing captures a database's changes."""
    if not row.captured:
        raise NOT_ENABLED(database=row.name, quoted=identifier(row.name))

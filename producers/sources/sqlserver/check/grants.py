"""The rights of a pipeline's login: no more than it needs, and a proof of each.  Pure.

Without the role of a capture instance its change table looks empty, and no error says why.  So an empty
answer proves nothing, and each right is asked for by its name; the roles with each poll (`log/page_sql.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wrackline.producers.sources.sqlserver.connect.quoting import identifier, literal
from wrackline.producers.sources.sqlserver.connect.server_errors import RIGHT_MISSING
from wrackline.producers.sources.sqlserver.log.page_sql import is_member
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId


@dataclass(frozen=True, slots=True)
class NeededRight:
    """One right: the question whether our login has it, and the statement that gives it."""

    question: str  # answers 1 if it has, 0 or NULL if not
    statement: str
    purpose: str  # continues "the login may not"
    of_server: bool = False  # whether it is a right on the server, which only a sysadmin gives

    @property
    def granter(self) -> str:
        """Who runs the statement."""
        return "sysadmin" if self.of_server else "db_owner"

    def statement_in(self, database: str) -> str:
        """The statement with the database that it is run in; a right on the server names its own."""
        return self.statement if self.of_server else f"USE {identifier(database)}; {self.statement}"


def needed_rights(
    user: str,
    tables: Sequence[TableId],
    roles: Sequence[str],
    *,
    signals: TableId | None = None,
    fence: bool = False,
    azure: bool = False,
) -> Iterator[NeededRight]:
    """Name what a pipeline needs in one database, in the order in which it uses them.

    `roles` are those of the capture instances; `signals`: marks are rows of this table; `fence`: a place of
    the log is asked for; `azure`: of Azure SQL Database, where that is no right on the server.
    """
    yield _right("cdc", "SCHEMA", "SELECT", user, "read the change tables")
    for role in sorted(set(roles)):
        yield role_right(user, role)
    for table in tables:
        yield _right(_object(table), "OBJECT", "SELECT", user, f"read the rows of {table}")
    if signals is not None:
        for right in ("SELECT", "INSERT", "DELETE"):
            yield _right(_object(signals), "OBJECT", right, user, f"use the signal table {signals}")
    if fence:
        yield _place_right(user, azure=azure)


def role_right(user: str, role: str) -> NeededRight:
    """Name what the change table of an instance with a role needs."""
    return NeededRight(
        f"CASE WHEN {is_member(literal(role))} THEN 1 ELSE 0 END",
        f"ALTER ROLE {identifier(role)} ADD MEMBER {identifier(user)};",
        f"read change tables that are only for the role {role}",
    )


def missing(right: NeededRight, database: str) -> WracklineError:
    """Return the error about a right that our login lacks."""
    reason = f"as {right.granter}: {right.statement_in(database)}"
    return RIGHT_MISSING(doing=right.purpose, reason=reason)


def update_right(user: str, signals: TableId) -> NeededRight:
    """Name what no pipeline needs: a probe can exchange two keys of the signal table with it."""
    return _right(_object(signals), "OBJECT", "UPDATE", user, f"update the signal table {signals}")


def rights_sql(rights: Sequence[NeededRight]) -> str:
    """Ask for all of them at once, on a connection to their database."""
    return f"SELECT {', '.join(right.question for right in rights)};"


def _place_right(user: str, *, azure: bool) -> NeededRight:
    """Name the right to read sys.dm_tran_database_transactions; SQL Server 2022 has a smaller one as well."""
    purpose = "see its own transaction's place in the log"
    if azure:
        return NeededRight(
            "HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'VIEW DATABASE STATE')",
            f"GRANT VIEW DATABASE STATE TO {identifier(user)};",
            purpose,
        )
    names = ("VIEW SERVER STATE", "VIEW SERVER PERFORMANCE STATE")
    either = " OR ".join(f"HAS_PERMS_BY_NAME(NULL, NULL, N'{name}') = 1" for name in names)
    return NeededRight(
        f"CASE WHEN {either} THEN 1 ELSE 0 END",
        f"USE master; GRANT VIEW SERVER STATE TO {identifier(user)};",
        purpose,
        of_server=True,
    )


def _object(table: TableId) -> str:
    return f"{identifier(table.schema)}.{identifier(table.name)}"


def _right(securable: str, kind: str, right: str, user: str, purpose: str) -> NeededRight:
    return NeededRight(
        f"HAS_PERMS_BY_NAME({literal(securable)}, N'{kind}', N'{right}')",
        f"GRANT {right} ON {kind}::{securable} TO {identifier(user)};",
        purpose,
    )

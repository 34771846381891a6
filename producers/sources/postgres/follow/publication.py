"""The publication: made where it may be, checked for the captured tables, and extended where it is ours.

A row that was written before its table was added is not in the log that we read.  So a table is added while
no session writes to it: then every earlier row can be read once the addition is visible, and every later row
is in the log.  This delays writers for at most a fifth of a second; where a writer takes longer, we give way
and try again.
"""

from collections.abc import Collection, Iterable, Sequence
from enum import Enum

import psycopg
from psycopg import sql

from wrackline.producers.sources.postgres.connect.connect import Connection, as_the_user
from wrackline.producers.sources.postgres.connect.quoting import identifier, table_name, table_names
from wrackline.producers.sources.postgres.connect.timeouts import without_timeout
from wrackline.producers.sources.postgres.follow import publication_fit
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

PUBLICATION_MISSING = define(
    "pg.publication_missing",
    OperatorNeeded,
    "there is no publication {publication}, and Wrackline does not create it: read.only is set, or"
    " publication.autocreate.mode is disabled",
    hint="as the tables' owner: CREATE PUBLICATION {publication} FOR TABLE {tables}"
    " WITH (publish_via_partition_root = true)",
)
WOULD_BLOCK = define(
    "pg.publication_would_block",
    OperatorNeeded,
    "publishing {tables} would make PostgreSQL refuse their UPDATEs and DELETEs, because they have no"
    " replica identity",
    hint="give each a primary key, or as its owner: {identity}; or leave it out: table.exclude.list",
)
NOT_ALLOWED = define(
    "pg.not_allowed",
    OperatorNeeded,
    "the server does not let this role {what}: {reason}",
    hint="as a superuser: ALTER ROLE {role} REPLICATION; as the tables' owner:"
    " CREATE PUBLICATION {publication} FOR TABLE {tables} WITH (publish_via_partition_root = true)",
)
PUBLICATION_WAITS = define(
    "pg.publication_waits",
    Transient,
    "publication {publication} can't be created yet: {who} has locked one of its tables",
    hint="it is retried automatically; to end the wait: {end}",
)

OURS = "filtered"  # the mode in which the publication is a list that we maintain
_LOCK_LIMIT = "SET LOCAL lock_timeout = '200ms'"
_MAKE_LIMIT = "SET LOCAL lock_timeout = '10s'"  # it delays no writer, only indexes and alterations
# The session whose lock keeps a table out of a new publication: any lock that is not to read or write rows.
_HOLDER = """
SELECT l.pid, p.gid
FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
LEFT JOIN pg_locks t ON t.virtualtransaction = l.virtualtransaction AND t.locktype = 'transactionid'
LEFT JOIN pg_prepared_xacts p ON p.transaction = t.transactionid
WHERE l.relation = ANY (%s::regclass[]) AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
  AND l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock') LIMIT 1"""
# Tables of a new publication whose own users would be affected: no identity, so no UPDATE and no DELETE.
_WITHOUT_IDENTITY = """
SELECT n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND (c.relreplident = 'n' OR c.relreplident = 'd' AND NOT EXISTS
       (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indisvalid))
ORDER BY 1, 2"""


class Busy(Enum):
    """A table could not be added just now."""

    WRITTEN = "another session writes to it in a long transaction"
    WITHOUT_IDENTITY = "its own users' UPDATEs would be refused; a key may be added soon"


def mode_of(settings: Values) -> str:
    """Say what may be done to a publication; with read.only none is made."""
    return "disabled" if settings.flag("read.only") else settings.text("publication.autocreate.mode")


def ensure_publication(
    connection: Connection,
    name: str,
    tables: Sequence[TableId],
    mode: str,
    *,
    resumed: bool,
    made_for: str = "",
) -> frozenset[TableId]:
    """Make the publication if we may, check that it has the tables, and return the tables that were added.

    In a resumed pipeline some tables may be missing, but not all: later looks add them, and the others don't
    wait.  A new publication names its pipeline.
    """
    names = table_names(sorted(tables))
    if publication_fit.find(connection, name) is None:
        if mode == "disabled":
            raise PUBLICATION_MISSING(publication=identifier(name), tables=names)
        _create(connection, name, tables, mode, made_for)
    carried = publication_fit.publication_scope(connection, name)
    missing = set(tables) - carried.tables
    if missing:
        missing &= _existing(connection, missing)  # a dropped table has nothing more to publish
    added = {table for table in missing if mode == OURS and add(connection, name, table) is None}
    missing -= added
    if missing and not (resumed and carried.tables | added):
        raise publication_fit.lacks(name, missing)
    return frozenset(added)


def add(connection: Connection, name: str, table: TableId) -> Busy | WracklineError | None:
    """Add a table to a publication of ours; return why that is not possible now, or not at all."""
    if (table.schema, table.name) in _without_identity(connection):
        return Busy.WITHOUT_IDENTITY
    named = sql.Identifier(table.schema, table.name)
    try:
        with connection.transaction():
            as_the_user(connection)
            connection.execute(_LOCK_LIMIT)
            connection.execute(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(named))
            statement = sql.SQL("ALTER PUBLICATION {} ADD TABLE {}")
            connection.execute(statement.format(sql.Identifier(name), named))
    except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
        return Busy.WRITTEN
    except psycopg.errors.UndefinedTable:
        return Busy.WRITTEN  # it is gone, or has another name: the next look shows it
    except psycopg.errors.DuplicateObject:
        return Busy.WRITTEN  # another session has added it, or it has become a partition: the same
    except psycopg.OperationalError:
        raise
    except psycopg.Error:  # not the owner of the table or the publication; a publication that takes no tables
        return publication_fit.lacks(name, [table])
    return None


def would_block(table: TableId) -> WracklineError:
    """Say that a table can't be published as it is."""
    return WOULD_BLOCK(tables=table_name(table), identity=_full_identity([table_name(table)]))


def _full_identity(names: Iterable[str]) -> str:
    return "; ".join(f"ALTER TABLE {name} REPLICA IDENTITY FULL" for name in names)


def _existing(connection: Connection, tables: Collection[TableId]) -> set[TableId]:
    database = next(iter(tables)).database
    rows = connection.execute(
        "SELECT n.nspname::text, c.relname::text"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (%s)",
        [[table.schema for table in tables]],
    )
    return {TableId(database, str(schema), str(table)) for schema, table in rows}


def _without_identity(connection: Connection) -> set[tuple[str, str]]:
    return {(str(schema), str(table)) for schema, table in connection.execute(_WITHOUT_IDENTITY)}


def sign(pipeline: str) -> str:
    """Return the comment of a publication that was made for a pipeline; a delete recognizes its own by it."""
    return f"made by Wrackline for pipeline {pipeline}"


def _create(connection: Connection, name: str, tables: Sequence[TableId], mode: str, made_for: str) -> None:
    wanted = sorted({(table.schema, table.name) for table in tables})
    found = _without_identity(connection)
    blocked = {"filtered": found & set(wanted), "all_tables": found}.get(mode, set())
    if blocked:
        names = [f"{identifier(schema)}.{identifier(table)}" for schema, table in sorted(blocked)]
        raise WOULD_BLOCK(tables=", ".join(names), identity=_full_identity(names))
    which = {
        "filtered": sql.SQL("FOR TABLE {}").format(
            sql.SQL(", ").join(sql.Identifier(schema, table) for schema, table in wanted)
        ),
        "all_tables": sql.SQL("FOR ALL TABLES"),
    }.get(mode if wanted or mode != OURS else "", sql.SQL(""))
    statement = sql.SQL("CREATE PUBLICATION {} {} WITH (publish_via_partition_root = true)")
    try:
        with without_timeout(connection), connection.transaction():
            as_the_user(connection)
            connection.execute(_MAKE_LIMIT)
            connection.execute(statement.format(sql.Identifier(name), which))
            if made_for:
                comment = sql.SQL("COMMENT ON PUBLICATION {} IS {}")
                connection.execute(comment.format(sql.Identifier(name), sign(made_for)))
    except psycopg.errors.LockNotAvailable as exc:
        raise _waits(connection, name, wanted) from exc
    except psycopg.errors.InsufficientPrivilege as exc:
        raise NOT_ALLOWED(
            what="create a publication",
            reason=exc.diag.message_primary,
            role=identifier(connection.info.user),
            publication=identifier(name),
            tables=table_names(sorted(tables)),
        ) from exc


def _waits(connection: Connection, name: str, tables: Sequence[tuple[str, str]]) -> WracklineError:
    """Return an error that names the session that holds a table."""
    names = [f"{identifier(schema)}.{identifier(table)}" for schema, table in tables]
    pid, prepared = connection.execute(_HOLDER, [names]).fetchone() or (None, None)
    who, end = "a session that has just released it", "nothing needs to be done"
    if prepared is not None:
        who = f"the prepared transaction {prepared}"
        end = sql.SQL("ROLLBACK PREPARED {}").format(str(prepared)).as_string(connection)
    elif pid is not None:
        who, end = f"process {pid} of the server", f"SELECT pg_terminate_backend({pid})"
    return PUBLICATION_WAITS(publication=identifier(name), who=who, end=end)

"""The publication and the replication slot: made, checked, and compared with where we stopped.

A slot that does not hold what the saved position needs is never worked around: whatever was
written in between would be missing from the copy, and nobody would know.
"""

from collections.abc import Sequence

import psycopg
from psycopg import sql

from wrackline.producers.sources.postgres.connect import Connection, history
from wrackline.producers.sources.postgres.position import PgPosition, lsn_number, lsn_text
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.table import TableId

FIRST_EPOCH = 1

PUBLICATION_MISSING = define(
    "pg.publication_missing",
    OperatorNeeded,
    "there is no publication {publication}, and publication.autocreate.mode is disabled",
    hint="as the tables' owner: CREATE PUBLICATION {publication} FOR TABLE {tables}"
    " WITH (publish_via_partition_root = true)",
)
PUBLICATION_LACKS = define(
    "pg.publication_lacks",
    OperatorNeeded,
    "publication {publication} does not publish {tables}",
    hint="as the tables' owner: ALTER PUBLICATION {publication} ADD TABLE {tables}",
)
NOT_ALLOWED = define(
    "pg.not_allowed",
    OperatorNeeded,
    "the server does not let this role {what}: {reason}",
    hint="as a superuser: ALTER ROLE {role} REPLICATION; as the tables' owner:"
    " CREATE PUBLICATION {publication} FOR TABLE {tables} WITH (publish_via_partition_root = true)",
)
SLOT_MISSING = define(
    "pg.slot_missing",
    Definite,
    "replication slot {slot} is gone; what was written after {position} can't be read from the log",
    hint="make a new slot and read the tables again: wrackline offsets reset, then wrackline snapshot start",
)
SLOT_LOST = define(
    "pg.slot_lost",
    Definite,
    "replication slot {slot} was invalidated; the log after {position} is gone",
    hint="raise max_slot_wal_keep_size; then wrackline offsets reset, wrackline snapshot start",
)
SLOT_AHEAD = define(
    "pg.slot_ahead",
    Definite,
    "replication slot {slot} was confirmed up to {confirmed}, beyond our position {position}",
    hint="somebody else read from it, or it was made anew: wrackline offsets reset, wrackline snapshot start",
)
SLOT_FOREIGN = define(
    "pg.slot_foreign",
    Definite,
    "our position belongs to system {ours}, this server is system {theirs}",
    hint="connect to the server of before, or begin anew: wrackline offsets reset, wrackline snapshot start",
)
SLOT_UNFIT = define(
    "pg.slot_unfit",
    OperatorNeeded,
    "replication slot {slot} is of plug-in {plugin} and database {database}",
    hint="choose another slot.name, or drop it: SELECT pg_drop_replication_slot('{slot}')",
)


def ensure_publication(connection: Connection, name: str, tables: Sequence[TableId], mode: str) -> None:
    """Make the publication if we may, and see that it publishes the tables."""
    wanted = {(table.schema, table.name) for table in tables}
    names = ", ".join(f"{schema}.{table}" for schema, table in sorted(wanted))
    if connection.execute("SELECT FROM pg_publication WHERE pubname = %s", [name]).rowcount == 0:
        if mode == "disabled":
            raise PUBLICATION_MISSING(publication=name, tables=names)
        _create(connection, name, wanted if mode == "filtered" else None, names)
    published = {
        (str(schema), str(table))
        for schema, table in connection.execute(
            "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s", [name]
        )
    }
    missing = wanted - published
    if missing:
        lacking = ", ".join(f"{schema}.{table}" for schema, table in sorted(missing))
        raise PUBLICATION_LACKS(publication=name, tables=lacking)


def _create(connection: Connection, name: str, wanted: set[tuple[str, str]] | None, names: str) -> None:
    which: sql.Composable = sql.SQL("FOR ALL TABLES")
    if wanted is not None:
        which = sql.SQL("FOR TABLE {}").format(
            sql.SQL(", ").join(sql.Identifier(schema, table) for schema, table in sorted(wanted))
        )
    statement = sql.SQL("CREATE PUBLICATION {} {} WITH (publish_via_partition_root = true)")
    try:
        connection.execute(statement.format(sql.Identifier(name), which))
    except psycopg.errors.InsufficientPrivilege as exc:
        raise NOT_ALLOWED(
            what="create a publication",
            reason=exc.diag.message_primary,
            role=connection.info.user,
            publication=name,
            tables=names,
        ) from exc


def ensure_slot(connection: Connection, slot: str, saved: PgPosition | None) -> PgPosition:
    """Return where to begin: after `saved`, or at the slot's own place when there is none."""
    now = history(connection, slot)
    found = connection.execute(
        "SELECT plugin, database, confirmed_flush_lsn::text, wal_status FROM pg_replication_slots"
        " WHERE slot_name = %s",
        [slot],
    ).fetchone()
    place = "the beginning" if saved is None else lsn_text(saved.resume)
    if found is None:
        if saved is not None:
            raise SLOT_MISSING(slot=slot, position=place)
        ((made,),) = connection.execute(
            "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, 'pgoutput')", [slot]
        )
        start = lsn_number(str(made))
        return PgPosition(FIRST_EPOCH, start, 0, start, now)
    plugin, database, confirmed, wal_status = found
    if plugin != "pgoutput" or database != connection.info.dbname:
        raise SLOT_UNFIT(slot=slot, plugin=plugin, database=database)
    if wal_status == "lost" or confirmed is None:
        raise SLOT_LOST(slot=slot, position=place)
    start = lsn_number(str(confirmed))
    if saved is None:
        return PgPosition(FIRST_EPOCH, start, 0, start, now)
    if saved.history is not None and saved.history.system != now.system:
        raise SLOT_FOREIGN(ours=saved.history.system, theirs=now.system)
    if start > saved.resume:
        raise SLOT_AHEAD(slot=slot, confirmed=confirmed, position=place)
    return PgPosition(saved.epoch, saved.lsn, saved.done, saved.resume, now)

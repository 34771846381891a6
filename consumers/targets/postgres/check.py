"""Findings of the target: rights, the server itself, and what was done to our tables by hand.

In: a connection, and the tables.  Out: findings, each with the SQL that repairs it.  Nothing is changed.
"""

from collections.abc import Iterator, Sequence

from psycopg import sql

from wrackline.consumers.targets.postgres.applied import PgTargetState
from wrackline.consumers.targets.postgres.catalog import columns, has_schema, relation
from wrackline.consumers.targets.postgres.connect import Connection
from wrackline.consumers.targets.postgres.sql.place import PgTargetPlace
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.consumers.targets.postgres.sql.types import column_type
from wrackline.consumers.targets.postgres.sql.view import view
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.tables.table import TableId

OLDEST = 140_000

TOO_OLD = rule(
    "pg_target.too_old",
    Severity.ERROR,
    "target server too old",
    "the target server is PostgreSQL {version}",
    "its rows can't be written as they should",
    "use PostgreSQL 14 or newer as the target",
)
READ_ONLY = rule(
    "pg_target.read_only",
    Severity.ERROR,
    "target takes no writes",
    "the target's sessions are read-only: it is a standby, or set so",
    "nothing can be merged",
    "name the primary: target.hostname; or: ALTER ROLE {user} SET default_transaction_read_only = off",
)
ENCODING = rule(
    "pg_target.encoding",
    Severity.WARNING,
    "target not in UTF8",
    "the target database has the encoding {encoding}",
    "a batch stops at a character that this encoding does not have",
    "make another one: CREATE DATABASE {copy} ENCODING 'UTF8' TEMPLATE template0; then: target.dbname",
)
NO_SCHEMA = rule(
    "pg_target.no_create",
    Severity.ERROR,
    "schema can't be made",
    "schema {schema} is not there, and the role may not make it",
    "no table can be made in it",
    "GRANT CREATE ON DATABASE {database} TO {user}",
)
NO_RIGHT = rule(
    "pg_target.no_schema_right",
    Severity.ERROR,
    "no right in a schema",
    "the role may not make tables in schema {schema}",
    "no table can be made in it",
    "GRANT USAGE, CREATE ON SCHEMA {schema} TO {user}",
)
NAME_TAKEN = rule(
    "pg_target.not_our_place",
    Severity.ERROR,
    "name taken",
    "{place} is there and is not ours",
    "the view for the readers can't be made",
    "ALTER TABLE {place} RENAME TO {other}",
)
RENAMED = rule(
    "pg_target.column_renamed",
    Severity.ERROR,
    "column renamed by hand",
    "column {name} of {place} was renamed to {found}",
    "its table pauses",
    "ALTER TABLE {place} RENAME COLUMN {found} TO {name}",
)
DROPPED = rule(
    "pg_target.column_dropped",
    Severity.ERROR,
    "column dropped by hand",
    "column {name} of {place} is gone, with its values",
    "its table pauses",
    "DROP TABLE {place} CASCADE; then read it again: wrackline snapshot start <pipeline.toml> '{whole}'",
)
RETYPED = rule(
    "pg_target.column_retyped",
    Severity.ERROR,
    "column changed by hand",
    "column {name} of {place} is {found} and was made as {wanted}",
    "a batch stops at the first value that does not fit",
    "DROP VIEW IF EXISTS {view};"
    " ALTER TABLE {place} ALTER COLUMN {name} TYPE {wanted} USING {name}::{wanted}; {again}",
)
NO_VIEW = rule(
    "pg_target.no_view",
    Severity.ERROR,
    "view gone",
    "the readers' view {view} is gone",
    "the rows can't be seen, and changes of shape pause the table",
    "{again}",
)

_SERVER = """
SELECT current_setting('server_version_num')::int, current_setting('server_version'),
       current_setting('transaction_read_only')::bool, current_setting('server_encoding'),
       quote_ident(current_user), quote_ident(current_database()),
       quote_ident(current_database() || '_utf8'), has_database_privilege(current_database(), 'CREATE')"""


def server_findings(connection: Connection, places: Sequence[PgTargetPlace]) -> Iterator[Finding]:
    """Look at the server and at the role's rights."""
    row = connection.execute(_SERVER).fetchone()
    assert row is not None  # noqa: S101 - a SELECT without FROM has one row
    number, version, read_only, encoding, user, database, copy, may_create = row
    if number < OLDEST:
        yield TOO_OLD(version=version)
    if read_only:
        yield READ_ONLY(user=user)
    if encoding != "UTF8":
        yield ENCODING(encoding=encoding, copy=copy)
    for schema in dict.fromkeys(name for place in places for name in (place.storage_schema, place.schema)):
        quoted = sql.Identifier(schema).as_string(connection)
        if not has_schema(connection, schema):
            if not may_create:
                yield NO_SCHEMA(schema=quoted, database=database, user=user)
        elif connection.execute(
            "SELECT has_schema_privilege(%s, 'USAGE') AND has_schema_privilege(%s, 'CREATE')",
            [schema, schema],
        ).fetchone() != (True,):
            yield NO_RIGHT(schema=quoted, user=user)


def table_findings(
    connection: Connection, table: TableId, place: PgTargetPlace, kept: PgTargetState | None
) -> Iterator[Finding]:
    """Look at one table, and compare it with what we made of it."""
    if kept is not None:
        yield from _manual_changes(connection, table, place, kept.shape)
    elif relation(connection, place.schema, place.name) is not None:
        other = sql.Identifier(f"{place.name}_before"[:63])
        yield NAME_TAKEN(table, place=place.view.as_string(connection), other=other.as_string(connection))


def _manual_changes(
    connection: Connection, table: TableId, place: PgTargetPlace, shape: PgTargetShape
) -> Iterator[Finding]:
    oid = relation(connection, place.storage_schema, place.storage)
    rows = [] if oid is None else columns(connection, oid)
    types = {name: of for name, _, of in rows}
    by_number = {number: name for name, number, _ in rows}
    held = {column.target for column in shape.columns}
    again = view(place, shape).as_string(connection)
    names = {"place": place.table.as_string(connection), "view": place.view.as_string(connection)}

    def quoted(name: str) -> str:
        return sql.Identifier(name).as_string(connection)

    for column in shape.columns:
        name, wanted = column.target, column_type(column.type)
        elsewhere = by_number.get(shape.numbers.get(column.identity, 0))
        if name in types and types[name] != wanted:
            yield RETYPED(
                table,
                column.source,
                **names,
                name=quoted(name),
                found=types[name],
                wanted=wanted,
                again=again,
            )
        elif name not in types and elsewhere is not None and elsewhere not in held:
            yield RENAMED(
                table, column.source, place=names["place"], name=quoted(name), found=quoted(elsewhere)
            )
        elif name not in types:
            yield DROPPED(table, column.source, place=names["place"], name=quoted(name), whole=table)
    if relation(connection, place.schema, place.name) is None:
        yield NO_VIEW(table, view=names["view"], again=again)

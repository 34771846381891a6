"""Runs definitions: tables and their columns, databases and their options; who may do what."""

from collections.abc import Sequence

from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.tsql import rights
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import (
    ColumnAlteration,
    DatabaseDefinition,
    Definition,
    PrincipalDefinition,
    RightGrant,
    TableDefinition,
    TableRemoval,
)
from wrackline.control.local.sqlserver_standin.tsql.sources import Reader, located
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError


def run(statement: Definition, reader: Reader, current: ModelDatabase) -> None:
    """Run a definition; only who owns the database may."""
    if isinstance(statement, RightGrant | PrincipalDefinition):
        rights.run(statement, reader, current)
        return
    if isinstance(statement, DatabaseDefinition):
        _database(statement, reader)
        return
    parts = statement.name if isinstance(statement, TableDefinition) else statement.table
    database, name = _owned(reader, current, parts)
    match statement:
        case TableDefinition():
            full = f"{parts[-2] if len(parts) > 1 else 'dbo'}.{parts[-1]}"
            defaults = {column: one.value for column, one in statement.defaults.items()}
            columns = dict(statement.columns)
            database.create_table(full, columns, statement.key, statement.unique, defaults=defaults)
        case ColumnAlteration(kind="ADD"):
            default = None if statement.default is None else statement.default.value
            fill = default if statement.fills or "not null" in statement.declaration else None
            database.add_column(name, statement.column, statement.declaration, fill, default)
        case ColumnAlteration(kind="DROP"):
            database.drop_column(name, statement.column)
        case ColumnAlteration():
            database.alter_column(name, statement.column, statement.declaration)
        case TableRemoval(kind="DROP"):
            database.drop_table(name)
        case TableRemoval():
            database.truncate(name)


def _owned(reader: Reader, current: ModelDatabase, parts: Sequence[str]) -> tuple[ModelDatabase, str]:
    database, name = located(reader, current, parts)
    if not reader.asks(database).grant.owner:
        raise ServerError(262, f"Permission denied in database '{database.name}'.", severity=14)
    return database, name


def _database(statement: DatabaseDefinition, reader: Reader) -> None:
    asker = reader.asks(reader.entered("master"))
    if not asker.grant.owner:
        raise ServerError(262, "CREATE DATABASE permission denied in database 'master'.", severity=14)
    if statement.kind == "CREATE":
        asker.server.create_database(statement.name)
    elif statement.kind == "DROP":
        reader.entered(statement.name)
        asker.server.drop_database(statement.name)
    elif statement.option == "READ_COMMITTED_SNAPSHOT":
        reader.entered(statement.name).read_committed_snapshot = statement.on
    else:
        reader.entered(statement.name).allows_snapshots = statement.on

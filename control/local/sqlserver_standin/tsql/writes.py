"""INSERT, UPDATE and DELETE of base tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.tables import Cells, ModelTable, RowKey
from wrackline.control.local.sqlserver_standin.model.transactions import ModelTransaction
from wrackline.control.local.sqlserver_standin.tsql.compiling import Compiler
from wrackline.control.local.sqlserver_standin.tsql.queries import KeyBounds, Sources
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import Change, Insertion
from wrackline.control.local.sqlserver_standin.tsql.scope import EMPTY, NameScope
from wrackline.control.local.sqlserver_standin.tsql.sources import Reader, base_table, located
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError, unknown_statement
from wrackline.control.local.sqlserver_standin.wire.tokens import ShownColumn

_INSERT, _DELETE, _UPDATE = 0xC3, 0xC4, 0xC5
_RIGHTS = {_INSERT: "INSERT", _DELETE: "DELETE", _UPDATE: "UPDATE"}


class Writer(Reader, Sources, Protocol):
    """What writing needs of a session."""

    database: ModelDatabase
    transaction: ModelTransaction | None


def run(statement: Insertion | Change, session: Writer) -> int:
    """Run a statement, and return how many rows it wrote."""
    table = base_table(session, session.database, statement.table, _RIGHTS[command(statement)])
    database, _ = located(session, session.database, statement.table.parts)
    if database.read_only:
        raise ServerError(
            3906, f'Failed to update database "{database.name}" because the database is read-only.'
        )
    with _inside(session, database) as one:
        if isinstance(statement, Insertion):
            return _insert(statement, session, table, one)
        return _change(statement, session, table, one)


def command(statement: Insertion | Change) -> int:
    """Return the number by which DONE names the statement."""
    if isinstance(statement, Insertion):
        return _INSERT
    return _DELETE if statement.assignments is None else _UPDATE


@contextmanager
def _inside(session: Writer, database: ModelDatabase) -> Iterator[ModelTransaction]:
    """Write in the session's transaction, or in one of the statement's own."""
    if session.transaction is None:
        with database.transaction() as one:
            yield one
    elif session.transaction.database is database:
        yield session.transaction
    else:
        raise unknown_statement(database.name, "a transaction over two databases is not modelled")


def _insert(statement: Insertion, session: Writer, table: ModelTable, one: ModelTransaction) -> int:
    names = statement.columns or [
        column.name for column in table.columns if not (column.identity or column.computed)
    ]
    compiler = Compiler(EMPTY, session)
    rows = []
    for cells in statement.rows:
        if len(cells) != len(names):
            raise ServerError(
                110, "There are fewer or more columns in the INSERT statement than values specified."
            )
        values = [compiler.compile(cell).value(()) for cell in cells]
        rows.append(table.made(dict(zip(names, values, strict=True))))
    one.insert_rows(table, rows)
    return len(rows)


def _change(statement: Change, session: Writer, table: ModelTable, one: ModelTransaction) -> int:
    columns = [(table.name, ShownColumn(column.name, column.of, column.nullable)) for column in table.columns]
    scope = NameScope(columns)
    compiler = Compiler(scope, session)
    found: list[tuple[RowKey, Cells]]
    if statement.where is None:
        found = one.own_rows(table)
    else:
        base_table(session, session.database, statement.table)  # to find rows is to read them
        bounds = KeyBounds(scope, [table.place(name) for name in table.key], compiler)
        near = one.own_rows(table, bounds.low(statement.where), bounds.high(statement.where))
        fits = compiler.condition(statement.where)
        found = [(key, row) for key, row in near if fits(row)]
    if statement.assignments is None:
        one.delete_rows(table, [key for key, _ in found])
        return len(found)
    values = [(name, compiler.compile(value).value) for name, value in statement.assignments]
    pairs = [(key, table.made({name: value(row) for name, value in values}, row)) for key, row in found]
    one.update_rows(table, pairs)
    return len(found)

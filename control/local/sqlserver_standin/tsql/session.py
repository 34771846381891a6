"""A connection's session: its database, its transaction, its settings, and how each statement is run.

A statement runs under the server's lock and gives its whole result, so that a reader sees one moment.  One
that meets a lock of another transaction changes nothing and is run again when that transaction has ended.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from wrackline.control.local.sqlserver_standin.model.catalogue import Asker
from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.model.relations import RowSource
from wrackline.control.local.sqlserver_standin.model.server import AZURE, ModelServer
from wrackline.control.local.sqlserver_standin.model.tables import Cells, declared
from wrackline.control.local.sqlserver_standin.model.transactions import LockWait, ModelTransaction
from wrackline.control.local.sqlserver_standin.tsql import (
    functions,
    procedures,
    queries,
    schema_changes,
    settings,
    sources,
    writes,
)
from wrackline.control.local.sqlserver_standin.tsql.compiling import Compiler
from wrackline.control.local.sqlserver_standin.tsql.queries import QueryRows
from wrackline.control.local.sqlserver_standin.tsql.reading.parser import statements
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import (
    Bound,
    Change,
    Conditional,
    Expression,
    Filling,
    Insertion,
    OptionSetting,
    ProcedureCall,
    Query,
    RelationName,
    Statement,
    TableVariable,
    Using,
    VariableValue,
)
from wrackline.control.local.sqlserver_standin.tsql.scope import EMPTY
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType
from wrackline.control.local.sqlserver_standin.wire.tokens import ShownColumn
from wrackline.control.local.sqlserver_standin.wire.values import Cell

_LOOK_AGAIN = 0.02  # s; how often who waits for a lock looks whether the client has cancelled


class Cancelled(Exception):  # noqa: N818 - the client wants it
    """The client sent an attention."""


class RowCount(NamedTuple):
    """How many rows a statement wrote; None is a statement that counts nothing."""

    rows: int | None
    command: int = 0
    """What DONE calls the statement; a client that finds none of these does not look at the count."""


class Entered(NamedTuple):
    """The session is in another database now."""

    new: str
    old: str


class Moved(NamedTuple):
    """A transaction has begun (8), is committed (9) or rolled back (10)."""

    kind: int
    number: int


Outcome = QueryRows | RowCount | Entered | Moved


class SqlSession:
    """A session of a user."""

    def __init__(
        self, server: ModelServer, user: str, database: str, process: int, cancelled: Callable[[], bool]
    ) -> None:
        self.server = server
        self.user = user
        self.database = server.database(database or "master", user)
        self.process = process
        self.transaction: ModelTransaction | None = None
        self.levels = 0
        self.settings = settings.Settings()
        self._cancelled = cancelled
        self._variables: dict[str, tuple[SqlType, Cell]] = {}
        self._tables: dict[str, tuple[Sequence[ShownColumn], list[Cells]]] = {}

    @property
    def asker(self) -> Asker:
        """Return who asks, in the current database."""
        return self.asks(self.database)

    @property
    def is_severed(self) -> bool:
        """Whether its database was dropped or taken away, which no session in it outlives."""
        return not self.server.holds(self.database)

    def asks(self, database: ModelDatabase) -> Asker:
        """Return who asks in a database."""
        return Asker(self.server, database, self.user, self.transaction)

    def entered(self, name: str) -> ModelDatabase:
        """Return a database that the user may enter."""
        return self.server.database(name, self.user)

    def variable(self, name: str) -> tuple[SqlType, Cell]:
        """Return a parameter, a variable or a @@ function."""
        if name.startswith("@@"):
            return functions.call(self, name.upper(), ())
        if name.lower() not in self._variables:
            raise ServerError(137, f'Must declare the scalar variable "{name}".', severity=15)
        return self._variables[name.lower()]

    def call(self, name: str, arguments: Sequence[tuple[SqlType, Cell]]) -> tuple[SqlType, Cell]:
        """Call a function; one with a database before it is asked there."""
        *front, schema, last = ["", *name.split(".")]
        values = [value for _, value in arguments]
        if len(front) < 2:
            return functions.call(self, f"{schema}.{last}".lstrip("."), values)
        here = self.database
        self.database = self.entered(front[-1])
        try:
            return functions.call(self, f"{schema}.{last}", values)
        finally:
            self.database = here

    def rows_of(self, query: Query) -> tuple[Sequence[ShownColumn], Sequence[Cells]]:
        """Run a query inside an expression."""
        found = queries.run(query, self)
        return found.columns, found.rows

    def source(self, table: RelationName) -> RowSource:
        """Return what a name in FROM gives."""
        if table.parts[0].startswith("@"):
            columns, rows = self._table(table.parts[0].lower())
            return RowSource(columns, (), lambda _low, _high: iter(rows))
        arguments = None if table.arguments is None else [self.value(one) for one in table.arguments]
        return sources.source(self, self.database, table, arguments)

    def view(
        self, database: ModelDatabase, hints: frozenset[str]
    ) -> tuple[ModelTransaction | None, int | None, bool]:
        """Decide how committed rows are read: by version, or once their writer has ended."""
        one = self.transaction if self.transaction and self.transaction.database is database else None
        if self.settings.isolation == "SNAPSHOT":
            if not database.allows_snapshots:
                text = f"Snapshot isolation transaction failed accessing database '{database.name}'"
                raise ServerError(3952, f"{text} because snapshot isolation is not allowed in this database.")
            return one, None if one is None else database.snapshot(one), False
        versioned = database.read_committed_snapshot and "READCOMMITTEDLOCK" not in hints
        return one, None, not versioned

    def value(self, one: Expression) -> Cell:
        """Return the value of an expression without columns."""
        return Compiler(EMPTY, self).compile(one).value(())

    def run(self, text: str, parameters: Mapping[str, tuple[SqlType, Cell]]) -> Iterator[Outcome]:
        """Run a batch, statement by statement."""
        self._variables = {name.lower(): value for name, value in parameters.items()}
        self._tables.clear()
        for statement, its_text in statements(text):  # a batch that is wrong is not begun
            yield from self._guarded(statement, its_text)

    def execute(self, name: str, arguments: Sequence[tuple[str, Cell]]) -> Iterator[Outcome]:
        """Run a procedure of the server that a client calls by its name."""
        parts = tuple(part.strip("[]") for part in name.split("."))
        yield from self._waiting(lambda: procedures.call(self, parts, arguments), name)

    def _guarded(self, statement: Statement, text: str) -> Iterator[Outcome]:
        """Run a statement; what an error does to the transaction is the settings' decision."""
        try:
            yield from self._waiting(lambda: list(self._execute(statement)), text)
        except ServerError as error:
            fatal = self.settings.aborts or error.number in {1205, 3960}
            if fatal and self.transaction is not None:
                yield self.end(commits=False)
            raise

    def _waiting(self, run: Callable[[], Sequence[Outcome]], text: str) -> Sequence[Outcome]:
        with self.server.lock:
            self.server.meet(text)
            since = self.server.now
            while True:
                try:
                    return run()
                except LockWait:
                    self._wait(since)

    def _wait(self, since: dt.datetime) -> None:
        limit = self.settings.lock_timeout
        if limit is not None and self.server.now - since >= limit:
            raise ServerError(1222, "Lock request time out period exceeded.", state=51)
        self.server.lock.wait(_LOOK_AGAIN)
        if self._cancelled():
            raise Cancelled

    def _execute(self, statement: Statement) -> Iterator[Outcome]:
        if self.settings.implicit and self.levels == 0 and _begins(statement):
            yield self.begin()
        match statement:
            case Query():
                yield self._trimmed(queries.run(statement, self))
            case Insertion() | Change():
                written = writes.run(statement, self)
                yield RowCount(None if self.settings.no_count else written, writes.command(statement))
            case Bound():
                yield from self._bound(statement)
            case OptionSetting():
                settings.change(self.settings, statement.words)
                yield RowCount(None)
            case VariableValue() | TableVariable():
                self._assign(statement)
                yield RowCount(None)
            case Using():
                yield self.enter(statement.database)
                yield RowCount(None)
            case ProcedureCall() | Filling():
                yield from self._called(statement)
            case Conditional():
                if self.value(statement.condition) is True:
                    for one in statement.then:
                        yield from self._execute(one)
            case _:
                schema_changes.run(statement, self, self.database)
                yield RowCount(None)

    def _called(self, one: ProcedureCall | Filling) -> Sequence[Outcome]:
        call = one.call if isinstance(one, Filling) else one
        arguments = [(name, self.value(value)) for name, value in call.arguments]
        found: Sequence[Outcome] = procedures.call(self, call.name, arguments)
        return [self._fill(one.name, found)] if isinstance(one, Filling) else found

    def _table(self, name: str) -> tuple[Sequence[ShownColumn], list[Cells]]:
        if name not in self._tables:
            raise ServerError(1087, f'Must declare the table variable "{name}".', severity=15)
        return self._tables[name]

    def _fill(self, name: str, results: Sequence[Outcome]) -> RowCount:
        """Put the rows of results into a table variable."""
        columns, rows = self._table(name)
        found = [row for one in results if isinstance(one, QueryRows) for row in one.rows]
        if any(len(row) != len(columns) for row in found):
            raise ServerError(213, "The number of supplied values does not match table definition.")
        rows += [
            tuple(fitted(column.of, cell) for column, cell in zip(columns, row, strict=True)) for row in found
        ]
        return RowCount(len(found))

    def _trimmed(self, found: QueryRows) -> QueryRows:
        """Cut long values as SET TEXTSIZE says."""
        most = self.settings.text_size
        long = {
            at
            for at, one in enumerate(found.columns)
            if one.of.is_long or one.of.name in {"text", "ntext", "image"}
        }
        if not long or most < 0 or most >= 0x7FFFFFFF:
            return found

        def cut(at: int, cell: Cell) -> Cell:
            size = most // 2 if isinstance(cell, str) and found.columns[at].of.name.startswith("n") else most
            return cell[:size] if at in long and isinstance(cell, str | bytes) else cell

        return found._replace(
            rows=[tuple(cut(at, cell) for at, cell in enumerate(row)) for row in found.rows]
        )

    def _assign(self, one: VariableValue | TableVariable) -> None:
        if isinstance(one, TableVariable):
            made = [declared(name, text, self.database.collation) for name, text in one.columns]
            self._tables[one.name] = [ShownColumn(column.name, column.of) for column in made], []
            return
        of = one.of or self.variable(one.name)[0]
        value = None if one.value is None else self.value(one.value)
        self._variables[one.name] = (of, fitted(of, value))

    def enter(self, name: str) -> Entered:
        """Change the database."""
        if self.server.edition == AZURE and name.lower() != self.database.name.lower():
            text = "USE statement is not supported to switch between databases."
            raise ServerError(40508, f"{text} Use a new connection to connect to a different database.")
        old, self.database = self.database, self.entered(name)
        return Entered(self.database.name, old.name)

    def _bound(self, one: Bound) -> Iterator[Outcome]:
        if one.kind == "BEGIN":
            self.levels += 1
            yield from [self.begin()] if self.levels == 1 else []
        elif one.kind == "SAVE":
            self.need_transaction(
                628, "Cannot issue SAVE TRANSACTION when there is no active transaction."
            ).save(one.name)
        elif one.kind == "COMMIT":
            self.need_transaction(
                3902, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION."
            )
            self.levels -= 1
            yield from [self.end(commits=True)] if self.levels == 0 else []
        else:
            held = self.need_transaction(
                3903, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION."
            )
            if any(point.name == one.name for point in held.savepoints):
                held.back_to(one.name)
            else:
                yield self.end(commits=False)
        yield RowCount(None)

    def need_transaction(self, number: int, text: str) -> ModelTransaction:
        """Return the transaction, or say that there is none."""
        if self.transaction is None:
            raise ServerError(number, text)
        return self.transaction

    def begin(self) -> Moved:
        """Begin a transaction in the current database."""
        self.levels = max(self.levels, 1)
        self.transaction = self.database.begin()
        return Moved(8, self.transaction.number)

    def end(self, *, commits: bool) -> Moved:
        """End the transaction, however deep it is."""
        one = cast("ModelTransaction", self.transaction)
        self.transaction, self.levels = None, 0
        if commits:
            one.commit()
        else:
            one.rollback()
        return Moved(9 if commits else 10, one.number)

    def reset(self) -> None:
        """Give the session back the settings of a new one, as a pool of connections asks for."""
        if self.transaction is not None:
            self.end(commits=False)
        self.settings = settings.Settings(text_size=self.settings.text_size)


def _begins(statement: Statement) -> bool:
    return isinstance(statement, Insertion | Change) or (
        isinstance(statement, Query) and statement.source is not None
    )

"""Which column a name means, and compiled expressions: a type, and a function of a row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from wrackline.control.local.sqlserver_standin.model.tables import Cells
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import NamedColumn, Query
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType
from wrackline.control.local.sqlserver_standin.wire.tokens import ShownColumn
from wrackline.control.local.sqlserver_standin.wire.values import Cell

UNTYPED = SqlType("null")


class Compiled(NamedTuple):
    """An expression that is ready to run; `place` is a column's place in the row."""

    of: SqlType
    value: Callable[[Cells], Cell]
    nullable: bool = True
    place: int | None = None
    constant: bool = False
    explicit: bool = False
    """Whether its collation comes from a COLLATE."""


@dataclass(frozen=True, slots=True)
class NameScope:
    """The columns that a query's expressions may name, each with the name of its table."""

    columns: Sequence[tuple[str, ShownColumn]]

    def find(self, place: NamedColumn) -> int:
        """Return at which place of a row a column is."""
        name = place.parts[-1].lower()
        table = place.parts[-2].lower() if len(place.parts) > 1 else None
        found = [
            at
            for at, (alias, column) in enumerate(self.columns)
            if column.name.lower() == name and table in {None, alias.lower()}
        ]
        if len(found) == 1:
            return found[0]
        if found:
            raise ServerError(209, f"Ambiguous column name '{place.parts[-1]}'.")
        if table is None:
            raise ServerError(207, f"Invalid column name '{place.parts[-1]}'.")
        raise ServerError(4104, f'The multi-part identifier "{".".join(place.parts)}" could not be bound.')


EMPTY = NameScope(())


class RunningQuery(Protocol):
    """What an expression needs of the session that runs it."""

    def variable(self, name: str) -> tuple[SqlType, Cell]:
        """Return a parameter, a variable or a @@ function."""
        ...

    def call(self, name: str, arguments: Sequence[tuple[SqlType, Cell]]) -> tuple[SqlType, Cell]:
        """Call a function that knows the server."""
        ...

    def rows_of(self, query: Query) -> tuple[Sequence[ShownColumn], Sequence[Cells]]:
        """Run a query inside an expression."""
        ...

"""What the filters make of a catalogue: tables captured and left out, shapes, and what comes by its name."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pytest

from wrackline.producers.kit.selection import Selection
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.events.projection import Projection, project_all
from wrackline.schemas.settings.filters import TableFilter
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

FILTER = TableFilter.of({"table.exclude.list": (r"public\.x.*",)})


def table(name: str) -> TableId:
    return TableId("shop", "public", name)


A, B, X, SIGNALS = map(table, ("a", "b", "x1", "signals"))


class OnPaper:
    """A catalogue in which some tables can't be described."""

    def __init__(self, faulty: dict[TableId, Exception]) -> None:
        self.faulty = faulty
        self.kept: Collection[TableId] = ()

    def tables(self) -> Sequence[TableId]:
        return [A, X, SIGNALS, B]

    def keep(self, tables: Collection[TableId]) -> None:
        self.kept = tables

    def describe(self, table: TableId) -> Projection:
        if table in self.faulty:
            raise self.faulty[table]
        column = Column("id", 1, ColumnType(Kind.INT32, "int"), nullable=False)
        return project_all(TableSchema(table, (column,), ("id",), KeyKind.PRIMARY))


def lent(catalogue: OnPaper) -> Callable[[], AbstractContextManager[OnPaper]]:
    @contextmanager
    def catalogued() -> Iterator[OnPaper]:
        yield catalogue

    return catalogued


def selection(catalogue: OnPaper, ours: TableId | None = SIGNALS) -> Selection:
    return Selection(lent(catalogue), FILTER, lambda: ours)


def test_a_table_is_captured_or_left_out_and_the_signal_table_is_neither() -> None:
    chosen = selection(OnPaper({}))
    assert (chosen.tables(), chosen.left_out()) == ([A, B], [X])
    assert selection(OnPaper({}), None).tables() == [A, SIGNALS, B]


def test_many_are_looked_up_together_and_one_that_has_no_shape_spoils_no_other() -> None:
    refused = OperatorNeeded("test.refused", "it has no shape", "")
    catalogue = OnPaper({B: refused})
    found = selection(catalogue).described([A, B])
    assert (catalogue.kept, found[B]) == ([A, B], refused)
    assert found[A] == selection(catalogue).describe(A) == OnPaper({}).describe(A).table


def test_a_server_that_is_away_is_no_shape() -> None:
    with pytest.raises(Transient, match="it is away"):
        selection(OnPaper({B: Transient("test.away", "it is away", "")})).described([A, B])


@pytest.mark.parametrize(
    ("name", "captured"), [("a", True), ("new", True), ("b", False), ("x1", True), ("x2", False)]
)
def test_what_comes_later_is_captured_by_its_name(name: str, *, captured: bool) -> None:
    captures = selection(OnPaper({})).captures(listed=[A, X], aside=[B])
    assert captures(table(name)) == captured


def test_the_signal_table_is_captured_where_it_is_listed_alone() -> None:
    """T-W20."""
    chosen = selection(OnPaper({}))
    assert not chosen.captures([A], [])(SIGNALS)
    assert chosen.captures([SIGNALS], [])(SIGNALS)

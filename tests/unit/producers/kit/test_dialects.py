"""A dialect is all that a source gives for its SQL: three kinds, run by a small database where it reads them.

`[names]` and row values are SQLite's too, so it judges the conditions; what it can't read is compared as
text.
"""

import itertools
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import pytest

from wrackline.producers.contract.row_chunks import Bound, ChunkRequest
from wrackline.producers.kit.reads import chunk_sql
from wrackline.producers.kit.reads.condition_sql import condition_sql
from wrackline.producers.kit.reads.dialect import Dialect, KeyValueError
from wrackline.producers.kit.reads.key_order import KeyOrder
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, WracklineError
from wrackline.schemas.events.projection import Plain, Projection, project_all
from wrackline.schemas.language.conditions import ColumnName
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TABLE = TableId("shop", "dbo", "t")
UNFIT = ErrorCode("x.unfit", OperatorNeeded, "{table} {columns}", "", frozenset({"table", "columns"}))
VALUES = (None, 1, 2, 3)
Key = tuple[int | None, ...]


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


@dataclass(frozen=True)
class Number:
    """A column of whole numbers."""

    name: str
    nullable: bool

    def literal(self, value: str) -> str:
        if not value.isdigit():
            raise KeyValueError
        return value

    def compare(self, sign: str, text: str) -> str:
        return f"[{self.name}] {sign} {self.literal(text)}"


def compare_rows(columns: Sequence[Number], sign: str, values: Sequence[str]) -> str:
    names = ", ".join(f"[{column.name}]" for column in columns)
    return f"({names}) {sign} ({', '.join(map(Number.literal, columns, values))})"


def bracketed(name: str) -> str:
    return f"[{name.replace(']', ']]')}]"


SQL_SERVER: Dialect[Number] = Dialect(  # no row values, no booleans, TOP instead of LIMIT
    quote=bracketed,
    text=lambda value: f"N{text(value)}",
    nulls_first=True,
    always="1 = 1",
    never="1 = 0",
    first_bounds_scan=True,
    top="TOP ({}) ",
    limit="",
)
ROW_VALUES: Dialect[Number] = Dialect(quote=bracketed, text=text, nulls_first=False, row_values=compare_rows)
WAYS: Dialect[Number] = Dialect(quote=bracketed, text=text, nulls_first=False, first_bounds_scan=True)
OTHER_WAYS: Dialect[Number] = Dialect(quote=bracketed, text=text, nulls_first=True)
DIALECTS = {"SQL Server": SQL_SERVER, "row values": ROW_VALUES, "ways": WAYS, "other ways": OTHER_WAYS}

Found = Callable[[str], list[Key]]


@pytest.fixture(params=[True, False], ids=["nullable", "never null"])
def nullable(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=[1, 2, 3])
def width(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def keys(width: int, *, nullable: bool) -> list[Key]:
    return list(itertools.product(VALUES if nullable else VALUES[1:], repeat=width))


@pytest.fixture
def found(keys: Sequence[Key], width: int) -> Iterator[Found]:
    """Select keys by a condition."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (a, b, c)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [key + (None,) * (3 - width) for key in keys])

        def selected(where: str) -> list[Key]:
            return database.execute(f"SELECT {', '.join('abc'[:width])} FROM t WHERE {where}").fetchall()

        yield selected


def bound_of(key: Key) -> Bound:
    return tuple(None if part is None else str(part) for part in key)


def order_of(dialect: Dialect[Number], width: int, *, nullable: bool) -> KeyOrder[Number]:
    return KeyOrder(dialect, TABLE, [Number(name, nullable) for name in "abc"[:width]], UNFIT)


@pytest.mark.parametrize("kind", DIALECTS)
def test_after_and_upto_part_the_keys_as_the_order_does(
    kind: str, keys: list[Key], width: int, found: Found, *, nullable: bool
) -> None:
    dialect = DIALECTS[kind]
    null = 0 if dialect.nulls_first else 9
    keys.sort(key=lambda key: [null if part is None else part for part in key])
    order = order_of(dialect, width, nullable=nullable)
    for place, key in enumerate(keys):
        assert set(found(order.after(bound_of(key)))) == set(keys[place + 1 :])
        assert set(found(order.upto(bound_of(key)))) == set(keys[: place + 1])
        assert set(found(order.one_of([bound_of(key), bound_of(keys[0])]))) == {keys[0], key}


def test_a_server_without_row_values_gets_the_ways_and_the_bound_of_the_scan() -> None:
    order = order_of(SQL_SERVER, 2, nullable=False)
    assert order.after(("1", "2")) == "([a] >= 1 AND ([a] > 1 OR ([a] = 1 AND [b] > 2)))"
    assert order.upto(("1", "2")) == "([a] <= 1 AND ([a] < 1 OR ([a] = 1 AND [b] <= 2)))"
    assert order_of(ROW_VALUES, 2, nullable=False).upto(("1", "2")) == "([a], [b]) <= (1, 2)"
    assert order_of(OTHER_WAYS, 2, nullable=False).after(("1", "2")) == "([a] > 1 OR ([a] = 1 AND [b] > 2))"
    assert order_of(SQL_SERVER, 1, nullable=True).upto((None,)) == "[a] IS NULL"
    assert order_of(WAYS, 1, nullable=True).upto((None,)) == "TRUE"
    assert order_of(WAYS, 1, nullable=True).after((None,)) == "FALSE"


def test_rows_are_not_compared_where_one_value_may_be_null() -> None:
    columns = [Number("a", nullable=False), Number("b", nullable=True)]
    mixed = KeyOrder(ROW_VALUES, TABLE, columns, UNFIT)
    assert mixed.after(("1", "2")) == "([a] > 1 OR ([a] = 1 AND ([b] > 2 OR [b] IS NULL)))"
    assert order_of(ROW_VALUES, 2, nullable=False).after(("1", None)) == "[a] > 1"


@pytest.mark.parametrize("bound", [(), ("1",), ("1", "2", "3"), ("x", "2")])
def test_a_bound_that_is_not_a_key_is_the_sources_own_error(bound: Bound) -> None:
    for dialect in DIALECTS.values():
        order = order_of(dialect, 2, nullable=False)
        with pytest.raises(OperatorNeeded, match="a, b"):
            order.after(bound)
        with pytest.raises(OperatorNeeded, match="a, b"):
            order.upto(bound)
        with pytest.raises(OperatorNeeded, match="a, b"):
            order.one_of([bound])


def find(columns: Collection[ColumnName]) -> Mapping[ColumnName, Number]:
    return {column: Number(column.name, nullable=True) for column in columns}


def no_value(column: Number) -> WracklineError:
    return UNFIT(table=TABLE, columns=column.name)


def condition(dialect: Dialect[Number], written: str) -> str:
    return condition_sql(dialect, written, find, no_value)


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("a = 1", {1}),
        ("a <> 1", {2, 3}),
        ("a IN (1, 3, NULL)", {1, 3}),
        ("a IN (NULL)", set()),
        ("a BETWEEN 2 AND 9", {2, 3}),
        ("a IS NULL OR a = TRUE", {None, 1}),
        ("a IS NOT NULL AND (a < 2 OR a >= 3)", {1, 3}),
        ("a = 2E0", {2}),
    ],
)
@pytest.mark.parametrize("kind", DIALECTS)
def test_a_condition_names_the_same_rows_in_every_dialect(kind: str, written: str, wanted: set[int]) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (a)")
        database.executemany("INSERT INTO t VALUES (?)", [(value,) for value in VALUES])
        where = condition(DIALECTS[kind], written)
        assert {value for (value,) in database.execute(f"SELECT a FROM t WHERE {where}")} == wanted


def test_a_condition_is_written_as_the_dialect_writes() -> None:
    assert condition(SQL_SERVER, "\"o]d\" LIKE 'it''s %' AND a IN (NULL, NULL)") == "1 = 0"
    assert condition(SQL_SERVER, "\"o]d\" LIKE 'it''s %'") == "[o]]d] LIKE N'it''s %'"
    with pytest.raises(OperatorNeeded) as caught:
        condition(SQL_SERVER, "a = 'x'")
    assert caught.value.code == "x.unfit"


def test_a_select_has_its_clauses_where_the_server_reads_them() -> None:
    columns = [Column(name, place, ColumnType(Kind.INT32, "int")) for place, name in enumerate("abc")]
    table = TableSchema(TABLE, tuple(columns))
    hidden = Projection(table, table, (Plain.KEEP, Plain.DROP, Plain.KEEP))
    assert chunk_sql.columns_of(SQL_SERVER, project_all(table)) == "[a], [b], [c]"
    names = chunk_sql.columns_of(SQL_SERVER, hidden)
    request = ChunkRequest(TABLE, ("a", "b"), upto=("1", "2"), only=(("1", "1"),), most_rows=7)
    order = order_of(SQL_SERVER, 2, nullable=False)
    where = chunk_sql.where(order, request, "[c] = 5")
    assert SQL_SERVER.select(names, "[dbo].[t]", where, key=request.key, most=request.most_rows) == (
        "SELECT TOP (7) [a], NULL, [c] FROM [dbo].[t]"
        " WHERE (([a] <= 1 AND ([a] < 1 OR ([a] = 1 AND [b] <= 2))) AND ([a] = 1 AND [b] = 1) AND [c] = 5)"
        " ORDER BY [a], [b]"
    )
    behind = ChunkRequest(TABLE, request.key, after=("1", "2"))
    assert chunk_sql.where(order, behind, None) == order.after(("1", "2"))
    assert SQL_SERVER.named(("a", "b]")) == "[a], [b]]]"
    whole = chunk_sql.where(order_of(SQL_SERVER, 1, nullable=False), ChunkRequest(TABLE, ("a",)), None)
    assert whole == "1 = 1"
    assert WAYS.select("1", "t", key=("a",), descending=True, most=1) == (
        "SELECT 1 FROM t ORDER BY [a] DESC LIMIT 1"
    )

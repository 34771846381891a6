"""Comparisons with bounds, run by a small database against the order of its own: tuples, nulls first."""

import itertools
import sqlite3
from contextlib import closing

import pytest

from wrackline.producers.contract.row_chunks import Bound
from wrackline.producers.sources.mysql.chunks.chunk_sql import index_of
from wrackline.producers.sources.mysql.chunks.key_order import key_order
from wrackline.producers.sources.mysql.discover.types import column_type, parse
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import Column, TableId, TableSchema

TABLE = TableId("shop", "shop", "t")
VALUES = (None, 1, 2, 3)


def shape(*types: str) -> TableSchema:
    columns = [
        Column(name, place, column_type(parse(written), column=name), nullable=True)
        for place, (name, written) in enumerate(zip("abc", types, strict=False))
    ]
    return TableSchema(TABLE, tuple(columns))


def bound_of(key: tuple[int | None, ...]) -> Bound:
    return tuple(None if part is None else str(part) for part in key)


@pytest.mark.parametrize("width", [1, 2, 3])
def test_after_and_upto_part_the_keys_as_tuples_do(width: int) -> None:
    keys = sorted(itertools.product(VALUES, repeat=width), key=lambda key: [part or 0 for part in key])
    order = key_order(shape(*["int"] * width), "abc"[:width])
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (a, b, c)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [key + (None,) * (3 - width) for key in keys])

        def found(where: str) -> list[tuple[int | None, ...]]:
            selected = (
                f"SELECT {', '.join('abc'[:width])} FROM t WHERE {where} ORDER BY {', '.join('abc'[:width])}"
            )
            return database.execute(selected).fetchall()

        for place, key in enumerate(keys):
            assert found(order.after(bound_of(key))) == keys[place + 1 :]
            assert found(order.upto(bound_of(key))) == keys[: place + 1]
            assert found(order.one_of([bound_of(key), bound_of(keys[0])])) == sorted(
                {keys[0], key}, key=keys.index
            )


def test_an_enum_is_listed_by_number_and_nothing_is_never() -> None:
    order = key_order(shape("enum('z','a','m')"), "a")
    assert order.after(("a",)) == "`a` IN (3)"
    assert order.after(("m",)) == "FALSE"
    assert order.upto(("z",)) == "(`a` IN (0, 1) OR `a` IS NULL)"


@pytest.mark.parametrize("bound", [(), ("1",), ("1", "2", "3"), ("x", "2")])
def test_a_bound_of_another_form_is_refused(bound: Bound) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        key_order(shape("int", "int"), "ab").after(bound)
    assert caught.value.code == "mysql.key_unfit"


def test_the_index_that_orders_rows_has_the_keys_columns_first_and_whole() -> None:
    parts = [
        ("PRIMARY", "a", True),
        ("PRIMARY", "b", True),
        ("short", "b", True),
        ("prefix", "c", False),
        ("turned", "b", True),
        ("turned", "a", True),
    ]
    assert index_of("ab", parts) == "PRIMARY"
    assert index_of("a", parts) == "PRIMARY"
    assert index_of("b", parts) == "short"
    assert index_of("ba", parts) == "turned"
    assert index_of("c", parts) is None
    assert index_of("abc", parts) is None

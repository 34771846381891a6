"""Changes in Arrow as a stage's columns: which are left to Spark, and texts that a reader sees."""

import json
from math import inf, nan

import pyarrow as pa
import pytest

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import Applied, plan_merge
from wrackline.consumers.newest.json_texts import json_lists
from wrackline.consumers.newest.plain_columns import plain_columns
from wrackline.consumers.targets.snowflake.dialect import IDENTIFIERS
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind


def keys(of: ColumnType, values: pa.Array) -> list[str] | None:
    table = TableSchema(TableId("db", "public", "t"), (Column("it", 1, of),), ("it",), KeyKind.PRIMARY)
    count = len(values)
    changes = DirectChanges(
        [values],
        pa.array([str(at) for at in range(count)], pa.string()),
        pa.array(["u"] * count, pa.string()),
        pa.array([False] * count, pa.bool_()),
        pa.array([7] * count, pa.int64()),
    )
    made = plain_columns(changes, plan_merge(table, IDENTIFIERS, Applied()))
    return None if made is None else list(made["k"].to_pylist())


FLOAT = ColumnType(Kind.FLOAT64, "float8")
MOMENT = ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")


@pytest.mark.parametrize(
    ("of", "values"),
    [
        (FLOAT, pa.array([0.0, -0.0])),
        (FLOAT, pa.array([nan, -nan])),
        (MOMENT, pa.array(["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"])),
    ],
    ids=["zeros", "no numbers", "moments"],
)
def test_a_key_that_comes_in_two_forms_is_left_to_spark(of: ColumnType, values: pa.Array) -> None:
    assert keys(of, values) is None
    each = [keys(of, values[at : at + 1]) for at in range(2)]
    assert each[0] == each[1] != None  # noqa: E711 - both were made


def lists(kind: Kind, values: pa.Array) -> list[str | None]:
    return list(
        json_lists(values, ColumnType(Kind.ARRAY, "", element=ColumnType(kind, "")), same).to_pylist()
    )


def same(values: pa.Array, of: ColumnType) -> pa.Array:
    del of
    return values


def test_floats_of_a_list_are_written_as_java_21_writes_them() -> None:
    """JDK-4511638: Java 17 writes 2.0E-3 and 2e23 otherwise than Java 19 and later."""
    floats = [1.0, -0.0, 0.001, 9.999e-4, 1e7, 2e23, 1e300, 5e-324, nan, inf, -inf, None, 123456.789]
    (written,) = lists(Kind.FLOAT64, pa.array([floats], pa.list_(pa.float64())))
    assert written == (
        '[1.0,-0.0,0.001,9.999E-4,1.0E7,2.0E23,1.0E300,4.9E-324,"NaN","Infinity","-Infinity",null,123456.789]'
    )
    (short,) = lists(Kind.FLOAT32, pa.array([[0.1, 2**-149, 16777216.0]], pa.list_(pa.float32())))
    assert short == "[0.1,1.4E-45,1.6777216E7]"


def test_lists_keep_their_nulls_and_their_places_in_a_part_of_a_column() -> None:
    column = pa.array([["x"], None, [], [None, 'a"b\\\n'], ["y"]], pa.list_(pa.string()))
    assert lists(Kind.STRING, column) == ['["x"]', None, "[]", r'[null,"a\"b\\\n"]', '["y"]']
    assert lists(Kind.STRING, column[3:4]) == [r'[null,"a\"b\\\n"]']
    assert lists(Kind.STRING, pa.nulls(2)) == [None, None]
    assert lists(Kind.STRING, column[:0]) == []
    every = "".join(map(chr, range(300)))
    assert json.loads(lists(Kind.STRING, pa.array([[every]]))[0] or "") == [every]

"""Columns cut out of one row and put into another give the reference library's bytes of the mixed row."""

import io
import math
from decimal import Decimal
from typing import Any

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures.every_kind import SAMPLES
from wrackline.producers.rows.python_rows import RowEncoder
from wrackline.producers.snapshot.key_bounds import bound_of
from wrackline.schemas.events.envelope import value_schema
from wrackline.schemas.events.splice import sent_columns, splice_row
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

ARRAYS = tuple(
    ColumnType(Kind.ARRAY, f"{sample.type.source}[]", element=sample.type)
    for sample in SAMPLES
    if sample.type.kind is not Kind.ARRAY
)
PLAIN = tuple(
    (sample.type, [value for value in sample.values if not (isinstance(value, str) and len(value) > 999)])
    for sample in SAMPLES
    if sample.type.kind is not Kind.ARRAY
)
COLUMNS = tuple(Column(f"c{i}", i, kind) for i, kind in enumerate([kind for kind, _ in PLAIN] + list(ARRAYS)))
TABLE = TableSchema(TableId("d", "public", "t"), COLUMNS)
ROW: Any = value_schema(TABLE, topic="t", connector="x", source_fields=())["fields"]
HEADER = b"\x00\x00\x00\x00\x09"


def written(row: dict[str, object]) -> bytes:
    """The row as the reference library writes it, as raw as the values are."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, bare(ROW[0]["type"][1]), row)
    return b"\x02" + out.getvalue()


def bare(schema: Any) -> Any:
    """Without logical types but for decimals: days and microseconds are the numbers that they are."""
    if isinstance(schema, list):
        return [bare(one) for one in schema]
    if isinstance(schema, dict):
        kept = {name: bare(value) for name, value in schema.items()}
        if schema.get("logicalType") != "decimal":
            kept.pop("logicalType", None)
        return kept
    return schema


VALUES = [st.none() | st.sampled_from(values) for _, values in PLAIN]
VALUES += [st.none() | st.lists(st.none() | st.sampled_from(values), max_size=3) for _, values in PLAIN]
ROWS = st.tuples(*VALUES).map(lambda row: {f"c{i}": value for i, value in enumerate(row)})
NAMES = [column.name for column in COLUMNS]


@settings(max_examples=40)
@given(ROWS, ROWS, ROWS | st.none(), st.sets(st.sampled_from(NAMES)))
def test_the_columns_that_were_sent_are_put_into_the_row_and_no_other(
    found: dict[str, object],
    event: dict[str, object],
    before: dict[str, object] | None,
    unsent: set[str],
) -> None:
    value = HEADER + (b"\x00" if before is None else written(before)) + written(event) + b"a tail"
    head = b"\x00\x00\x00\x00\x07\x00" + written(found)
    mixed = {name: found[name] if name in unsent else event[name] for name in NAMES}
    assert splice_row(head, TABLE, sent_columns(value, TABLE, unsent)) == head[:6] + written(mixed)


def test_an_array_in_blocks_that_say_their_size_is_passed_over() -> None:
    column = Column("a", 1, ColumnType(Kind.ARRAY, "int[]", element=ColumnType(Kind.INT32, "int")))
    table = TableSchema(TABLE.id, (column, Column("b", 2, ColumnType(Kind.INT32, "int"))))
    block = b"\x02" + b"\x03\x08\x02\x02\x02\x04" + b"\x00"  # -2, four bytes, 1 and 2, the end
    value = HEADER + b"\x00\x02" + block + b"\x02\x06"
    assert sent_columns(value, table, ()) == {0: block, 1: b"\x02\x06"}


def test_a_key_becomes_the_text_that_the_database_reads() -> None:
    kinds = {
        "i": (ColumnType(Kind.INT64, "bigint"), -5, "-5"),
        "t": (ColumnType(Kind.STRING, "text"), "a'b", "a'b"),
        "n": (ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2), Decimal("-12.50"), "-12.50"),
        "m": (ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"), 1_000_001, "1970-01-01 00:00:01.000001"),
        "d": (ColumnType(Kind.DATE, "date"), 31, "1970-02-01"),
        "b": (ColumnType(Kind.BOOLEAN, "boolean"), True, "true"),
        "u": (ColumnType(Kind.UINT64, "bigint unsigned"), Decimal(2**64 - 1), "18446744073709551615"),
        "h": (ColumnType(Kind.TIME_MICROS, "time"), 86_399_000_001, "23:59:59.000001"),
        "g": (
            ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"),
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05Z",
        ),
        "f": (ColumnType(Kind.FLOAT32, "real"), 1.5, "1.5"),
        "e": (ColumnType(Kind.FLOAT64, "double precision"), 0.1, "0.1"),
        "l": (ColumnType(Kind.FLOAT64, "double precision"), -math.inf, "-Infinity"),
        "z": (ColumnType(Kind.STRING, "text"), None, None),
    }
    columns = tuple(
        Column(name, i, kind, nullable=name == "z") for i, (name, (kind, _, _)) in enumerate(kinds.items())
    )
    table = TableSchema(TABLE.id, columns, tuple(kinds), KeyKind.PRIMARY)
    key = RowEncoder(table, 1, 2).key([value for _, value, _ in kinds.values()])
    assert key is not None
    assert bound_of(table, key) == tuple(text for _, _, text in kinds.values())


def test_a_key_whose_text_is_not_certain_has_no_bound() -> None:
    for kind, value in (
        (Kind.BYTES, b"x"),
        (Kind.DATE, -2440588),
        (Kind.ZONED_TIMESTAMP, "-4712-01-01T00:00:00Z"),
        (Kind.ZONED_TIMESTAMP, "10000-01-01T00:00:00Z"),
    ):
        table = TableSchema(
            TABLE.id, (Column("k", 1, ColumnType(kind, "k"), nullable=False),), ("k",), KeyKind.PRIMARY
        )
        key = RowEncoder(table, 1, 2).key([value])
        assert key is not None
        assert bound_of(table, key) is None

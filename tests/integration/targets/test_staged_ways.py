"""The two ways to a stage agree to the byte: what Spark's expressions write, and what is made of Arrow."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import inf, nan
from random import Random
from struct import unpack
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import Applied, MergePlan, plan_merge
from wrackline.consumers.newest.plain_columns import plain_columns
from wrackline.consumers.staged.carry import primitives
from wrackline.consumers.staged.merge import staged_columns
from wrackline.consumers.targets.snowflake.dialect import IDENTIFIERS
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind, spark_type

ROWS = 400
Make = Callable[[Random], object]
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)
EPOCH, MICRO = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)

FLOATS = (
    0.0,
    -0.0,
    nan,
    inf,
    -inf,
    1.0,
    -3.0,
    0.1,
    1e-3,
    9.999e-4,
    1e7,
    9999999.0,
    1e300,
    5e-324,
    2.2250738585072014e-308,
)
TEXTS = ("", "null", 'a"b\\c/', "\0\x01\b\t\n\x0b\f\r\x1f\x7f", "é😀\u2028", "[1,2]", " ", "0", "x" * 300)


def picked(*values: object) -> Make:
    return lambda chance: chance.choice(values)


def whole(bits: int) -> Make:
    ends = (0, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), 10, 100)
    return lambda chance: chance.choice((*ends, chance.randint(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)))


def exact(precision: int, scale: int, least: int) -> Make:
    def make(chance: Random) -> Decimal:
        most = 10 ** chance.randint(0, precision) - 1
        number = chance.choice((0, 1, 10, 100, most, chance.randint(0, most))) * chance.choice((1, least))
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))

    return make


def double(chance: Random) -> float:
    (bits,) = unpack("<d", chance.randbytes(8))
    return float(chance.choice((*FLOATS, bits, round(chance.uniform(-1e4, 1e4), 2))))


def single(chance: Random) -> float:
    (bits,) = unpack("<f", chance.randbytes(4))
    return float(chance.choice((0.0, -0.0, nan, inf, 1.5, 2**-149, 16777216.0, bits)))


def octets(chance: Random) -> bytes:
    return chance.choice((b"", b"\0\xff", chance.randbytes(chance.randint(0, 100))))


def moment(chance: Random) -> datetime:
    some = FIRST + chance.randint(0, (LAST - FIRST) // MICRO) * MICRO
    return chance.choice((EPOCH, FIRST, LAST, EPOCH - MICRO, some))


def unzoned(chance: Random) -> datetime:
    return moment(chance).replace(tzinfo=None)


def zoned(chance: Random) -> str:
    return f"{unzoned(chance).isoformat()}Z"


def text(chance: Random) -> str:
    return chance.choice((*TEXTS, "".join(map(chr, chance.choices(range(1, 0x2FF), k=9)))))


MADE: Mapping[str, tuple[ColumnType, pa.DataType, Make]] = {
    "boolean": (ColumnType(Kind.BOOLEAN, ""), pa.bool_(), picked(True, False)),
    "small": (ColumnType(Kind.INT16, ""), pa.int32(), whole(16)),
    "int": (ColumnType(Kind.INT32, ""), pa.int32(), whole(32)),
    "long": (ColumnType(Kind.INT64, ""), pa.int64(), whole(64)),
    "year": (ColumnType(Kind.YEAR, ""), pa.int32(), whole(16)),
    "unsigned": (ColumnType(Kind.UINT64, ""), pa.decimal128(20), exact(20, 0, 1)),
    "price": (ColumnType(Kind.DECIMAL, "", 12, 2), pa.decimal128(12, 2), exact(12, 2, -1)),
    "fraction": (ColumnType(Kind.DECIMAL, "", 38, 20), pa.decimal128(38, 20), exact(38, 20, -1)),
    "only places": (ColumnType(Kind.DECIMAL, "", 38, 38), pa.decimal128(38, 38), exact(38, 38, -1)),
    "no places": (ColumnType(Kind.DECIMAL, "", 38, 0), pa.decimal128(38, 0), exact(38, 0, -1)),
    "single": (ColumnType(Kind.FLOAT32, ""), pa.float32(), single),
    "double": (ColumnType(Kind.FLOAT64, ""), pa.float64(), double),
    "text": (ColumnType(Kind.STRING, ""), pa.string(), text),
    "json": (ColumnType(Kind.JSON, ""), pa.string(), text),
    "bytes": (ColumnType(Kind.BYTES, ""), pa.binary(), octets),
    "bits": (ColumnType(Kind.BITS, "", length=9), pa.binary(), octets),
    "day": (ColumnType(Kind.DATE, ""), pa.date32(), lambda chance: moment(chance).date()),
    "clock": (ColumnType(Kind.TIME_MICROS, ""), pa.int64(), whole(36)),
    "moment": (ColumnType(Kind.TIMESTAMP_MICROS, ""), pa.timestamp("us"), unzoned),
    "zoned": (ColumnType(Kind.ZONED_TIMESTAMP, ""), pa.string(), zoned),
    "instant": (ColumnType(Kind.INSTANT_MICROS, ""), pa.timestamp("us", "UTC"), moment),
}  # fmt: skip


def list_of(make: Make) -> Make:
    def some(chance: Random) -> object:
        made = [chance.choice((None, make(chance), make(chance))) for _ in range(chance.randint(0, 4))]
        return chance.choice((None, made, made, made))

    return some


def kinds() -> dict[str, tuple[ColumnType, pa.DataType, Make]]:
    lists = {
        f"{name} list": (ColumnType(Kind.ARRAY, "", element=of), pa.list_(arrow), list_of(make))
        for name, (of, arrow, make) in MADE.items()
    }
    return {**MADE, **lists}


def staged_twice(
    spark: SparkSession, plan: MergePlan, made: list[pa.Array]
) -> tuple[pa.Table, Mapping[str, pa.Array]]:
    """Return what both ways make of the same values."""
    count = len(made[0])
    seqs = pa.array([f"{at:040d}" for at in range(count)])
    table = pa.table([*made, seqs], [f"v{at}" for at in range(len(made))] + ["seq"])
    row = ", ".join(
        f"CAST(v{at} AS {spark_type(column.type)}) AS `{column.target}`"
        for at, column in enumerate(plan.columns)
    )
    spark.createDataFrame(table).createOrReplaceTempView("staged_ways")
    empty = "CAST(array() AS array<string>)"
    frame = spark.sql(
        f"SELECT struct({row}) AS row, seq, 'u' AS op, timestamp_millis(7) AS commit_ts, false AS deleted,"
        f" {empty} AS unsent, {empty} AS missing FROM staged_ways"
    )
    by_spark = primitives(frame, plan, staged_columns(plan)).toArrow().sort_by("seq")
    ops, lives, moments = pa.array(["u"] * count), pa.array([False] * count), pa.array([7] * count)
    ours = plain_columns(DirectChanges(made, seqs, ops, lives, moments), plan)
    assert ours is not None
    return by_spark, ours


def table_of(kinds: Mapping[str, ColumnType], key: tuple[str, ...]) -> MergePlan:
    columns = tuple(Column(name, at, of) for at, (name, of) in enumerate(kinds.items(), start=1))
    table = TableSchema(TableId("db", "public", "kinds"), columns, key, KeyKind.PRIMARY)
    return plan_merge(table, IDENTIFIERS, Applied())


def test_values_of_every_kind_are_staged_alike(spark: SparkSession) -> None:
    assert {of.kind for of, _, _ in kinds().values()} >= {Kind(one) for one in Kind} - ALL_TEXTS
    chance = Random(24)
    names = kinds()
    made = [pa.array(range(ROWS))]
    for _, arrow, make in names.values():
        made.append(pa.array([chance.choice((None, make(chance), make(chance))) for _ in range(ROWS)], arrow))
    plan = table_of(
        {"id": ColumnType(Kind.INT64, ""), **{name: of for name, (of, _, _) in names.items()}}, ("id",)
    )
    by_spark, ours = staged_twice(spark, plan, made)
    for at, (name, (of, _, _)) in enumerate(names.items(), start=1):
        for mine, theirs in zip(ours[f"c{at}"].to_pylist(), by_spark[f"c{at}"].to_pylist(), strict=True):
            assert alike(mine, theirs, of), f"{name}: {mine!r} is not {theirs!r}"
    assert ours["k"].to_pylist() == by_spark["k"].to_pylist()


@pytest.mark.parametrize("name", MADE)
def test_keys_of_every_kind_have_one_hash(spark: SparkSession, name: str) -> None:
    of, arrow, make = MADE[name]
    chance = Random(name)
    plan = table_of({"it": of, "id": ColumnType(Kind.INT64, "")}, ("it", "id"))
    values = pa.array([None, *(make(chance) for _ in range(ROWS))], arrow)
    by_spark, ours = staged_twice(spark, plan, [values, pa.array(range(len(values)))])
    assert ours["k"].to_pylist() == by_spark["k"].to_pylist()


ALL_TEXTS = frozenset(
    {
        Kind.NUMERIC_TEXT, Kind.DURATION_MICROS, Kind.ZONED_TIME, Kind.INTERVAL, Kind.UUID, Kind.XML,
        Kind.ENUM, Kind.ENUM_SET, Kind.TEXT_OF,
    }
)  # fmt: skip


def alike(mine: Any, theirs: Any, of: ColumnType) -> bool:
    """Whether two values are the same; Java 17 writes some floats of a list with one digit more."""
    if of.element is not None and of.element.kind in (Kind.FLOAT32, Kind.FLOAT64) and mine is not None:
        return repr(read_list(mine, of.element)) == repr(read_list(theirs, of.element))
    return repr(mine) == repr(theirs)


def read_list(written: str, of: ColumnType) -> list[object]:
    numbers = pa.array([None if one is None else float(one) for one in json.loads(written)], pa.float64())
    return list((numbers.cast(pa.float32(), safe=False) if of.kind is Kind.FLOAT32 else numbers).to_pylist())

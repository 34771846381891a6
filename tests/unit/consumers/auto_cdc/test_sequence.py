"""A sequence's text sorts, byte by byte, as its values do: tried in Spark on what is hard of each type."""

from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pytest
from psycopg import sql
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.types import DataType

from tests.fixtures.servers import Database
from wrackline.consumers.auto_cdc.feed_sequence import NO_ORDER, ordered_text, sequence_of
from wrackline.consumers.contract.sequences import FeedSequence
from wrackline.consumers.lake.sequence_sql import type_sql, value_sql
from wrackline.consumers.targets.postgres.sql.sequence import value as shown_by_postgresql
from wrackline.schemas.errors import Definite

LONGS = [-(2**63), -1000, -999, -1, 0, 1, 9, 10, 2**63 - 1]
TEXTS = [
    "",
    "\x01",
    "\x01a",
    "\x02",
    "\x02\x01",
    "\x02\x02",
    "\x02\x04",
    "\x03",
    " ",
    "0",
    "1",
    "10",
    "2",
    "a",
    "a\x01",
    "aa",
    "é",
    "😀",
]
ORDERED: dict[str, list[object]] = {
    "bigint": list(LONGS),
    "int": [-(2**31), -1, 0, 7, 2**31 - 1],
    "smallint": [-(2**15), 0, 2**15 - 1],
    "decimal(36,0)": [Decimal(-(10**36) + 1), Decimal(-1), Decimal(0), Decimal(10**36 - 1)],
    "decimal(36,9)": [Decimal(f"{one}e-9") for one in (1 - 10**36, -1, 0, 1, 10**36 - 2, 10**36 - 1)],
    "decimal(5,3)": [
        Decimal(one) for one in ("-99.999", "-0.001", "0", "0.001", "0.01", "9.999", "10", "99.999")
    ],
    "date": [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(9999, 12, 31)],
    "timestamp": [datetime(1901, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)],
    "timestamp_ntz": [datetime(1901, 1, 1), datetime(2026, 1, 1), datetime(2026, 1, 1, 0, 0, 0, 1)],  # noqa: DTZ001
    "string": list(TEXTS),
    "struct<a: string, b: bigint>": [
        (text, number) for text in (None, *sorted(TEXTS, key=str.encode)) for number in (None, *LONGS)
    ],
}


GATE = ("bigint", "decimal(36,9)", "timestamp_ntz", "struct<a: string, b: bigint>")
TYPES = [one if one in GATE else pytest.param(one, marks=pytest.mark.full) for one in ORDERED]


@pytest.mark.parametrize("its_type", TYPES)
def test_the_text_sorts_as_the_values(spark: SparkSession, its_type: str) -> None:
    values = ORDERED[its_type]
    frame = spark.createDataFrame([(at, value) for at, value in enumerate(values)], f"at int, it {its_type}")
    text = ordered_text(F.col("it"), frame.schema["it"].dataType)
    rows = frame.repartition(3).select("at", text.alias("text")).collect()
    assert [row["at"] for row in sorted(rows, key=lambda row: row["text"].encode())] == list(
        range(len(values))
    )
    assert len({row["text"] for row in rows}) == len(values)


@pytest.mark.parametrize("its_type", TYPES)
def test_the_text_comes_back_as_the_value_in_spark(spark: SparkSession, its_type: str) -> None:
    frame = spark.createDataFrame([(value,) for value in (*ORDERED[its_type], None)], f"it {its_type}")
    of = sequence_of(frame.schema["it"].dataType)
    text = ordered_text(F.col("it"), frame.schema["it"].dataType)
    texts = frame.withColumn("text", F.concat(text, F.lit("\x01deed")))
    shown = texts.select("it", F.expr(value_sql(FeedSequence.parse(of.text()), "text")).alias("shown"))
    assert DataType.fromDDL(type_sql(of)).simpleString() == shown.schema["shown"].dataType.simpleString()
    assert all(row["it"] == row["shown"] for row in shown.collect())
    assert shown.where("it IS NULL OR shown IS NULL").count() == 1


def test_a_text_that_holds_all_that_is_escaped_comes_back_whole(spark: SparkSession) -> None:
    texts = ["\x00", "a\x00b", "\x00\x01\x02\x03\x04", "\x02\x02\x00", "\x04\x03\x02\x01\x00"]
    frame = spark.createDataFrame([(one,) for one in texts], "it string")
    of = FeedSequence.parse(sequence_of(frame.schema["it"].dataType).text())
    written = ordered_text(F.col("it"), frame.schema["it"].dataType)
    [*found] = frame.select("it", F.concat(written, F.lit("\x01deed")).alias("text")).collect()
    assert [row["it"] for row in sorted(found, key=lambda row: row["text"].encode())] == sorted(texts)
    shown = frame.select(F.concat(written, F.lit("\x01deed")).alias("text")).selectExpr(value_sql(of, "text"))
    assert [row[0] for row in shown.collect()] == texts


@pytest.mark.parametrize("its_type", TYPES)
def test_the_text_comes_back_as_the_value_in_postgresql(
    spark: SparkSession, database: Database, its_type: str
) -> None:
    values = ORDERED[its_type]
    frame = spark.createDataFrame([(value,) for value in values], f"it {its_type}")
    of = sequence_of(frame.schema["it"].dataType)
    text = ordered_text(F.col("it"), frame.schema["it"].dataType)
    texts = [row[0] for row in frame.select(F.concat(text, F.lit("\x01deed"))).collect()]
    query = sql.SQL("SELECT {} FROM unnest(%s::text[]) AS it(text)").format(
        shown_by_postgresql(of, sql.Identifier("text"))
    )
    with psycopg.connect(database.dsn, options="-c timezone=UTC") as session:
        found = [row[0] for row in session.execute(query, [texts])]
    if of.is_struct:
        assert [tuple(one.values()) for one in found] == values
        return
    assert found == values
    assert {type(one) for one in found} == {type(one) for one in values}


@pytest.mark.parametrize("its_type", [one for one in TYPES if one != "struct<a: string, b: bigint>"])
def test_what_is_null_stays_null(spark: SparkSession, its_type: str) -> None:
    frame = spark.createDataFrame([(None,)], f"it {its_type}")
    [row] = frame.select(ordered_text(F.col("it"), frame.schema["it"].dataType).alias("text")).collect()
    assert row["text"] is None


@pytest.mark.parametrize(
    "written",
    ["double", "boolean", "array<int>", "struct<a: double>", "decimal(37,0)", "struct<a: struct<b: int>>"],
)
def test_what_has_no_order_is_refused(spark: SparkSession, written: str) -> None:
    its_type = spark.createDataFrame([], f"it {written}").schema["it"].dataType
    with pytest.raises(Definite) as raised:
        ordered_text(F.col("it"), its_type)
    assert raised.value.code == NO_ORDER.code

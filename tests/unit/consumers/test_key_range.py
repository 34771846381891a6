"""The range of a batch's keys: it is given only if every target orders alike and no key may be null."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date

import pytest
from pyspark.sql import SparkSession

from wrackline.consumers.batch.key_range import bound_columns, key_ranges
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, KeyColumnRange, MergePlan, TableMode, plan_merge
from wrackline.consumers.lake.merge_sql import merge_statement
from wrackline.consumers.lake.versions_sql import versions_statement
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

KEY = {"number": Kind.INT64, "day": Kind.DATE, "name": Kind.STRING, "real": Kind.FLOAT64}
TABLE = TableSchema(
    TableId("shop", "public", "things"),
    tuple(Column(name, at, ColumnType(kind, "x")) for at, (name, kind) in enumerate(KEY.items(), 1)),
    tuple(KEY),
    KeyKind.UNIQUE,
)
PLAN = plan_merge(TABLE, Identifiers(255), Applied())
ROWS = "row struct<number: bigint, day: date, name: string, real: double>"
DAYS = date(1969, 12, 31), date(2026, 1, 2)
WITHIN = {"number": KeyColumnRange(-7, 300), "day": KeyColumnRange(*DAYS)}


def joined(plan: MergePlan, *, truncated: bool = False) -> str:
    statement = merge_statement(plan, "t", "05", truncated=truncated)
    return next(line for line in statement.splitlines() if line.startswith("MERGE"))


@pytest.mark.parametrize(
    ("third", "expected"),
    [(5, WITHIN), (None, {"day": WITHIN["day"]})],
    ids=["no nulls", "a null"],
)
def test_ranges_hold_every_key(
    spark: SparkSession, third: int | None, expected: Mapping[str, KeyColumnRange]
) -> None:
    keys = [(300, DAYS[0], "b", 1.0), (-7, DAYS[1], "a", -0.0), (third, DAYS[0], None, None)]
    frame = spark.createDataFrame([(key,) for key in keys], ROWS)
    assert key_ranges(frame.agg(*bound_columns(PLAN)).collect()[0], PLAN) == expected
    assert key_ranges(frame.limit(0).agg(*bound_columns(PLAN)).collect()[0], PLAN) == {}


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (TableMode.APPEND, {"_wl_row": KeyColumnRange("01", "02-")}),
        (TableMode.HISTORY, WITHIN),  # an event may change the rows of older ones, which have the same key
    ],
)
def test_where_each_event_has_a_row_it_is_found_by_what_never_changes(
    spark: SparkSession, mode: TableMode, expected: Mapping[str, KeyColumnRange]
) -> None:
    keys = [("02-", 300, DAYS[0], "b", 1.0), ("01", -7, DAYS[1], "a", -0.0)]
    plan = plan_merge(TABLE, Identifiers(255), Applied(), mode=mode)
    frame = spark.createDataFrame([(key,) for key in keys], ROWS.replace("<", "<_wl_row: string, "))
    assert key_ranges(frame.agg(*bound_columns(plan)).collect()[0], plan) == expected


@pytest.mark.parametrize("day", ["-0043-03-15", "+12026-01-02"])
def test_a_day_that_python_has_not_makes_no_range(spark: SparkSession, day: str) -> None:
    keys = spark.sql(
        f"SELECT named_struct('number', 7L, 'day', date(at), 'name', 'a', 'real', 1D) AS row"
        f" FROM VALUES ('2026-01-02'), ('{day}') AS days(at)"
    )
    assert key_ranges(keys.agg(*bound_columns(PLAN)).collect()[0], PLAN) == {"number": KeyColumnRange(7, 7)}


def test_a_merge_reads_within_the_range_unless_it_looks_for_what_was_truncated() -> None:
    plain, ranged = joined(PLAN), joined(replace(PLAN, within=WITHIN))
    assert "BETWEEN" not in plain
    assert "t.`number` BETWEEN -7 AND 300" in ranged
    assert "t.`day` BETWEEN DATE '1969-12-31' AND DATE '2026-01-02'" in ranged
    assert "BETWEEN" not in joined(replace(PLAN, within=WITHIN), truncated=True)
    assert "t.`name` <=> s.row.`name`" in ranged, "a key without a range may hold null"
    texts = {"name": KeyColumnRange("a'", "${x}")}
    assert "t.`name` BETWEEN 'a\\'' AND '\\u0024{x}'" in joined(replace(PLAN, within=texts))


def test_a_history_reads_within_the_range_unless_it_looks_for_what_was_truncated() -> None:
    plan = replace(plan_merge(TABLE, Identifiers(255), Applied(), mode=TableMode.HISTORY), within=WITHIN)
    for voided, expected in ((False, 2), (True, 1)):
        statement = versions_statement(plan, "t", plan.columns, "05", voided=voided)
        assert statement.count("t.`number` BETWEEN -7 AND 300") == expected, "of its events, and of the MERGE"

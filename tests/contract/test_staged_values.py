"""Values of each kind, with their extremes, come through a stage of primitives as they were."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from math import inf, nan
from pathlib import Path

import pytest

from tests.fakes.duck_service import DIALECT, IN_PARTS
from tests.fakes.duck_world import DuckWorld
from tests.fixtures.tiers import alternatives
from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.contract.plan import Applied, plan_merge
from wrackline.consumers.staged.merge import staged_columns
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    A,
    B,
    alter,
    change,
    labels,
    plan_for,
    put,
    seq,
)

LAST = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
EARLY = datetime(1, 1, 1, tzinfo=UTC)
DECIMAL = ColumnType(Kind.DECIMAL, "numeric(38,10)", 38, 10)
VALUES: Mapping[str, tuple[ColumnType, list[object]]] = {
    "flag": (ColumnType(Kind.BOOLEAN, "boolean"), [True, False]),
    "small": (ColumnType(Kind.INT16, "smallint"), [-(2**15), 2**15 - 1]),
    "large": (ColumnType(Kind.INT64, "bigint"), [-(2**63), 2**63 - 1]),
    "unsigned": (ColumnType(Kind.UINT64, "bigint unsigned"), [Decimal(0), Decimal(2**64 - 1)]),
    "float": (ColumnType(Kind.FLOAT64, "float8"), [-0.0, nan, inf, -inf, 5e-324, 1.7976931348623157e308]),
    "exact": (DECIMAL, [Decimal("-" + "9" * 28 + "." + "9" * 10), Decimal("1E-10")]),
    "long": (ColumnType(Kind.NUMERIC_TEXT, "numeric"), ["1.00", "NaN", "9" * 200]),
    "text": (ColumnType(Kind.STRING, "text"), ["", "'\"\\\n\t%,3,", "é😀", "NULL"]),
    "bytes": (ColumnType(Kind.BYTES, "bytea"), [b"", bytes(range(256))]),
    "day": (ColumnType(Kind.DATE, "date"), [EARLY.date(), LAST.date(), date(1969, 12, 31)]),
    "clock": (ColumnType(Kind.TIME_MICROS, "time"), [time(0), time(23, 59, 59, 999_999)]),
    "moment": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        [EARLY.replace(tzinfo=None), LAST.replace(tzinfo=None), datetime(1969, 12, 31, 23, 59, 59, 1)],  # noqa: DTZ001 - without a zone
    ),
    "instant": (ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"), [datetime(2, 1, 1, tzinfo=UTC), LAST]),
    "span": (ColumnType(Kind.DURATION_MICROS, "time"), [-(2**62), 0]),
}
KINDS = TableSchema(
    TableId("db", "public", "kinds"),
    (COLUMNS[1], *(Column(name, at, of) for at, (name, (of, _)) in enumerate(VALUES.items(), start=10))),
    ("number",),
    KeyKind.PRIMARY,
)


@pytest.fixture(params=alternatives([DIALECT, IN_PARTS]), ids=["merge", "parts"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
    return DuckWorld(tmp_path, request.param)


def rows() -> list[dict[str, object]]:
    """Each value once, and null beside it."""
    longest = max(len(values) for _, values in VALUES.values())
    return [
        {
            "number": at,
            **{name: values[at] if at < len(values) else None for name, (_, values) in VALUES.items()},
        }
        for at in range(longest + 1)
    ]


def in_utc(row: Mapping[str, object]) -> dict[str, object]:
    instant = row["instant"]
    return {**row, "instant": instant.astimezone(UTC) if isinstance(instant, datetime) else None}


def test_values_are_inserted_and_written_over_exactly(world: DuckWorld) -> None:
    """peerdb#1130, spark-bigquery-connector#783."""
    wanted = rows()
    for number, shift in ((1, 1), (2, 0)):  # first the neighbour's values, then its own
        shown = [{**wanted[at - shift], "number": at} for at in range(len(wanted))]
        changes = [Change((one["number"],), seq(number), "u", one) for one in shown]
        put(world, plan_for(world, number, table=KINDS), *changes)
        found = sorted(map(in_utc, world.seen(KINDS.id)), key=lambda row: int(str(row["number"])))
        assert list(map(repr, found)) == list(map(repr, shown))


def test_a_value_stays_where_its_column_needs_another_type(world: DuckWorld) -> None:
    count = Column("count", 50, ColumnType(Kind.INT32, "integer"))
    narrow = replace(KINDS, columns=(KINDS.columns[0], count))
    values = [-(2**31), 0, None]
    changes = [Change((at,), seq(1), "c", {"number": at, "count": one}) for at, one in enumerate(values)]
    put(world, plan_for(world, 1, table=narrow), *changes)
    wide = replace(narrow, columns=(KINDS.columns[0], replace(count, type=DECIMAL)))
    alter(world, plan_for(world, 2, table=wide), narrow)
    found = {row["number"]: row["count"] for row in world.seen(KINDS.id)}
    assert found == dict(enumerate(values))
    assert isinstance(found[0], Decimal)
    assert [one.type for one in world.target.held(KINDS.id) or ()] == [COLUMNS[1].type, DECIMAL]


def test_a_row_that_is_too_long_is_refused_before_anything_is_kept(tmp_path: Path) -> None:
    """Each of its values is held: Redshift loads no row of more than 4 MB."""
    world = DuckWorld(tmp_path, replace(DIALECT, row_bytes=100_000))
    put(world, plan_for(world, 1), change("c", A, 1, "x" * 69_000, "y" * 30_000))
    world.trap.texts.clear()
    with pytest.raises(OperatorNeeded, match=r"target\.row_refused.*longer than 100000 bytes") as found:
        put(world, plan_for(world, 2), change("c", B, 2, "secret" * 10_000, "é" * 20_000))
    assert "secret" not in str(found.value)
    assert not any("read_parquet" in text for text in world.trap.texts)
    assert labels(world) == {A: "x" * 69_000}


@pytest.mark.parametrize("most", [210_003, 210_002, None])
def test_rows_are_measured_only_where_they_can_be_too_long(most: int | None) -> None:
    """The table has three texts of at most 70,001 bytes."""
    plan = plan_merge(TABLE, DIALECT.identifiers, Applied())
    (key, *_) = staged_columns(plan, replace(DIALECT, row_bytes=most))
    assert key.limit == (Limit(most_row_bytes=most) if most == 210_002 else None)

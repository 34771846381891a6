"""The promises of a staged target again, with frames that Spark folds and writes as primitives."""

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from math import nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.fakes.duck_world import DuckWorld
from tests.integration.targets.folded_frames import folded_frame
from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import MergePlan, TableMode
from wrackline.consumers.newest.plain_columns import plain_columns
from wrackline.consumers.staged import carriers
from wrackline.consumers.staged.carriers import DriverCarrier
from wrackline.consumers.staged.carry import primitives
from wrackline.consumers.staged.merge import StageColumn, staged_columns
from wrackline.consumers.staged.service import CarriedFiles
from wrackline.consumers.staged.target import StagedTarget
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind, spark_type
from wrackline.testing.targets.keyless_suite import KeylessPromises
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.modes_suite import AppendPromises, HistoryPromises
from wrackline.testing.targets.target_suite import (
    HERE,
    LetterPromises,
    LimitPromises,
    MergePromises,
    TargetSuite,
    change,
    plan_for,
    seq,
)

TABLE_MODES = (TableMode.UPSERT, TableMode.APPEND, TableMode.HISTORY)
ZONE = "America/St_Johns"  # half an hour off, with a summer time


class SparkDuckWorld(DuckWorld):
    """A target that is fed as the pipeline feeds it."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        super().__init__(folder)
        self.carrier = DriverCarrier()  # type: ignore[assignment]  # frames are Spark's here
        self.target = self.open()
        self.spark = spark.newSession()
        self.spark.conf.set("spark.sql.shuffle.partitions", "1")
        self.spark.conf.set("spark.sql.session.timeZone", ZONE)

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> DataFrame:
        return folded_frame(self.spark, changes, plan)


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> SparkDuckWorld:
    return SparkDuckWorld(tmp_path, spark)


class TestShortly:
    """The promises in which Spark has the largest part, and rows of our own."""

    test_limit = LimitPromises.test_a_value_beyond_a_limit_is_refused_before_anything_is_kept
    test_character = LimitPromises.test_a_character_that_is_not_held_is_refused_before_anything_is_kept
    test_partial = MergePromises.test_a_partial_update_keeps_what_is_stored
    test_letters = LetterPromises.test_letters_are_kept_as_they_are
    test_truncates = HistoryPromises.test_a_truncate_ends_what_lived


@pytest.mark.deep
class TestThroughout(TargetSuite, KeylessPromises, AppendPromises, HistoryPromises):
    """All of them."""


KINDS: dict[str, tuple[ColumnType, str, object]] = {  # as Spark SQL writes a value, and its primitive
    "flag": (ColumnType(Kind.BOOLEAN, "boolean"), "true", True),
    "small": (ColumnType(Kind.INT16, "smallint"), "-32768", -32768),
    "float": (ColumnType(Kind.FLOAT32, "real"), "-0.0f", -0.0),
    "exact": (ColumnType(Kind.DECIMAL, "numeric(38,10)", 38, 10), "1.5BD", "1.5"),
    "unsigned": (
        ColumnType(Kind.UINT64, "bigint unsigned"),
        "18446744073709551615BD",
        "18446744073709551615",
    ),
    "text": (ColumnType(Kind.STRING, "text"), r"'\'\"\\é'", "'\"\\é"),
    "bytes": (ColumnType(Kind.BYTES, "bytea"), "X'00FF'", b"\0\xff"),
    "day": (ColumnType(Kind.DATE, "date"), "DATE'0001-01-01'", -719162),
    "clock": (ColumnType(Kind.TIME_MICROS, "time"), "86399999999L", 86_399_999_999),
    "moment": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        "TIMESTAMP_NTZ'1969-12-31 23:59:59.000001'",
        -999_999,
    ),
    "summer": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        "TIMESTAMP_NTZ'2026-03-08 02:30:00'",  # no such time in that zone
        round(datetime(2026, 3, 8, 2, 30, tzinfo=UTC).timestamp()) * 1_000_000,
    ),
    "early": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        "TIMESTAMP_NTZ'0001-01-01 00:00:00'",
        -62_135_596_800_000_000,
    ),
    "instant": (
        ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"),
        "TIMESTAMP'2026-01-02 03:04:05.000006Z'",
        1_767_323_045_000_006,
    ),
    "list": (
        ColumnType(Kind.ARRAY, "int[]", element=ColumnType(Kind.INT32, "integer")),
        "array(1, null)",
        "[1,null]",
    ),
}


def table_of(kinds: dict[str, tuple[ColumnType, str, object]], key: Sequence[str]) -> TableSchema:
    columns = tuple(Column(name, at, of) for at, (name, (of, _, _)) in enumerate(kinds.items(), start=1))
    return TableSchema(TableId("db", "public", "kinds"), columns, tuple(key), KeyKind.PRIMARY)


def staged(
    world: SparkDuckWorld,
    kinds: dict[str, tuple[ColumnType, str, object]],
    key: Sequence[str],
    mode: TableMode = TableMode.UPSERT,
) -> Any:
    """Return the one row of a stage."""
    plan = plan_for(world, 1, table=table_of(kinds, key), mode=mode)
    row = ", ".join(f"{text} AS `{name}`" for name, (_, text, _) in kinds.items())
    if mode is not TableMode.UPSERT:
        row += f", 'its own' AS `{plan.ours.row}`"
    frame = world.spark.sql(
        f"SELECT struct({row}) AS row, '{seq(1)}' AS seq, 'c' AS op, timestamp_millis(7) AS commit_ts,"
        " false AS deleted, array('text') AS unsent, array('day', 'list') AS missing"
    )
    columns: Sequence[StageColumn] = staged_columns(plan)
    (found,) = primitives(frame, plan, columns).collect()
    return found


def test_each_kind_is_staged_as_its_primitive(world: SparkDuckWorld) -> None:
    """spark-bigquery-connector#1232."""
    found = staged(world, KINDS, ["small"])
    values = [found[f"c{at}"] for at in range(len(KINDS))]
    assert repr([bytes(one) if isinstance(one, bytearray) else one for one in values]) == repr(
        [wanted for _, _, wanted in KINDS.values()]
    )
    assert (found["commit_us"], found["unsent"], found["missing"]) == (7000, ",6,", ",8,14,")


def test_a_key_has_one_form(world: SparkDuckWorld) -> None:
    def key(of: ColumnType, text: str) -> str:
        return str(staged(world, {"k": (of, text, None), **KINDS}, ["k"])["k"])

    wide, whole = ColumnType(Kind.DECIMAL, "", 38, 10), ColumnType(Kind.INT64, "bigint")
    assert key(whole, "100L") == key(wide, "CAST(100 AS DECIMAL(38,10))") != key(whole, "10L")
    assert key(wide, "0.0000000001BD") == key(
        replace_scale(wide, 12), "CAST(0.0000000001BD AS DECIMAL(38,12))"
    )
    assert key(KINDS["float"][0], "-0.0f") == key(ColumnType(Kind.FLOAT64, "float8"), "0.0D")
    assert key(KINDS["text"][0], "'null'") != key(KINDS["text"][0], "CAST(NULL AS STRING)")


def test_an_event_is_staged_by_its_own_row_and_in_a_history_by_its_key_too(world: SparkDuckWorld) -> None:
    upsert, append, history = (staged(world, KINDS, ["small"], mode) for mode in TABLE_MODES)
    assert append["k"] == history["e"] == "its own"
    assert history["k"] == upsert["k"] != append["k"]
    nobody = {**KINDS, "small": (KINDS["small"][0], "CAST(NULL AS SMALLINT)", None)}
    assert staged(world, nobody, ["small"], TableMode.HISTORY)["k"], "a truncate's key is never null"


def replace_scale(of: ColumnType, scale: int) -> ColumnType:
    return ColumnType(of.kind, of.source, of.precision, scale)


BEYOND: dict[str, tuple[Kind, str, str, str]] = {  # held, and not held
    "text": (Kind.STRING, "repeat('x', 70001)", "repeat('x', 70002)", "longer than 70001 bytes"),
    "wide text": (Kind.STRING, "repeat('é', 35000)", "repeat('é', 35001)", "longer than 70001 bytes"),
    "bytes": (
        Kind.BYTES,
        "cast(repeat('x', 70001) AS binary)",
        "cast(repeat('x', 70002) AS binary)",
        "longer",
    ),
    "list": (Kind.ARRAY, "array(repeat('x', 69997))", "array(repeat('x', 69998))", "longer than 70001 bytes"),
    "early": (Kind.DATE, "DATE'0001-01-01'", "DATE'0000-12-31'", "not from -719162 to 2932896"),
    "late": (Kind.DATE, "DATE'9999-12-31'", "DATE'+10000-01-01'", "not from -719162 to 2932896"),
    "midnight": (Kind.TIME_MICROS, "86399999999L", "86400000000L", "not from 0 to 86399999999"),
    "moment": (
        Kind.TIMESTAMP_MICROS,
        "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
        "TIMESTAMP_NTZ'+10000-01-01 00:00:00'",
        "not from None to 253402300799999999",
    ),
}


@pytest.mark.parametrize(("kind", "held", "beyond", "why"), BEYOND.values(), ids=BEYOND)
def test_a_query_fails_at_a_value_beyond_a_limit_and_names_its_column_alone(
    world: SparkDuckWorld, kind: Kind, held: str, beyond: str, why: str
) -> None:
    element = ColumnType(Kind.STRING, "text") if kind is Kind.ARRAY else None
    number = Column("number", 1, ColumnType(Kind.INT64, "bigint"), nullable=False)
    table = TableSchema(
        TableId("db", "public", "kinds"),
        (number, Column("found", 2, ColumnType(kind, "x", element=element))),
        ("number",),
        KeyKind.PRIMARY,
    )
    plan = plan_for(world, 1, table=table)

    def put(*texts: str) -> None:
        rows = ", ".join(f"({at}L, {text})" for at, text in enumerate(texts))
        frame = world.spark.sql(
            f"SELECT struct(number, found) AS row, '{seq(1)}' AS seq, 'c' AS op,"
            " timestamp_millis(7) AS commit_ts, false AS deleted, cast(array() AS array<string>) AS unsent,"
            f" cast(array() AS array<string>) AS missing FROM VALUES {rows} AS t(number, found)"
        )
        world.target.ensure_table(plan)
        world.target.apply(world.target.stage(frame, plan), plan)

    with pytest.raises(OperatorNeeded, match=rf"target\.value_refused.*'found': it is {why}") as refused:
        put(held, beyond)
    assert refused.value.__cause__ is None, "Spark's own error shows the query"
    assert world.seen(table.id) == []
    put(held)
    assert len(world.seen(table.id)) == 1


@pytest.mark.parametrize("here", [True, False], ids=["tasks write", "ranges"])
def test_a_value_beyond_a_limit_is_named_in_each_way_of_carrying(
    world: SparkDuckWorld, monkeypatch: pytest.MonkeyPatch, *, here: bool
) -> None:
    monkeypatch.setattr(carriers, "shares_disk", lambda _: here)
    world.carrier = DriverCarrier(few=0)  # type: ignore[assignment]  # frames are Spark's here
    world.restart()
    plan = plan_for(world, 1)
    frame = world.frame([change("c", ("a", 1), 1, "x" * 70_002)], plan)
    with pytest.raises(OperatorNeeded, match=r"target\.value_refused.*'label'.*longer than 70001 bytes"):
        world.target.stage(frame, plan)


def rows_of(files: CarriedFiles) -> list[Any]:
    found = [row for file in files.addresses for row in pq.read_table(file).to_pylist()]
    return sorted(found, key=lambda row: str(row["k"]))


def test_each_way_of_carrying_leaves_the_same_rows_and_holds_few_of_them(
    world: SparkDuckWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [change("c", ("a", number), 1, f"label {number}") for number in range(60)]
    plan = plan_for(world, len(changes))
    frame = world.frame(changes, plan).repartition(6).persist()
    columns, sizes = staged_columns(plan), list[list[int]]()

    def carried(few: int, most_bytes: int = 1 << 20) -> tuple[CarriedFiles, list[Any]]:
        carrier = DriverCarrier(few, rows_of_file=25, most_bytes=most_bytes)
        files = carrier.carry(frame, plan, columns)
        found = rows_of(files)
        sizes.append([pq.read_metadata(file).num_rows for file in files.addresses])
        carrier.forget(files)
        return files, found

    one, wanted = carried(few=60)
    assert (len(one.addresses), one.rows, len(wanted)) == (1, 60, 60)
    by_spark, found = carried(few=59)
    assert (len(by_spark.addresses) > 1, by_spark.rows, found) == (True, 60, wanted)
    monkeypatch.setattr(carriers, "shares_disk", lambda _: False)
    ranged, found = carried(few=59)
    assert (ranged.rows, found) == (60, wanted)
    assert max(sizes[-1]) <= 25
    sliced, found = carried(few=59, most_bytes=1000)  # less than a part has
    assert (sliced.rows, found) == (60, wanted)
    assert len(sizes[-1]) > 6
    frame.unpersist()


def test_files_go_with_their_batch_and_an_empty_one_is_none(
    world: SparkDuckWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "batches"
    there.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(there))
    plan, carrier = plan_for(world, 1), DriverCarrier(few=0)
    files = carrier.carry(world.frame([change("c", ("a", 1), 1)], plan), plan, staged_columns(plan))
    assert Path(files.addresses[0]).parent.stat().st_mode & 0o077 == 0, "rows are nobody else's"
    carrier.forget(files)
    assert list(there.iterdir()) == []
    assert carrier.carry(world.frame([], plan), plan, staged_columns(plan)) == CarriedFiles((), 0)
    assert list(there.iterdir()) == []


Alike = tuple[ColumnType, list[str], pa.Array]
ALIKE: dict[str, Alike] = {  # as Spark SQL writes two values, and as Arrow has them
    "id": (ColumnType(Kind.INT64, "bigint"), ["-7L", "9007199254740993L"], pa.array([-7, 9007199254740993])),
    "name": (ColumnType(Kind.STRING, "text"), [r"'a\"b\\\\c/é😀'", "''"], pa.array(['a"b\\\\c/é😀', ""])),
    "day": (
        ColumnType(Kind.DATE, "date"),
        ["DATE'0001-01-01'", "DATE'2026-01-02'"],
        pa.array([date(1, 1, 1), date(2026, 1, 2)]),
    ),
    "flag": (ColumnType(Kind.BOOLEAN, "boolean"), ["true", "null"], pa.array([True, None])),
    "moment": (
        ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"),
        ["TIMESTAMP_NTZ'1969-12-31 23:59:59.000001'", "null"],
        pa.array([-999_999, None], pa.timestamp("us")),
    ),
    "instant": (
        ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"),
        ["TIMESTAMP'2026-01-02 03:04:05.000006Z'", "null"],
        pa.array(["2026-01-02T03:04:05.000006Z", None]),
    ),
    "big": (
        ColumnType(Kind.UINT64, "bigint unsigned"),
        ["18446744073709551615BD", "0BD"],
        pa.array([Decimal(2**64 - 1), Decimal(0)], pa.decimal128(20, 0)),
    ),
    "price": (
        ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2),
        ["1.50BD", "-9999999999.99BD"],
        pa.array([Decimal("1.50"), Decimal("-9999999999.99")], pa.decimal128(12, 2)),
    ),
    "weight": (ColumnType(Kind.FLOAT32, "real"), ["-0.0f", "'nan'"], pa.array([-0.0, nan], pa.float32())),
    "data": (ColumnType(Kind.BYTES, "bytea"), ["X'00FF'", "null"], pa.array([b"\0\xff", None], pa.binary())),
    "clock": (ColumnType(Kind.TIME_MICROS, "time"), ["86399999999L", "0L"], pa.array([86_399_999_999, 0])),
}


def test_changes_in_arrow_are_staged_as_spark_stages_them(world: SparkDuckWorld) -> None:
    table = table_of(
        {name: (of, "", None) for name, (of, _, _) in ALIKE.items()}, ["id", "name", "day", "big"]
    )
    plan = plan_for(world, 1, table=table)
    columns = staged_columns(plan)
    selects = []
    for at, lists in enumerate(("array(), array('name', 'weight')", "array('data'), array()")):
        row = ", ".join(
            f"CAST({texts[at]} AS {spark_type(of)}) AS `{name}`" for name, (of, texts, _) in ALIKE.items()
        )
        selects.append(
            f"SELECT struct({row}), '{seq(at)}', 'u', timestamp_millis({7 + at}), {at == 1}, {lists}"
        )
    names = "row, seq, op, commit_ts, deleted, unsent, missing"
    frame = world.spark.sql(f"SELECT * FROM ({' UNION ALL '.join(selects)}) AS t({names})")
    by_spark = primitives(frame, plan, columns).collect()
    places = {name: at for at, name in enumerate(ALIKE)}
    changes = DirectChanges(
        [values for _, _, values in ALIKE.values()],
        pa.array([seq(0), seq(1)]),
        pa.array(["u", "u"]),
        pa.array([False, True]),
        pa.array([7, 8]),
        unsent={places["data"]: pa.array([False, True])},
        missing={places["weight"]: pa.array([True, False]), places["name"]: pa.array([True, False])},
    )
    plain = plain_columns(changes, plan)
    assert plain is not None
    ours = [[plain[one.name][at].as_py() for one in columns] for at in range(2)]
    theirs = [[bytes(cell) if isinstance(cell, bytearray) else cell for cell in row] for row in by_spark]
    assert repr(ours) == repr(theirs)


LEFT_TO_SPARK: dict[str, tuple[ColumnType, pa.Array, str]] = {  # a value, and what is the key
    "infinite": (ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"), pa.array(["infinity"]), "id"),
    "far": (
        ColumnType(Kind.ARRAY, "date[]", element=ColumnType(Kind.DATE, "date")),
        pa.array([[2_932_897]], pa.list_(pa.date32())),
        "id",
    ),
    "too long": (ColumnType(Kind.STRING, "text"), pa.array(["x" * 70_002]), "id"),
    "character": (ColumnType(Kind.STRING, "text"), pa.array(["a\x02"]), "id"),
    "midnight": (ColumnType(Kind.TIME_MICROS, "time"), pa.array([86_400_000_000]), "id"),
}


@pytest.mark.parametrize(("of", "values", "key"), LEFT_TO_SPARK.values(), ids=LEFT_TO_SPARK)
def test_what_only_spark_knows_or_refuses_is_left_to_it(
    world: SparkDuckWorld, of: ColumnType, values: pa.Array, key: str
) -> None:
    table = table_of({"id": (ColumnType(Kind.INT64, "bigint"), "", None), "it": (of, "", None)}, [key])
    op = pa.array(["r"])
    changes = DirectChanges([pa.array([1]), values], pa.array([seq(1)]), op, pa.array([False]), pa.array([1]))
    plan = plan_for(world, 1, table=table)
    assert isinstance(world.target, StagedTarget)
    begun = world.target.begin_direct(plan)
    assert begun is not None
    assert not begun.merge(changes, plan)
    assert not [text for text in world.trap.texts if "_wl_stage__" in text], "nothing was sent"


def test_changes_in_arrow_are_merged_without_spark(world: SparkDuckWorld) -> None:
    table = table_of({name: (ColumnType(Kind.INT64, "bigint"), "", None) for name in ("id", "count")}, ["id"])

    def merge(number: int, ids: list[int], counts: list[int | None], op: str, **more: Any) -> MergePlan:
        plan = replace(plan_for(world, number, table=table), since=world.target.applied(table.id))
        world.target.ensure_table(plan)
        ones = [pa.array(ids), pa.array(counts, pa.int64())]
        seqs, ops = pa.array([seq(number)] * len(ids)), pa.array([op] * len(ids))
        deleted = pa.array([op == "d"] * len(ids))
        changes = DirectChanges(ones, seqs, ops, deleted, pa.array([1] * len(ids)), **more)
        assert isinstance(world.target, StagedTarget)
        assert world.target.merge(changes, plan)
        return plan

    def seen() -> dict[object, object]:
        return {row["id"]: row["count"] for row in world.seen(table.id)}

    merge(1, [1, 2, 3], [10, 20, 30], "r")
    assert not [text for text in world.trap.texts if text.startswith("MERGE")], "a load inserts"
    merge(2, [2, 4], [None, 40], "u", unsent={1: pa.array([True, False])})
    merge(3, [3], [None], "d")
    assert seen() == {1: 10, 2: 20, 4: 40}
    assert [text for text in world.trap.texts if "BETWEEN 2 AND 4" in text], "the merge names the keys' range"
    assert world.target.applied(table.id).offsets == {HERE: 3}

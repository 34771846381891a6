"""Dedupe and merge, in real Iceberg tables, against the merge model."""

import random
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from tests.integration.targets.iceberg.world import settings as target_settings
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, MergePlan, TopicPartition, plan_merge
from wrackline.consumers.records.dedupe import dedupe
from wrackline.consumers.targets.iceberg import connect
from wrackline.consumers.targets.iceberg.target import open_iceberg
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change, Key, Rows, Values, latest, merge

HERE = TopicPartition("s.d.t", 0)
COLUMNS = ("id", "a", "it's `b`")
CHANGES = (
    "row struct<id: bigint, a: string, `it's ``b```: string>, seq string, op string, "
    "commit_ts timestamp, unsent array<string>, offset bigint"
)


Row = tuple[str, bool, frozenset[str], Values]  # seq, deleted, missing, values unless deleted


def event(
    seq: int,
    key: int | None,
    op: str,
    a: str | None = None,
    b: str | None = None,
    *,
    unsent: Sequence[str] = (),
) -> Change:
    return Change((key,), f"{seq:08x}", op, {"a": a, COLUMNS[2]: b}, frozenset(unsent), seq * 1000)


def comparable(rows: Rows) -> dict[Key, Row]:
    """A tombstone's values mean nothing."""
    return {
        key: (row.seq, row.deleted, row.missing, {} if row.deleted else row.values)
        for key, row in rows.items()
    }


def plan(namespace: str, upto: Applied) -> MergePlan:
    kinds = (Kind.INT64, Kind.STRING, Kind.STRING)
    columns = tuple(
        Column(name, at, ColumnType(kind, "x"))
        for at, (name, kind) in enumerate(zip(COLUMNS, kinds, strict=True), 1)
    )
    table = TableSchema(TableId("d", namespace, "t"), columns, ("id",), KeyKind.PRIMARY)
    return plan_merge(table, Identifiers(255), upto)


class Merged:
    """A real table, changed batch by batch, each in a session of its own as the loop does it."""

    def __init__(self, spark: SparkSession, namespace: str) -> None:
        self._spark = spark
        self._plan = plan(namespace, Applied())
        self._offset = 0
        settings = target_settings(spark)
        self._place, self._target = connect.place(settings), open_iceberg(settings, spark)
        self._target.ensure_table(self._plan)

    def take(self, changes: Sequence[Change], floor: str | None = None) -> None:
        session = self._spark.newSession()
        rows = []
        for change in changes:
            self._offset += 1
            values = tuple(change.values.values())
            if change.op == "d":
                values = ("from before", None)  # only the key of a delete's row is true
            at = datetime.fromtimestamp(change.commit_ts / 1000, UTC)
            row = (*change.key, *values)
            rows.append((row, change.seq, change.op, at, list(change.unsent), self._offset))
        random.Random(len(rows)).shuffle(rows)  # the order of a frame means nothing
        since = self.applied()
        self._plan = plan(self._plan.table.id.schema, Applied({HERE: self._offset}, floor))
        lacking = frozenset[str]().union(*(change.unsent for change in changes))
        newest = dedupe(session.createDataFrame(rows, CHANGES), COLUMNS, ("id",), lacking)
        merged = replace(self._plan, lacking=lacking, since=since)
        self._target.apply(self._target.stage(newest, merged), merged)

    def rows(self) -> dict[Key, Row]:
        session = self._spark.newSession()
        found = session.table(self._place.quoted_name(self._plan.table.id)).collect()
        assert len({row["id"] for row in found}) == len(found), "a key stands twice"
        for row in found:
            at = row["_wl_commit_ts"].replace(tzinfo=UTC).timestamp()
            assert at == int(row["_wl_seq"], 16), "the commit's time is the newest change's"
        return {
            (row["id"],): (
                row["_wl_seq"],
                row["_wl_deleted"],
                frozenset(COLUMNS[identity - 1] for identity in row["_wl_missing"] or ()),
                {} if row["_wl_deleted"] else {name: row[name] for name in COLUMNS[1:]},
            )
            for row in found
        }

    def read(self) -> set[tuple[object, ...]]:
        live = self._target.rows(self._plan.table.id)
        assert live is not None
        assert tuple(live.columns) == COLUMNS
        return {tuple(row) for row in live.collect()}

    def applied(self) -> Applied:
        return self._target.applied(self._plan.table.id)


def history(chance: random.Random, keys: int, length: int) -> list[Change]:
    """Changes of many keys in the order of their log, any operation after any other.

    The first third of them lacks no value, the second at most those of one column.
    """
    changes = []
    for seq in range(1, length + 1):
        op = chance.choices("curd", (2, 6, 1, 2))[0]
        lacking = COLUMNS[1 : 1 + 3 * (seq - 1) // length]
        unsent = [name for name in lacking if op in "cu" and chance.random() < 0.4]
        a = None if "a" in unsent or chance.random() < 0.1 else f"a{seq}"
        b = None if COLUMNS[2] in unsent or chance.random() < 0.1 else f"b{seq}"
        changes.append(event(seq, chance.randrange(keys), op, a, b, unsent=unsent))
    return changes


def delivered(chance: random.Random, changes: Sequence[Change], batches: int) -> list[list[Change]]:
    """The history with rewinds in it, cut anywhere."""
    stream: list[Change] = []
    at = 0
    while at < len(changes):
        stream.append(changes[at])
        at += 1
        if chance.random() < 0.02:
            at = max(0, at - chance.randrange(30))
    cuts = sorted(chance.randrange(len(stream)) for _ in range(batches - 1))
    return [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_any_history_in_any_batches_ends_as_in_the_model(spark: SparkSession, seed: int) -> None:  # INV-5
    chance = random.Random(seed)
    merged = Merged(spark, f"s{uuid.uuid4().hex[:10]}")
    model: Rows = {}
    for batch in delivered(chance, history(chance, keys=60, length=400), batches=3):
        merged.take(batch)
        model = merge(model, latest(batch))
        assert merged.rows() == comparable(model)


def test_the_same_batch_twice_changes_nothing(spark: SparkSession, namespace: str) -> None:  # INV-5
    merged = Merged(spark, namespace)
    batch = history(random.Random(5), keys=20, length=80)
    merged.take(batch)
    before = merged.rows()
    merged.take(batch)
    assert merged.rows() == before
    assert merged.applied().offsets == {HERE: 160}


def test_what_comes_late_changes_nothing(spark: SparkSession, namespace: str) -> None:
    merged = Merged(spark, namespace)
    merged.take([event(5, 1, "c", "new", "new"), event(6, 2, "d"), event(7, 3, "d")])
    merged.take([event(3, 1, "u", "old", "old"), event(4, 2, "u", "old", "old"), event(4, 3, "c", "x", "x")])
    assert merged.read() == {(1, "new", "new")}
    assert {key: deleted for key, (_, deleted, *_) in merged.rows().items()} == {
        (1,): False,
        (2,): True,
        (3,): True,
    }


def test_a_chain_of_key_changes_leaves_each_row_where_it_ended(spark: SparkSession, namespace: str) -> None:
    """T-K09, T-S6."""
    merged = Merged(spark, namespace)
    merged.take([event(1, 0, "c", "zero", "z"), event(2, 1, "c", "one", "o")])
    # 0 -> 9, 1 -> 0, 9 -> 1: the rows change places, each step a delete and a create
    steps = [
        (event(3, 0, "d"), event(4, 9, "c", "zero", "z")),
        (event(5, 1, "d"), event(6, 0, "c", "one", "o")),
        (event(7, 9, "d"), event(8, 1, "c", "zero", "z")),
    ]
    merged.take([*steps[0], steps[1][0]])  # the cut lies between a delete and its create
    merged.take([steps[1][1], *steps[2]])
    assert merged.read() == {(0, "one", "o"), (1, "zero", "z")}


@pytest.mark.full
def test_a_partial_row_is_kept_from_readers_until_it_is_whole(spark: SparkSession, namespace: str) -> None:
    merged, b = Merged(spark, namespace), COLUMNS[2]
    merged.take([event(1, 7, "d"), event(2, 7, "c", "a2", unsent=(b,)), event(3, 8, "c", "a3", unsent=(b,))])
    assert merged.read() == set()
    assert merged.rows()[7,][2] == {b}
    merged.take([event(4, 7, "u", "a4", unsent=(b,)), event(5, 8, "u", None, "b5", unsent=("a",))])
    assert merged.read() == {(8, "a3", "b5")}  # each event brought what the other lacked
    merged.take([event(6, 7, "r", "a4", "b4")])
    assert merged.read() == {(7, "a4", "b4"), (8, "a3", "b5")}


@pytest.mark.full
def test_a_row_borrows_nothing_from_an_earlier_one_of_its_key(spark: SparkSession, namespace: str) -> None:
    merged, b = Merged(spark, namespace), COLUMNS[2]
    merged.take([event(1, 1, "c", "old", "old"), event(2, 2, "c", "old", "old")])
    merged.take([event(3, 1, "d"), event(4, 1, "c", "new", unsent=[b]), event(5, 2, "d")])
    merged.take([event(6, 2, "u", "new", unsent=[b])])  # its create was left out by a filter
    lacking = (False, frozenset({b}), {"a": "new", b: None})
    assert merged.rows() == {(1,): (f"{4:08x}", *lacking), (2,): (f"{6:08x}", *lacking)}


@pytest.mark.full
def test_a_null_in_the_key_is_the_same_row_each_time(spark: SparkSession, namespace: str) -> None:
    merged = Merged(spark, namespace)
    merged.take([event(1, None, "c", "first", "b")])
    merged.take([event(2, None, "u", "second", "b")])
    assert merged.read() == {(None, "second", "b")}


@pytest.mark.full
def test_a_truncate_takes_what_is_older_and_nothing_else(spark: SparkSession, namespace: str) -> None:
    merged, b = Merged(spark, namespace), COLUMNS[2]
    merged.take([event(1, 1, "c", "old", "old"), event(2, 2, "c", "old", "old"), event(9, 3, "c", "n", "n")])
    merged.take([event(8, 2, "u", "new", unsent=(b,))], floor=f"{5:08x}")
    assert merged.read() == {(3, "n", "n")}  # 2 borrowed nothing from the row that the truncate took
    assert merged.rows().keys() == {(2,), (3,)}
    assert merged.rows()[2,][2] == {b}
    assert merged.applied().floor == f"{5:08x}"


def test_an_empty_batch_still_moves_the_offsets(spark: SparkSession, namespace: str) -> None:
    """T-S7."""
    merged = Merged(spark, namespace)
    merged._offset = 41
    merged.take([])
    assert merged.applied().offsets == {HERE: 41}

"""Dead letters tried again where every event is kept: each goes in at its place, once, however late."""

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import fastavro
import pytest
from pyspark.sql import SparkSession

from tests.integration.targets.delta.world import DeltaWorld
from tests.integration.targets.iceberg.world import IcebergWorld
from tests.integration.targets.spark_world import SparkWorld
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.batch.replay import ReplayResult, replay
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.consumers.contract.modes import ModeSettings
from wrackline.consumers.contract.plan import END, START, TableMode
from wrackline.schemas.events.envelope import dump, key_schema, value_schema
from wrackline.testing.targets.histories import KEY, NAMES
from wrackline.testing.targets.history_model import events_seen, in_order, reader, told, truncate, versions
from wrackline.testing.targets.merge_model import Change, latest, merge
from wrackline.testing.targets.modes_suite import planned, tell
from wrackline.testing.targets.target_suite import HERE, TABLE, A, B, change, partial, seq

KEY_ID, VALUE_ID = 1, 2  # as plan_for says of its batches
SCHEMAS = {
    KEY_ID: key_schema(TABLE, topic=HERE.topic) or {},
    VALUE_ID: value_schema(TABLE, topic=HERE.topic, connector="test", source_fields=[]),
}
CAME_IN_TIME = [
    change("c", A, 1, "x", "big"),
    change("u", A, 6, "z", "big"),
    change("d", A, 8),
    change("r", B, 3, "y", "b"),
]
LETTERS = [
    partial("u", A, 4, "late"),
    change("c", ("c", 3), 5, "new", "c"),
    truncate(seq(7), NAMES, KEY),
    change("r", ("d", 4), 3, "beside B", "d"),
    change("c", A, 9, "again", "g"),
    CAME_IN_TIME[0],
]


@pytest.fixture(params=[IcebergWorld, pytest.param(DeltaWorld, marks=pytest.mark.deep)])
def world(request: pytest.FixtureRequest, spark: SparkSession, namespace: str, tmp_path: Path) -> SparkWorld:
    made: SparkWorld = request.param(spark, namespace if request.param is IcebergWorld else tmp_path / "lake")
    return made


@pytest.mark.parametrize("mode", [TableMode.HISTORY, pytest.param(TableMode.APPEND, marks=pytest.mark.deep)])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.full
def test_a_letter_goes_in_at_its_place(world: SparkWorld, mode: TableMode, times: int) -> None:
    tell(world, planned(world, mode, 10), *CAME_IN_TIME)
    applied = world.target.applied(TABLE.id)
    rules = BatchRules({}, lambda number: dump(SCHEMAS[number]), keeping=ModeSettings(mode))
    unreadable = letter(99, LETTERS[0])
    unreadable = replace(unreadable, value=b"\0\0\0\0\2nonsense")
    for once_more in range(times):  # the second time as after a crash before they were removed
        kept = [letter(offset, one) for offset, one in enumerate(LETTERS)]
        world.target.letters.keep(TABLE.id, [*kept, unreadable])
        done = replay(world.spark, TABLE.id, world.target, rules)
        assert (done.merged, sum(done.left.values())) == (len(LETTERS), 1), done
        assert world.target.letters.spots(TABLE.id) == {unreadable.spot}
        assert shown(world, mode) == expected(mode, [*CAME_IN_TIME, *LETTERS]), once_more
        assert world.target.applied(TABLE.id).offsets == applied.offsets
    assert replay(world.spark, TABLE.id, world.target, rules) == ReplayResult(0, done.left)


def letter(offset: int, of: Change) -> DeadLetter:
    """Write an event as its topic has it."""
    row = {**of.values, **dict.fromkeys(of.unsent)}
    value = {
        "before": row if of.op == "d" else None,
        "after": row if of.op in "cur" else None,
        "source": {
            "version": "1", "connector": "test", "name": "server", "ts_ms": of.commit_ts, "db": "db",
            "schema": "public", "table": "orders", "unchanged": sorted(of.unsent) or None,
        },
        "op": of.op, "ts_ms": None, "transaction": None, "seq": of.seq,
    }  # fmt: skip
    key = None if of.op == "t" else wire(KEY_ID, {name: of.values[name] for name in KEY})
    return DeadLetter(
        RecordPosition(HERE.topic, 0, offset), "some.code", "why", key, wire(VALUE_ID, value), 1000
    )


def wire(number: int, value: object) -> bytes:
    out = io.BytesIO(b"\0" + number.to_bytes(4, "big"))
    out.seek(5)
    fastavro.schemaless_writer(out, fastavro.parse_schema(dict(SCHEMAS[number])), value)
    return out.getvalue()


def shown(world: SparkWorld, mode: TableMode) -> list[str]:
    names = {*NAMES, START, END} if mode is TableMode.HISTORY else {*NAMES, "_wl_seq", "_wl_op"}
    rows = world.seen(TABLE.id)
    return in_order([{name: row[name] for name in row if name in names} for row in rows])


def expected(mode: TableMode, changes: Sequence[Change]) -> list[str]:
    by_key = mode is TableMode.HISTORY
    rows = merge({}, latest(told(changes, "_wl_row", by_key=by_key)))
    if by_key:
        return in_order(reader(versions(rows, NAMES, KEY)))
    return in_order(events_seen(rows, NAMES, "_wl_seq", "_wl_op"))

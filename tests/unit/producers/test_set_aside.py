"""A table that is set aside is known to be so after every crash that can follow (INV-4)."""

from collections.abc import Mapping, Sequence

import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.unit.producers.test_batching import cutter
from wrackline.producers.contract.steps import Batch, Begin, Commit, Fault, Progress, Saved, Step
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.cutter import CutPolicy, Publication
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.reading.request_intake import Read
from wrackline.producers.snapshot.table_state import parse_state
from wrackline.producers.task.partition_opener import SnapshotOptions, SourcePartitionOpener
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.producers.task.task_limits import Clocks
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import (
    Json,
    Offset,
    PositionKey,
    SavedTableState,
    TableKey,
    canonical_json,
)
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.source_world import orders

PARTITION = SourcePartition("server", "db0")
TABLE = orders(PARTITION).id
NEIGHBOUR = TABLE._replace(name="neighbour")
UNFIT = define("test.set_aside", OperatorNeeded, "it does not fit", hint="make it fit")


def taken(steps: Sequence[Step]) -> list[Publication]:
    made = cutter(CutPolicy(linger=0.0, quiet=0.0))
    made.feed(Batch(tuple(steps), 0), 1.0)
    found = []
    while (publication := made.take(2.0)) is not None:
        found.append(publication)
        if not publication.records:
            break
    return found


def state_of(states: Mapping[TableId, Json | None], beside: Json | None = None) -> OffsetsState:
    tables = {
        TableKey("c", PARTITION, table): SavedTableState(1, json)
        for table, json in states.items()
        if json is not None
    }
    begun = Offset(1, 1, canonical_json({}), None, 0, 0, beside)
    return OffsetsState({PositionKey("c", *PARTITION): begun}, tables, ())


@pytest.mark.parametrize("inside", [True, False], ids=["in a transaction", "between two"])
def test_the_position_moves_past_a_fault_only_with_its_record(*, inside: bool) -> None:
    fault, place = Fault(TABLE, UNFIT()), Place(1, 9)
    within: list[Step] = [Begin("1", 0), fault, Commit("1", place, 0)]
    (publication,) = taken(within if inside else [fault, Progress(place)])
    assert publication.position == place
    found = table_fault.set_aside_tables(state_of(publication.states), "c", PARTITION)
    assert found == {TABLE: table_fault.FaultReason("test.set_aside", "it does not fit", "make it fit")}


class Unpolled:
    """A stream that nobody polls."""

    def wake(self) -> None: ...


class AskedSource:
    """Remembers which tables it was asked to stream."""

    def __init__(self, *tables: TableId) -> None:
        self._tables = tables
        self.asked: Sequence[TableId] = ()
        self.aside: Sequence[TableId] = ()
        self.fresh: Sequence[TableId] = ()

    def partitions(self) -> Sequence[SourcePartition]:
        return [PARTITION]

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        del partition
        return self._tables

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved,
        aside: Sequence[TableId],
        fresh: Sequence[TableId],
    ) -> Unpolled:
        del partition, saved
        self.asked, self.aside, self.fresh = tables, aside, fresh
        return Unpolled()


class Ear:
    """A channel of signals."""

    def __init__(self) -> None:
        self.closed = False
        self.heard = True

    def take(self) -> Sequence[Read]:
        return ()

    def commit(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


class BusySource(AskedSource):
    """Somebody else reads its log."""

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved,
        aside: Sequence[TableId],
        fresh: Sequence[TableId],
    ) -> Unpolled:
        del partition, tables, saved, aside, fresh
        raise UNFIT()  # noqa: RSE102 - it makes the error


def test_a_log_that_cannot_be_opened_leaves_no_channel_open() -> None:
    ear = Ear()
    with pytest.raises(WracklineError):
        opened(BusySource(TABLE), {}, reading=SnapshotOptions(channel_of=lambda _: ear))
    assert ear.closed


def opened(
    source: AskedSource,
    states: Mapping[TableId, Json],
    beside: Json | None = None,
    reading: SnapshotOptions = SnapshotOptions(),  # noqa: B008 - frozen
) -> PartitionRun:
    lanes = SourcePartitionOpener(
        source,  # type: ignore[arg-type]  # all that a lane asks of it at first
        "c",
        CutPolicy(linger=0.0, quiet=0.0),
        reading,
        topics=TableTopics("server", Naming.WRACKLINE),
        control_of=lambda _: PlainControl(),
        moments=Clocks(lambda: 0.0, lambda: 0, lambda: 0.5),
    )
    return lanes.open(PARTITION, state_of(states, beside))


def test_a_restart_continues_without_the_table_and_with_its_neighbours() -> None:
    source = AskedSource(TABLE, NEIGHBOUR)
    lane = opened(
        source, {TABLE: table_fault.fault_state(Fault(TABLE, UNFIT())), NEIGHBOUR: canonical_json({})}
    )
    assert (source.asked, source.aside) == ([NEIGHBOUR], (TABLE,))
    assert not lane.refused


def test_a_table_that_wants_anothers_topic_is_set_aside_at_the_start_and_others_continue() -> None:
    rival, plain = (TABLE._replace(name=name) for name in ("neigh.bour", "neigh_bour"))
    source = AskedSource(TABLE, rival, plain)
    lane = opened(source, {TABLE: canonical_json({}), plain: canonical_json({})})
    assert (source.asked, source.aside) == ([TABLE, plain], (rival,))
    assert [(fault.table, fault.error.code) for fault in lane.refused] == [(rival, "topic.collision")]
    lane.cutter.feed(Batch((Progress(Place(1, 9)),), 0), 0.0)
    made = lane.cutter.take(1.0)
    assert made is not None
    assert list(table_fault.set_aside_tables(state_of(made.states), "c", PARTITION)) == [rival]


def test_what_is_set_aside_needs_no_topic() -> None:
    rival, plain = (TABLE._replace(name=name) for name in ("neigh.bour", "neigh_bour"))
    source = AskedSource(rival, plain)
    lane = opened(source, {rival: table_fault.fault_state(Fault(rival, UNFIT()))})
    assert source.asked == [plain]
    assert not lane.refused


@pytest.mark.parametrize(
    "kept", [canonical_json({}), table_fault.fault_state(Fault(TABLE, UNFIT()))], ids=["read", "aside"]
)
def test_a_table_that_the_settings_left_out_is_read_again_after_a_gap_when_it_comes_back(
    kept: Json,
) -> None:
    source = AskedSource(NEIGHBOUR)
    without = opened(source, {TABLE: kept, NEIGHBOUR: canonical_json({})})
    assert (source.asked, source.aside) == ([NEIGHBOUR], ()), "it may come back under this name meanwhile"
    without.cutter.feed(Batch((Progress(Place(1, 9)),), 0), 0.0)
    made = without.cutter.take(1.0)
    assert made is not None
    assert list(made.states) == [TABLE], "with the position that moves past what it misses"
    gap = made.states[TABLE]
    assert gap is not None
    assert parse_state(gap, TABLE).left
    still = opened(AskedSource(NEIGHBOUR), {TABLE: gap, NEIGHBOUR: canonical_json({})})
    still.existing.advance(hears=False)
    assert still.cutter.saves == 0, "it is known already"
    again = opened(AskedSource(TABLE, NEIGHBOUR), {TABLE: gap, NEIGHBOUR: canonical_json({})})
    again.existing.advance(hears=False)
    again.cutter.feed(Batch((Progress(Place(1, 10)),), 0), 0.0)
    made = again.cutter.take(1.0)
    assert made is not None
    assert list(made.states) == [TABLE]
    read = parse_state(made.states[TABLE] or canonical_json({}), TABLE)
    assert ([job.id for job in read.jobs], read.gap) == (["initial"], True)
    again.existing.close()

"""Lanes: what a task may ask of all of them, and which of its troubles is one table's alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.unit.producers.test_going_on import LOST, READ, RECOVERS, LosingSource, committed, lanes_over
from tests.unit.producers.test_set_aside import NEIGHBOUR, PARTITION, TABLE, UNFIT, AskedSource
from wrackline.producers.contract.first_reads import MODES, FirstReads
from wrackline.producers.contract.snapshot_requests import ReceiptChange, SnapshotRequest
from wrackline.producers.contract.steps import Batch, Begin, Commit, Fault, Message, Rows, Shape
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.reading.receipt_records import NoReceipts
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import TableState
from wrackline.producers.snapshot.work_items import SnapshotLimits
from wrackline.producers.task.partition_opener import SnapshotOptions, SourcePartitionOpener, _MachineKeeper
from wrackline.producers.task.partition_run import PartitionRun
from wrackline.producers.task.task_limits import Clocks
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.source_world import orders

OTHER = SourcePartition("server", "db1")
NOTHING = OffsetsState({}, {}, ())
ROW = Batch(
    (
        Shape(1, orders(PARTITION), None),
        Begin("1", 0),
        Rows([(1, "c", b"k", b"v" * 20, None)], Place(1, 1)),
        Commit("1", Place(2, 0), 0),
    ),
    4,
)


@dataclass
class Part:
    """Stands for a lane's stream, its cutter, or what reads its rows."""

    over: bool = False
    closed: bool = False

    def close(self) -> None:
        self.closed = True


def lane(stream: Any, cutter: Any, existing: Any, *, ends: bool = False) -> PartitionRun:
    return PartitionRun(PARTITION, stream, cutter, existing, ends=ends)


@pytest.mark.parametrize(
    ("ends", "read", "over"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_a_lane_is_over_once_rows_are_read_if_that_is_all_it_does(
    *, ends: bool, read: bool, over: bool
) -> None:
    assert lane(Part(), Part(), Part(over=read), ends=ends).over is over


def test_a_lane_that_is_closed_gives_the_log_back_and_lets_its_readers_go() -> None:
    stream, existing = Part(), Part()
    lane(stream, Part(), existing).close()
    assert (stream.closed, existing.closed) == (True, True)


def test_a_lane_reports_each_table_that_is_set_aside() -> None:
    told: list[tuple[SourcePartition, TableId]] = []

    class Listening:
        def fault(self, partition: SourcePartition, fault: Fault) -> None:
            told.append((partition, fault.table))

    witness: Any = Listening()
    lane(Part(), Part(), Part()).tell(witness, [Fault(TABLE, UNFIT()), Fault(NEIGHBOUR, UNFIT())])
    assert told == [(PARTITION, TABLE), (PARTITION, NEIGHBOUR)]


class TwoLogs(AskedSource):
    """Has two databases, each with one table of the same name."""

    def partitions(self) -> Sequence[SourcePartition]:
        return [PARTITION, OTHER]

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        return [TABLE._replace(database=partition.database)]


def lanes_of(source: AskedSource, told: list[WracklineError], mode: str = "initial") -> SourcePartitionOpener:
    return SourcePartitionOpener(
        source,  # type: ignore[arg-type]  # all that a lane asks of it at first
        "c",
        CutPolicy(linger=0.0, quiet=0.0),
        SnapshotOptions(FirstReads(MODES[mode]), tell=told.append),
        topics=TableTopics("server", Naming.WRACKLINE),
        control_of=lambda _: PlainControl(),
        moments=Clocks(lambda: 0.0, lambda: 0, lambda: 0.5),
    )


def fed(lane: PartitionRun) -> str:
    """Give it a row and a message; return the row's topic."""
    lane.cutter.feed(ROW, 7.0)
    lane.cutter.feed(Batch((Message("app", b"said", Place(2, 9)),), 4), 7.0)
    (topic,) = lane.cutter.topics
    return topic


def test_what_waits_in_all_lanes_is_reported_and_when_one_of_them_was_busy() -> None:
    lanes = lanes_of(TwoLogs(), [])
    assert (lanes.queued, lanes.busy(PARTITION), lanes.busy(OTHER)) == (0, None, None)
    first, second = (lanes.open(one, NOTHING) for one in (PARTITION, OTHER))
    fed(first)
    one = lanes.queued
    fed(second)
    assert 0 < one == first.cutter.ahead
    assert lanes.queued == 2 * one
    assert first.cutter.take(1e9) is not None
    assert (lanes.queued, lanes.busy(PARTITION), lanes.busy(OTHER)) == (one, 7.0, 0.0)


def test_a_topic_that_kafka_refuses_is_a_table_s_trouble_if_it_is_a_table_s() -> None:
    told: list[WracklineError] = []
    lanes = lanes_of(TwoLogs(), told)
    lane = lanes.open(PARTITION, NOTHING)
    lanes.open(OTHER, NOTHING).existing.close()
    topic = fed(lane)
    with pytest.raises(WracklineError) as raised:
        lanes.refuse("another", UNFIT())
    assert raised.value.code == "test.set_aside"
    lanes.refuse(topic, UNFIT())
    assert told == []
    again = lanes.open(PARTITION, NOTHING)
    (fault,) = again.cutter.feed(ROW, 0.0)
    assert fault.error.code == "test.set_aside"


def test_a_topic_of_messages_that_kafka_refuses_is_reported_and_left_out() -> None:
    told: list[WracklineError] = []
    lanes = lanes_of(TwoLogs(), told)
    lane = lanes.open(PARTITION, NOTHING)
    lanes.open(OTHER, NOTHING).existing.close()
    fed(lane)
    lanes.refuse("message", UNFIT())
    assert [error.code for error in told] == ["kafka.messages_left_out"]
    again = lanes.open(PARTITION, NOTHING)
    fed(again)
    assert again.cutter.message_topics == set()


def test_a_pipeline_is_over_once_all_of_its_logs_are() -> None:
    one = committed(1, {TABLE: READ})
    assert lanes_over(AskedSource(TABLE), FirstReads(MODES["initial_only"]), []).over(one)
    assert not lanes_of(TwoLogs(), [], "initial_only").over(one)


def test_a_lost_log_is_started_over_only_where_it_was_opened_and_its_source_can() -> None:
    state = committed(1, {TABLE: READ})
    assert not lanes_over(LosingSource(), RECOVERS, []).begins_anew(PARTITION, LOST())
    plain = lanes_over(AskedSource(TABLE), RECOVERS, [])
    plain.open(PARTITION, state).existing.close()
    assert not plain.begins_anew(PARTITION, LOST())
    from_now_on = lanes_over(LosingSource(epoch=1), RECOVERS, [])
    from_now_on.open(PARTITION, state).existing.close()
    assert not from_now_on.begins_anew(PARTITION, UNFIT())
    assert from_now_on.begins_anew(PARTITION, LOST())


def test_if_two_tables_want_one_topic_the_table_that_wrote_there_keeps_it() -> None:
    newcomer, wrote = (TABLE._replace(name=name) for name in ("neigh.bour", "neigh_bour"))
    for tables in ((newcomer, wrote), (wrote, newcomer)):
        source = AskedSource(*tables)
        lane = lanes_over(source, FirstReads(), []).open(
            PARTITION, committed(1, {newcomer: TableState(), wrote: READ})
        )
        assert [fault.table for fault in lane.refused] == [newcomer]
        assert source.asked == [wrote]


@dataclass
class Book(NoReceipts):
    """Keeps what it is given."""

    told: list[ReceiptChange] = field(default_factory=list)

    def take(self, changes: Sequence[ReceiptChange]) -> None:
        self.told += changes


@pytest.mark.parametrize("counts", [True, False])
def test_what_is_saved_beside_a_fault_or_a_count_takes_the_receipts_with_it(*, counts: bool) -> None:
    machine, book = Machine({}, SnapshotLimits(), "run", bound_of=lambda *_: None), Book()
    keeper = _MachineKeeper(machine, book, Naming.WRACKLINE)
    machine.request(SnapshotRequest("ask", (TABLE,)))
    states = keeper.counted({(TABLE, "a", True): 1}) if counts else keeper.aside(Fault(TABLE, UNFIT()))
    assert list(states) == [TABLE]
    assert book.told
    assert not machine.unsaved()


class ProvingSource(AskedSource):
    """Nothing keeps the keys of its tables unique."""

    def unproven(
        self, partition: SourcePartition, tables: Sequence[TableId]
    ) -> Mapping[TableId, Sequence[str]]:
        assert partition == PARTITION
        return dict.fromkeys(tables, ("code", "part"))


def test_a_key_that_nothing_keeps_unique_is_told_once_however_often_the_log_is_opened() -> None:
    told = list[WracklineError]()
    lanes = lanes_over(ProvingSource(TABLE), FirstReads(), told)
    for _ in range(2):
        lanes.open(PARTITION, NOTHING).existing.close()
    (error,) = told
    assert (error.code, "code, part" in error.sentence) == ("snapshot.key_unproven", True)

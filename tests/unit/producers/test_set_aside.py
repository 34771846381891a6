"""A table that is set aside is known to be so after every crash that can follow (INV-4)."""

from collections.abc import Mapping, Sequence

import pytest

from tests.contract.source_world import orders
from tests.fakes.place import Place
from tests.unit.producers.test_batching import PlainControl, cutter
from wrackline.producers import set_aside
from wrackline.producers.asking import Read
from wrackline.producers.batching import Policy, Publication
from wrackline.producers.changes import Batch, Begin, Commit, Fault, Progress, Saved, Step
from wrackline.producers.lanes import Lane, Reading, SourceLanes
from wrackline.producers.own_topics import OwnTopics
from wrackline.producers.pace import Moments
from wrackline.producers.snapshot.state import parse
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.offset_replay import State
from wrackline.schemas.offsets import Json, Offset, PositionKey, TableKey, TableState, canonical
from wrackline.schemas.table import SourcePartition, TableId

PARTITION = SourcePartition("server", "db0")
TABLE = orders(PARTITION).id
NEIGHBOUR = TABLE._replace(name="neighbour")
UNFIT = define("test.set_aside", OperatorNeeded, "it does not fit", hint="make it fit")


def taken(steps: Sequence[Step]) -> list[Publication]:
    made = cutter(Policy(linger=0.0, quiet=0.0))
    made.feed(Batch(tuple(steps), 0), 1.0)
    found = []
    while (publication := made.take(2.0)) is not None:
        found.append(publication)
        if not publication.records:
            break
    return found


def state_of(states: Mapping[TableId, Json | None], beside: Json | None = None) -> State:
    tables = {
        TableKey("c", PARTITION, table): TableState(1, json)
        for table, json in states.items()
        if json is not None
    }
    begun = Offset(1, 1, canonical({}), None, 0, 0, beside)
    return State({PositionKey("c", *PARTITION): begun}, tables, ())


@pytest.mark.parametrize("inside", [True, False], ids=["in a transaction", "between two"])
def test_the_position_moves_past_a_fault_only_with_its_record(*, inside: bool) -> None:
    fault, place = Fault(TABLE, UNFIT()), Place(1, 9)
    within: list[Step] = [Begin("1", 0), fault, Commit("1", place, 0)]
    (publication,) = taken(within if inside else [fault, Progress(place)])
    assert publication.position == place
    found = set_aside.of(state_of(publication.states), "c", PARTITION)
    assert found == {TABLE: set_aside.Reason("test.set_aside", "it does not fit", "make it fit")}


def test_a_row_that_is_set_aside_leaves_its_table_in() -> None:
    (publication,) = taken([Fault(TABLE, UNFIT(), row=b"x"), Progress(Place(1, 9))])
    assert publication.states == {}


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

    def taken(self) -> Sequence[Read]:
        return ()

    def kept(self) -> None:
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


def test_a_log_that_can_not_be_opened_leaves_nobody_listening() -> None:
    ear = Ear()
    with pytest.raises(WracklineError):
        opened(BusySource(TABLE), {}, reading=Reading(channel_of=lambda _: ear))
    assert ear.closed


def opened(
    source: AskedSource,
    states: Mapping[TableId, Json],
    beside: Json | None = None,
    reading: Reading = Reading(),  # noqa: B008 - frozen
) -> Lane:
    lanes = SourceLanes(
        source,  # type: ignore[arg-type]  # all that a lane asks of it at first
        "c",
        Policy(linger=0.0, quiet=0.0),
        reading,
        topics=OwnTopics("server"),
        control_of=lambda _: PlainControl(),
        moments=Moments(lambda: 0.0, lambda: 0, lambda: 0.5),
    )
    return lanes.open(PARTITION, state_of(states, beside))


def test_a_restart_goes_on_without_the_table_and_with_its_neighbours() -> None:
    source = AskedSource(TABLE, NEIGHBOUR)
    lane = opened(source, {TABLE: set_aside.saved(Fault(TABLE, UNFIT())), NEIGHBOUR: canonical({})})
    assert (source.asked, source.aside) == ([NEIGHBOUR], (TABLE,))
    assert not lane.refused


def test_a_table_that_wishes_for_anothers_topic_is_set_aside_at_the_start_and_the_others_go_on() -> None:
    rival, plain = (TABLE._replace(name=name) for name in ("neigh.bour", "neigh_bour"))
    source = AskedSource(TABLE, rival, plain)
    lane = opened(source, {TABLE: canonical({}), plain: canonical({})})
    assert (source.asked, source.aside) == ([TABLE, plain], (rival,))
    assert [(fault.table, fault.error.code) for fault in lane.refused] == [(rival, "topic.collision")]
    lane.cutter.feed(Batch((Progress(Place(1, 9)),), 0), 0.0)
    made = lane.cutter.take(1.0)
    assert made is not None
    assert list(set_aside.of(state_of(made.states), "c", PARTITION)) == [rival]


def test_what_is_set_aside_needs_no_topic() -> None:
    rival, plain = (TABLE._replace(name=name) for name in ("neigh.bour", "neigh_bour"))
    source = AskedSource(rival, plain)
    lane = opened(source, {rival: set_aside.saved(Fault(rival, UNFIT()))})
    assert source.asked == [plain]
    assert not lane.refused


@pytest.mark.parametrize(
    "kept", [canonical({}), set_aside.saved(Fault(TABLE, UNFIT()))], ids=["read", "aside"]
)
def test_a_table_that_the_settings_leave_out_is_read_anew_behind_a_gap_when_it_comes_back(
    kept: Json,
) -> None:
    source = AskedSource(NEIGHBOUR)
    without = opened(source, {TABLE: kept, NEIGHBOUR: canonical({})})
    assert (source.asked, source.aside) == ([NEIGHBOUR], ()), "it may come back under this name meanwhile"
    without.cutter.feed(Batch((Progress(Place(1, 9)),), 0), 0.0)
    made = without.cutter.take(1.0)
    assert made is not None
    assert list(made.states) == [TABLE], "with the position that moves past what it misses"
    gap = made.states[TABLE]
    assert gap is not None
    assert parse(gap).left
    still = opened(AskedSource(NEIGHBOUR), {TABLE: gap, NEIGHBOUR: canonical({})})
    still.existing.advance(hears=False)
    assert still.cutter.saves == 0, "it is known already"
    again = opened(AskedSource(TABLE, NEIGHBOUR), {TABLE: gap, NEIGHBOUR: canonical({})})
    again.existing.advance(hears=False)
    again.cutter.feed(Batch((Progress(Place(1, 10)),), 0), 0.0)
    made = again.cutter.take(1.0)
    assert made is not None
    assert list(made.states) == [TABLE]
    read = parse(made.states[TABLE] or canonical({}))
    assert ([job.id for job in read.jobs], read.gap) == (["initial"], True)
    again.existing.close()

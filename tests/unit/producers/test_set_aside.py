"""A table that is set aside is known to be so after every crash that can follow (INV-4)."""

from collections.abc import Mapping, Sequence

import pytest

from tests.contract.source_world import orders
from tests.fakes.place import Place
from tests.unit.producers.test_batching import PlainControl, cutter
from wrackline.producers import set_aside
from wrackline.producers.batching import Policy, Publication
from wrackline.producers.changes import Batch, Begin, Commit, Fault, Progress, Saved, Step
from wrackline.producers.lanes import Reading, SourceLanes
from wrackline.producers.pace import Moments
from wrackline.schemas.errors import OperatorNeeded, define
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


def state_of(states: Mapping[TableId, Json]) -> State:
    tables = {TableKey("c", "server", table): TableState(1, json) for table, json in states.items()}
    begun = Offset(1, 1, canonical({}), None, 0, 0)
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


class AskedSource:
    """Remembers which tables it was asked to stream."""

    asked: Sequence[TableId] = ()

    def partitions(self) -> Sequence[SourcePartition]:
        return [PARTITION]

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        del partition
        return [TABLE, NEIGHBOUR]

    def stream(
        self, partition: SourcePartition, tables: Sequence[TableId], saved: Saved, aside: Sequence[TableId]
    ) -> object:
        del partition, saved
        self.asked = tables
        assert aside == (TABLE,)
        return object()


def test_a_restart_goes_on_without_the_table_and_with_its_neighbours() -> None:
    source = AskedSource()
    lanes = SourceLanes(
        source,  # type: ignore[arg-type]  # all that a lane asks of it at first
        "c",
        Policy(),
        Reading(),
        topic_of=str,
        control_of=lambda _: PlainControl(),
        moments=Moments(lambda: 0.0, lambda: 0, lambda: 0.5),
    )
    other = canonical({})
    lanes.open(PARTITION, state_of({TABLE: set_aside.saved(Fault(TABLE, UNFIT())), NEIGHBOUR: other}))
    assert source.asked == [NEIGHBOUR]

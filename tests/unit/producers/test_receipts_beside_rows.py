"""A receipt goes out in the publication that carries the states which it speaks of, no other (INV-2)."""

import time
from collections.abc import Iterator

import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.fakes.source_world import FakeSourceWorld
from tests.unit.producers.test_existing_rows import Log, until
from wrackline.producers.contract.snapshot_requests import SnapshotRequest
from wrackline.producers.contract.steps import Batch, Fault, Progress
from wrackline.producers.cutting.cutter import CutPolicy, Cutter, Publication
from wrackline.producers.reading.interleave import Interleaver
from wrackline.producers.reading.readers import Readers
from wrackline.producers.reading.receipt_records import ReceiptRecords
from wrackline.producers.reading.request_intake import RequestIntake
from wrackline.producers.snapshot import key_bounds
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import parse_state
from wrackline.producers.snapshot.work_items import SnapshotLimits
from wrackline.producers.task.partition_opener import _MachineKeeper
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.kafka.receipts import Receipt, RequestState, StoredReceipts, decode
from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.source_world import Insert, orders

PARTITION = SourcePartition("server", "db0")
TABLE = orders(PARTITION).id
UNFIT = define("test.beside_unfit", OperatorNeeded, "it does not fit", hint="make it fit")


class World:
    """One lane without a task, whose publications are closed with each slice."""

    def __init__(self) -> None:
        self.source = FakeSourceWorld()
        for number in range(30):
            values = {"shop": "a", "number": number, "label": "x", "big": None}
            self.source.commit(PARTITION, Insert(values))
        self.place = self.source.databases[PARTITION].end
        clock = time.monotonic
        limits = SnapshotLimits(chunk_rows=8, slice_rows=4)
        self.book = ReceiptRecords(
            "c", PARTITION, "requests", StoredReceipts(), clock=clock, now_ms=lambda: 0, tell=lambda _: None
        )
        self.machine = Machine({}, limits, "run", bound_of=key_bounds.bound_of, receipts=self.book.known)
        self.cutter = Cutter(
            PARTITION,
            CutPolicy(linger=0.0, quiet=1e9, most_events=1),
            str,
            PlainControl(counts=False),
            opened=0.0,
            fresh=False,
            keeper=_MachineKeeper(self.machine, self.book, Naming.WRACKLINE),
        )
        self.existing = Interleaver(
            self.machine,
            Readers(self.source.source, PARTITION, 2, clock),
            Log(),  # type: ignore[arg-type]  # all that is used of it
            self.cutter,
            RequestIntake(self.machine, [TABLE], lambda _: None, book=self.book),
            clock=clock,
            now_ms=lambda: 0,
        )
        self.jobs: dict[TableId, int] = {}
        self.newest: dict[str, Receipt] = {}

    def passes(self) -> None:
        """The log continues, and what is published is compared."""
        self.place += 1
        self.existing.feed(Batch((Progress(Place(0, self.place)),), 0))
        self.existing.advance(hears=True)
        while (publication := self.cutter.take(time.monotonic())) is not None:
            self.compare(publication)

    def compare(self, publication: Publication) -> None:
        """What Kafka has after this transaction says the same in states and receipts."""
        for table, state in publication.states.items():
            assert state is not None
            self.jobs[table] = sum(job.failed is None for job in parse_state(state, table).jobs)
        for topic, _, value, *_ in publication.records:
            if topic == "requests":
                receipt = decode(value or b"", partition=0, offset=0)
                self.newest[receipt.id] = receipt
        under_way = sum(not receipt.over for receipt in self.newest.values())
        assert sum(self.jobs.values()) == under_way


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.existing.close()


def test_receipts_and_states_go_out_together_while_rows_do(world: World) -> None:
    world.machine.request(SnapshotRequest("one", (TABLE,)))

    def over() -> bool:
        world.passes()
        return "one" in world.newest and world.newest["one"].over

    until(over)
    one = world.newest["one"]
    assert (one.state, one.tables[0].rows, one.tables[0].expected) == (RequestState.SUCCEEDED, 30, 30)


def test_a_request_whose_table_is_set_aside_fails_in_the_publication_that_says_so(world: World) -> None:
    world.passes()
    world.machine.request(SnapshotRequest("one", (TABLE,)))
    world.passes()
    assert not world.newest["one"].over
    world.cutter.feed(Batch((Fault(TABLE, UNFIT()),), 0), time.monotonic())
    world.passes()
    one = world.newest["one"]
    assert (one.state, one.code) == (RequestState.FAILED, "test.beside_unfit")

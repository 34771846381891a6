"""What readers must see first is saved with every position: rows may be asked for only after a restart."""

import orjson

from tests.fakes.place import Place
from tests.unit.producers.test_set_aside import TABLE, AskedSource, opened
from wrackline.producers.batching import Publication
from wrackline.producers.changes import Batch, Begin, Commit
from wrackline.producers.lanes import Lane
from wrackline.producers.snapshot.requests import Snapshot
from wrackline.schemas.offsets import canonical


def streamed(lane: Lane, first: int, count: int) -> Publication:
    for number in range(first, first + count):
        name = str(number)
        lane.existing.feed(Batch((Begin(name, 0), Commit(name, Place(1, number), 0)), 0))
    made = lane.cutter.take(10.0)
    assert made is not None
    return made


def test_it_is_saved_while_nothing_is_read_and_waited_for_after_a_crash() -> None:
    lane = opened(AskedSource(TABLE), {TABLE: canonical({})})
    made = streamed(lane, 7, 2)
    assert not lane.existing._machine.reading
    beside = made.beside
    assert beside is not None
    assert orjson.loads(beside) == {"unproven": ["7", "8"]}

    machine = opened(AskedSource(TABLE), {TABLE: canonical({})}, beside).existing._machine
    machine.request(Snapshot("asked", (TABLE,)))
    (work, *_) = machine.work(0.0)
    assert [commit.transaction for commit in work.streamed] == ["7", "8"]

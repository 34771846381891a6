"""What a cutter says of the table states that were given to it: which of them are in what was taken."""

from tests.fakes.place import Place
from tests.unit.producers.test_batching import TABLE, cutter
from wrackline.producers.contract.steps import Batch, Progress
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.schemas.kafka.offsets_records import canonical_json

LINGER, QUIET = 1.0, 100.0
FIRST, SECOND = canonical_json({"number": 1}), canonical_json({"number": 2})
POLICY = CutPolicy(linger=LINGER, quiet=QUIET)


def test_a_state_counts_as_taken_with_the_publication_that_has_it_and_not_before() -> None:
    made = cutter(CutPolicy(linger=LINGER, quiet=QUIET, most_events=1))
    made.feed(Batch((Progress(Place(0, 1)),), 0), 0.0)
    made.take(0.0)
    made.save({TABLE.id: FIRST}, 1.0)
    assert (made.saves, made.saves_taken) == (1, 0)
    first = made.take(1.0 + LINGER)
    assert first is not None
    assert dict(first.states) == {TABLE.id: FIRST}
    made.save({TABLE.id: SECOND}, 3.0)
    assert (made.saves, made.saves_taken) == (2, 1)
    second = made.take(3.0 + LINGER)
    assert second is not None
    assert dict(second.states) == {TABLE.id: SECOND}
    assert (made.saves, made.saves_taken) == (2, 2)


def test_a_save_without_a_state_is_worth_a_publication_for_its_receipts() -> None:
    made = cutter(POLICY)
    made.feed(Batch((Progress(Place(0, 1)),), 0), 0.0)
    made.take(0.0)
    assert made.take(LINGER) is None, "nothing waits"
    made.save({}, 1.0)
    assert made.take(1.0 + LINGER / 2) is None, "company may come"
    assert made.take(1.0 + LINGER) is not None
    assert (made.saves, made.saves_taken) == (1, 1)
    made.feed(Batch((Progress(Place(0, 2)),), 0), 3.0)
    assert made.take(3.0 + LINGER) is None, "a position alone waits until it is quiet"

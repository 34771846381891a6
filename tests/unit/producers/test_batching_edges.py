"""What a cutter does at its edges: equal to a limit, with nothing counted, with no place yet."""

import pytest

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.unit.producers.test_batching import PARTITION, TABLE, cutter
from wrackline.producers.contract.row_chunks import Halves
from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Message,
    Progress,
    Rows,
    Shape,
    Step,
    Truncate,
)
from wrackline.producers.cutting.cutter import CutPolicy, Cutter, Publication
from wrackline.schemas.kafka.offsets_records import canonical_json

NAME = str(TABLE.id)
NEVER = CutPolicy(linger=0.0, quiet=1e9)


def rows(*keys: bytes, at: int = 1) -> Rows:
    return Rows([(1, "c", key, b"value", None) for key in keys], Place(0, at))


def transaction(*steps: Step, committed_ms: int = 7, at: int = 2) -> tuple[Step, ...]:
    return (Shape(1, TABLE, None), Begin("a", committed_ms), *steps, Commit("a", Place(0, at), committed_ms))


def fed(policy: CutPolicy, *steps: Step, counts: bool = True) -> Cutter:
    made = cutter(policy, PlainControl(counts=counts), fresh=False)
    made.feed(Batch(steps, 0), 0.0)
    return made


def all_of(made: Cutter, now: float = 0.0) -> list[Publication]:
    taken = []
    while (one := made.take(now)) is not None:
        taken.append(one)
    return taken


def topics(published: Publication) -> list[str]:
    return [record[0] for record in published.records]


def beats(made: Cutter, *moments: float) -> list[bool]:
    return [any(topics(one) == ["beat"] for one in all_of(made, now)) for now in moments]


def test_a_heartbeat_comes_when_its_time_is_over_counted_from_the_last_or_the_start() -> None:
    policy = CutPolicy(quiet=1.0, heartbeat=10.0)
    made = Cutter(PARTITION, policy, str, PlainControl(), opened=100.0, fresh=False)
    made.feed(Batch((Progress(Place(0, 1)),), 0), 100.0)
    assert beats(made, 105.0, 110.0, 112.0, 119.0, 120.0, 121.0) == [False, True, False, False, True, False]
    often = Cutter(
        PARTITION, CutPolicy(quiet=0.1, heartbeat=0.5), str, PlainControl(), opened=0.0, fresh=False
    )
    often.feed(Batch((Progress(Place(0, 1)),), 0), 0.0)
    assert beats(often, 0.4, 0.6) == [False, True]


def test_without_counts_nothing_is_said_of_transactions_nor_kept_of_a_cut_one() -> None:
    policy = CutPolicy(linger=0.0, quiet=1e9, most_events=1)
    made = fed(policy, *transaction(rows(b"k"), rows(b"l")), counts=False)
    published = [*all_of(made), *all_of(made, 2e9)]
    assert [name for one in published for name in topics(one)] == [NAME, NAME]
    assert {one.cut for one in published} == {None}
    assert sum(one.tally.transactions for one in published) == 1


def test_a_cut_transaction_is_kept_with_what_was_counted_of_it_until_its_end() -> None:
    policy = CutPolicy(linger=0.0, quiet=1e9, most_events=2)
    first, *rest = all_of(fed(policy, *transaction(rows(b"k"), rows(b"l"))))
    assert first.cut is not None
    assert (first.cut.transaction, dict(first.cut.counts)) == ("a", {TABLE.id: 1})
    assert [one.cut for one in rest][-1] is None


@pytest.mark.parametrize(("most", "publications"), [(15, 1), (14, 1), (16, 0)])
def test_a_publication_is_full_with_as_many_bytes_as_are_allowed(most: int, publications: int) -> None:
    size = all_of(fed(NEVER, *transaction(rows(b"k")), counts=False))[0].size
    allowed = size - 15 + most
    made = fed(CutPolicy(linger=1e9, quiet=1e9, most_bytes=allowed), *transaction(rows(b"k")), counts=False)
    assert len(all_of(made)) == publications


def test_what_was_finished_goes_before_a_transaction_that_has_to_be_cut() -> None:
    policy = CutPolicy(linger=1e9, quiet=1e9, most_events=3)
    steps = transaction(rows(b"a"), at=1), (Begin("b", 8), rows(*b"ghij".split(), b"x", b"y", b"z", at=5))
    made = fed(policy, *steps[0], *steps[1], counts=False)
    before, large = all_of(made)
    assert (topics(before), before.position, before.confirmable) == ([NAME], Place(0, 1), Place(0, 1))
    assert (topics(large), large.position, large.confirmable) == ([NAME] * 4, Place(0, 5), Place(0, 1))


def test_a_truncate_is_counted_and_cuts_as_rows_do() -> None:
    truncate = Truncate(1, b"gone", Place(0, 1))
    (one,) = all_of(fed(NEVER, *transaction(truncate)))
    assert (topics(one), one.records[-1][2]) == (["tx", NAME, "tx"], b"a 7 1")
    assert dict(one.tally.events) == {(TABLE.id, "t"): 1}
    cut, *_ = all_of(fed(CutPolicy(linger=1e9, quiet=1e9, most_events=2), *transaction(truncate)))
    assert (topics(cut), cut.position) == (["tx", NAME], Place(0, 1))
    skipped = fed(CutPolicy(linger=0.0, skipped=frozenset("t")), *transaction(truncate))
    assert [topics(one) for one in all_of(skipped, 100.0)] == [[]]


def test_transactions_are_counted_where_they_end_with_the_last_ones_moment() -> None:
    made = fed(NEVER, *transaction(rows(b"k"), committed_ms=7))
    (one,) = all_of(made)
    assert (one.tally.transactions, one.tally.committed_ms) == (1, 7)
    made.insert(TABLE.id, Halves([(b"k", b"re")], b"ad"), {}, 1.0)
    (read,) = all_of(made, 1.0)
    assert (read.tally.transactions, read.tally.committed_ms) == (0, None), "rows that are read are of none"
    (unknown,) = all_of(fed(NEVER, *transaction(rows(b"k"), committed_ms=0)))
    assert unknown.tally.committed_ms is None, "the log does not say when"


def test_what_comes_between_transactions_has_the_moment_of_the_last_one() -> None:
    made = fed(NEVER, *transaction(rows(b"k"), committed_ms=7), Message("p", b"m", Place(0, 3)))
    (one,) = all_of(made)
    assert one.records[-1] == ("message", b"p", b"b'm' 7")


def test_a_message_to_a_topic_that_was_refused_is_left_out() -> None:
    from tests.unit.producers.test_batching import REFUSED  # noqa: PLC0415 - of this case alone

    made = cutter(NEVER, fresh=False, refused={"message": REFUSED()})
    made.feed(Batch((Message("p", b"m", Place(0, 3)),), 0), 0.0)
    assert made.message_topics == set()
    assert [topics(one) for one in all_of(made, 1e9)] == [[]]


def test_a_message_that_is_not_published_moves_the_place_alone() -> None:
    class Silent(PlainControl):
        def message(self, step: Message, ts_ms: int) -> None:
            del step, ts_ms

    made = cutter(NEVER, Silent(), fresh=False)
    made.feed(Batch((Message("p", b"m", Place(0, 3)),), 0), 0.0)
    assert made.outside == Place(0, 3)
    assert made.message_topics == set()


def test_a_void_goes_out_only_where_the_policy_says_so_and_its_states_always() -> None:
    state = {TABLE.id: canonical_json({"n": 1})}
    for voids, expected in ((True, [NAME]), (False, [])):
        made = fed(CutPolicy(linger=0.0, quiet=1e9, voids=voids), Progress(Place(0, 1)))
        assert made.insert(TABLE.id, Halves([(None, b"void")]), state, 0.0, "t") == []
        (one,) = all_of(made)
        assert (topics(one), dict(one.states)) == (expected, state)
    made = fed(CutPolicy(linger=0.0, quiet=1e9, voids=False), Progress(Place(0, 1)))
    made.insert(TABLE.id, Halves([(b"k", b"row")]), {}, 0.0)
    (one,) = all_of(made)
    assert (topics(one), one.topics) == ([NAME], (NAME,)), "rows are no void, and their topic has to be there"


def test_it_says_whether_it_is_inside_a_transaction_and_which_topics_it_has_met() -> None:
    made = fed(NEVER, Shape(1, TABLE, None), Begin("a", 7))
    assert (made.inside, made.outside) == (True, None)
    assert set(made.topics) == {NAME}
    made.feed(Batch((Commit("a", Place(0, 2), 7),), 0), 0.0)
    assert (made.inside, made.outside) == (False, Place(0, 2))


def test_nothing_is_given_out_before_a_place_is_known() -> None:
    made = cutter(CutPolicy(linger=0.0, most_events=1), fresh=False)
    made.insert(TABLE.id, Halves([(b"k", b"row")]), {}, 0.0)
    assert made.take(1e9) is None
    assert made.ahead > 0
    made.feed(Batch((Progress(Place(0, 1)),), 0), 1.0)
    (one,) = all_of(made, 1.0)
    assert (topics(one), one.position) == ([NAME], Place(0, 1))


def test_company_is_waited_for_from_the_oldest_of_what_is_finished() -> None:
    made = fed(CutPolicy(linger=5.0, quiet=1e9), Progress(Place(0, 1)))
    made.insert(TABLE.id, Halves([(b"k", b"row")]), {}, 1.0)
    made.insert(TABLE.id, Halves([(b"l", b"row")]), {}, 4.0)
    assert made.due() == 6.0


def test_a_transaction_that_is_resumed_after_its_first_change_continues_without_a_begin() -> None:
    made = fed(NEVER, Shape(1, TABLE, None), Begin("a", 7, first=3), rows(b"k"), Commit("a", Place(0, 2), 7))
    (one,) = all_of(made)
    assert [record[1] for record in one.records] == [b"k", b"END"]


def test_a_resumed_cut_counts_on_and_one_that_is_read_from_its_start_does_not() -> None:
    from wrackline.producers.cutting.split_transaction import SplitTransaction  # noqa: PLC0415 - of this case alone

    for first, ended in ((3, b"a 7 11"), (0, b"a 7 1")):
        made = cutter(NEVER, cut=SplitTransaction("a", {TABLE.id: 10}), fresh=False)
        steps = (Shape(1, TABLE, None), Begin("a", 7, first=first), rows(b"k"), Commit("a", Place(0, 2), 7))
        made.feed(Batch(steps, 0), 0.0)
        (one,) = all_of(made)
        assert one.records[-1][2] == ended


def test_a_replaced_shape_is_reported_in_its_place_with_the_time_of_the_transaction() -> None:
    made = fed(NEVER, *transaction(rows(b"k"), Shape(2, TABLE, TABLE), rows(b"l")), counts=False)
    (one,) = all_of(made)
    assert topics(one) == [NAME, "shape", NAME]
    assert one.records[1][2] == b"7"


def test_small_transactions_that_together_are_full_wait_no_longer() -> None:
    policy = CutPolicy(linger=1e9, quiet=1e9, most_events=2)
    second = (Begin("b", 8), rows(b"l", at=3), Commit("b", Place(0, 4), 8))
    (one,) = all_of(fed(policy, *transaction(rows(b"k")), *second, counts=False))
    assert (topics(one), one.position) == ([NAME, NAME], Place(0, 4))


def test_what_is_finished_before_a_cut_is_no_part_of_the_transaction_that_is_cut() -> None:
    policy = CutPolicy(linger=1e9, quiet=1e9, most_events=4)
    second = (Begin("b", 8), rows(b"w", b"x", b"y", b"z", at=5))
    before, large = all_of(fed(policy, *transaction(rows(b"a"), at=1), *second))
    assert before.cut is None
    assert large.cut is not None
    assert (large.cut.transaction, dict(large.cut.counts)) == ("b", {TABLE.id: 4})


def test_a_first_transaction_that_is_cut_takes_along_what_came_before_any_place() -> None:
    made = cutter(CutPolicy(linger=1e9, quiet=1e9, most_events=3), PlainControl(counts=False), fresh=False)
    made.insert(TABLE.id, Halves([(b"k", b"row")]), {}, 0.0)
    made.feed(Batch((Shape(1, TABLE, None), Begin("a", 7), rows(b"x", b"y", b"z", at=5)), 0), 0.0)
    (one,) = all_of(made)
    assert (topics(one), one.position) == ([NAME] * 4, Place(0, 5))


def test_the_position_of_a_quiet_log_joins_a_transaction_once_it_is_half_due() -> None:
    made = cutter(CutPolicy(quiet=10.0), fresh=False)
    assert made.join(100.0) is None, "it is nowhere"
    made.feed(Batch((Progress(Place(5, 0)),), 0), 0.0)
    assert made.join(4.9) is None
    joined = made.join(5.0)
    assert joined is not None
    assert (joined.position, joined.records) == (Place(5, 0), [])
    assert made.take(14.9) is None, "the next one is due after as long as always"
    assert made.take(15.0) is not None


def test_what_waits_for_others_does_not_join_earlier() -> None:
    made = fed(CutPolicy(quiet=10.0, linger=8.0), *transaction(rows(b"k")))
    assert made.join(6.0) is None
    assert made.take(8.0) is not None

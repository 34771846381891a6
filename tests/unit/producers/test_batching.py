"""The cutter against the fake source's log: whatever is cut, and wherever a start resumes, nothing moves."""

from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf
from typing import cast
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.place import Place
from tests.fakes.plain_control import PlainControl
from tests.fakes.source_world import FakeSourceWorld
from wrackline.producers.contract.row_chunks import Halves
from wrackline.producers.contract.steps import (
    Appeared,
    Batch,
    Begin,
    Commit,
    Found,
    Message,
    Position,
    Progress,
    Renamed,
    Reshaped,
    Rows,
    Shape,
    Step,
    Truncate,
    Vanished,
)
from wrackline.producers.cutting import table_fault
from wrackline.producers.cutting.cutter import CutPolicy, Cutter, Publication
from wrackline.producers.cutting.record_buffer import Headed, Record
from wrackline.producers.cutting.split_transaction import SplitTransaction
from wrackline.producers.cutting.unpublishable import ENVELOPE_BYTES, SizeBounds
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.offsets_records import canonical_json
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.source_world import Change, Delete, Insert, Said, Truncated, Update, orders

PARTITION = SourcePartition("server", "db0")
TABLE = orders(PARTITION)
REFUSED = define("test.refused", OperatorNeeded, "Kafka refuses it", hint="ask")


def cutter(
    policy: CutPolicy,
    control: PlainControl | None = None,
    cut: SplitTransaction | None = None,
    *,
    fresh: bool = True,
    refused: MutableMapping[str, WracklineError] | None = None,
) -> Cutter:
    said = control or PlainControl()
    return Cutter(PARTITION, policy, str, said, opened=0.0, fresh=fresh, cut=cut, refused=refused)


def expected(steps: Sequence[Step], *, tombstones: bool = True) -> list[Record]:
    """What a log becomes, said as simply as can be."""
    made: list[Record] = []
    name, committed_ms, count = "", 0, -1
    for step in steps:
        if isinstance(step, Begin):
            name, committed_ms, count = step.id, step.committed_ms, -1
        elif isinstance(step, Rows | Truncate):
            if count < 0:
                made.append(("tx", b"BEGIN", f"{name} {committed_ms}".encode()))
                count = 0
            rows = step.rows if isinstance(step, Rows) else [(0, "t", None, step.value, None)]
            for _, op, key, value, _ in rows:
                made.append((str(TABLE.id), key, value))
                made.extend([(str(TABLE.id), key, None)] if op == "d" and tombstones else [])
            count += len(rows)
        elif isinstance(step, Message):
            made.append(("message", step.prefix.encode(), f"{step.content!r} {committed_ms}".encode()))
        elif isinstance(step, Commit) and count >= 0:
            made.append(("tx", b"END", f"{name} {committed_ms} {count}".encode()))
    return made


@st.composite
def logs(draw: st.DrawFn) -> list[list[Change]]:
    """Transactions over a few keys; a delete or an update is always of a row that is there."""
    there: set[int] = set()
    transactions = []
    for _ in range(draw(st.integers(1, 6))):
        changes: list[Change] = []
        for _ in range(draw(st.integers(0, 12))):
            number, what = draw(st.integers(0, 5)), draw(st.integers(0, 9))
            if what == 9:
                changes.append(Truncated())
                there.clear()
            elif what == 8:
                changes.append(Said("app", b"said"))
            elif number not in there:
                changes.append(
                    Insert({"shop": "a", "number": number, "label": "x" * draw(st.integers(0, 90))})
                )
                there.add(number)
            elif what < 4:
                changes.append(Delete(("a", number)))
                there.remove(number)
            else:
                changes.append(Update(("a", number), {"label": "y"}))
        transactions.append(changes)
    return transactions


POLICIES = st.builds(
    CutPolicy,
    most_bytes=st.integers(100, 4000),
    most_events=st.integers(1, 40),
    linger=st.just(1.0),
    quiet=st.just(10.0),
    tombstones=st.just(True),
)


class SmallWorld(FakeSourceWorld):
    """A fake source whose batches are small."""

    def __init__(self, most_batch_bytes: int, transactions: Sequence[Sequence[Change]]) -> None:
        self.most_batch_bytes = most_batch_bytes
        super().__init__()
        for changes in transactions:
            self.commit(PARTITION, *changes)

    def batches(self, saved: Mapping[str, object] | None) -> Iterator[Batch]:
        start = {"v": 1, "epoch": 0, "lsn": 1, "done": 0} if saved is None else dict(saved)
        stream = self.source.stream(PARTITION, [TABLE.id], cast("dict[str, int]", start))
        while (batch := stream.poll(0.0)) is not None:
            yield batch
        stream.close()


def publications(made: Cutter, batches: Iterator[Batch], takes: Iterator[bool]) -> list[Publication]:
    """Feed and take in turns, as the given choice has it; take all at the end."""
    now, taken = 0.0, []
    for batch in batches:
        made.feed(batch, now)
        now += 0.6
        while next(takes) and (publication := made.take(now)) is not None:
            taken.append(publication)
    while made.due() < inf and (publication := made.take(now + 5.0)) is not None:
        taken.append(publication)
    return taken


def records(taken: Sequence[Publication]) -> list[Record | Headed]:
    return [record for publication in taken for record in publication.records]


def tallied(taken: Sequence[Publication]) -> tuple[Counter[tuple[TableId, str]], int]:
    """What the publications' tallies add up to."""
    events: Counter[tuple[TableId, str]] = Counter()
    for publication in taken:
        events.update(publication.tally.events)
    return events, sum(publication.tally.transactions for publication in taken)


def told_by_op(steps: Sequence[Step]) -> Counter[tuple[TableId, str]]:
    """How many events of each operation a log has."""
    rows = [row[1] for step in steps if isinstance(step, Rows) for row in step.rows]
    truncated = ["t" for step in steps if isinstance(step, Truncate)]
    return Counter((TABLE.id, op) for op in rows + truncated)


@given(logs(), POLICIES, st.integers(50, 3000), st.data())
@settings(deadline=None)
def test_publications_are_the_log_and_resume_exactly_after_themselves(
    transactions: list[list[Change]], policy: CutPolicy, batch_bytes: int, data: st.DataObject
) -> None:
    world = SmallWorld(batch_bytes, transactions)
    whole = [step for batch in world.batches(None) for step in batch.steps]
    choices = iter(lambda: data.draw(st.booleans()), None)
    taken = publications(cutter(policy), world.batches(None), choices)
    assert records(taken) == expected(whole)
    assert tallied(taken) == (told_by_op(whole), sum(key == b"END" for _, key, *_ in records(taken)))
    places = [cast("Place", publication.position) for publication in taken]
    assert all(a < b for a, b in pairwise(places))
    for number, publication in enumerate(taken, start=1):
        assert (
            publication.checksum
            == sum(crc32(value or b"") for _, _, value, *_ in publication.records) & 0xFFFF_FFFF
        )
        place, told = places[number - 1], cast("Place | None", publication.confirmable)
        assert told is None or (told.done == 0 and told <= place), "INV-1: nothing inside a transaction"
        cut = None if publication.cut is None else SplitTransaction.parse(publication.cut.saved())
        rest = publications(
            cutter(policy, cut=cut, fresh=False), world.batches(place.saved()), iter(lambda: True, None)
        )
        assert records(rest) == records(taken[number:])


@given(logs(), st.integers(50, 3000))
@settings(deadline=None)
def test_it_ends_at_a_source_commit_unless_that_alone_is_too_large(
    transactions: list[list[Change]], batch_bytes: int
) -> None:
    policy = CutPolicy(most_bytes=1000)
    world = SmallWorld(batch_bytes, transactions)
    largest = max((batch.size for batch in world.batches(None)), default=0)
    control_bytes = 40 * (2 + sum(map(len, transactions)))
    for publication in publications(cutter(policy), world.batches(None), iter(lambda: True, None)):
        if cast("Place", publication.position).done:
            assert publication.size >= policy.most_bytes
        assert publication.size < policy.most_bytes + largest + control_bytes


def steps_of(*names: str) -> list[Step]:
    """Small transactions of one row each."""
    made: list[Step] = [Shape(0, TABLE, None)]
    for number, name in enumerate(names, start=1):
        rows = Rows(((0, "c", b"k", b"v" * 10, None),), Place(0, number, 1))
        made += [Begin(name, number), rows, Commit(name, Place(0, number + 1), number)]
    return made


def test_a_transaction_of_messages_alone_is_cut_too_and_begins_when_its_first_row_comes() -> None:
    policy = CutPolicy(most_events=2, linger=0.0)
    made = cutter(policy, fresh=False)
    said = [Message("app", b"%d" % number, Place(0, 3, number + 1)) for number in range(5)]
    made.feed(Batch((Begin("1", 7), *said), 9), now=0.0)
    first, second = made.take(0.0), made.take(0.0)
    assert first is not None
    assert second is not None
    assert [len(p.records) for p in (first, second)] == [2, 2]
    assert (first.position, second.position) == (Place(0, 3, 2), Place(0, 3, 4))
    assert second.confirmable is None
    assert second.cut is not None
    again = cutter(policy, cut=SplitTransaction.parse(second.cut.saved()), fresh=False)
    row = Rows([(1, "c", b"key", b"value", None)], Place(0, 3, 6))
    steps = (Shape(1, TABLE, None), Begin("1", 7, 4), said[4], row, Commit("1", Place(0, 4), 7))
    again.feed(Batch(steps, 9), now=0.0)
    rest = [record for p in iter(lambda: again.take(9.0), None) for record in p.records]
    assert [(topic, key) for topic, key, *_ in rest] == [
        ("message", b"app"), ("tx", b"BEGIN"), (str(TABLE.id), b"key"), ("tx", b"END"),
    ]  # fmt: skip


def test_small_transactions_share_one_publication_and_wait_for_company() -> None:
    made = cutter(CutPolicy(linger=1.0), PlainControl(counts=False), fresh=False)
    made.feed(Batch(tuple(steps_of("a", "b")), 22), now=5.0)
    assert made.due() == 6.0
    assert made.take(5.9) is None
    publication = made.take(6.0)
    assert publication is not None
    assert len(publication.records) == 2
    assert publication.topics == (str(TABLE.id),)
    assert publication.position == publication.confirmable == Place(0, 3)


def test_the_position_alone_is_published_after_quiet_and_the_first_one_at_once() -> None:
    policy = CutPolicy(quiet=10.0)
    fresh = cutter(policy)
    assert fresh.due() == inf, "no position is known"
    fresh.feed(Batch((Progress(Place(0, 7)),), 0), now=1.0)
    first = fresh.take(1.0)
    assert first is not None
    assert (first.records, first.position) == ([], Place(0, 7))
    assert (fresh.due(), fresh.take(10.9)) == (11.0, None)
    again = fresh.take(11.0)
    assert again is not None
    assert again.position == Place(0, 7), "it keeps the transactional id alive"


def test_a_log_is_settled_only_where_nothing_that_came_before_waits() -> None:
    made = cutter(CutPolicy(quiet=100.0), fresh=False)

    def settled() -> Position | None:
        return made.settled

    assert settled() is None, "no position is known"
    made.feed(Batch((Progress(Place(0, 1)),), 0), 1.0)
    assert settled() == Place(0, 1), "though no publication is due"
    row = Rows([(1, "c", b"key", b"value", None)], Place(0, 8))
    made.feed(Batch((Shape(1, TABLE, None), Begin("5", 1)), 0), 2.0)
    assert settled() is None, "a transaction is open"
    made.feed(Batch((row,), 0), 2.0)
    assert settled() is None
    made.feed(Batch((Commit("5", Place(0, 9), 1),), 0), 2.0)
    assert settled() is None, "its row waits"
    made.feed(Batch((Progress(Place(0, 10)),), 0), 2.0)
    assert settled() is None
    taken = made.take(3.0)
    assert taken is not None
    assert settled() == Place(0, 10), "what was taken is its caller's"


def test_a_heartbeat_goes_out_with_a_position_without_rows_and_not_too_often() -> None:
    made = cutter(CutPolicy(quiet=2.0, heartbeat=5.0), fresh=False)

    def published(now: float, *steps: Step) -> list[str] | None:
        made.feed(Batch(steps, 0), now)
        taken = made.take(now)
        return None if taken is None else [topic for topic, *_ in taken.records]

    assert published(2.0, Progress(Place(0, 1))) == []
    assert published(4.0, Progress(Place(0, 2))) == []
    assert published(6.0, Progress(Place(0, 3))) == ["beat"]
    assert made.busy == 0.0
    assert published(7.0, Progress(Place(0, 4))) is None
    row = Rows([(1, "c", b"key", b"value", None)], Place(0, 8))
    steps = (Shape(1, TABLE, None), Begin("5", 1), row, Commit("5", Place(0, 9), 1))
    made.feed(Batch(steps, 0), 12.0)
    changed = made.take(13.0)
    assert changed is not None
    assert [topic for topic, *_ in changed.records] == ["tx", str(TABLE.id), "tx"], "a change is sign enough"
    assert made.busy == 12.0
    assert published(20.0, Progress(Place(0, 9))) == ["beat"]
    unasked = cutter(CutPolicy(quiet=2.0), fresh=False)
    unasked.feed(Batch((Progress(Place(0, 1)),), 0), 1.0)
    quiet = unasked.take(100.0)
    assert quiet is not None
    assert not quiet.records


def test_after_a_cut_a_quiet_log_does_not_take_the_position_back() -> None:
    made = cutter(CutPolicy(most_events=1, quiet=10.0), fresh=False)
    made.feed(Batch(tuple(steps_of("a")[:3]), 11), now=0.0)
    cut = made.take(0.0)
    assert cut is not None
    quiet = made.take(20.0)
    assert quiet is not None
    assert (quiet.records, quiet.position, quiet.cut) == ([], Place(0, 1, 1), cut.cut)
    assert quiet.confirmable is None


def test_what_is_skipped_has_no_record_but_moves_the_position() -> None:
    made = cutter(CutPolicy(skipped=frozenset({"c"})), PlainControl(counts=False), fresh=False)
    made.feed(Batch(tuple(steps_of("a")), 11), now=0.0)
    publication = made.take(10.0)
    assert publication is not None
    assert (publication.records, publication.position) == ([], Place(0, 2))


def test_without_tombstones_a_delete_is_one_record() -> None:
    world = SmallWorld(3000, [[Insert({"shop": "a", "number": 1}), Delete(("a", 1))]])
    whole = [step for batch in world.batches(None) for step in batch.steps]
    made = cutter(CutPolicy(tombstones=False))
    taken = publications(made, world.batches(None), iter(lambda: True, None))
    assert records(taken) == expected(whole, tombstones=False)


OTHER = TABLE.id._replace(name="other")
SMALL = SizeBounds(row=100, record=300 + ENVELOPE_BYTES)


def log_of_two(*rows: tuple[int, str, bytes]) -> Batch:
    """A transaction over two tables, 1 and 2; large enough to be looked at."""
    changes = tuple((ref, op, b"k", b"\0\0\0\0\0" + value, None) for ref, op, value in rows)
    other = replace(TABLE, id=OTHER)
    steps = (Shape(1, TABLE, None), Shape(2, other, None), Begin("1", 7), Rows(changes, Place(0, 4, 1)))
    return Batch((*steps, Commit("1", Place(0, 5), 7)), 1 << 22)


def values_of(taken: Publication | None, table: TableId = TABLE.id) -> list[bytes | None]:
    assert taken is not None
    return [value and value[-4:] for topic, _, value, *_ in taken.records if topic == str(table)]


def test_a_row_too_large_sets_its_table_aside_and_its_neighbours_continue() -> None:
    made = cutter(CutPolicy(linger=0.0, bounds=SMALL), fresh=False)
    large = b"\0" + b"v" * (101 + ENVELOPE_BYTES)
    log = log_of_two(
        (1, "c", b"\0one"), (2, "c", b"\0two"), (1, "c", large), (1, "c", b"\0not"), (2, "c", b"\0six")
    )
    (fault,) = made.feed(log, now=0.0)
    assert (fault.table, fault.error.code) == (TABLE.id, "kafka.row_too_large")
    assert "vvv" not in str(fault.error)
    taken = made.take(0.0)
    assert values_of(taken) == [b"\0one"]
    assert values_of(taken, OTHER) == [b"\0two", b"\0six"]
    assert taken is not None
    assert taken.states == table_fault.FaultKeeper().aside(fault), "with the position that moves past it"
    assert taken.position == Place(0, 5)
    assert taken.records[-1][2] == b"1 7 3", "END counts what is published"
    again = (Shape(3, TABLE, TABLE), Begin("2", 8), Rows([(3, "c", b"k", b"value", None)], Place(0, 6, 1)))
    assert (
        made.feed(Batch((*again, Truncate(3, b"t", Place(0, 6, 2)), Commit("2", Place(0, 7), 8)), 9), 1.0)
        == []
    )
    later = made.take(1.0)
    assert values_of(later) == []
    assert later is not None
    assert (later.position, later.states) == (Place(0, 7), {})


def test_a_row_is_judged_and_not_its_event() -> None:
    made = cutter(CutPolicy(linger=0.0, bounds=SMALL), fresh=False)
    both, one = b"\2" + b"v" * (150 + ENVELOPE_BYTES), b"\0" + b"v" * (150 + ENVELOPE_BYTES)
    assert made.feed(log_of_two((1, "u", both)), now=0.0) == [], "twice a row of 75 bytes"
    assert [fault.table for fault in made.feed(log_of_two((1, "u", one)), now=0.0)] == [TABLE.id]
    narrow = cutter(CutPolicy(linger=0.0, bounds=replace(SMALL, record=120)), fresh=False)
    assert [f.table for f in narrow.feed(log_of_two((2, "u", b"\2" + b"v" * 130)), now=0.0)] == [OTHER]


def test_a_table_whose_topic_was_refused_is_left_out_from_its_shape_on() -> None:
    refused: dict[str, WracklineError] = {str(TABLE.id): REFUSED()}
    made = cutter(CutPolicy(linger=0.0), refused=refused)
    (fault,) = made.feed(log_of_two((1, "c", b"\0one"), (2, "c", b"\0two")), now=0.0)
    assert (fault.table, fault.error.code) == (TABLE.id, "test.refused")
    taken = made.take(0.0)
    assert (values_of(taken), values_of(taken, OTHER)) == ([], [b"\0two"])
    assert taken is not None
    assert str(TABLE.id) not in taken.topics, "or it would be made again"
    assert taken.states == table_fault.FaultKeeper().aside(fault)
    assert refused == {}, "once it is kept, it need not be remembered here"


def test_both_halves_of_a_changed_key_count() -> None:
    made = cutter(CutPolicy(linger=0.0), fresh=False)
    made.feed(log_of_two((1, "d", b"\0old"), (1, "c", b"\0new"), (2, "u", b"\0two")), now=0.0)
    taken = made.take(0.0)
    assert taken is not None
    told = [record for record in taken.records if record[0] != "tx" and record[2] is not None]
    assert taken.records[-1][2] == f"1 7 {len(told)}".encode(), "events, whose tombstones are none"


def test_rows_from_elsewhere_come_between_transactions_with_their_states() -> None:
    made = cutter(CutPolicy(linger=0.0), PlainControl(counts=False), fresh=False)
    made.feed(Batch(tuple(steps_of("a")), 11), now=0.0)
    state = canonical_json({"cursor": ["5"]})
    made.insert(TABLE.id, Halves([(b"k2", b"re")], b"ad"), {TABLE.id: state}, now=0.0)
    publication = made.take(0.0)
    assert publication is not None
    assert publication.records[1:] == [(str(TABLE.id), b"k2", b"read")]
    assert publication.checksum == sum(crc32(r[2] or b"") for r in publication.records) & 0xFFFF_FFFF
    assert publication.states == {TABLE.id: state}
    made.feed(Batch(tuple(steps_of("a")[:2]), 0), now=0.0)
    with pytest.raises(ValueError, match="between two"):
        made.insert(TABLE.id, Halves(), {}, now=0.0)


@pytest.mark.parametrize("why", ["test.refused", "kafka.row_too_large"])
def test_rows_from_elsewhere_are_left_out_too(why: str) -> None:
    refused: dict[str, WracklineError] = {str(TABLE.id): REFUSED()} if why == "test.refused" else {}
    made = cutter(CutPolicy(linger=0.0, bounds=SMALL), PlainControl(counts=False), refused=refused)
    made.feed(Batch((Progress(Place(0, 3)),), 0), now=0.0)
    large = bytes(1) if why == "test.refused" else bytes(101 + ENVELOPE_BYTES)
    (fault,) = made.insert(TABLE.id, Halves([(b"k", large)]), {OTHER: canonical_json({})}, now=0.0)
    assert made.insert(TABLE.id, Halves([(b"k", b"small")]), {OTHER: canonical_json({})}, now=0.0) == []
    taken = made.take(0.0)
    assert taken is not None
    assert (list(taken.records), list(taken.topics), taken.checksum) == ([], [], 0)
    assert taken.states.keys() == {TABLE.id, OTHER}
    assert (fault.table, fault.error.code) == (TABLE.id, why)
    assert taken.states[TABLE.id] == table_fault.fault_state(fault)


def test_a_state_alone_is_worth_a_publication() -> None:
    made = cutter(CutPolicy(linger=1.0), fresh=False)
    made.feed(Batch((Progress(Place(0, 7)),), 0), now=0.0)
    made.insert(TABLE.id, Halves(), {TABLE.id: canonical_json({"stage": "done"})}, now=2.0)
    assert made.due() == 3.0


def test_a_cut_transaction_that_continues_elsewhere_is_another_one() -> None:
    counted = SplitTransaction("other", {TABLE.id: 100})
    made = cutter(CutPolicy(), cut=counted, fresh=False)
    begin, rows, commit = steps_of("a")[1:]
    resumed = replace(cast("Begin", begin), first=1)
    made.feed(Batch((Shape(0, TABLE, None), resumed, rows, commit), 11), now=0.0)
    publication = made.take(1.0)
    assert publication is not None
    assert [record[1] for record in publication.records] == [b"k", b"END"], "its BEGIN was published before"
    assert publication.records[-1][2] == b"a 1 1"


def test_tables_that_come_and_go_are_reported_in_the_logs_order() -> None:
    made = cutter(CutPolicy(linger=0.0), fresh=False)
    named = TABLE.id._replace(name="other")
    steps = (
        Appeared(named, complete=True),
        Progress(Place(1, 1)),
        Begin("1", 7),
        Renamed(named, TABLE.id),
        Found(TABLE, frozenset()),
        Reshaped(TABLE.id, refresh=True),
        Vanished(TABLE.id),
        Commit("1", Place(2, 1), 7),
    )
    made.feed(Batch(steps, 0), 1.0)
    publication = made.take(1.0)
    assert publication is not None
    assert [(topic, value) for topic, _, value, *_ in publication.records] == [
        ("Appeared", b"0"),
        ("Renamed", b"7"),
        ("Reshaped", b"7"),
        ("Vanished", b"7"),
    ]
    assert publication.position == Place(2, 1)

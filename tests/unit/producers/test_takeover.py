"""A task whose deal has passed ends before it disturbs anybody; one that waits for nobody has few steps."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from wrackline.producers.kafka.takeover import (
    DEAL_DIFFERS,
    DEAL_PASSED,
    Claimant,
    CommitStep,
    FenceStep,
    HistoryStep,
    LookStep,
    Step,
    by_database,
    fold_partitions,
    take_over,
)
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka.offsets_records import (
    DealRecord,
    Offset,
    OffsetsRecord,
    PositionKey,
    RecordPlace,
    SavedTableState,
    begin_key,
    canonical_json,
    deal_key,
    encode,
    key_bytes,
    parse,
    position_key,
    table_key,
)
from wrackline.schemas.pipelines.deal import Deal, TaskShare, shares_of
from wrackline.schemas.tables.table import SourcePartition, TableId

NAMES = ("a", "b", "c")
OURS = Deal(7, shares_of(NAMES, 2))


def claimant(task: int) -> Claimant:
    return Claimant("c", TaskShare(OURS, task), lambda one: begin_key(f"t-{one}"))


def dealt(partition: int, deal: Deal, *, opened: bool = True) -> list[OffsetsRecord]:
    value = encode(DealRecord(1, deal.number, deal.digest, opened))
    return [parse(RecordPlace("o", partition, 1), deal_key("c"), value)]


@pytest.mark.parametrize(
    ("newer", "code"),
    [(Deal(8, OURS.shares), DEAL_PASSED.code), (Deal(7, shares_of(NAMES, 3)), DEAL_DIFFERS.code)],
)
def test_a_task_of_a_passed_deal_disturbs_nobody(newer: Deal, code: str) -> None:
    steps = take_over(claimant(0), 3)
    assert next(steps) == LookStep(1)
    assert steps.send([]) == LookStep(2)
    with pytest.raises(WracklineError) as told:
        steps.send(dealt(2, newer))
    assert told.value.code == code


def test_what_is_of_our_deal_is_not_closed() -> None:
    *asked, last = walk(0, [[], dealt(1, OURS)])
    assert asked == [LookStep(1), FenceStep(0), LookStep(1)]
    assert isinstance(last, CommitStep)


def test_what_is_of_an_earlier_deal_is_closed_first() -> None:
    asked = list(walk(0, [[], dealt(1, Deal(6, OURS.shares))]))
    assert [(type(one), *one[:1]) for one in asked] == [
        *((LookStep, 1), (FenceStep, 1), (CommitStep, 1)),
        *((FenceStep, 0), (LookStep, 1), (CommitStep, 0)),
    ]


def test_one_partition_of_our_deal_does_not_hide_an_earlier_one_behind_it() -> None:
    asked = list(walk(0, [[], dealt(1, OURS), dealt(2, Deal(6, OURS.shares))]))
    assert [one[0] for one in asked if isinstance(one, FenceStep)] == [2, 0]


def test_a_partition_that_still_looks_open_behind_its_closing_is_waited_for() -> None:
    steps = take_over(claimant(0), 2)
    old = dealt(1, Deal(6, OURS.shares))
    assert [next(steps), steps.send(old)] == [LookStep(1), FenceStep(1)]
    assert isinstance(steps.send(old), CommitStep)
    assert [steps.send([]), steps.send([])] == [FenceStep(0), LookStep(1)]
    with pytest.raises(Transient) as told:
        steps.send(old)
    assert told.value.code == "offsets.deal_hidden"


@pytest.mark.parametrize(
    ("shares", "partitions"),
    [(OURS.shares, [[], []]), ((NAMES,), [[], []]), ((NAMES,), [dealt(0, Deal(6, OURS.shares))])],
)
def test_a_partition_keeps_its_deal_where_several_are_or_were(
    shares: tuple[tuple[str, ...], ...], partitions: list[list[OffsetsRecord]]
) -> None:
    who = Claimant("c", TaskShare(Deal(7, shares)), lambda one: begin_key(f"t-{one}"))
    *_, last = walk_of(who, [*map(list, partitions)])
    assert isinstance(last, CommitStep)
    record = parse(RecordPlace("o", 0, 1), deal_key("c"), dict(last.changes or ())[deal_key("c")])
    assert isinstance(record.value, DealRecord)
    assert (record.value.number, record.value.digest, record.value.open) == (7, who.deal.digest, True)


def test_a_partition_that_is_closed_says_so() -> None:
    held = [[], dealt(1, Deal(6, OURS.shares))]
    closing = next(one for one in walk(0, held) if isinstance(one, CommitStep))
    record = parse(RecordPlace("o", 1, 1), deal_key("c"), dict(closing.changes or ())[deal_key("c")])
    assert isinstance(record.value, DealRecord)
    assert (record.value.number, record.value.open) == (7, False)


def test_the_home_of_a_database_has_its_newest_record_not_its_oldest() -> None:
    source = SourcePartition("s", "a")
    table = table_key("c", source, TableId("a", "public", "t"))

    def records(partition: int, position: int, state: int) -> list[OffsetsRecord]:
        offset = encode(Offset(position, 1, canonical_json({"at": partition}), None, 1, 1))
        kept = encode(SavedTableState(state, canonical_json({"at": partition})))
        written = [(position_key("c", source), offset), (table, kept)]
        return [parse(RecordPlace("o", partition, n), *one) for n, one in enumerate(written)]

    home, left = records(0, 5, 3), records(1, 4, 4)
    [found] = by_database("c", [*left, *home]).values()
    assert found.partition == 0


def test_one_task_of_one_partition_knows_no_deals() -> None:
    alone = Claimant("c", TaskShare(Deal(7, (NAMES,))), lambda one: begin_key(f"t-{one}"))
    steps = take_over(alone, 1)
    assert next(steps) == FenceStep(0)
    assert steps.send([]) == HistoryStep()
    claimed = steps.send([])
    assert isinstance(claimed, CommitStep)
    assert [key for key, _ in claimed.changes or ()] == [begin_key("t-0")]
    late = take_over(alone, 1)
    next(late)
    with pytest.raises(WracklineError) as told:  # its partition was one of several, of a newer deal
        late.send(dealt(0, Deal(8, OURS.shares)))
    assert told.value.code == DEAL_PASSED.code


def old_position(partition: int) -> OffsetsRecord:
    """A position as an older version wrote it, without a database."""
    offset = Offset(3, 9, canonical_json({"lsn": 5}), None, 1, 1)
    key = PositionKey("c", "s", None)
    return parse(RecordPlace("o", partition, 2), key_bytes(key), encode(offset))


@pytest.mark.parametrize(
    ("deal", "takes"), [(OURS, [True, False]), (Deal(7, (NAMES,)), [True]), (Deal(7, (("a",),)), [False])]
)
def test_the_first_database_gets_a_position_that_names_none(deal: Deal, takes: list[bool]) -> None:
    for task, expected in enumerate(takes):
        who = Claimant("c", TaskShare(deal, task), lambda one: begin_key(f"t-{one}"))
        held: list[list[OffsetsRecord]] = [[old_position(0)], *([] for _ in range(deal.tasks - 1))]
        *_, last = walk_of(who, held)
        assert isinstance(last, CommitStep)
        changes = dict(last.changes or ())
        moved = changes.get(position_key("c", SourcePartition("s", "a")))
        assert (moved is not None) is expected
        if moved is not None:
            value = parse(RecordPlace("o", 0, 1), position_key("c", SourcePartition("s", "a")), moved).value
            assert isinstance(value, Offset)
            assert (value.position, value.n, value.generation > 3) == (canonical_json({"lsn": 5}), 0, True)
            assert changes[key_bytes(PositionKey("c", "s", None))] is None, "or b would begin there too"


def test_a_table_that_is_gone_does_not_come_back_from_a_partition_that_its_database_has_left() -> None:
    source = SourcePartition("s", "a")
    offset = Offset(3, 1, canonical_json({"lsn": 5}), None, 1, 1)
    keys = [table_key("c", source, TableId("a", "public", name)) for name in ("t", "gone")]

    def records(partition: int, generation: int, *tables: bytes) -> list[OffsetsRecord]:
        state = encode(SavedTableState(generation, canonical_json({"at": partition})))
        position = (position_key("c", source), encode(replace(offset, generation=generation)))
        written = [*((key, state) for key in tables), position]
        return [parse(RecordPlace("o", partition, n), *one) for n, one in enumerate(written)]

    left, home = records(0, 3, *keys), records(1, 4, keys[0])
    for read in ([*left, *home], [*home, *left]):
        state = fold_partitions("c", read)
        assert {key.table.name: kept.generation for key, kept in state.tables.items()} == {"t": 4}
        assert [at.generation for at in state.positions.values()] == [4]
    assert {key.table.name for key in fold_partitions("c", left).tables} == {"t", "gone"}


def walk(task: int, held: list[list[OffsetsRecord]]) -> Iterator[Step]:
    return walk_of(claimant(task), held)


def walk_of(who: Claimant, held: list[list[OffsetsRecord]]) -> Iterator[Step]:
    """Take over; yield each step that is asked for."""
    steps = take_over(who, len(held))
    answer: Sequence[OffsetsRecord] | None = None
    while True:
        try:
            step = next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            return
        yield step
        if isinstance(step, HistoryStep):
            answer = []
            continue
        answer = held[step.partition]
        if isinstance(step, CommitStep):
            held[step.partition] = [
                parse(RecordPlace("o", step.partition, n), key, value)
                for n, (key, value) in enumerate(step.changes or ())
            ]
            answer = []

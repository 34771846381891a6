"""A task whose deal has passed ends before it disturbs anybody; one that waits for nobody has few steps."""

from collections.abc import Iterable

import pytest

from wrackline.producers.kafka.takeover import (
    DEAL_PASSED,
    Claimant,
    CommitStep,
    FenceStep,
    LookStep,
    take_over,
)
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offsets_records import (
    DealRecord,
    OffsetsRecord,
    RecordPlace,
    begin_key,
    deal_key,
    encode,
    parse,
)
from wrackline.schemas.pipelines.deal import Deal, shares_of

NAMES = ("a", "b", "c")
OURS = Deal(7, shares_of(NAMES, 2))


def claimant(task: int) -> Claimant:
    return Claimant(
        "c", task, OURS, lambda one: begin_key(f"t-{one}"), lambda one: one[1] in OURS.shares[task]
    )


def dealt(partition: int, deal: Deal, *, opened: bool = True) -> list[OffsetsRecord]:
    value = encode(DealRecord(1, deal.number, deal.digest, opened))
    return [parse(RecordPlace("o", partition, 1), deal_key("c"), value)]


@pytest.mark.parametrize("newer", [Deal(8, OURS.shares), Deal(7, shares_of(NAMES, 3))])
def test_a_task_of_a_passed_deal_disturbs_nobody(newer: Deal) -> None:
    steps = take_over(claimant(0), 3)
    assert next(steps) == LookStep(1)
    assert steps.send([]) == LookStep(2)
    with pytest.raises(WracklineError) as told:
        steps.send(dealt(2, newer))
    assert told.value.code == DEAL_PASSED.code


def test_what_is_of_our_deal_is_not_closed() -> None:
    *asked, last = walk(0, [[], dealt(1, OURS)])
    assert asked == [LookStep(1), FenceStep(0), LookStep(1)]
    assert isinstance(last, CommitStep)


def test_what_is_of_an_earlier_deal_is_closed_first() -> None:
    asked = list(walk(0, [[], dealt(1, Deal(6, OURS.shares))]))
    assert [(type(one), one.partition) for one in asked] == [
        *((LookStep, 1), (FenceStep, 1), (CommitStep, 1)),
        *((FenceStep, 0), (LookStep, 1), (CommitStep, 0)),
    ]


def walk(task: int, held: list[list[OffsetsRecord]]) -> Iterable[LookStep | FenceStep | CommitStep]:
    """Take over; yield each step that is asked for."""
    steps, answer = take_over(claimant(task), len(held)), None
    while True:
        try:
            step = next(steps) if answer is None else steps.send(answer)
        except StopIteration:
            return
        yield step
        answer = held[step.partition]
        if isinstance(step, CommitStep):
            held[step.partition] = [
                parse(RecordPlace("o", step.partition, n), key, value)
                for n, (key, value) in enumerate(step.changes or ())
            ]
            answer = []

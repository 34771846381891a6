"""Databases move between tasks while old and new owners live, freeze and are killed.

Each history deals the databases several times, starts the tasks of every deal in any order, some late, and
interrupts, freezes or ends each of them at any step.  However that goes, each database is published by a
chain of transactions in which none is missing and none is there twice.
"""

import inspect
import sys
import types
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from random import Random

import pytest

from wrackline.producers.kafka import takeover
from wrackline.producers.kafka.ownership import TASKS_ADDED
from wrackline.producers.kafka.takeover import (
    Claimant,
    CommitStep,
    FenceStep,
    HistoryStep,
    LookStep,
    newest_generation,
    take_over,
)
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka.offset_replay import replay
from wrackline.schemas.kafka.offsets_records import (
    OUTSIDE_ANY_TRANSACTION,
    BeginRecord,
    Offset,
    OffsetsRecord,
    RecordPlace,
    SavedTableState,
    TableKey,
    begin_key,
    canonical_json,
    deal_key,
    encode,
    parse,
    position_key,
    table_key,
)
from wrackline.schemas.pipelines.deal import Deal, TaskShare, shares_of
from wrackline.schemas.tables.table import SourcePartition, TableId

NAMES = ("a", "b", "c", "d", "e")
MOST_TASKS = 4
STEPS = 400
HISTORIES = 150


class FencedError(Exception):
    """Another producer has the transactional id now."""


class WrongError(AssertionError):
    """What no history may show."""


@dataclass
class Kafka:
    """The offsets topic and its producers, and what each database has published."""

    partitions: list[dict[bytes, OffsetsRecord]] = field(
        default_factory=lambda: [{} for _ in range(MOST_TASKS)]
    )
    late: list[list[OffsetsRecord] | None] = field(default_factory=lambda: [None] * MOST_TASKS)
    slots: int = 1  # partitions that the topic has by now
    written: int = 0
    epochs: list[int] = field(default_factory=lambda: [0] * MOST_TASKS)
    published: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))

    def fence(self, partition: int) -> int:
        """Shut others out; what they have committed can be read from here on."""
        self.late[partition] = None
        self.epochs[partition] += 1
        return self.epochs[partition]

    def read(self, partition: int) -> list[OffsetsRecord]:
        return list(self.partitions[partition].values())

    def look(self, partition: int, random: Random) -> list[OffsetsRecord]:
        """Read as a bystander, to whom the last transaction may not be visible yet."""
        late = self.late[partition]
        return self.read(partition) if late is None or random.random() < 0.8 else late

    def commit(self, partition: int, epoch: int, changes: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Append, and compact at once: only the last record of a key counts anyway."""
        if self.epochs[partition] != epoch:
            raise FencedError
        log = self.partitions[partition]
        self.late[partition] = self.read(partition)
        for key, value in changes:
            self.written += 1
            log.pop(key, None)
            log[key] = parse(RecordPlace("o", partition, self.written), key, value)

    def publish(self, partition: int, epoch: int, name: str, position: int, generation: int, n: int) -> None:
        """CommitStep one change of a database; the first one makes its table, and the fifth drops it."""
        source = SourcePartition("s", name)
        offset = Offset(generation, n, canonical_json({"p": position + 1}), None, 1, 1)
        changes: list[tuple[bytes, bytes | None]] = [
            (begin_key(f"t-{partition}"), encode(BeginRecord(generation, n))),
            (position_key("c", source), encode(offset)),
        ]
        table = table_key("c", source, TableId(name, "x", "t"))
        if position == 0:
            changes.append((table, encode(SavedTableState(generation, canonical_json({"s": 1})))))
        if position == 4:
            changes.append((table, None))
        self.commit(partition, epoch, changes)
        if self.published[name] != position:
            raise WrongError(f"{name} was at {self.published[name]}, and was published from {position}")
        self.published[name] = position + 1


Takeover = Callable[[Claimant, int], takeover.Steps]


def task(
    kafka: Kafka, deal: Deal, number: int, take: Takeover, random: Random, *, recounts: bool
) -> Iterator[None]:
    """A task's process; each step may be its last, and others run between two steps."""
    share = deal.shares[number]
    who = Claimant("c", TaskShare(deal, number), lambda one: begin_key(f"t-{one}"))
    generation = 0
    while True:
        try:
            if not generation:
                kafka.slots = max(kafka.slots, deal.tasks)
                yield
                slots = kafka.slots
                yield
                steps = take(who, slots)
                generation = yield from claim(kafka, steps, random, number, slots if recounts else None)
            yield from session(kafka, number, share, generation, random)
        except FencedError:
            yield
            if generation and newest_generation(kafka.read(number)) != generation:
                return  # it is superseded
        except Transient:
            yield
        except WracklineError:
            return  # it belongs to a deal that has passed


def claim(
    kafka: Kafka, steps: takeover.Steps, random: Random, own: int, slots: int | None
) -> Generator[None, None, int]:
    """Do the steps as `ownership.py` does; `slots`: how many there must still be when the task adopts."""
    epoch, answer = 0, None
    while True:
        try:
            step = next(steps) if answer is None else steps.send(answer)
        except StopIteration as end:
            return int(end.value.generation)
        yield
        match step:
            case LookStep(partition):
                answer = kafka.look(partition, random)
            case HistoryStep():
                answer = []
            case FenceStep(partition):
                epoch = kafka.fence(partition)
                yield
                answer = kafka.read(partition)
            case CommitStep(partition, changes):
                if partition == own and slots not in (None, kafka.slots):
                    raise TASKS_ADDED(connector="c")
                yield
                if changes is not None:
                    kafka.commit(partition, epoch, changes)
                answer = []


def session(
    kafka: Kafka, number: int, share: Sequence[str], generation: int, random: Random
) -> Generator[None, None, None]:
    """Start as a publisher does, and publish."""
    epoch = kafka.fence(number)
    yield
    if newest_generation(kafka.read(number)) != generation:
        raise FencedError
    state = replay(kafka.read(number))
    positions = dict.fromkeys(share, 0)
    for name in share:
        saved = state.resume("c", SourcePartition("s", name))
        if saved is not None:
            positions[name] = int(saved.position[5:-1])
        tables = [key for key in state.tables if isinstance(key, TableKey) and key.table.database == name]
        if len(tables) != (1 <= positions[name] <= 4):
            raise WrongError(f"{name} is at {positions[name]}, and has the states of {tables}")
    n = 0
    while True:
        yield
        name, n = random.choice(share), n + 1
        kafka.publish(number, epoch, name, positions[name], generation, n)
        positions[name] += 1


def edit(kafka: Kafka) -> Iterator[None]:
    """Claim every task for an operator, as `ownership.claim` does, and forget which deal is valid."""
    epochs: dict[int, int] = {}
    held: list[OffsetsRecord] = []
    for one in range(kafka.slots):
        epochs[one] = kafka.fence(one)
        yield
    for one in epochs:
        held += kafka.read(one)
        yield
    claim = encode(BeginRecord(1 + newest_generation(held), OUTSIDE_ANY_TRANSACTION))
    for one, epoch in epochs.items():
        try:
            kafka.commit(one, epoch, [(begin_key(f"t-{one}"), claim), (deal_key("c"), None)])
        except FencedError:
            return
        yield


def history(seed: int, take: Takeover = take_over) -> Kafka:
    """Run one history."""
    random, kafka = Random(seed), Kafka()
    running: list[Iterator[None]] = []
    waiting: list[Callable[[], Iterator[None]]] = []
    number = 0
    awake: list[Iterator[None]] = []
    shares = [
        shares_of(random.sample(NAMES, random.randint(1, len(NAMES))), random.randint(1, MOST_TASKS))
        for _ in range(random.randint(2, 5))
    ]
    for _ in range(STEPS):
        chance = random.random()
        if chance < 0.02 or not number:
            number += 1
            deal = Deal(number, random.choice(shares))  # often one that there was before
            make_task = partial(task, kafka, deal, take=take, random=random, recounts=True)
            waiting += [partial(make_task, number=one) for one in range(deal.tasks)]
        elif chance < 0.12 and waiting:
            make = random.choice(waiting)
            running.append(make())
            if random.random() < 0.7:  # else another process of the same task may begin later
                waiting.remove(make)
        elif chance < 0.13 and number > 1:
            running.append(edit(kafka))
        elif chance < 0.15 and running:
            running.remove(random.choice(running))
        elif chance < 0.2:
            awake = random.sample(running, random.randint(0, len(running)))  # the others are frozen
        alive = [one for one in awake if one in running] or running
        if alive:
            one = random.choice(alive)
            try:
                next(one)
            except StopIteration:
                running.remove(one)
    return kafka


def test_no_database_loses_a_position_or_has_two_owners() -> None:
    published = sum(sum(history(seed).published.values()) for seed in range(HISTORIES))
    assert published > 10 * HISTORIES, "they did not get on"


@pytest.mark.parametrize("recounts", [True, False])
def test_a_partition_that_was_added_since_a_task_counted_may_have_its_database(recounts: bool) -> None:  # noqa: FBT001
    kafka, random = Kafka(), Random(1)
    make = partial(task, kafka, take=take_over, random=random, recounts=recounts)
    whole = make(Deal(2, (("a", "b"),)), 0)
    for _ in range(2):
        next(whole)  # it has counted
    beside = make(Deal(1, (("a",), ("b",))), 1)
    while not kafka.published["b"]:
        next(beside)
    raises = (
        nullcontext() if recounts else pytest.raises(WrongError, match="b was at 1, and was published from 0")
    )
    with raises:
        for _ in range(STEPS):
            next(whole)
    assert recounts == (kafka.published["b"] > 1)


SLOW = "a deal of the same shares is taken for ours"  # test_takeover.py sees that one by itself
FAULTS = {
    "nothing is closed": (
        ("if not _is_passed(who, looks[one]):", "if True:"),
        ("raise DEAL_HIDDEN(partition=one, connector=who.connector)", "pass"),
    ),
    "a generation above those of its own partition only": (
        ("1 + newest_generation([*everything, *past])", "1 + newest_generation(own)"),
    ),
    SLOW: (
        (
            "(theirs.number, theirs.digest) == (ours.number, ours.digest)",
            "theirs.digest == ours.digest",
        ),
        ("raise DEAL_HIDDEN(partition=one, connector=who.connector)", "pass"),
    ),
    "what another task may need is removed at once": (
        ("home_age(homes[one]) > home_age(before)", "not who.deal.owns(who.task, one[1])"),
    ),
    "a table that is gone by now comes back": (
        (
            "return [*((key_bytes(key), None) for key in left), *moved]",
            "return moved",
        ),
    ),
    "records of two partitions are mixed": (
        ("partitions.setdefault(record.place.partition, [])", "partitions.setdefault(0, [])"),
    ),
}


def planted(*faults: tuple[str, str]) -> Takeover:
    """Return the steps with a fault."""
    source = inspect.getsource(takeover)
    once = (
        "import Definite, Transient, define",
        "import Definite, Transient\n\ndefine = lambda code, *_, **__: CODES[code]",
    )  # a code has one home
    for right, wrong in (once, *faults):
        assert right in source
        source = source.replace(right, wrong)
    module = types.ModuleType("wrackline.producers.kafka.takeover_with_a_fault")
    codes = {one.code: one for one in (takeover.DEAL_PASSED, takeover.DEAL_DIFFERS, takeover.DEAL_HIDDEN)}
    module.CODES = codes  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module  # dataclasses look there
    try:
        exec(compile(source, module.__name__, "exec"), module.__dict__)  # noqa: S102
    finally:
        del sys.modules[module.__name__]

    def take(who: Claimant, partitions: int) -> takeover.Steps:
        steps = module.take_over(who, partitions)
        answer: Sequence[OffsetsRecord] | None = None
        while True:
            try:
                step = next(steps) if answer is None else steps.send(answer)
            except StopIteration as end:
                return takeover.Adoption(end.value.generation, end.value.records)
            answer = yield getattr(takeover, type(step).__name__)(*step)

    return take


@pytest.mark.parametrize(
    "fault", [pytest.param(name, marks=pytest.mark.full) if name == SLOW else name for name in FAULTS]
)
def test_a_planted_fault_is_found(fault: str) -> None:
    take = planted(*FAULTS[fault])
    for seed in range(20 * HISTORIES):
        try:
            history(seed, take)
        except WrongError:
            return
    pytest.fail("no history shows it")

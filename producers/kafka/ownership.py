"""The owners of a connector's tasks: each claims a generation in its own partition of the offsets topic.

    take_over   a task's start: the steps of `takeover.py`, done on Kafka
    claim       by others, for all tasks: fence each -> read each to its end -> commit in each
                [claim: a new generation][edits of the offsets]

Why it is right: every claim is made in a transaction of the task's one transactional id.  If two claimants
fence each other, only the last one's transaction can be committed, and it has read whatever the other could
commit; so no generation is given out twice.  An owner reads the newest generation before and after it
fences, and ends when it is not its own: an owner that was frozen, or whose offsets were edited, never
continues.  Edits are part of the claim itself, so those of one database are never half there, and an owner
that still runs ends instead of overwriting them.

An owner that finds no position, though the history has some, is refused: if it silently continued, it
would write in an epoch that may have passed, and read tables that were set aside.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from wrackline.producers.failpoints import reach
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.takeover import (
    NOWHERE,
    Adoption,
    Change,
    Claimant,
    CommitStep,
    FenceStep,
    HistoryStep,
    LookStep,
    by_database,
    database_of,
    fold_partitions,
    newest_generation,
    take_over,
)
from wrackline.producers.kafka.transactor import OffsetsSlot, Transactor
from wrackline.schemas.errors import Definite, Transient, define
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import (
    OUTSIDE_ANY_TRANSACTION,
    BeginRecord,
    DealKey,
    OffsetsRecord,
    PositionKey,
    RecordPlace,
    TableKey,
)
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.pipelines.deal import TaskShare

PATIENCE = 30.0  # seconds for fencing

LOST = define(
    "offsets.lost",
    Definite,
    "topic {topic} has no position of {connector}, but {history} has one: the topic was emptied, or"
    " created again",
    hint="continue from the current position of the source's log, in a new epoch: wrackline offsets reset"
    " <pipeline.toml>; then read tables that were set aside again",
)

TASKS_ADDED = define(
    "offsets.tasks_added",
    Transient,
    "tasks of {connector} were added while one took over",
    hint="the task begins again by itself",
)

Clock = Callable[[], float]
Edit = Callable[
    [OffsetsState, int], Sequence[Change]
]  # what was committed, the generation claimed -> records


@dataclass(frozen=True, slots=True)
class GenerationClaim:
    """The generation that is ours, and what was committed before it."""

    generation: int
    state: OffsetsState


class Ownership:
    """A connector's partitions, for the owner of one of them and for callers that look up the owners."""

    def __init__(self, client: Client, group: str, connector: str, number: int = 0) -> None:
        self._client, self._admin = client, AdminClient(client.admin())
        self._group, self._connector, self._number = group, connector, number
        self._topics = internal_topics(group)

    def prepare(self, replication: int = -1, tasks: int = 1) -> None:
        """Make the topics, unless they exist, with a partition for each task."""
        slots = max(tasks, self._number + 1)
        offsets_topic.prepare_offsets(self._admin, self._topics.offsets, slots, replication)
        offsets_topic.prepare_history(self._admin, self._topics.offset_history, replication)

    def take_over(self, share: TaskShare, clock: Clock) -> GenerationClaim:
        """Become the owner of a task and of its databases.

        A Transient error means that another claim came between; done again, it continues.
        """
        who = Claimant(self._connector, share, lambda task: _begin_key(self._identity(task)))
        slots = max(share.deal.tasks, offsets_topic.count_slots(self._admin, self._topics.offsets))
        steps = take_over(who, slots)
        answer: Sequence[OffsetsRecord] | None = None
        with ExitStack() as opened:
            fenced: Transactor | None = None
            while True:
                try:
                    step = next(steps) if answer is None else steps.send(answer)
                except StopIteration as end:
                    adopted: Adoption = end.value
                    return GenerationClaim(
                        adopted.generation, fold_partitions(self._connector, adopted.records)
                    )
                answer = []
                match step:
                    case LookStep(task):
                        answer = self._read(task, fenced=False).sound()
                    case FenceStep(task):
                        opened.close()
                        fenced = self._fenced(task, clock, opened)
                        answer = self._read(task, fenced=True).sound()
                    case CommitStep(task, changes) if changes is not None and fenced is not None:
                        if task == share.task:
                            self._adopt(fenced, changes, slots)
                        else:
                            reach("before_close")
                            _commit(fenced, changes)
                            reach("after_close")
                    case HistoryStep():
                        answer = [record for _, record in self.history()]
                        self._see_that_none_was_lost(answer)

    def _adopt(self, fenced: Transactor, changes: Sequence[Change], slots: int) -> None:
        reach("before_adopt")
        if offsets_topic.count_slots(self._admin, self._topics.offsets) != slots:
            raise TASKS_ADDED(connector=self._connector)  # nobody has looked there: it may have our databases
        _commit(fenced, changes)
        reach("after_adopt")

    def claim(
        self,
        clock: Clock,
        edit: Edit = lambda _state, _generation: (),
        *,
        over_broken: offsets_topic.OverBroken = False,
    ) -> GenerationClaim:
        """Shut out every owner of every task; a Transient error means that another claim came between.

        It also forgets which deal was the last: that of a clock that was ahead would shut out all later ones.
        `over_broken`: the same transactions delete records that can't be read, of all or of these databases.
        """
        slots = range(offsets_topic.count_slots(self._admin, self._topics.offsets))
        with ExitStack() as opened:
            fenced = {task: self._fenced(task, clock, opened) for task in slots}
            read = {task: self._read(task, fenced=True) for task in slots}
            records = [one for of in read.values() for one in of.sound(over_broken=over_broken)]
            broken = {task: [key for key in of.broken if key is not None] for task, of in read.items()}
            whole = records and not any(broken.values())
            past = () if whole else [record for _, record in self.history()]
            # a broken record may have hidden the newest
            generation = 1 + newest_generation([*records, *past])
            state = fold_partitions(self._connector, records)
            changes = edit(state, generation)
            if not changes and not any(broken.values()):
                self._see_that_none_was_lost(past)
            placed = self._placed(changes, records)
            dealt = {one.place.partition for one in records if isinstance(one.key, DealKey)}
            for task, transactor in fenced.items():
                begin = offsets_records.encode(BeginRecord(generation, OUTSIDE_ANY_TRANSACTION))
                gone = [
                    *broken[task],
                    *([offsets_records.deal_key(self._connector)] if task in dealt else []),
                ]
                ends = [*((key, None) for key in gone), *placed.get(task, ())]
                transactor.commit((_begin_key(self._identity(task)), begin), (), ends)
        return GenerationClaim(generation, state)

    def newest(self) -> int:
        """Return the newest generation that was claimed for this task."""
        return newest_generation(self._read(self._number, fenced=False).sound())

    def state(self, *, over_broken: offsets_topic.OverBroken = False) -> OffsetsState:
        """Return what is committed, as far as a reader without fencing sees it; empty before the first start.

        `over_broken`: without the records that can't be read, of all or of these databases.
        """
        records = [one for of in self._read_all() for one in of.sound(over_broken=over_broken)]
        return fold_partitions(self._connector, records)

    def history(self) -> list[tuple[int, OffsetsRecord]]:
        """Return the positions in the history, each with its time in milliseconds, oldest first."""
        slot = OffsetsSlot(self._topics.offset_history, 0)
        if not offsets_topic.slot_exists(self._admin, slot):
            return []
        reader = self._client.reader(self._identity(self._number))
        return offsets_topic.read_slot(
            self._admin, reader, slot
        ).records  # only readable positions can be restored

    def last_written_ms(self) -> int | None:
        """Return when the newest record of any partition was written."""
        return max((of.last_ms for of in self._read_all() if of.last_ms is not None), default=None)

    def _placed(self, changes: Iterable[Change], records: Sequence[OffsetsRecord]) -> dict[int, list[Change]]:
        """Return what to write where: a database's records where its newest are, a removal wherever it is."""
        homes = by_database(self._connector, records)
        placed: dict[int, list[Change]] = {}
        for key, value in changes:
            about = offsets_records.parse(RecordPlace(self._topics.offsets, 0, 0), key, None).key
            holders = {one.place.partition for one in records if one.key == about}
            whose = database_of(about) if isinstance(about, PositionKey | TableKey) else None
            home = NOWHERE if whose is None else homes.get(whose, NOWHERE)
            for task in holders if value is None else {max(0, home.partition)}:
                placed.setdefault(task, []).append((key, value))
        return placed

    def _see_that_none_was_lost(self, past: Sequence[OffsetsRecord]) -> None:
        ours = self._connector
        if any(isinstance(record.key, PositionKey) and record.key.connector == ours for record in past):
            raise LOST(topic=self._topics.offsets, connector=ours, history=self._topics.offset_history)

    def _fenced(self, task: int, clock: Clock, opened: ExitStack) -> Transactor:
        slot = OffsetsSlot(self._topics.offsets, task)
        made = Transactor(self._client.producer(self._identity(task)), slot, clock, self._client.slow)
        opened.callback(made.drop)
        made.fence(PATIENCE)
        return made

    def _identity(self, task: int) -> Identity:
        return Identity(self._group, self._connector, task, OUTSIDE_ANY_TRANSACTION)

    def _read_all(self) -> list[offsets_topic.SlotContents]:
        slots = offsets_topic.count_slots(self._admin, self._topics.offsets)
        return [self._read(task, fenced=False) for task in range(slots)]

    def _read(self, task: int, *, fenced: bool) -> offsets_topic.SlotContents:
        reader = self._client.reader(self._identity(task))
        slot = OffsetsSlot(self._topics.offsets, task)
        return offsets_topic.read_slot(self._admin, reader, slot, fenced=fenced)


def _commit(fenced: Transactor, changes: Sequence[Change]) -> None:
    (key, value), *ends = changes
    fenced.commit((key, value or b""), (), ends)


def _begin_key(identity: Identity) -> bytes:
    return offsets_records.begin_key(identity.transactional_id)

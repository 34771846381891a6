"""Who owns a task: a generation is claimed in the task's own partition of the offsets topic.

    fence -> read the partition to its end -> commit [claim: newest generation + 1][edits of the offsets]

Why it is right: everybody who claims does so in a transaction of the task's one transactional id.  Of two who
fence each other only the last one's transaction can be committed, and it has read whatever the other could
commit; so no generation is given out twice.  An owner asks for the newest generation before and after it
fences, and ends when it is not its own: an owner that was frozen, or whose offsets somebody has edited, never
goes on.  Edits ride in the claim itself, so they are never half there, and whoever still runs ends instead of
writing over them.

An owner who finds no position, though some were kept in the history, is refused: going on without a word, it
would write in an epoch that may have passed, and read tables that were set aside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.transaction import Slot, Transactor
from wrackline.schemas import offsets
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.offset_replay import State, replay
from wrackline.schemas.offsets import OUTSIDE_ANY_TRANSACTION, Begin, PositionKey, Record
from wrackline.schemas.topics import internal_topics

FIRST = 1
PATIENCE = 30.0  # seconds for fencing

LOST = define(
    "offsets.lost",
    Definite,
    "topic {topic} has no position of {connector}, and {history} has: it was emptied, or made anew",
    hint="go on where the source's log is, in a new epoch: wrackline offsets reset <pipeline.toml>;"
    " tables that were set aside are to be read again",
)

Change = tuple[bytes, bytes | None]
Edit = Callable[[State, int], Sequence[Change]]  # what was committed, the generation claimed -> records


@dataclass(frozen=True, slots=True)
class Claim:
    """The generation that is ours, and what was committed before it."""

    generation: int
    state: State


class Ownership:
    """One task's partition, seen by those who own it or ask who does."""

    def __init__(self, client: Client, group: str, connector: str, number: int) -> None:
        self._client, self._admin = client, AdminClient(client.admin())
        self._identity = Identity(group, connector, number, OUTSIDE_ANY_TRANSACTION)
        self._topics = internal_topics(group)
        self._slot = Slot(self._topics.offsets, number)

    def prepare(self, replication: int = -1) -> None:
        """Make the topics, unless they are there."""
        offsets_topic.prepare(self._admin, self._slot.topic, self._slot.partition + 1, replication)
        offsets_topic.prepare_history(self._admin, self._topics.offset_history, replication)

    def claim(
        self,
        clock: Callable[[], float],
        edit: Edit = lambda _state, _generation: (),
        *,
        over_broken: bool = False,
    ) -> Claim:
        """Shut out every earlier owner; a Transient error means that another claim came between.

        `over_broken`: records that can't be read are taken back by the same transaction.
        """
        transactor = Transactor(self._client.producer(self._identity), self._slot, clock, self._client.slow)
        try:
            transactor.fence(PATIENCE)
            read = self._read(fenced=True)
            records = read.sound(over_broken=over_broken)
            broken = [key for key in read.broken if key is not None]
            kept = () if records and not broken else [record for _, record in self.history()]
            generation = newest([*records, *kept]) + 1  # a broken record may have hidden the newest
            state = replay(records)
            begin = offsets.begin_key(self._identity.transactional_id)
            changes = [*((key, None) for key in broken), *edit(state, generation)]
            if not changes:
                self._see_that_none_was_lost(kept)
            transactor.commit(
                (begin, offsets.encode(Begin(generation, OUTSIDE_ANY_TRANSACTION))), (), changes
            )
        finally:
            transactor.drop()
        return Claim(generation, state)

    def newest(self) -> int:
        """The newest generation that anybody has claimed."""
        return newest(self._read(fenced=False).sound())

    def state(self, *, over_broken: bool = False) -> State:
        """What is committed, as far as a bystander sees it; nothing before the first start.

        `over_broken`: without the records that can't be read.
        """
        return replay(self._seen(self._slot).sound(over_broken=over_broken))

    def history(self) -> list[tuple[int, Record]]:
        """The positions that were kept, each with its time in milliseconds, oldest first."""
        return self._seen(Slot(self._topics.offset_history, 0)).records  # one goes back to what was sound

    def last_written_ms(self) -> int | None:
        """When the newest record of the partition was written."""
        return self._seen(self._slot).last_ms

    def _see_that_none_was_lost(self, kept: Sequence[Record]) -> None:
        ours = self._identity.connector
        if any(isinstance(record.key, PositionKey) and record.key.connector == ours for record in kept):
            raise LOST(topic=self._slot.topic, connector=ours, history=self._topics.offset_history)

    def _seen(self, slot: Slot) -> offsets_topic.Read:
        if not offsets_topic.exists(self._admin, slot):
            return offsets_topic.Read([], {}, None)
        return offsets_topic.read(self._admin, self._client.reader(self._identity), slot)

    def _read(self, *, fenced: bool) -> offsets_topic.Read:
        return offsets_topic.read(self._admin, self._client.reader(self._identity), self._slot, fenced=fenced)


def newest(records: Sequence[Record]) -> int:
    """The highest generation of any record."""
    return max((record.value.generation for record in records if record.value is not None), default=FIRST - 1)

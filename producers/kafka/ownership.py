"""The owner of a task: a generation is claimed in the task's own partition of the offsets topic.

    fence -> read the partition to its end -> commit [claim: newest generation + 1][edits of the offsets]

Why it is right: every claim is made in a transaction of the task's one transactional id.  If two claimants
fence each other, only the last one's transaction can be committed, and it has read whatever the other could
commit; so no generation is given out twice.  An owner reads the newest generation before and after it
fences, and ends when it is not its own: an owner that was frozen, or whose offsets were edited, never
continues.  Edits are part of the claim itself, so they are never half there, and an owner that still runs
ends instead of overwriting them.

An owner that finds no position, though the history has some, is refused: if it silently continued, it
would write in an epoch that may have passed, and read tables that were set aside.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.transactor import OffsetsSlot, Transactor
from wrackline.schemas.errors import Definite, define
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import OffsetsState, replay
from wrackline.schemas.kafka.offsets_records import (
    OUTSIDE_ANY_TRANSACTION,
    BeginRecord,
    OffsetsRecord,
    PositionKey,
)
from wrackline.schemas.kafka.topic_names import internal_topics

FIRST = 1
PATIENCE = 30.0  # seconds for fencing

LOST = define(
    "offsets.lost",
    Definite,
    "topic {topic} has no position of {connector}, but {history} has one: the topic was emptied, or"
    " created again",
    hint="continue from the current position of the source's log, in a new epoch: wrackline offsets reset"
    " <pipeline.toml>; then read tables that were set aside again",
)

Change = tuple[bytes, bytes | None]
Edit = Callable[
    [OffsetsState, int], Sequence[Change]
]  # what was committed, the generation claimed -> records


@dataclass(frozen=True, slots=True)
class GenerationClaim:
    """The generation that is ours, and what was committed before it."""

    generation: int
    state: OffsetsState


class Ownership:
    """One task's partition, for its owner and for callers that look up the owner."""

    def __init__(self, client: Client, group: str, connector: str, number: int) -> None:
        self._client, self._admin = client, AdminClient(client.admin())
        self._identity = Identity(group, connector, number, OUTSIDE_ANY_TRANSACTION)
        self._topics = internal_topics(group)
        self._slot = OffsetsSlot(self._topics.offsets, number)

    def prepare(self, replication: int = -1) -> None:
        """Make the topics, unless they exist."""
        offsets_topic.prepare_offsets(self._admin, self._slot.topic, self._slot.partition + 1, replication)
        offsets_topic.prepare_history(self._admin, self._topics.offset_history, replication)

    def claim(
        self,
        clock: Callable[[], float],
        edit: Edit = lambda _state, _generation: (),
        *,
        over_broken: bool = False,
    ) -> GenerationClaim:
        """Shut out every earlier owner; a Transient error means that another claim came between.

        `over_broken`: the same transaction deletes records that can't be read.
        """
        transactor = Transactor(self._client.producer(self._identity), self._slot, clock, self._client.slow)
        try:
            transactor.fence(PATIENCE)
            read = self._read(fenced=True)
            records = read.sound(over_broken=over_broken)
            broken = [key for key in read.broken if key is not None]
            kept = () if records and not broken else [record for _, record in self.history()]
            generation = (
                newest_generation([*records, *kept]) + 1
            )  # a broken record may have hidden the newest
            state = replay(records)
            begin = offsets_records.begin_key(self._identity.transactional_id)
            changes = [*((key, None) for key in broken), *edit(state, generation)]
            if not changes:
                self._see_that_none_was_lost(kept)
            transactor.commit(
                (begin, offsets_records.encode(BeginRecord(generation, OUTSIDE_ANY_TRANSACTION))), (), changes
            )
        finally:
            transactor.drop()
        return GenerationClaim(generation, state)

    def newest(self) -> int:
        """Return the newest generation that was claimed."""
        return newest_generation(self._read(fenced=False).sound())

    def state(self, *, over_broken: bool = False) -> OffsetsState:
        """Return what is committed, as far as a reader without fencing sees it; empty before the first start.

        `over_broken`: without the records that can't be read.
        """
        return replay(self._read_if_there(self._slot).sound(over_broken=over_broken))

    def history(self) -> list[tuple[int, OffsetsRecord]]:
        """Return the positions in the history, each with its time in milliseconds, oldest first."""
        return self._read_if_there(
            OffsetsSlot(self._topics.offset_history, 0)
        ).records  # only readable positions can be restored

    def last_written_ms(self) -> int | None:
        """Return when the newest record of the partition was written."""
        return self._read_if_there(self._slot).last_ms

    def _see_that_none_was_lost(self, kept: Sequence[OffsetsRecord]) -> None:
        ours = self._identity.connector
        if any(isinstance(record.key, PositionKey) and record.key.connector == ours for record in kept):
            raise LOST(topic=self._slot.topic, connector=ours, history=self._topics.offset_history)

    def _read_if_there(self, slot: OffsetsSlot) -> offsets_topic.SlotContents:
        if not offsets_topic.slot_exists(self._admin, slot):
            return offsets_topic.SlotContents([], {}, None)
        return offsets_topic.read_slot(self._admin, self._client.reader(self._identity), slot)

    def _read(self, *, fenced: bool) -> offsets_topic.SlotContents:
        return offsets_topic.read_slot(
            self._admin, self._client.reader(self._identity), self._slot, fenced=fenced
        )


def newest_generation(records: Sequence[OffsetsRecord]) -> int:
    """Return the highest generation of any record."""
    return max((record.value.generation for record in records if record.value is not None), default=FIRST - 1)

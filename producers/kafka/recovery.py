"""A task's publisher: one way to start, which is also the only way to recover.

    generation read -> fence -> generation read again -> own offsets read to the end -> transactions ...
         ^                                                                                   |
         '---- any error, a slow commit, a lost connection: the producer and all that was ---'
               remembered of positions are dropped, and the caller begins again here

Why it is right: what a producer did last can be unknown, and its late requests can still arrive.  Fencing
gives the next one an epoch of its own, which Kafka tells from the old; only then is what was committed
final, and only from there does the task go on.  An owner whose generation has passed is never let past
the two readings.
"""

from collections.abc import Callable, Sequence
from typing import Final

from confluent_kafka.admin import AdminClient

from wrackline.producers.batching import Publication
from wrackline.producers.failpoints import reach
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.failures import SLOW_COMMIT, SUPERSEDED, TopicRefusedError
from wrackline.producers.kafka.knock import knock
from wrackline.producers.kafka.topics import Topics
from wrackline.producers.kafka.transaction import Slot, Transactor
from wrackline.producers.part import Record
from wrackline.schemas import offsets
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.offset_replay import State, replay
from wrackline.schemas.offsets import Begin, Json, Offset, TableState, canonical
from wrackline.schemas.table import SourcePartition

PATIENCE: Final = 30.0  # seconds for fencing, before the task says that Kafka does not answer
CLOSING: Final = 5.0
HISTORY: Final = 60.0  # seconds between two records of a position in the history


class Publisher:
    """Publishes for one task; `start` it, and `start` it again after any error."""

    make_transactor: Callable[..., Transactor] = Transactor

    def __init__(
        self,
        identity: Identity,
        client: Client,
        slot: Slot,
        topics: Topics,
        admin: AdminClient,
        *,
        generation: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        self._kept: dict[bytes, float] = {}  # when a position last went to the history
        self._identity, self._client, self._slot, self._topics = identity, client, slot, topics
        self._admin, self._generation, self._clock = admin, generation, clock
        self._transactor: Transactor | None = None
        self._previous: dict[bytes, Json] = {}
        self._n = 0
        self._left_open = False  # a transaction of ours may wait for its end

    @property
    def commit_seconds(self) -> float:
        """How long the last commit took."""
        return 0.0 if self._transactor is None else self._transactor.commit_seconds

    def start(self) -> State:
        """Shut out forerunners and read what was committed; all that follows goes on from there."""
        try:
            return self._start()
        except Transient:
            knock(self._client, self._clock)  # who is no longer let in would try in vain for ever
            raise

    def _start(self) -> State:
        self.drop()
        self.check_owner()
        self._transactor = self._fenced(PATIENCE)
        self._left_open = False
        try:
            self.check_owner()
            reader = self._client.reader(self._identity)
            records = offsets_topic.read(self._admin, reader, self._slot, fenced=True).sound()
        except BaseException:
            self.drop()
            raise
        state = replay(records)
        held = [o for o in state.positions.values() if o.generation == self._identity.generation]
        self._n = max((offset.n for offset in held), default=offsets.OUTSIDE_ANY_TRANSACTION)
        self._previous = {
            offsets.position_key(key.connector, SourcePartition(key.server, key.database)): offset.position
            for key, offset in state.positions.items()
            if key.database is not None
        }
        return state

    def publish(self, publications: Sequence[Publication]) -> float:
        """Commit them and their positions in one Kafka transaction; return the moment of the commit."""
        transactor = self._transactor
        if transactor is None:
            raise RuntimeError("start it first")
        generation, n = self._identity.generation, self._n + 1
        ends = [self._ends(publication, n) for publication in publications]
        kept = self._worth_keeping([last for *_, last in ends])
        try:
            self._topics.ensure(topic for publication in publications for topic in publication.topics)
            moment = transactor.commit(
                (offsets.begin_key(self._identity.transactional_id), offsets.encode(Begin(generation, n))),
                [*(publication.records for publication in publications), kept],
                [end for of_one in ends for end in of_one],
            )
            reach("after_commit")
        except BaseException as error:
            self._left_open = True
            self.drop()
            if isinstance(error, OperatorNeeded):
                self._blame(publications, error)
            raise
        self._n = n
        self._kept |= {key: moment for _, key, _ in kept if key is not None}
        self._previous |= {self._key(p): canonical(p.position.saved()) for p in publications}
        if transactor.doubtful:
            self.drop()
            raise SLOW_COMMIT(who=self._identity.transactional_id)
        return moment

    def _blame(self, publications: Sequence[Publication], error: WracklineError) -> None:
        """Where one topic made Kafka refuse the whole transaction, say which: the others go on."""
        topic = self._topics.unwritable({topic for one in publications for topic, *_ in one.records})
        if topic is not None:
            raise TopicRefusedError(topic, error) from error

    def check_owner(self) -> None:
        """Stop an owner whose time has passed."""
        newest = self._generation()
        if newest != self._identity.generation:
            raise SUPERSEDED(
                who=self._identity.transactional_id, newest=newest, generation=self._identity.generation
            )

    def drop(self) -> None:
        """Let go of the producer; what it left open waits for the next start."""
        if self._transactor is not None:
            self._transactor.drop()
        self._transactor, self._n, self._previous = None, 0, {}

    def close(self) -> None:
        """End for good: a transaction that was left open would hold up its readers until it times out."""
        self.drop()
        if self._left_open:
            self._fenced(CLOSING).drop()

    def _fenced(self, patience: float) -> Transactor:
        settings = self._client.producer(self._identity)
        made = self.make_transactor(settings, self._slot, self._clock, self._client.slow)
        try:
            made.fence(patience)
        except BaseException:
            made.drop()
            raise
        return made

    def _ends(self, publication: Publication, n: int) -> list[tuple[bytes, bytes | None]]:
        """The table states that changed, and last the position."""
        generation, partition = self._identity.generation, publication.partition
        connector, key = self._identity.connector, self._key(publication)
        offset = Offset(
            generation,
            n,
            canonical(publication.position.saved()),
            self._previous.get(key),
            len(publication.records),
            publication.checksum,
            publication.beside,
            cut=None if publication.cut is None else publication.cut.saved(),
        )
        states = [
            (
                offsets.table_key(connector, partition, table),
                None if state is None else offsets.encode(TableState(generation, state)),
            )
            for table, state in publication.states.items()
        ]
        return [*states, (key, offsets.encode(offset))]

    def _worth_keeping(self, positions: Sequence[tuple[bytes, bytes | None]]) -> list[Record]:
        """The positions whose last record in the history is old enough."""
        topic = self._slot.history
        if topic is None:
            return []
        old = self._clock() - HISTORY
        return [(topic, key, value) for key, value in positions if self._kept.get(key, old) <= old]

    def _key(self, publication: Publication) -> bytes:
        return offsets.position_key(self._identity.connector, publication.partition)

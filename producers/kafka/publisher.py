"""A task's publisher: one way to start, which is also the only way to recover.

    generation read -> fence -> generation read again -> own offsets read to the end -> transactions ...
         ^                                                                                   |
         '---- any error, a slow commit, a lost connection: the producer and all that was ---'
               remembered of positions are dropped, and the caller begins again here

Why it is right: what a producer did last can be unknown, and its late requests can still arrive.  Fencing
gives the next producer an epoch of its own, which Kafka distinguishes from the old; only then is what was
committed final, and the task continues only from there.  An owner whose generation has passed never gets
past the two readings.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka.admin import AdminClient

from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.cutting.record_buffer import Record
from wrackline.producers.failpoints import reach
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.failures import SLOW_COMMIT, SUPERSEDED, TopicRefusedError
from wrackline.producers.kafka.login_check import check_login
from wrackline.producers.kafka.topic_creation import TopicCreator
from wrackline.producers.kafka.transactor import OffsetsSlot, Transactor
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import OffsetsState, replay
from wrackline.schemas.kafka.offsets_records import BeginRecord, Json, Offset, SavedTableState, canonical_json
from wrackline.schemas.tables.table import SourcePartition

PATIENCE: Final = 30.0  # seconds for fencing, before the task says that Kafka does not answer
CLOSING: Final = 5.0
HISTORY: Final = 60.0  # seconds between two records of a position in the history


@dataclass(slots=True)
class _PublisherSession:
    """What is valid from a start to the next error."""

    transactor: Transactor
    n: int  # of the last transaction
    previous: dict[bytes, Json]  # the last position of each source partition


class Publisher:
    """Publishes for one task; `start` it, and `start` it again after any error."""

    make_transactor: Callable[..., Transactor] = Transactor

    def __init__(
        self,
        identity: Identity,
        client: Client,
        slot: OffsetsSlot,
        topics: TopicCreator,
        admin: AdminClient,
        *,
        generation: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        self._history_times: dict[bytes, float] = {}  # when a position last went to the history
        self._identity, self._client, self._slot, self._topics = identity, client, slot, topics
        self._admin, self._generation, self._clock = admin, generation, clock
        self._session: _PublisherSession | None = None
        self._last: dict[SourcePartition, int] = {}  # transaction of each since the start
        self._left_open = False  # a transaction of ours may wait for its end

    @property
    def commit_seconds(self) -> float:
        """The seconds that the last commit took."""
        return 0.0 if self._session is None else self._session.transactor.commit_seconds

    def start(self) -> OffsetsState:
        """Shut out forerunners and read what was committed; all that follows continues from there."""
        try:
            return self._start()
        except Transient:
            check_login(self._client, self._clock)  # an owner that is not let in would try forever
            raise

    def _start(self) -> OffsetsState:
        self.drop()
        self.check_owner()
        transactor = self._fenced(PATIENCE)
        self._left_open = False
        try:
            self.check_owner()
            state = self._read(fenced=True)
        except BaseException:
            transactor.drop()
            raise
        ours = [
            offset.n for offset in state.positions.values() if offset.generation == self._identity.generation
        ]
        previous = {
            offsets_records.position_key(
                key.connector, SourcePartition(key.server, key.database)
            ): offset.position
            for key, offset in state.positions.items()
            if key.database is not None
        }
        self._last = {}
        self._session = _PublisherSession(
            transactor, max(ours, default=offsets_records.OUTSIDE_ANY_TRANSACTION), previous
        )
        return state

    def committed(self, partition: SourcePartition) -> OffsetsState:
        """Read what was committed of a partition, beside others' transaction that may run; on any thread.

        Kafka answers a commit before readers see it, and an older position would be published from again.
        """
        last = self._last.get(partition)
        state = self._read(fenced=False)
        offset = state.resume(self._identity.connector, partition)
        if last is not None and (offset is None or offset.n < last):
            raise offsets_topic.HIDDEN(topic=self._slot.topic, partition=self._slot.partition)
        return state

    def _read(self, *, fenced: bool) -> OffsetsState:
        reader = self._client.reader(self._identity)
        return replay(offsets_topic.read_slot(self._admin, reader, self._slot, fenced=fenced).sound())

    def publish(self, publications: Sequence[Publication]) -> float:
        """Commit them and their positions in one Kafka transaction; return the moment of the commit."""
        session = self._session
        if session is None:
            raise RuntimeError("start it first")
        if session.transactor.is_doubtful():  # of the last commit: an end that was repeated may meet this one
            self.drop()
            raise SLOW_COMMIT(who=self._identity.transactional_id)
        generation, n = self._identity.generation, session.n + 1
        ends = [self._ends(publication, n, session.previous) for publication in publications]
        kept = self._worth_keeping([last for *_, last in ends])
        try:
            self._topics.ensure(topic for publication in publications for topic in publication.topics)
            moment = session.transactor.commit(
                (
                    offsets_records.begin_key(self._identity.transactional_id),
                    offsets_records.encode(BeginRecord(generation, n)),
                ),
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
        session.n = n
        self._last |= {publication.partition: n for publication in publications}
        self._history_times |= {key: moment for _, key, _ in kept if key is not None}
        session.previous |= {self._key(p): canonical_json(p.position.saved()) for p in publications}
        return moment

    def hear(self) -> None:
        """Take what the client reports while nothing is published."""
        if self._session is not None:
            self._session.transactor.hear()

    def _blame(self, publications: Sequence[Publication], error: WracklineError) -> None:
        """If one topic made Kafka refuse the whole transaction, say which: the others continue."""
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
        """Drop the producer; what it left open waits for the next start."""
        if self._session is not None:
            self._session.transactor.drop()
        self._session = None

    def close(self) -> None:
        """End: a transaction that is left open would delay its readers until it times out."""
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

    def _ends(
        self, publication: Publication, n: int, previous: Mapping[bytes, Json]
    ) -> list[tuple[bytes, bytes | None]]:
        """Return the table states that changed, and the position as the last record."""
        generation, partition = self._identity.generation, publication.partition
        connector, key = self._identity.connector, self._key(publication)
        offset = Offset(
            generation,
            n,
            canonical_json(publication.position.saved()),
            previous.get(key),
            len(publication.records),
            publication.checksum,
            publication.beside,
            cut=None if publication.cut is None else publication.cut.saved(),
        )
        states = [
            (
                offsets_records.table_key(connector, partition, table),
                None if state is None else offsets_records.encode(SavedTableState(generation, state)),
            )
            for table, state in publication.states.items()
        ]
        return [*states, (key, offsets_records.encode(offset))]

    def _worth_keeping(self, positions: Sequence[tuple[bytes, bytes | None]]) -> list[Record]:
        """Return the positions whose last record in the history is old enough."""
        topic = self._slot.history
        if topic is None:
            return []
        old = self._clock() - HISTORY
        return [(topic, key, value) for key, value in positions if self._history_times.get(key, old) <= old]

    def _key(self, publication: Publication) -> bytes:
        return offsets_records.position_key(self._identity.connector, publication.partition)

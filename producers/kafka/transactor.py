"""One producer's life: fence, then transactions, each in the one order that shows when it was torn.

    begin record -> events, if any -> both acknowledged -> offsets -> acknowledged -> commit

librdkafka repeats a request whose answer is late; an EndTxn that was repeated can arrive a second time, in
the middle of the next transaction, and end it. The begin record makes Kafka refuse what follows such an
end, because the partition of the offsets is part of the transaction from its first moment and is not added
again. It need not be acknowledged for that: the client adds partitions one request at a time and in the
order of the first records, so no partition of the events is ever added before the partition of the offsets.
The events are acknowledged before the offsets are sent, so offsets are never committed without them. Only
one batch at a time is on its way to a broker (`client.py`): a leader that knows no sequence of this producer
takes any, so of two it could refuse the first and keep the second, and then call the first a duplicate. A
commit that was repeated, or may have been, makes its producer doubtful: the owner makes a new one, whose
epoch Kafka distinguishes from the old one. A repeat takes time, so a fast commit had none. After a slow one
the client's statistics say whether there was one, because on a busy machine many commits are slow and new
producers would make it busier. They come once a second, and what was committed does not wait for them: the
owner asks before its next transaction, which alone is in danger. After any error a producer can't be used
anymore.
"""

import contextlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from wrackline.producers.cutting.record_buffer import Headed, Record
from wrackline.producers.failpoints import reach
from wrackline.producers.kafka.client import Settings
from wrackline.producers.kafka.failures import UNREACHABLE, TopicRefusedError, denies, meaning, of_exception
from wrackline.schemas.errors import Transient

FOR_EVER: Final = -1.0  # a shorter wait would leave the transaction's state open
_ROOM: Final = 0.05  # seconds to wait for room in the client's memory
_TRY: Final = 1.0
_STATISTICS: Final = 3.0  # seconds to wait for the client's statistics, which it makes once a second
_HIDING: Final = frozenset(
    {KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT}  # noqa: SLF001 - the client's own names
)
_AT_ONCE: Final = frozenset({KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.MSG_SIZE_TOO_LARGE})


_TOPICS: Final = '"topics":'
_FAULTS: Final = re.compile(r'"(?:txretries|disconnects)": *([0-9]+)')
# microseconds of the clock that only runs forward; macOS has those of the wall clock, which never count
_MADE_AT: Final = re.compile(r'"ts": *([0-9]+)')


@dataclass(frozen=True, slots=True)
class OffsetsSlot:
    """A task's own partition of the offsets topic; nobody else writes to it."""

    topic: str
    partition: int
    history: str | None = None  # the topic where positions are kept by time


class _ClientWatch:
    """What the client reports beside the answers; it holds no producer, so dropping one ends it at once."""

    def __init__(self) -> None:
        self.failed: tuple[KafkaError, str | None] | None = None  # the first record that did not arrive
        self.denied: KafkaError | None = None
        self.disturbed = False
        self.faults: int | None = None  # repeated requests and lost connections; None: not known yet
        self.faults_at = 0.0  # the moment of the statistics that said so

    def delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self.failed is None:
            self.failed = (error, message.topic())

    def error(self, error: KafkaError) -> None:
        self.disturbed = True
        if denies(error):
            self.denied = error

    def statistics(self, text: str) -> None:
        # of ten thousand topics it is a text of some megabytes each second; the brokers come first
        brokers, _, _ = text.partition(_TOPICS)
        faults = sum(map(int, _FAULTS.findall(brokers)))  # fewer: a broker has left, and its count with it
        self.disturbed |= self.faults is not None and faults != self.faults
        made_at = _MADE_AT.search(brokers)
        self.faults, self.faults_at = faults, 0.0 if made_at is None else int(made_at[1]) / 1e6


class Transactor:
    """One producer with one transactional id."""

    def __init__(
        self, settings: Settings, slot: OffsetsSlot, clock: Callable[[], float], slow: float
    ) -> None:
        self._watch = _ClientWatch()
        self._slot, self._clock, self._slow = slot, clock, slow
        self._who = str(settings["transactional.id"])
        self.commit_seconds = 0.0
        self._faults, self._ended = 0, 0.0  # what was known before the last commit, and when that had ended
        self._producer = Producer(
            {
                **settings,
                "on_delivery": self._watch.delivered,
                "error_cb": self._watch.error,
                "stats_cb": self._watch.statistics,
            }
        )

    def fence(self, patience: float) -> None:
        """End what a forerunner left open and shut it out; return when its last record is on disk."""
        deadline = self._clock() + patience
        while True:
            try:
                self._producer.init_transactions(_TRY)
            except KafkaException as exc:
                error: KafkaError = exc.args[0]
                self._producer.poll(0)  # what was heard meanwhile
                if self._watch.denied is not None:
                    raise meaning(self._watch.denied, self._who) from exc
                if not error.retriable():
                    raise meaning(error, self._who) from exc
                if self._clock() > deadline:
                    raise UNREACHABLE(who=self._who, seconds=patience) from exc
            else:
                break
        self._watch.disturbed = False

    def commit(
        self,
        begin: tuple[bytes, bytes],
        events: Iterable[Sequence[Record | Headed]],
        ends: Sequence[tuple[bytes, bytes | None]],
    ) -> float:
        """Publish all of it or nothing, and return when; on an error Kafka has none, or that is unknown."""
        try:
            self._send(begin, events, ends)
            faults, started = self._watch.faults or 0, self._clock()
            self._end()
            ended = self._clock()
        except (KafkaException, SystemError) as exc:
            raise self._meant(self._cause(exc)) from exc
        self.commit_seconds, self._faults, self._ended = ended - started, faults, ended
        return ended

    def is_doubtful(self) -> bool:
        """Whether the last commit may have been sent twice, so that this producer must not begin another.

        After a slow commit it waits for the client's statistics.
        """
        if self.commit_seconds >= self._slow:
            deadline = self._clock() + _STATISTICS
            while not (self._ended <= self._watch.faults_at <= self._clock() or self._watch.disturbed):
                if self._clock() > deadline:
                    return True
                self._producer.poll(_ROOM)
            return self._watch.disturbed or self._watch.faults != self._faults
        return self._watch.disturbed

    def hear(self) -> None:
        """Take what the client reports while nothing is committed: until then it keeps all of it."""
        self._producer.poll(0)

    def _send(
        self,
        begin: tuple[bytes, bytes],
        events: Iterable[Sequence[Record | Headed]],
        ends: Sequence[tuple[bytes, bytes | None]],
    ) -> None:
        reach("before_begin")
        self._producer.begin_transaction()
        self._announce(begin)
        reach("after_begin")
        has_events = False
        for records in events:
            self._produce(records)
            has_events = True
        if has_events:  # else the begin record and the offsets go together: one round trip less
            self._acknowledge()
        reach("after_events")
        self._place(ends)
        self._acknowledge()
        reach("before_commit")

    def _end(self) -> None:
        self._producer.commit_transaction(FOR_EVER)

    def _cause(self, error: KafkaException | SystemError) -> BaseException:
        """Return the error of the transaction if this one hides it: any call repeats it.

        A fatal error that met a callback on its way is raised as a SystemError; an error that ended the
        transaction before the records were sent leaves them purged.
        """
        if isinstance(error, SystemError) or error.args[0].code() in _HIDING:
            try:
                self._producer.begin_transaction()
            except KafkaException as first:
                self._watch.failed = None  # no record's fault
                return first
        return error

    def _meant(self, error: BaseException) -> Exception:
        """Say what an error concerns: the task, or the topic of the first record that did not arrive."""
        topic = None if self._watch.failed is None else self._watch.failed[1]
        meant = of_exception(error, self._who, topic)
        if topic is None or topic == self._slot.topic or isinstance(meant, Transient):
            return meant
        return TopicRefusedError(topic, meant)

    def _announce(self, begin: tuple[bytes, bytes]) -> None:
        self._place([begin])

    def _place(self, records: Iterable[tuple[bytes, bytes | None]]) -> None:
        for key, value in records:
            try:
                self._producer.produce(self._slot.topic, value, key, self._slot.partition)
            except KafkaException as exc:
                self._refused_at_once(exc, self._slot.topic)
                raise

    def _produce(self, records: Sequence[Record | Headed]) -> None:
        reach("inside_events")
        produce = self._producer.produce
        try:
            for record in records:
                topic = record[0]
                try:
                    if len(record) == 3:
                        _, key, value = record
                        produce(topic, value, key)
                    else:
                        _, key, value, headers = record
                        produce(topic, value, key, headers=headers)
                except BufferError:  # not taken: it waits for room
                    self._produce_late(record)
                except KafkaException as exc:
                    self._refused_at_once(exc, topic)
                    raise
        finally:
            del produce  # an error's traceback would keep the producer alive

    def _refused_at_once(self, error: KafkaException, topic: str) -> None:
        """Note the topic of a record that the client refuses without asking a broker.

        The client was denied the topic before, or the record is larger than it sends.
        """
        if error.args[0].code() in _AT_ONCE and self._watch.failed is None:
            self._watch.failed = (error.args[0], topic)

    def _produce_late(self, record: Record | Headed) -> None:
        topic, key, value = record[:3]
        headers = [] if len(record) == 3 else record[3]
        while True:
            self._producer.poll(_ROOM)
            self._check()
            try:
                self._producer.produce(topic, value, key, headers=headers)
            except BufferError:
                continue
            except KafkaException as exc:
                self._refused_at_once(exc, topic)
                raise
            return

    def _acknowledge(self) -> None:
        """Wait until everything is on the brokers' disks; message.timeout.ms bounds it."""
        self._producer.flush(FOR_EVER)
        self._check()

    def _check(self) -> None:
        if self._watch.failed is not None:
            error, _ = self._watch.failed
            raise KafkaException(error)

    def drop(self) -> None:
        """Drop the producer; the next producer with its id ends what it left open."""
        with contextlib.suppress(KafkaException, SystemError):  # it may be too broken for that
            self._producer.purge()
        del self._producer

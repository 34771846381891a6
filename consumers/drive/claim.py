"""Which consumer merges into a target's tables: of two, the one that began later; the other is refused.

In: Kafka, and a name that all consumers of one server and target have in common.  Out: the claim.

    take    once, before the first look for news
    hold    before each change of a target's table

The name is a transactional id, so Kafka knows its newest producer and refuses every older one.  Each `hold`
commits a small transaction of that producer: the offset of a group of the same name, which is the claim's
number.  A consumer that takes the claim writes a greater number than it found; no other can have written one
meanwhile, because its producer would have ended ours.  A refused producer does not prove that there is a
newer consumer: Kafka also ends a producer that was silent for a week, or whose transaction took too long.  So
we make another producer and read the number, and only a greater number than ours ends us.  No consumer waits
for a dead owner, and no clock decides; numbers only start from the time, because Kafka forgets the number of
an idle group.  Two numbers may then be equal, and the text beside them decides, which has a random part.

Before the server's first topic there is no place for a number, so none is chosen.  Among the consumers that
wait then, Kafka accepts only the newest one's producer.  So a number that another consumer wrote after we
came belongs to a newer consumer, unless its writer says that it was also refused before it had a number.

Kafka's admin client is not used: its request for a group's offsets ends the whole process when the group's
coordinator is not ready, because librdkafka then uses a group that only a consumer has.
"""

import hashlib
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from os import getpid
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from wrackline.consumers.kafka.client_settings import Settings
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.topic_names import Naming, is_of_table
from wrackline.schemas.pipelines.lineage_names import Located

FENCED = define(
    "consume.fenced",
    OperatorNeeded,
    "another consumer of {server} merges into the same tables now: {other}",
    hint="leave one of the two; nothing is lost or doubled; to continue with this one, stop the other and"
    " start this one again: wrackline consume <pipeline.toml>",
)
NO_CLAIM = define(
    "consume.no_claim",
    OperatorNeeded,
    "Kafka denies the right ({reason}) by which a second consumer of the same tables is recognised",
    hint="allow it: kafka-acls --bootstrap-server <brokers> --add --allow-principal User:<user>"
    " --operation Write --operation Describe --transactional-id '{claim}'; and: kafka-acls"
    " --bootstrap-server <brokers> --add --allow-principal User:<user> --operation Read --group '{claim}'",
)
IMPOSSIBLE = define(
    "consume.claim_impossible",
    OperatorNeeded,
    "Kafka has no transactions for us ({reason}), so a second consumer of the same tables is not recognised",
    hint="make sure that only one consumer of these tables runs; to have a second one recognised, let the"
    " brokers take transactions (transaction.state.log.replication.factor may be at most their number), and"
    " start this one again: wrackline consume <pipeline.toml>",
)
UNCONFIRMED = define(
    "consume.claim_unconfirmed",
    Transient,
    "Kafka did not confirm that no newer consumer merges into the same tables ({reason})",
    hint="it is tried again; whether Kafka lets us in: wrackline check <pipeline.toml>",
)

_TIMEOUT: Final = 15.0  # seconds for one question to Kafka
_PAUSE: Final = 0.1
_BRIEF: Final = {
    "linger.ms": 0,
    "transaction.timeout.ms": 10_000,
}  # the client waits for it beyond our patience
_QUIET: Final = 2  # nobody polls these clients, so they would log only when they end; their calls raise
_TRIES: Final = 3  # a second consumer may come in between twice
_DENIED: Final = frozenset(
    {
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_IMPOSSIBLE: Final = frozenset(  # a later try would get the same answer
    {
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
        KafkaError.POLICY_VIOLATION,
        KafkaError._UNSUPPORTED_FEATURE,  # noqa: SLF001 - the client's own name
        KafkaError._NOT_IMPLEMENTED,  # noqa: SLF001 - as above
    }
)
_NO_COORDINATOR: Final = frozenset(  # an outage, or the topic of transactions can't be made
    {
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError._TIMED_OUT,  # noqa: SLF001 - as above
    }
)
_TRANSACTIONS: Final = "__transaction_state"
_REFUSED: Final = frozenset(  # a producer that another one has replaced, or that Kafka has forgotten
    {
        KafkaError._FENCED,  # noqa: SLF001 - the client's own name
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.INVALID_PRODUCER_ID_MAPPING,
        KafkaError.UNKNOWN_TOPIC_OR_PART,  # the topic of the offset was deleted
    }
)
_NOT_YET: Final = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
_UNPROVEN: Final = ", came in no proven order"
_SAID: Final = re.compile(
    rf"(host [\w.-]{{1,255}}, process \d{{1,10}})(?:, claim [0-9a-f]{{16}}(?:{_UNPROVEN})?)?"
)


def claim_name(server: str, at: Located) -> str:
    """Name the claim on a server's tables at one place; tables lie beside the one whose place is given."""
    return f"wrackline-consume-{server}-{hashlib.sha256('/'.join(at).encode()).hexdigest()[:12]}"


class ConsumerClaim:
    """One consumer's claim; may be called on any thread."""

    def __init__(
        self,
        settings: Settings,
        server: str,
        naming: Naming,
        name: str,
        warn: Callable[[WracklineError], None],
        now_ms: Callable[[], int],
    ) -> None:
        """Take the name of the claim, and what to call with a warning where no claim is possible."""
        self.name = name
        self._settings: dict[str, Any] = {**settings, "log_level": _QUIET}
        self._server, self._naming, self._warn, self._now_ms = server, naming, warn, now_ms
        self._lock = Lock()
        self._producer: Producer | None = None
        self._reader: Any = None  # a member of no group; it knows the group's offsets
        self._mark = f"host {socket.gethostname()}, process {getpid()}, claim {secrets.token_hex(8)}"
        self._metadata = self._mark  # beside our number
        self._first: tuple[int, str] | None = None  # the newest number when we came
        self._number: int | None = None  # None: Kafka has not confirmed one
        self._replaced = False  # whether our first producer was lost before that
        self._spot: TopicPartition | None = None  # None: the server has no topic yet
        self._without = False  # there can be no claim
        self._fenced: WracklineError | None = None  # it stays: asking again would refuse the other consumer

    def take(self) -> None:
        """End every older claim; the second call does nothing."""
        with self._lock:
            if self._number is None and self._producer is None and not self._without:
                self._confirm()

    def hold(self) -> None:
        """Make sure that no newer consumer has taken the claim."""
        with self._lock:
            if not self._without:
                self._confirm()

    def close(self) -> None:
        """Release the clients; the claim needs no end."""
        with self._lock:
            self._producer = self._spot = None
            if self._reader is not None:
                self._reader.close()
                self._reader = None

    def _confirm(self) -> None:
        if self._fenced is not None:
            raise self._fenced
        for left in reversed(range(_TRIES)):
            error = self._tried()
            if error is None:
                return
            if (warning := self._hopeless(error)) is not None:
                self._without = True
                self._warn(warning)
                return
            if not left or error.code() not in _REFUSED:
                raise UNCONFIRMED(reason=error.name())

    def _hopeless(self, error: KafkaError) -> WracklineError | None:
        """Return the warning with which we merge without a claim, where waiting would not help."""
        if error.code() in _DENIED:
            return NO_CLAIM(reason=error.name(), claim=self.name)
        if error.code() in _IMPOSSIBLE or (error.code() in _NO_COORDINATOR and self._no_transactions()):
            return IMPOSSIBLE(reason=error.name())
        return None

    def _no_transactions(self) -> bool:
        """Whether Kafka answers, and still lacks the topic that the first transaction asks it to make."""
        if self._number is not None:
            return False
        try:
            found = self._reader.list_topics(_TRANSACTIONS, timeout=_TIMEOUT).topics[_TRANSACTIONS]
        except KafkaException:
            return False
        return found.error is not None and found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART

    def _tried(self) -> KafkaError | None:
        """Write our number; return Kafka's error, but no frame that would keep the producer."""
        try:
            self._open()
            if self._spot is None:
                self._look()
            self._write()
        except KafkaException as exc:
            self._replaced = self._replaced or self._producer is not None
            self._producer = self._spot = None  # they are of no use after an error
            error: KafkaError = exc.args[0]
            return error
        return None

    def _open(self) -> None:
        """Make the newest producer of the name, unless ours may still be it."""
        if self._reader is None:
            self._reader = Consumer({**self._settings, "group.id": self.name, "enable.auto.commit": False})
        if self._producer is None:
            producer = Producer({**self._settings, "transactional.id": self.name, **_BRIEF})
            producer.init_transactions(_TIMEOUT)
            self._producer = producer

    def _look(self) -> None:
        """Look whether a newer consumer has written a number, and where ours goes."""
        known = self._reader.list_topics(timeout=_TIMEOUT).topics
        topics = [name for name in known if is_of_table(self._server, name, self._naming)]
        # a consumer that names topics in the other form merges into the same tables
        written = [name for name in known if any(is_of_table(self._server, name, form) for form in Naming)]
        newest = max(self._written(written), key=_rank, default=None)
        number = self._numbered((0, "") if newest is None else _rank(newest))
        place = min(topics, default=None) if newest is None else newest.topic
        self._spot = None if place is None else TopicPartition(place, 0, number, metadata=self._metadata)

    def _numbered(self, newest: tuple[int, str]) -> int:
        """Return our number, unless the newest one is a newer consumer's."""
        found, said = newest
        self._first = newest if self._first is None else self._first
        if said == self._metadata:  # also a number that Kafka stored without confirming it
            return found
        if self._number is not None:
            newer = newest > (self._number, self._metadata)
        else:
            newer = newest != self._first and not said.endswith(_UNPROVEN)
        if newer:
            self._fenced = FENCED(server=self._server, other=_other(said))
            raise self._fenced
        if self._number is not None:
            return self._number
        self._metadata = self._mark + (_UNPROVEN if self._replaced else "")
        return max(found + 1, self._now_ms())

    def _written(self, topics: list[str]) -> Iterator[TopicPartition]:
        if not topics:
            return
        for one in self._committed([TopicPartition(name, 0) for name in topics]):
            if one.error is not None:
                raise KafkaException(one.error)
            if one.offset >= 0:
                yield one

    def _committed(self, spots: list[TopicPartition]) -> list[TopicPartition]:
        """Return the group's offsets; on a new cluster its coordinator needs a moment to start."""
        deadline = monotonic() + _TIMEOUT
        while True:
            try:
                found: list[TopicPartition] = self._reader.committed(spots, _TIMEOUT)
            except KafkaException as exc:
                if exc.args[0].code() not in _NOT_YET or monotonic() > deadline:
                    raise
                sleep(_PAUSE)
            else:
                return found

    def _write(self) -> None:
        producer, spot = self._producer, self._spot
        if producer is None or spot is None:  # without a topic there is nothing to merge
            return
        _within_timeout(partial(_commit, producer, spot, self._reader.consumer_group_metadata()))
        self._number = spot.offset


def _commit(producer: Producer, spot: TopicPartition, group: object) -> None:
    producer.begin_transaction()
    producer.send_offsets_to_transaction([spot], group, _TIMEOUT)
    producer.commit_transaction(_TIMEOUT)


def _within_timeout(call: Callable[[], None]) -> None:
    """Wait for a call for `_TIMEOUT` at most, because librdkafka waits for a lost coordinator forever.

    A call that is left running keeps its producer, which nothing else uses any more.
    """
    ended: Future[None] = Future()

    def run() -> None:
        try:
            call()
        except BaseException as exc:  # noqa: BLE001 - the caller gets it
            ended.set_exception(exc)
        else:
            ended.set_result(None)

    Thread(target=run, daemon=True, name="claim").start()
    try:
        ended.result(_TIMEOUT)
    except TimeoutError:
        late = KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - the client's own name
        raise late from None


def _rank(written: TopicPartition) -> tuple[int, str]:
    return written.offset, written.metadata or ""


def _other(said: str) -> str:
    """Return what the other consumer says of itself, if it has the form that ours has."""
    known = _SAID.fullmatch(said)
    return "it does not say where it runs" if known is None else known[1]

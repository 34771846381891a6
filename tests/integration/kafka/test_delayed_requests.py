"""A request that the network delays: what is lost without the rules, and that nothing is lost with them.

The proxy holds an EndTxn and cuts the client, which repeats it; the held copy arrives in the middle of the
next transaction.  The careless transactors are this test's own: they leave out one rule each, so that the
loss is seen, and with it that the test would notice one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

import pytest

from tests.fixtures.kafka_proxy import END_TXN, KafkaProxy
from tests.integration.kafka.world import Names, made_publisher, offset_records, surely, until, values
from wrackline.control.local.stack.servers import Broker
from wrackline.producers import failpoints
from wrackline.producers.cutting.record_buffer import Headed, Record
from wrackline.producers.kafka.topic_creation import TopicGroup
from wrackline.producers.kafka.transactor import Transactor
from wrackline.schemas.errors import Transient
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import replay


class Interrupted(Transactor):
    """Lets something happen between the two halves of a transaction's events."""

    between: Callable[[], None] | None = None

    def _produce(self, records: Sequence[Record | Headed]) -> None:
        half = (len(records) + 1) // 2
        super()._produce(records[:half])
        between, Interrupted.between = Interrupted.between, None
        if between is not None:
            self._acknowledge()
            between()
        super()._produce(records[half:])


class NeverAnew(Interrupted):
    """Keeps its producer after a commit that was repeated."""

    def is_doubtful(self) -> bool:
        return False

    def abandon(self, records: Sequence[Record | Headed]) -> None:
        """End a transaction that went wrong, and keep the producer for the next one."""
        self._producer.begin_transaction()
        super()._produce(records)
        self._acknowledge()
        self._producer.abort_transaction(20)


class Careless(NeverAnew):
    """Has no begin record either."""

    def _announce(self, begin: tuple[bytes, bytes]) -> None:
        del begin


@pytest.fixture
def proxy(kafka: Broker) -> Iterator[KafkaProxy]:
    with KafkaProxy(kafka) as made:
        yield made


@pytest.fixture
def names(kafka: Broker, topic_prefix: str) -> Names:
    """Names whose topics are there."""
    made = Names(topic_prefix)
    publisher = made_publisher(kafka.bootstrap, made, group=TopicGroup(1))
    publisher.start()
    with suppress(Transient):
        publisher.publish([made.publication(1, *made.events("before"))])
    publisher.close()
    return made


def started(kind: type[Transactor], proxy: KafkaProxy, names: Names) -> Transactor:
    """A transactor whose way to the broker is the proxy."""
    publisher = made_publisher(proxy.bootstrap, names, transactor=kind)
    publisher.start()
    assert publisher._session is not None
    return publisher._session.transactor


BEGIN = (offsets_records.begin_key("shop"), offsets_records.encode(offsets_records.BeginRecord(1, 9)))


def position(names: Names, number: int) -> tuple[bytes, bytes]:
    """An offsets record that says its number."""
    place = offsets_records.canonical_json({"said": number})
    key = offsets_records.position_key("careless", names.partition)
    return key, offsets_records.encode(offsets_records.Offset(1, number, place, None, 0, 0))


def positions(kafka: Broker, names: Names) -> list[int]:
    """The numbers of `position` that are committed."""
    records = offset_records(kafka.bootstrap, names.offsets)
    found = [
        r.value
        for r in records
        if isinstance(r.key, offsets_records.PositionKey) and r.key.connector == "careless"
    ]
    return [value.n for value in found if isinstance(value, offsets_records.Offset)]


def test_without_the_rules_a_late_abort_loses_events_in_silence(
    kafka: Broker, proxy: KafkaProxy, names: Names
) -> None:
    careless = started(Careless, proxy, names)
    assert isinstance(careless, Careless)
    proxy.hold(END_TXN)
    careless.abandon(names.events("first"))
    Interrupted.between = proxy.release
    careless.commit(BEGIN, [names.events("second")], [position(names, 2)])  # all is well, it says
    until(lambda: positions(kafka, names) == [2], "the position is committed")
    assert values(kafka.bootstrap, names.topic) == ["before"], "the loss that the rules are against"
    careless.drop()


def test_with_a_begin_record_a_late_abort_is_refused(kafka: Broker, proxy: KafkaProxy, names: Names) -> None:
    """T-E01."""
    keeping = started(NeverAnew, proxy, names)
    assert isinstance(keeping, NeverAnew)
    proxy.hold(END_TXN)
    keeping.abandon(names.events("first"))
    Interrupted.between = proxy.release
    with pytest.raises(Transient):
        keeping.commit(BEGIN, [names.events("second", "third")], [position(names, 2)])
    keeping.drop()
    made_publisher(kafka.bootstrap, names).start()
    assert values(kafka.bootstrap, names.topic) == ["before"]
    assert positions(kafka, names) == []


class Overtaken(NeverAnew):
    """Lets the late request arrive while the begin record is on its way."""

    arrive: Callable[[], None] | None = None

    def _announce(self, begin: tuple[bytes, bytes]) -> None:
        super()._announce(begin)
        if self.arrive is not None:
            self.arrive()


def test_a_late_abort_that_meets_the_begin_record_on_its_way_loses_nothing(
    kafka: Broker, proxy: KafkaProxy, names: Names
) -> None:
    """T-E13."""
    keeping = started(Overtaken, proxy, names)
    assert isinstance(keeping, Overtaken)
    proxy.hold(END_TXN)
    keeping.abandon(names.events("first"))
    keeping.arrive = proxy.release
    with suppress(Transient):
        keeping.commit(BEGIN, [names.events("second", "third")], [position(names, 2)])
    keeping.drop()
    made_publisher(kafka.bootstrap, names).start()
    whole = ["before", "second", "third"] if positions(kafka, names) == [2] else ["before"]
    assert values(kafka.bootstrap, names.topic) == whole


def test_without_the_rules_a_late_commit_tears_the_next_transaction(
    kafka: Broker, proxy: KafkaProxy, names: Names
) -> None:
    """T-E02."""
    careless = started(Careless, proxy, names)
    proxy.hold(END_TXN)
    careless.commit(BEGIN, [names.events("first")], [position(names, 1)])
    assert not careless.is_doubtful()

    def let_it_arrive() -> None:
        proxy.release()
        until(lambda: "second" in values(kafka.bootstrap, names.topic), "its marker follows its answer")

    Interrupted.between = let_it_arrive
    with pytest.raises(Transient):
        careless.commit(BEGIN, [names.events("second", "third")], [position(names, 2)])
    careless.drop()
    made_publisher(kafka.bootstrap, names).start()
    assert values(kafka.bootstrap, names.topic) == ["before", "first", "second"]
    assert positions(kafka, names) == [1], "half of it is visible, without its position"


@pytest.mark.parametrize("first", ["fails", "commits"])
def test_with_the_rules_nothing_is_lost_or_torn(
    kafka: Broker, proxy: KafkaProxy, names: Names, first: str
) -> None:
    """T-E01, T-E02."""
    publisher = made_publisher(proxy.bootstrap, names, transactor=Interrupted)
    publisher.start()
    if first == "fails":
        failpoints.arm("after_events=raise")
        with pytest.raises(Transient, match="failpoint"):
            publisher.publish([names.publication(2, *names.events("first"))])
        publisher.start()
    proxy.hold(END_TXN)
    publisher.publish([names.publication(2, *names.events("first"))])
    with pytest.raises(Transient, match="slow_commit"):
        publisher.publish([names.publication(3, *names.events("second", "third"))])
    state = publisher.start()
    assert [offset.n for offset in state.positions.values()] == [2], "what was slow is known to be there"
    Interrupted.between = proxy.release
    surely(publisher, names.publication(3, *names.events("second", "third")))
    publisher.close()
    assert values(kafka.bootstrap, names.topic) == ["before", "first", "second", "third"]
    folded = replay(offset_records(kafka.bootstrap, names.offsets))
    assert folded.findings == ()
    assert [offset.n for offset in folded.positions.values()] == [3]


SLOWER = 0.6  # seconds; a repeat comes after 0.4 at the earliest


def test_a_commit_that_is_only_slow_keeps_its_producer(
    kafka: Broker, proxy: KafkaProxy, names: Names
) -> None:
    """T-E14."""
    publisher = made_publisher(proxy.bootstrap, names)
    publisher.start()
    publisher.publish([names.publication(2, *names.events("first"))])
    session = publisher._session
    assert session is not None
    for number in (3, 4):
        ends = proxy.requests[END_TXN]
        proxy.delay(END_TXN, SLOWER)
        publisher.publish([names.publication(number, *names.events(f"slow-{number}"))])
        assert session.transactor.commit_seconds >= SLOWER
        assert proxy.requests[END_TXN] == ends + 1
        assert publisher._session is session
    publisher.close()
    assert values(kafka.bootstrap, names.topic) == ["before", "first", "slow-3", "slow-4"]


@pytest.mark.parametrize("when", ["first", "later"])
def test_a_commit_that_was_repeated_without_a_lost_connection_gets_a_new_producer(
    kafka: Broker, proxy: KafkaProxy, names: Names, when: str
) -> None:
    """T-E14.  At first no statistics are known that a repeat could be compared with."""
    publisher = made_publisher(proxy.bootstrap, names)
    publisher.start()
    session = publisher._session
    assert session is not None
    if when == "later":
        proxy.delay(END_TXN, SLOWER)
        publisher.publish([names.publication(2, *names.events("first"))])
        assert not session.transactor.is_doubtful()
        assert session.transactor._watch.faults is not None
    ends = proxy.requests[END_TXN]
    proxy.refuse_end()
    publisher.publish([names.publication(3, *names.events("second"))])
    assert proxy.requests[END_TXN] == ends + 2
    with pytest.raises(Transient, match="slow_commit"):
        publisher.publish([names.publication(4, *names.events("third"))])
    assert proxy.requests[END_TXN] == ends + 2
    assert session.transactor.commit_seconds > publisher._client.slow
    publisher.close()
    first = ["first"] if when == "later" else []
    assert values(kafka.bootstrap, names.topic) == ["before", *first, "second"]

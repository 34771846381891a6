"""A publisher's start, its transactions and what it does after an error, step by step.

That Kafka fences and hides as described here is seen in tests/integration/kafka/test_publisher.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from confluent_kafka.admin import AdminClient

from tests.fakes.place import Place
from wrackline.producers import failpoints
from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.cutting.record_buffer import Record
from wrackline.producers.kafka import offsets_topic, publisher
from wrackline.producers.kafka.client import Identity, client
from wrackline.producers.kafka.failures import DENIED, TRANSACTION_FAILED, TopicRefusedError
from wrackline.producers.kafka.offsets_topic import SlotContents
from wrackline.producers.kafka.publisher import Publisher
from wrackline.producers.kafka.topic_creation import TopicCreator
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offsets_records import BeginRecord, Json, Offset, SavedTableState, canonical_json
from wrackline.schemas.tables.table import SourcePartition, TableId

ME = Identity("group", "shop", 3, 7)
CLIENT = client("nowhere")
A, B = SourcePartition("server", "a"), SourcePartition("server", "b")
FAILS = TRANSACTION_FAILED(who="me", name="it fails")
REFUSES = DENIED(who="me", name="it refuses")


class Transactor:
    """Commits into the list of its Kafka."""

    commit_seconds = 0.25

    def __init__(self, kafka: "Kafka") -> None:
        self._kafka = kafka

    def fence(self, patience: float) -> None:
        self._kafka.step("fence", patience)

    def commit(
        self,
        begin: tuple[bytes, bytes],
        events: Iterable[Sequence[Record]],
        ends: Sequence[tuple[bytes, bytes | None]],
    ) -> float:
        self._kafka.step("commit")
        self._kafka.log += [begin, *ends]
        self._kafka.events = [record for records in events for record in records]
        return self._kafka.now

    def is_doubtful(self) -> bool:
        return self._kafka.doubtful

    def hear(self) -> None:
        self._kafka.step("hear")

    def drop(self) -> None:
        self._kafka.step("drop")


class Kafka:
    """One slot with what was committed there; it notes each step and fails where a test says so."""

    def __init__(self) -> None:
        self.log: list[tuple[bytes, bytes | None]] = []
        self.events: list[Record] = []
        self.steps: list[tuple[object, ...]] = []
        self.faults: dict[str, Exception] = {}
        self.newest = [7]  # the generation, as each question gets it; the last one stays
        self.unwritable_topic: str | None = None
        self.doubtful = False
        self.now = 1000.0

    def step(self, name: str, *words: object) -> None:
        self.steps.append((name, *words))
        if name in self.faults:
            raise self.faults.pop(name)

    def did(self) -> list[tuple[object, ...]]:
        """Return the steps since the last time."""
        steps, self.steps = self.steps, []
        return steps

    def transactor(self, *made_with: object) -> Any:
        assert made_with[0] == CLIENT.producer(ME)
        assert made_with[3] == CLIENT.slow
        return Transactor(self)

    def generation(self) -> int:
        self.step("generation")
        return self.newest.pop(0) if len(self.newest) > 1 else self.newest[0]

    def read(self, _: object, reader: object, slot: OffsetsSlot, *, fenced: bool) -> SlotContents:
        assert reader == CLIENT.reader(ME)
        self.step("read", fenced)
        places = (
            offsets_records.RecordPlace(slot.topic, slot.partition, number) for number in range(len(self.log))
        )
        return SlotContents(
            [(0, offsets_records.parse(place, *one)) for place, one in zip(places, self.log, strict=True)],
            {},
            0,
        )

    def knock(self, *given: object) -> None:
        self.step("knock", *given)

    def ensure(self, topics: Iterable[str]) -> None:
        self.step("ensure", *topics)

    def unwritable(self, topics: set[str]) -> str | None:
        self.step("unwritable", *sorted(topics))
        return self.unwritable_topic

    def clock(self) -> float:
        return self.now

    def publisher(self, history: str | None = None) -> Publisher:
        made = Publisher(
            ME,
            CLIENT,
            OffsetsSlot("offsets", 3, history),
            cast("TopicCreator", self),
            cast("AdminClient", self),
            generation=self.generation,
            clock=self.clock,
        )
        made.make_transactor = self.transactor
        return made

    def started(self, history: str | None = None) -> Publisher:
        made = self.publisher(history)
        made.start()
        self.did()
        return made

    def kept(self) -> list[offsets_records.OffsetsRecord]:
        """Return what is committed."""
        return self.read(None, CLIENT.reader(ME), OffsetsSlot("offsets", 3), fenced=True).sound()


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    made = Kafka()
    monkeypatch.setattr(offsets_topic, "read_slot", made.read)
    monkeypatch.setattr(publisher, "check_login", made.knock)
    return made


def publication(end: int, partition: SourcePartition = A, topics: Sequence[str] = ()) -> Publication:
    """One event and the place after it."""
    record = (f"server.{partition.database}", b"k", b"v")
    return Publication(partition, [record], 1, 77, topics, Place(0, end), Place(0, end), {}, None)


def place(end: int) -> Json:
    return canonical_json(Place(0, end).saved())


def committed(partition: SourcePartition, generation: int, n: int, end: int) -> tuple[bytes, bytes]:
    key = offsets_records.position_key("shop", partition)
    return key, offsets_records.encode(Offset(generation, n, place(end), None, 0, 0))


START = [("generation",), ("fence", 30.0), ("generation",), ("read", True)]


def test_a_start_fences_between_two_looks_at_the_owner_and_then_reads(kafka: Kafka) -> None:
    kafka.log.append(committed(A, 7, 1, 5))
    publisher = kafka.publisher()
    state = publisher.start()
    assert kafka.did() == START
    assert [offset.position for offset in state.positions.values()] == [place(5)]
    publisher.start()
    assert kafka.did() == [("drop",), *START], "no two producers of one owner"


def test_a_passed_owner_fences_nobody(kafka: Kafka) -> None:
    kafka.newest = [8]
    with pytest.raises(Definite, match=r"kafka\.superseded.*generation 8, this is 7"):
        kafka.publisher().start()
    assert kafka.did() == [("generation",)]


def test_an_owner_that_passes_while_it_fences_reads_nothing(kafka: Kafka) -> None:
    kafka.newest, publisher = [7, 8], kafka.publisher()
    with pytest.raises(Definite, match=r"kafka\.superseded"):
        publisher.start()
    assert kafka.did() == [*START[:3], ("drop",)]
    with pytest.raises(RuntimeError, match="start it first"):
        publisher.publish([publication(1)])


@pytest.mark.parametrize(("fails", "done"), [("fence", 2), ("read", 4)])
def test_a_start_that_fails_drops_its_producer_and_checks_its_login(
    kafka: Kafka, fails: str, done: int
) -> None:
    publisher = kafka.publisher()
    kafka.faults[fails] = FAILS
    with pytest.raises(Transient) as raised:
        publisher.start()
    assert raised.value is FAILS
    assert kafka.did() == [*START[:done], ("drop",), ("knock", CLIENT, kafka.clock)]
    publisher.start()
    assert kafka.did() == START, "it was dropped once"


def test_a_rejected_login_is_reported(kafka: Kafka) -> None:
    kafka.faults = {"fence": FAILS, "knock": REFUSES}
    with pytest.raises(OperatorNeeded, match=r"kafka\.denied"):
        kafka.publisher().start()
    kafka.did()
    kafka.faults = {"fence": REFUSES}
    with pytest.raises(OperatorNeeded, match=r"kafka\.denied"):
        kafka.publisher().start()
    assert kafka.did() == [*START[:2], ("drop",)], "a refusal that was said needs no second question"


def test_the_first_transaction_begins_with_one_and_the_next_ones_continue(kafka: Kafka) -> None:
    publisher = kafka.started()
    publisher.publish([publication(5)])
    publisher.publish([publication(6), publication(9, B)])
    publisher.publish([publication(7)])
    begin = offsets_records.BeginKey("group.shop.3")
    of_a, of_b = (offsets_records.PositionKey("shop", *partition) for partition in (A, B))
    assert [(record.key, record.value) for record in kafka.kept()] == [
        (begin, BeginRecord(7, 1)),
        (of_a, Offset(7, 1, place(5), None, 1, 77)),
        (begin, BeginRecord(7, 2)),
        (of_a, Offset(7, 2, place(6), place(5), 1, 77)),
        (of_b, Offset(7, 2, place(9), None, 1, 77)),
        (begin, BeginRecord(7, 3)),
        (of_a, Offset(7, 3, place(7), place(6), 1, 77)),
    ]


def last_of(kafka: Kafka, publisher: Publisher, partition: SourcePartition) -> Offset:
    """Publish once, and return the position that went with it."""
    publisher.publish([publication(90, partition)])
    value = kafka.kept()[-1].value
    assert isinstance(value, Offset)
    return value


def test_a_start_continues_after_its_own_last_transaction(kafka: Kafka) -> None:
    kafka.log += [committed(A, 7, 4, 5), committed(B, 7, 6, 8)]
    last = last_of(kafka, kafka.started(), A)
    assert (last.n, last.previous) == (7, place(5))


def test_transactions_of_an_older_owner_are_not_counted_on_but_its_positions_are(kafka: Kafka) -> None:
    kafka.log.append(committed(A, 6, 4, 5))
    last = last_of(kafka, kafka.started(), A)
    assert (last.n, last.previous) == (1, place(5))


def test_a_position_without_a_database_is_nobodys_previous_one(kafka: Kafka) -> None:
    _, value = committed(A, 6, 4, 5)
    kafka.log.append((canonical_json(["shop", {"server": "server"}]), value))
    assert last_of(kafka, kafka.started(), A).previous is None


def test_a_transaction_holds_the_events_and_the_states_before_the_position(kafka: Kafka) -> None:
    tables = [TableId("a", "public", name) for name in ("read", "gone")]
    state, beside, cut = (canonical_json({"said": name}) for name in ("state", "beside", "cut"))

    class Cut:
        @staticmethod
        def saved() -> Json:
            return cut

    made = replace(
        publication(5, topics=["server.a", "more"]),
        states={tables[0]: state, tables[1]: None},
        cut=cast("Any", Cut),
        beside=beside,
    )
    publisher = kafka.started()
    kafka.now = 1234.5
    assert publisher.publish([made, publication(6, B, topics=["server.b"])]) == 1234.5
    assert kafka.did() == [("ensure", "server.a", "more", "server.b"), ("commit",)]
    assert kafka.events == [("server.a", b"k", b"v"), ("server.b", b"k", b"v")]
    keys = [offsets_records.TableKey("shop", A, table) for table in tables]
    assert [(record.key, record.value) for record in kafka.kept()[1:-1]] == [
        (keys[0], SavedTableState(7, state)),
        (keys[1], None),
        (offsets_records.PositionKey("shop", *A), Offset(7, 1, place(5), None, 1, 77, beside, cut)),
    ]


def test_how_long_the_last_commit_took_is_known_while_there_is_a_producer(kafka: Kafka) -> None:
    publisher = kafka.publisher()
    assert publisher.commit_seconds == 0.0
    publisher.start()
    assert publisher.commit_seconds == 0.25


def at_the_commit(kafka: Kafka) -> None:
    kafka.faults["commit"] = FAILS


def at_the_topics(kafka: Kafka) -> None:
    kafka.faults["ensure"] = FAILS


def after_the_commit(_: Kafka) -> None:
    failpoints.arm("after_commit=raise")


@pytest.mark.parametrize("fail", [at_the_topics, at_the_commit, after_the_commit])
def test_after_an_error_the_producer_is_gone_and_a_close_ends_what_it_left(
    kafka: Kafka, fail: Callable[[Kafka], None]
) -> None:
    publisher = kafka.started()
    fail(kafka)
    with pytest.raises(Transient):
        publisher.publish([publication(5)])
    assert kafka.did()[-1] == ("drop",)
    with pytest.raises(RuntimeError, match="start it first"):
        publisher.publish([publication(5)])
    publisher.close()
    assert kafka.did() == [("fence", 5.0), ("drop",)]


def test_a_start_ends_what_was_left_so_that_a_close_need_not(kafka: Kafka) -> None:
    publisher = kafka.started()
    at_the_commit(kafka)
    with pytest.raises(Transient):
        publisher.publish([publication(5)])
    publisher.start()
    kafka.did()
    publisher.close()
    assert kafka.did() == [("drop",)]


def test_a_close_of_what_left_nothing_open_fences_nobody(kafka: Kafka) -> None:
    kafka.publisher().close()
    assert kafka.did() == []
    publisher = kafka.started()
    publisher.publish([publication(5)])
    kafka.did()
    publisher.close()
    assert kafka.did() == [("drop",)]


def refused(kafka: Kafka, error: WracklineError) -> Exception:
    """Return what a transaction of two topics ends with, whose commit fails in this way."""
    publisher = kafka.started()
    kafka.faults["commit"] = error
    with pytest.raises((WracklineError, TopicRefusedError)) as raised:
        publisher.publish([publication(5), publication(6, B)])
    return raised.value


def test_a_refusal_is_blamed_on_the_topic_that_may_not_be_written(kafka: Kafka) -> None:
    kafka.unwritable_topic = "server.b"
    blamed = refused(kafka, REFUSES)
    assert isinstance(blamed, TopicRefusedError)
    assert (blamed.topic, blamed.error) == ("server.b", REFUSES)
    assert ("unwritable", "server.a", "server.b") in kafka.did()


def test_a_refusal_for_which_no_topic_can_be_blamed_is_the_tasks(kafka: Kafka) -> None:
    assert refused(kafka, REFUSES) is REFUSES


def test_for_what_may_pass_no_topic_is_looked_for(kafka: Kafka) -> None:
    kafka.unwritable_topic = "server.b"
    assert refused(kafka, FAILS) is FAILS
    assert ("unwritable", "server.a", "server.b") not in kafka.did()


def test_a_doubtful_commit_counts_and_its_producer_begins_no_other(kafka: Kafka) -> None:
    publisher = kafka.started()
    publisher.publish([publication(5)])
    assert kafka.did() == [("ensure",), ("commit",)]
    kafka.doubtful = True
    with pytest.raises(Transient, match=r"kafka\.slow_commit"):
        publisher.publish([publication(6)])
    assert kafka.did() == [("drop",)], "nothing of the next one is sent"
    kafka.doubtful = False
    publisher.start()
    last = last_of(kafka, publisher, A)
    assert (last.n, last.previous) == (2, place(5))
    kafka.did()
    publisher.close()
    assert kafka.did() == [("drop",)], "nothing was left open"


def test_a_client_is_heard_while_there_is_one(kafka: Kafka) -> None:
    publisher = kafka.publisher()
    publisher.hear()
    assert kafka.did() == []
    publisher.start()
    kafka.did()
    publisher.hear()
    assert kafka.did() == [("hear",)]


def test_a_position_goes_to_the_history_once_a_minute(kafka: Kafka) -> None:
    publisher, key = kafka.started("history"), offsets_records.position_key("shop", A)

    def goes(at: float, end: int, partition: SourcePartition = A) -> bool:
        kafka.now = at
        publisher.publish([publication(end, partition)])
        (_, *past) = kafka.events
        assert past in ([], [("history", offsets_records.position_key("shop", partition), kafka.log[-1][1])])
        return past != []

    assert goes(1000.0, 5), "the first one"
    assert kafka.events[1][1] == key
    assert not goes(1059.0, 6)
    assert goes(1059.0, 6, B), "each source partition by itself"
    assert goes(1060.0, 7)
    assert not goes(1119.0, 8), "the minute begins with the one that went there"
    kafka.now = 1120.0
    at_the_commit(kafka)
    with pytest.raises(Transient):
        publisher.publish([publication(9)])
    publisher.start()
    assert goes(1120.0, 9), "one that was not committed does not count"


def test_without_a_history_nothing_goes_there(kafka: Kafka) -> None:
    publisher = kafka.started()
    publisher.publish([publication(5)])
    assert kafka.events == [("server.a", b"k", b"v")]


def test_what_was_committed_is_not_read_before_kafka_shows_it(kafka: Kafka) -> None:
    """Kafka answers a commit before its readers see it: an older position would be published from again."""
    publisher = kafka.started()
    publisher.publish([publication(5)])
    shown = list(kafka.log)
    publisher.publish([publication(9)])
    newest, kafka.log = kafka.log, shown
    with pytest.raises(Transient, match=r"offsets\.hidden"):
        publisher.committed(A)
    assert publisher.committed(B), "nothing of it was committed since the start"
    kafka.log = newest
    found = publisher.committed(A).resume("shop", A)
    assert found is not None
    assert found.position == place(9)

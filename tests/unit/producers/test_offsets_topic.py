"""The offsets topic where brokers answer late, in part or with errors, as those of the tests rarely do.

What they answer is scripted; tests/integration/kafka has the same module on real brokers.
"""

import gc
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import IsolationLevel, KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.offsets_topic import (
    CommittedRecord,
    prepare_history,
    prepare_offsets,
    read_records,
    read_slot,
    slot_exists,
)
from wrackline.producers.kafka.signal_topic import prepare_signals
from wrackline.producers.kafka.transactor import OffsetsSlot
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offsets_records import Offset, RecordPlace, canonical_json, encode, position_key
from wrackline.schemas.tables.table import SourcePartition

TOPIC = "shop-offsets"
SLOT = OffsetsSlot(TOPIC, 1)
READER = {"client.id": "me"}
EOF = KafkaError._PARTITION_EOF
LEADERLESS = [KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE]


def failing(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


def answer(given: object) -> Future[object]:
    future: Future[object] = Future()
    if isinstance(given, Exception):
        future.set_exception(given)
    else:
        future.set_result(given)
    return future


class Brokers:
    """Answers each question with what is next for it; the last answer stays."""

    def __init__(self, **answers: Sequence[object]) -> None:
        self.answers = {name: list(given) for name, given in answers.items()}
        self.asked: list[str] = []
        self.made: list[Any] = []

    def _next(self, name: str) -> object:
        self.asked.append(name)
        given = self.answers[name]
        return given.pop(0) if len(given) > 1 else given[0]

    def list_topics(self, topic: str = TOPIC, timeout: float = 0) -> object:
        del timeout
        found = self._next("list_topics")
        if isinstance(found, Exception):
            raise found
        partitions = dict.fromkeys(range(cast("int", found)))
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions)})

    def create_topics(self, new: Sequence[Any], operation_timeout: float) -> dict[str, Future[object]]:
        del operation_timeout
        self.made += new
        return {new[0].topic: answer(self._next("create_topics"))}

    def create_partitions(self, new: Sequence[Any], operation_timeout: float) -> dict[str, Future[object]]:
        del operation_timeout
        return {new[0].topic: answer(self._next("create_partitions"))}

    def describe_configs(self, resources: Sequence[Any], request_timeout: float) -> dict[Any, Future[object]]:
        del request_timeout
        policy = SimpleNamespace(value=self._next("describe_configs"))
        return {resources[0]: answer({"cleanup.policy": policy})}

    def list_offsets(
        self, asked: dict[Any, Any], isolation_level: IsolationLevel, request_timeout: float
    ) -> dict[Any, Future[object]]:
        del isolation_level, request_timeout
        found = self._next("list_offsets")
        return {
            one: answer(found if isinstance(found, Exception) else SimpleNamespace(offset=found))
            for one in asked
        }

    @property
    def admin(self) -> AdminClient:
        return cast("AdminClient", self)


class Message(SimpleNamespace):
    """A message, or the end of a partition, or an error."""

    def __init__(self, offset: int | None, code: int | None = None) -> None:
        error = None if code is None else KafkaError(code)
        super().__init__(
            offset=lambda: offset,
            error=lambda: error,
            timestamp=lambda: (1, 5),
            key=lambda: b"k",
            value=lambda: "v",
        )


class Reader:
    """A consumer whose polls are scripted."""

    def __init__(self, polls: Sequence[Message | None]) -> None:
        self.polls, self.closed = list(polls), False

    def assign(self, partitions: Sequence[Any]) -> None:
        assert [(one.topic, one.partition, one.offset) for one in partitions] == [(TOPIC, 1, 0)]

    def poll(self, seconds: float) -> Message | None:
        del seconds
        return self.polls.pop(0)

    def close(self) -> None:
        self.closed = True


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(WracklineError) as raised:
        call()
    return raised.value.code


def test_a_topic_is_made_once_and_known_before_it_is_used() -> None:
    brokers = Brokers(create_topics=[None], list_topics=[0, 0, 2])
    prepare_offsets(brokers.admin, TOPIC, 2, 1)
    assert brokers.asked == ["create_topics", "list_topics", "list_topics", "list_topics"]


def test_a_topic_that_is_there_is_looked_at_and_not_grown_without_need() -> None:
    there = failing(KafkaError.TOPIC_ALREADY_EXISTS)
    brokers = Brokers(create_topics=[there], list_topics=[2], describe_configs=["compact"])
    prepare_offsets(brokers.admin, TOPIC, 2, 1)
    assert brokers.asked == ["create_topics", "list_topics", "describe_configs"]
    grown = Brokers(
        create_topics=[there],
        list_topics=[2],
        create_partitions=[failing(KafkaError.INVALID_PARTITIONS)],
        describe_configs=["compact"],
    )
    prepare_offsets(grown.admin, TOPIC, 3, 1)
    assert "create_partitions" in grown.asked
    refused = failing(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    denied = Brokers(create_topics=[there], list_topics=[2], create_partitions=[refused])
    assert code_of(lambda: prepare_offsets(denied.admin, TOPIC, 3, 1)) == "kafka.denied"


def test_nobody_waits_forever_until_a_topic_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets_topic, "_UNTIL_KNOWN", -1.0)
    brokers = Brokers(create_topics=[None], list_topics=[0])
    prepare_offsets(brokers.admin, TOPIC, 2, 1)
    assert brokers.asked == ["create_topics", "list_topics"]


def test_the_history_has_one_partition_and_keeps_by_time() -> None:
    brokers = Brokers(create_topics=[failing(KafkaError.TOPIC_ALREADY_EXISTS)])
    prepare_history(brokers.admin, "shop-history", 3)
    [made] = brokers.made
    assert (made.topic, made.num_partitions, made.replication_factor) == ("shop-history", 1, 3)
    assert made.config["cleanup.policy"] == "delete"


def test_a_slot_is_there_with_its_topic_and_its_partition() -> None:
    assert slot_exists(Brokers(list_topics=[2]).admin, SLOT)
    assert not slot_exists(Brokers(list_topics=[1]).admin, SLOT)
    assert not slot_exists(Brokers(list_topics=[2]).admin, OffsetsSlot("another", 1))
    lost = Brokers(list_topics=[failing(KafkaError._TRANSPORT)])
    assert code_of(lambda: slot_exists(lost.admin, SLOT)).startswith("kafka.")


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Reader]:
    def script(*polls: Message | None) -> Reader:
        made = Reader(polls)
        monkeypatch.setattr(offsets_topic, "Consumer", lambda _: made)
        return made

    return script


def read(brokers: Brokers) -> list[CommittedRecord]:
    return list(read_records(brokers.admin, READER, SLOT, fenced=True))


def test_all_is_read_up_to_the_end_and_what_is_hidden_is_missed(reader: Callable[..., Reader]) -> None:
    made = reader(Message(0), Message(1), Message(2, EOF))
    assert [(one.place, one.key, one.value) for one in read(Brokers(list_topics=[2], list_offsets=[2]))] == [
        (RecordPlace(TOPIC, 1, 0), b"k", b"v"),
        (RecordPlace(TOPIC, 1, 1), b"k", b"v"),
    ]
    assert made.closed
    reader(Message(0), Message(1, EOF))
    assert code_of(lambda: read(Brokers(list_topics=[2], list_offsets=[2]))) == "offsets.hidden"


@pytest.mark.parametrize(
    ("poll", "code"),
    [(None, "kafka.unreachable"), (Message(9, KafkaError.TOPIC_AUTHORIZATION_FAILED), "kafka.denied")],
)
def test_an_error_while_it_reads_is_raised(
    reader: Callable[..., Reader], poll: Message | None, code: str
) -> None:
    made = reader(Message(0), poll)
    assert code_of(lambda: read(Brokers(list_topics=[2], list_offsets=[1]))) == code
    assert made.closed


def test_a_leader_that_was_just_chosen_is_asked_again(reader: Callable[..., Reader]) -> None:
    for code in LEADERLESS:
        reader(Message(0, EOF))
        brokers = Brokers(list_topics=[2], list_offsets=[failing(code), failing(code), 0])
        assert read(brokers) == []
        assert brokers.asked == ["list_topics", *["list_topics", "list_offsets"] * 3]


def test_a_leader_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(list_topics=[2], list_offsets=[failing(LEADERLESS[0])])
    monkeypatch.setattr(offsets_topic, "_UNTIL_KNOWN", -1.0)
    assert code_of(lambda: read(brokers)).startswith("kafka.")
    assert brokers.asked.count("list_offsets") == 1


@pytest.mark.parametrize(
    "given",
    [
        {"list_topics": [2], "list_offsets": [failing(KafkaError.TOPIC_AUTHORIZATION_FAILED)]},
        {"list_topics": [2, failing(KafkaError.TOPIC_AUTHORIZATION_FAILED)], "list_offsets": [0]},
    ],
)
def test_another_error_is_no_reason_to_ask_again(given: dict[str, list[object]]) -> None:
    brokers = Brokers(**given)
    assert code_of(lambda: read(brokers)) == "kafka.denied"
    assert brokers.asked.count("list_offsets") <= 1


def test_a_topic_that_is_gone_is_reported() -> None:
    assert code_of(lambda: read(Brokers(list_topics=[1]))) == "offsets.gone"


KEY, OTHER_KEY = (position_key("shop", SourcePartition("server", name)) for name in "ab")
SOUND, BROKEN = encode(Offset(7, 0, canonical_json({"lsn": 5}), None, 0, 0)), b"{"


def contents(monkeypatch: pytest.MonkeyPatch, *given: tuple[int, bytes, bytes | None]) -> Any:
    records = [
        CommittedRecord(RecordPlace(TOPIC, 1, at), ms, key, value)
        for at, (ms, key, value) in enumerate(given)
    ]
    monkeypatch.setattr(offsets_topic, "read_records", lambda *_, **__: iter(records))
    return read_slot(Brokers().admin, READER, SLOT)


def test_a_broken_record_counts_until_another_of_its_key_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = contents(monkeypatch, (5, KEY, BROKEN), (9, OTHER_KEY, BROKEN), (7, KEY, SOUND))
    assert (list(found.broken), found.last_ms) == ([OTHER_KEY], 9)
    assert code_of(found.sound) == "offsets.broken"
    assert [record.place.offset for record in found.sound(over_broken=True)] == [2]
    ours, others = SourcePartition("server", "b"), SourcePartition("server", "a")
    assert len(found.sound(over_broken={ours, others})) == 1
    assert code_of(lambda: found.sound(over_broken={others})) == "offsets.broken"
    assert not contents(monkeypatch, (5, b"{", None)).broken, "a key that nobody reads was taken back"


def test_a_newer_record_is_no_broken_one(monkeypatch: pytest.MonkeyPatch) -> None:
    newer = canonical_json({"version": 99})
    assert code_of(lambda: contents(monkeypatch, (5, KEY, newer))) == "offsets.unknown_version"


class OneThere(Brokers):
    """A broker that has each topic, and says so with an error that nobody else holds."""

    def create_topics(self, new: Sequence[Any], operation_timeout: float) -> dict[str, Future[object]]:
        del operation_timeout
        return {new[0].topic: answer(failing(KafkaError.TOPIC_ALREADY_EXISTS))}

    def create_partitions(self, new: Sequence[Any], operation_timeout: float) -> dict[str, Future[object]]:
        del operation_timeout
        return {new[0].topic: answer(failing(KafkaError.INVALID_PARTITIONS))}


def test_a_topic_that_is_there_does_not_keep_the_client_that_asked() -> None:
    """Each client has three threads, and while a task runs, cycles are seldom looked for."""
    brokers = OneThere(list_topics=[1], describe_configs=["compact"])
    kept = weakref.ref(brokers)
    gc.disable()
    try:
        prepare_offsets(cast("AdminClient", brokers), TOPIC, 2, 1)
        prepare_history(cast("AdminClient", brokers), TOPIC, 1)
        assert prepare_signals(cast("AdminClient", brokers), TOPIC)
        del brokers
        assert kept() is None
    finally:
        gc.enable()

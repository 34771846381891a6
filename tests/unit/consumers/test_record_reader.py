"""Which messages a range is made of; tests/e2e has the same with a real Kafka."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fixtures.plain_build import PlainBuild
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.kafka import record_reader
from wrackline.consumers.kafka.record_reader import RecordReader, read_records
from wrackline.consumers.newest.fetched_records import FetchedRecords

END, GONE = -191, 1


@dataclass
class Message:
    """What librdkafka hands over."""

    at: int
    partition: int = 0
    topic: str = "t"
    error: int = 0
    value: bytes | None = b"v"
    key: bytes | None = b"k"


class Library:
    """The functions of librdkafka that are called for each message; `given_back` are those it has again."""

    def __init__(self) -> None:
        self.given_back: list[int] = []
        self._functions = [
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.rd_kafka_message_destroy),
            ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(lambda _, __: 7),
            ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda topic: topic),
        ]
        self.destroy_at, self.moment_at, self.topic_name_at = (
            ctypes.cast(function, ctypes.c_void_p).value or 0 for function in self._functions
        )
        self.library = self

    def rd_kafka_message_destroy(self, message: int) -> None:
        self.given_back.append(message)

    def rd_kafka_message_timestamp(self, _: int, __: Any) -> int:
        return 7

    def rd_kafka_topic_name(self, topic: int) -> bytes:
        return ctypes.string_at(topic)


class Client:
    """Hands over what was written down for it, and then nothing."""

    def __init__(self, *messages: Message, endless: Message | None = None) -> None:
        self._messages, self._endless = list(messages), endless
        self.library, self.handed_over = Library(), 0

    def fetch(self, into: FetchedRecords, _: float) -> int:
        found, self._messages = self._messages, []
        found = found or ([] if self._endless is None else [self._endless])
        kept = [in_memory(one) for one in found]
        addresses = (ctypes.c_void_p * len(kept))(*(ctypes.addressof(one) for one, _ in kept))
        into.take(ctypes.addressof(addresses), len(kept), self.library)
        self.handed_over += len(kept)
        return len(kept)


def in_memory(message: Message) -> tuple[Any, Any]:
    """Return a message as C has it, and what it needs to stay there."""
    from wrackline.consumers.newest.fetched_records import _Message  # noqa: PLC0415 - of this build

    texts = [
        None if text is None else ctypes.create_string_buffer(text)
        for text in (message.topic.encode(), message.value, message.key)
    ]
    topic, value, key = (None if text is None else ctypes.addressof(text) for text in texts)
    sizes = [0 if text is None else len(text) for text in (message.value, message.key)]
    made = _Message(message.error, topic, message.partition, value, sizes[0], key, sizes[1], message.at, None)
    return made, texts


def read(client: Client, at: dict[int, int], end: dict[int, int]) -> list[tuple[int, int, bytes]] | None:
    found = FetchedRecords("t", at, end, 1000)
    done = read_records(client, found)
    assert len(client.library.given_back) == client.handed_over, "each message is given back"
    if not done:
        return None
    return [(found.offset(place), found.published_ms(place), found.key(place)) for place in range(len(found))]


def read_anew(
    messages: Sequence[Message], at: dict[int, int], end: dict[int, int]
) -> list[tuple[int, int, bytes]] | None:
    """Do so in a process of its own."""
    return read(Client(*messages), at, end)


RANGE = (
    *(Message(3, key=b"a"), Message(5, key=b""), Message(0, 1), Message(2, 1, error=END)),
    *(Message(6, value=None, key=None), Message(9), Message(10, error=END)),
)


def test_a_range_ends_where_its_records_or_markers_end(plain_build: PlainBuild) -> None:
    expected = [(3, 7, b"a"), (5, 7, b""), (0, 7, b"k")]
    assert read(Client(*RANGE), {0: 3, 1: 0}, {0: 7, 1: 2}) == expected
    assert plain_build.call(read_anew, RANGE, {0: 3, 1: 0}, {0: 7, 1: 2}) == expected
    assert read(Client(Message(4, error=END)), {0: 1}, {0: 4}) == [], "nothing but markers"


def test_partitions_take_turns_as_they_like() -> None:
    messages = [Message(at, partition) for at in range(4) for partition in (0, 1, 2)]
    found = read(Client(*messages), {0: 0, 1: 0, 2: 0}, {0: 4, 1: 2, 2: 4})
    assert found is not None
    assert [at for at, _, _ in found] == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    "odd",
    [
        Message(4, topic="another"),
        Message(4, 3),
        Message(2),
        Message(3),
        Message(4, error=GONE),
        Message(4, error=-185),
        Message(4, key=None),
    ],
    ids=["topic", "partition", "offset", "twice", "error", "error of the client", "no key"],
)
def test_a_message_that_nobody_expects_makes_spark_read_the_range(
    plain_build: PlainBuild, odd: Message
) -> None:
    messages = [Message(3), odd, Message(5)]
    assert read(Client(*messages), {0: 3}, {0: 6}) is None
    assert plain_build.call(read_anew, messages, {0: 3}, {0: 6}) is None


def test_a_partition_that_stands_still_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "_PATIENCE", 0.05)
    assert read(Client(Message(1, error=END)), {0: 0, 1: 0}, {0: 1, 1: 1}) is None
    assert read(Client(), {0: 0}, {0: 1}) is None
    again = Client(Message(0), endless=Message(9, 1))
    assert read(again, {0: 0, 1: 0}, {0: 2, 1: 1}) is None


def test_records_of_many_bytes_grow_what_holds_them() -> None:
    found = FetchedRecords("t", {0: 0}, {0: 5000})
    client = Client(*(Message(at, key=b"%d" % at, value=b"v" * 100) for at in range(5000)))
    assert read_records(client, found)
    assert [found.key(place) for place in (0, 1, 4999)] == [b"0", b"1", b"4999"]
    assert found.size == 5000 * 100 + sum(len(str(at)) for at in range(5000))


def read_as_far_as_there_is_room(messages: Sequence[Message]) -> tuple[bool, list[int], dict[int, int]]:
    """Read a range of three partitions with room for 1,000 bytes."""
    found = FetchedRecords("t", {0: 0, 1: 0, 2: 0}, {0: 9, 1: 9, 2: 9}, 1000)
    client = Client(*messages)
    done = read_records(client, found)
    assert len(client.library.given_back) == client.handed_over
    return done and found.full, [found.offset(at) for at in range(len(found))], found.reached_offsets()


def test_a_range_ends_before_a_record_that_has_no_room(plain_build: PlainBuild) -> None:
    wide = b"v" * 400
    messages = [
        Message(0, 1, value=wide),
        Message(3, 0, value=wide),
        Message(1, 1, value=wide),
        Message(2, 1),
    ]
    expected = True, [0, 3], {0: 4, 1: 1, 2: 0}
    assert read_as_far_as_there_is_room(messages) == expected
    assert plain_build.call(read_as_far_as_there_is_room, messages) == expected
    done, places, _ = read_as_far_as_there_is_room([Message(0, value=b"v" * 2000)])
    assert (done, places) == (False, []), "one that never has room is left to Spark"


def test_ranges_of_wide_records_wait_for_their_turn() -> None:
    reader = RecordReader({}, "g", is_local=True)
    assert reader.fits(BatchRange("t", {0: 0}, {0: 10**7}))
    few = BatchRange("t", {0: 0}, {0: 4_000})
    assert reader._is_small(few)
    reader._sizes["t"] = 10_000.0
    assert not reader._is_small(few)
    assert reader._is_small(BatchRange("t", {0: 0}, {0: 1_000}))
    assert not RecordReader({}, "g").fits(BatchRange("u", {0: 0}, {0: 100_001}))


def test_messages_are_given_back_even_if_memory_ends(plain_build: PlainBuild) -> None:
    assert plain_build.call(given_back_by_a_failure)


def given_back_by_a_failure() -> bool:
    """Let memory end while messages are taken, where a method can be replaced."""
    from wrackline.consumers.newest.fetched_records import FetchedRecords  # noqa: PLC0415 - of this build

    class Short(FetchedRecords):
        """It has no memory for a second record."""

        def add(self, key: bytes | None, value: bytes | None, offset: int, published_ms: int) -> None:
            if offset:
                raise MemoryError
            super().add(key, value, offset, published_ms)

    client = Client(*(Message(at) for at in range(5)))
    found = Short("t", {0: 0}, {0: 5})
    try:
        client.fetch(found, 0)
    except MemoryError:
        return len(client.library.given_back) == 5
    return False

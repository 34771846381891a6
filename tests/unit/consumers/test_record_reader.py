"""Which messages a range is made of; tests/e2e has the same with a real Kafka."""

from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import KafkaError

from wrackline.consumers.kafka import record_reader
from wrackline.consumers.kafka.record_reader import read_records

END, GONE = KafkaError._PARTITION_EOF, KafkaError.OFFSET_OUT_OF_RANGE


@dataclass
class Message:
    """What the client hands over."""

    at: int
    its_partition: int = 0
    its_topic: str = "t"
    code: int | None = None
    its_value: bytes | None = b"v"

    def error(self) -> KafkaError | None:
        return None if self.code is None else KafkaError(self.code)

    def partition(self) -> int:
        return self.its_partition

    def offset(self) -> int:
        return self.at

    def topic(self) -> str:
        return self.its_topic

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes | None:
        return self.its_value

    def timestamp(self) -> tuple[int, int]:
        return (1, 7)


class Client:
    """Hands over what was written down for it, and then nothing."""

    def __init__(self, *messages: Message, endless: Message | None = None) -> None:
        self._messages, self._endless = list(messages), endless

    def poll(self, _: float) -> Message | None:
        return self._messages.pop(0) if self._messages else self._endless

    def consume(self, _: int, __: float) -> list[Message]:
        found, self._messages = self._messages, []
        return found


def read(client: Any, at: dict[int, int], end: dict[int, int]) -> list[tuple[int, int]] | None:
    found = read_records(client, "t", at, end)
    return None if found is None else [(one.offset, one.published_ms) for one in found]


def test_a_range_ends_where_its_records_or_markers_end() -> None:
    client = Client(
        Message(3), Message(5), Message(0, 1), Message(2, 1, code=END), Message(9), Message(10, code=END)
    )
    assert read(client, {0: 3, 1: 0}, {0: 7, 1: 2}) == [(3, 7), (5, 7), (0, 7)]
    assert read(Client(Message(4, code=END)), {0: 1}, {0: 4}) == [], "nothing but markers"


@pytest.mark.parametrize(
    "odd",
    [
        Message(4, its_topic="another"),
        Message(4, 3),
        Message(2),
        Message(4, code=GONE),
        Message(4, its_value=b"v" * (17 << 20)),
    ],
    ids=["topic", "partition", "offset", "error", "size"],
)
def test_a_message_that_nobody_expects_makes_spark_read_the_range(odd: Message) -> None:
    assert read(Client(Message(3), odd, Message(5)), {0: 3}, {0: 6}) is None


def test_a_partition_that_stands_still_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_reader, "_PATIENCE", 0.05)
    busy = Client(Message(1, code=END), endless=Message(9))
    assert read(busy, {0: 0, 1: 0}, {0: 1, 1: 1}) is None
    assert read(Client(), {0: 0}, {0: 1}) is None

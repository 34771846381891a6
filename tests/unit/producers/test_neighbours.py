"""The positions of other pipelines where brokers do not answer for each partition, which is scripted.

tests/integration/running/test_slot_owner.py has the same on real brokers.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from wrackline.producers.contract.source_plugin import NeighbourPosition
from wrackline.producers.kafka import neighbours
from wrackline.producers.kafka.client import Client, Identity
from wrackline.producers.kafka.neighbours import neighbour_positions
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offsets_records import Offset, canonical_json, encode, position_key
from wrackline.schemas.tables.table import SourcePartition

CLIENT, OWN = Client({"bootstrap.servers": "nowhere:9092"}), Identity("wrackline-mine", "mine", 0, 0)
GOOD, BAD = "wrackline-shop-offsets", "a-offsets"
END = KafkaError._PARTITION_EOF


def record(connector: str, epoch: int, generation: int = 1) -> tuple[bytes, bytes]:
    value = Offset(generation, epoch, canonical_json({"epoch": epoch}), None, 0, 0, None)
    return position_key(connector, SourcePartition("s", "d")), encode(value)


def positions(
    monkeypatch: pytest.MonkeyPatch, *answers: tuple[str, object] | None
) -> tuple[list[NeighbourPosition], list[WracklineError]]:
    """Answer the polls: a topic with an error's code or with a record; None: nothing came in time."""
    script = iter(answers)

    def poll(_seconds: float) -> Any:
        answer = next(script)
        if answer is None:
            return None
        topic, given = answer
        key, value = given if isinstance(given, tuple) else (None, None)
        error = KafkaError(given) if isinstance(given, int) else None
        parts = {"topic": topic, "partition": 0, "offset": 0, "key": key, "value": value, "error": error}
        return SimpleNamespace(**{name: lambda part=part: part for name, part in parts.items()})

    topics = {name: SimpleNamespace(partitions=[0]) for name in (GOOD, BAD, "other")}
    admin = SimpleNamespace(list_topics=lambda **_: SimpleNamespace(topics=topics))
    consumer = SimpleNamespace(assign=lambda _: None, poll=poll, close=lambda: None)
    monkeypatch.setattr(neighbours, "AdminClient", lambda _: admin)
    monkeypatch.setattr(neighbours, "Consumer", lambda _: consumer)
    told: list[WracklineError] = []
    found = neighbour_positions(CLIENT, OWN, told.append)
    assert next(script, "all were asked for") == "all were asked for"
    return found, told


@pytest.mark.parametrize("without_answer", [None, (BAD, KafkaError.LEADER_NOT_AVAILABLE)])
def test_a_partition_that_does_not_answer_is_reported_and_the_others_are_read(
    monkeypatch: pytest.MonkeyPatch, without_answer: tuple[str, object] | None
) -> None:
    found, told = positions(monkeypatch, (GOOD, record("shop", 2)), (GOOD, END), without_answer)
    assert found == [NeighbourPosition("shop", GOOD, {"epoch": 2})]
    assert [(error.code, BAD in error.sentence) for error in told] == [("kafka.neighbours_unread", True)]


def test_the_newest_position_of_the_owner_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    given = (record("shop", 1), record("shop", 3, generation=2), record("shop", 2), record("mine", 7))
    found, told = positions(monkeypatch, *((GOOD, one) for one in given), (GOOD, END), (BAD, END))
    assert (found, told) == ([NeighbourPosition("shop", GOOD, {"epoch": 3})], [])

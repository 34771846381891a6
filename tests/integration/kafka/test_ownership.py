"""The owner of a task, in its partition of the offsets topic, on a real broker."""

import time

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.integration.kafka.world import topic_arrives
from wrackline.control.local.stack.servers import Broker
from wrackline.producers.kafka.client import client
from wrackline.producers.kafka.ownership import LOST, Ownership
from wrackline.producers.kafka.takeover import Change
from wrackline.producers.kafka.topic_deletion import delete_topics, list_topics
from wrackline.schemas.errors import Definite, Transient
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import (
    BROKEN,
    Offset,
    PositionKey,
    canonical_json,
    encode,
    key_bytes,
    position_key,
)
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.pipelines.deal import Deal, TaskShare
from wrackline.schemas.tables.table import SourcePartition

pytestmark = pytest.mark.servers

PLACE = position_key("shop", SourcePartition("server", "d"))


def owned(kafka: Broker, group: str, number: int = 0, connector: str = "shop") -> Ownership:
    return Ownership(client(kafka.bootstrap), group, connector, number)


def prepared(kafka: Broker, group: str, number: int = 0) -> Ownership:
    made = owned(kafka, group, number)
    made.prepare(1)
    return made


def position(generation: int, lsn: int = 5) -> bytes:
    return encode(Offset(generation, 0, canonical_json({"lsn": lsn}), None, 0, 0))


def write(kafka: Broker, topic: str, *records: tuple[bytes, bytes], partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for key, value in records:
        producer.produce(topic, value, key, partition)
    assert producer.flush(20) == 0


def test_a_bystander_of_a_task_that_never_ran_sees_nothing(kafka: Broker, topic_prefix: str) -> None:
    seen = owned(kafka, topic_prefix)
    assert dict(seen.state().positions) == {}
    assert seen.history() == []
    assert seen.last_written_ms() is None


def test_each_claim_is_the_next_generation_and_hears_what_was_committed(
    kafka: Broker, topic_prefix: str
) -> None:
    """T-E04."""
    task = prepared(kafka, topic_prefix, 1)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    topic = internal_topics(topic_prefix).offsets
    topic_arrives(admin, topic, 2)
    assert internal_topics(topic_prefix).offset_history in list_topics(admin)
    assert task.newest() == 0
    told: list[tuple[int, int]] = []

    def edit(state: OffsetsState, generation: int) -> list[Change]:
        told.append((len(state.positions), generation))
        return [(PLACE, position(generation))]

    first = task.claim(time.monotonic, edit)
    assert (first.generation, dict(first.state.positions), told) == (1, {}, [(0, 1)])
    second = task.claim(time.monotonic)
    assert second.generation == task.newest() == 2
    for state in (second.state, task.state()):
        assert [(at.generation, at.position) for at in state.positions.values()] == [
            (1, canonical_json({"lsn": 5}))
        ]
    written = task.last_written_ms()
    assert written is not None
    assert abs(written / 1000 - time.time()) < 3600


def test_the_older_of_two_owners_commits_nothing_more(kafka: Broker, topic_prefix: str) -> None:
    task = prepared(kafka, topic_prefix)

    def late(_: OffsetsState, generation: int) -> list[Change]:
        assert owned(kafka, topic_prefix).claim(time.monotonic).generation == generation
        return [(PLACE, position(generation))]

    with pytest.raises(Exception, match="FENCED"):
        task.claim(time.monotonic, late)
    assert dict(task.state().positions) == {}
    assert task.newest() == 1


def test_what_an_open_transaction_hides_stops_a_claim_and_no_bystander(
    kafka: Broker, topic_prefix: str
) -> None:
    task = prepared(kafka, topic_prefix)
    task.claim(time.monotonic)
    stranger = Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{topic_prefix}-stranger"}
    )
    stranger.init_transactions(30)
    stranger.begin_transaction()
    stranger.produce(internal_topics(topic_prefix).offsets, position(7), PLACE, 0)
    stranger.flush(30)
    assert task.newest() == 1
    with pytest.raises(Transient, match=r"offsets\.hidden"):
        task.claim(time.monotonic)
    stranger.abort_transaction(30)


def test_a_lost_position_is_reported_only_to_its_connector(kafka: Broker, topic_prefix: str) -> None:
    task = prepared(kafka, topic_prefix)
    write(kafka, internal_topics(topic_prefix).offset_history, (PLACE, position(7)))
    [(ms, record)] = task.history()
    assert record.value is not None
    assert (record.value.generation, abs(ms / 1000 - time.time()) < 3600) == (7, True)
    with pytest.raises(Definite) as refused:
        task.claim(time.monotonic)
    assert refused.value.code == LOST.code
    edited = task.claim(time.monotonic, lambda _, generation: [(PLACE, position(generation))])
    assert edited.generation == 8, "behind what the history knows"
    assert owned(kafka, topic_prefix, 0, "other").claim(time.monotonic).generation == 9


def test_another_connectors_history_is_no_loss(kafka: Broker, topic_prefix: str) -> None:
    prepared(kafka, topic_prefix)
    write(kafka, internal_topics(topic_prefix).offset_history, (PLACE, position(7)))
    assert owned(kafka, topic_prefix, 0, "other").claim(time.monotonic).generation == 8


def test_a_broken_record_is_taken_back_only_where_that_was_asked_for(
    kafka: Broker, topic_prefix: str
) -> None:
    task = prepared(kafka, topic_prefix)
    task.claim(time.monotonic, lambda _, generation: [(PLACE, position(generation))])
    topics = internal_topics(topic_prefix)
    write(kafka, topics.offset_history, (PLACE, position(9)))
    write(kafka, topics.offsets, (PLACE, b"{"))
    for ask in (task.newest, task.state, lambda: task.claim(time.monotonic)):
        with pytest.raises(Definite) as refused:
            ask()
        assert refused.value.code == BROKEN.code
    assert [one.generation for one in task.state(over_broken=True).positions.values()] == [1]
    claim = task.claim(
        time.monotonic, lambda _, generation: [(PLACE, position(generation, 8))], over_broken=True
    )
    assert claim.generation == 10, "the broken one may have hidden the newest"
    assert [one.position for one in task.state().positions.values()] == [canonical_json({"lsn": 8})]


TWO = Deal(5, (("a",), ("b",)))


def place_of(database: str | None) -> bytes:
    return key_bytes(PositionKey("shop", "server", database))


def lsns(state: OffsetsState) -> dict[str | None, bytes]:
    return {key.database: at.position for key, at in state.positions.items()}


def test_an_edit_is_written_where_each_database_is_and_a_removal_wherever_it_was(
    kafka: Broker, topic_prefix: str
) -> None:
    tasks = [owned(kafka, topic_prefix, task) for task in range(2)]
    for number, task in enumerate(tasks):
        task.prepare(1, 2)
        task.take_over(TaskShare(TWO, number), time.monotonic)
    topic = internal_topics(topic_prefix).offsets
    write(kafka, topic, (place_of("a"), position(8)), (place_of("b"), position(3, 1)))  # b has left here
    write(kafka, topic, (place_of("b"), position(9)), partition=1)
    before = [task.newest() for task in tasks]

    def moved(state: OffsetsState, generation: int) -> list[Change]:
        assert lsns(state) == dict.fromkeys("ab", canonical_json({"lsn": 5}))
        return [(place_of(name), position(generation, 7)) for name in "abc"]

    claim = owned(kafka, topic_prefix).claim(time.monotonic, moved)
    assert [task.newest() for task in tasks] == [claim.generation] * 2, "no earlier owner continues"
    assert claim.generation > max(before)
    assert lsns(tasks[0].state()) == dict.fromkeys("abc", canonical_json({"lsn": 7}))
    began = tasks[1].take_over(TaskShare(Deal(4, TWO.shares), 1), time.monotonic)  # an edit forgets the deal
    assert began.state.resume("shop", SourcePartition("server", "b")) is not None
    owned(kafka, topic_prefix).claim(time.monotonic, lambda *_: [(place_of("b"), None)])
    assert lsns(tasks[0].state()).keys() == {"a", "c"}, (
        "what was left in the other partition does not come back"
    )


def test_a_task_begins_again_if_others_were_added_since_it_counted_the_partitions(
    kafka: Broker, topic_prefix: str
) -> None:
    task = prepared(kafka, topic_prefix)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})

    def clock() -> float:
        """Add a task just before this one shuts out others."""
        owned(kafka, topic_prefix, 1).prepare(1, 2)
        topic_arrives(admin, internal_topics(topic_prefix).offsets, 2)
        return time.monotonic()

    alone = TaskShare(Deal(9, (("a", "b"),)))
    with pytest.raises(Transient, match=r"offsets\.tasks_added"):
        task.take_over(alone, clock)
    assert task.newest() == 0
    assert task.take_over(alone, clock).generation > 0


def test_a_position_of_an_older_topic_is_taken_over_by_the_first_database_alone(
    kafka: Broker, topic_prefix: str
) -> None:
    task = prepared(kafka, topic_prefix)
    write(kafka, internal_topics(topic_prefix).offsets, (place_of(None), position(4)))
    alone = task.take_over(TaskShare(Deal(5, (("",),))), time.monotonic)
    assert alone.generation == 5
    found = task.state().resume("shop", SourcePartition("server", "a"))
    assert found is not None, "a pipeline of one database reads the old key"
    assert lsns(task.state()).keys() == {None}, "and leaves it"
    for number in (1, 0):
        own = owned(kafka, topic_prefix, number)
        own.prepare(1, 2)
        own.take_over(TaskShare(TWO, number), time.monotonic)
    assert lsns(task.state()) == {"a": canonical_json({"lsn": 5})}
    assert task.state().resume("shop", SourcePartition("server", "b")) is None


def test_topics_that_go_are_gone_and_those_that_were_not_there_are_no_error(
    kafka: Broker, topic_prefix: str
) -> None:
    prepared(kafka, topic_prefix)
    admin, topics = AdminClient({"bootstrap.servers": kafka.bootstrap}), internal_topics(topic_prefix)
    delete_topics(admin, [], time.monotonic, time.sleep)
    delete_topics(admin, [topics.offsets, f"{topic_prefix}-never"], time.monotonic, time.sleep)
    assert topics.offsets not in list_topics(admin)
    assert topics.offset_history in list_topics(admin)

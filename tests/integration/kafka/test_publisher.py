"""A publisher's start order, its own slot, and its topics, on a real broker."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers this without saying so
    AdminClient,
    ConfigResource,
)
from confluent_kafka.cimpl import NewTopic

from tests.fakes.place import Place
from tests.integration.kafka.world import (
    Names,
    committed,
    made_publisher,
    surely,
    topic_arrives,
    until,
    values,
)
from wrackline.control.local.stack.servers import Broker
from wrackline.producers import failpoints
from wrackline.producers.kafka import offsets_topic
from wrackline.producers.kafka.client import client
from wrackline.producers.kafka.failures import TopicRefusedError
from wrackline.producers.kafka.topic_creation import TopicCreation, TopicCreator, TopicGroup
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.kafka.offsets_records import canonical_json
from wrackline.schemas.tables.table import TableId


@pytest.fixture
def names(topic_prefix: str) -> Names:
    return Names(topic_prefix)


def position(state: OffsetsState) -> list[bytes]:
    return [offset.position for offset in state.positions.values()]


def test_what_is_committed_is_where_the_next_owner_starts(kafka: Broker, names: Names) -> None:
    """T-E04."""
    first = made_publisher(kafka.bootstrap, names)
    assert first.start().positions == {}
    surely(first, names.publication(5, *names.events("a")))
    first.close()
    second = made_publisher(kafka.bootstrap, names, generation=2)
    state = second.start()
    assert position(state) == [canonical_json(Place(0, 5).saved())]
    surely(second, names.publication(7, *names.events("b")))
    last = second.start()
    assert [(offset.generation, offset.n) for offset in last.positions.values()] == [(2, 1)]
    assert [offset.previous for offset in last.positions.values()] == position(state)
    assert values(kafka.bootstrap, names.topic) == ["a", "b"]


def test_a_neighbours_open_transaction_hides_nothing_of_ours(kafka: Broker, names: Names) -> None:
    """T-E03."""
    neighbour = made_publisher(kafka.bootstrap, names, task=1)
    neighbour.start()
    ours = made_publisher(kafka.bootstrap, names)
    ours.start()
    surely(ours, names.publication(5, *names.events("a")))
    assert neighbour._session is not None
    transactor = neighbour._session.transactor
    transactor._producer.begin_transaction()
    transactor._announce(
        (offsets_records.begin_key("neighbour"), offsets_records.encode(offsets_records.BeginRecord(1, 1)))
    )
    assert position(ours.start()) == [canonical_json(Place(0, 5).saved())]
    neighbour.drop()


def test_a_stranger_in_our_slot_is_noticed(kafka: Broker, names: Names) -> None:
    ours = made_publisher(kafka.bootstrap, names)
    ours.start()
    surely(ours, names.publication(5, *names.events("a")))
    stranger = Producer(
        {"bootstrap.servers": kafka.bootstrap, "transactional.id": f"{names.prefix}-stranger"}
    )
    stranger.init_transactions(30)
    stranger.begin_transaction()
    stranger.produce(names.offsets, b"{}", b"?", 0)
    stranger.flush(30)
    with pytest.raises(Transient, match=r"offsets\.hidden"):
        ours.start()
    stranger.abort_transaction(30)
    until(lambda: _starts(ours.start), "it starts once the stranger is gone")


def _starts(start: Callable[[], OffsetsState]) -> bool:
    try:
        return len(start().positions) == 1
    except Transient:
        return False


def test_an_owner_whose_time_has_passed_does_not_fence_its_successor(kafka: Broker, names: Names) -> None:
    newest = 1
    old = made_publisher(kafka.bootstrap, names, newest=lambda: newest)
    old.start()
    newest = 2
    successor = made_publisher(kafka.bootstrap, names, generation=2, newest=lambda: newest)
    successor.start()
    with pytest.raises(Definite, match=r"kafka\.superseded.*generation 2, this is 1"):
        old.start()
    surely(successor, names.publication(5, *names.events("a")))
    assert values(kafka.bootstrap, names.topic) == ["a"]


def test_a_generation_that_moves_while_it_fences_stops_it(kafka: Broker, names: Names) -> None:
    readings = iter([1, 2])
    with pytest.raises(Definite, match=r"kafka\.superseded"):
        made_publisher(kafka.bootstrap, names, newest=lambda: next(readings)).start()


def test_a_fenced_owner_publishes_nothing(kafka: Broker, names: Names) -> None:
    old = made_publisher(kafka.bootstrap, names)
    old.start()
    made_publisher(kafka.bootstrap, names, generation=2).start()
    with pytest.raises(Transient, match="FENCED"):
        old.publish([names.publication(5, *names.events("a"))])
    assert values(kafka.bootstrap, names.topic) == []


def test_what_was_left_open_does_not_hold_up_readers_after_close(kafka: Broker, names: Names) -> None:
    publisher = made_publisher(kafka.bootstrap, names)
    publisher.start()
    surely(publisher, names.publication(5, *names.events("a")))
    failpoints.arm("before_commit=raise")
    with pytest.raises(Transient, match="failpoint"):
        publisher.publish([names.publication(7, *names.events("b"))])
    publisher.close()
    plain = Producer({"bootstrap.servers": kafka.bootstrap})
    plain.produce(names.topic, b"later", b"key")
    plain.flush(30)
    until(lambda: values(kafka.bootstrap, names.topic) == ["a", "later"], "b is aborted, and hides nothing")


def test_table_states_are_in_the_same_transaction(kafka: Broker, names: Names) -> None:
    publisher = made_publisher(kafka.bootstrap, names)
    publisher.start()
    table = TableId("db0", "public", "orders")
    state = canonical_json({"ranges": [["1", None]]})
    made = names.publication(5, *names.events("a"))
    failpoints.arm("before_commit=raise")
    with pytest.raises(Transient):
        publisher.publish([replace(made, states={table: state})])
    nothing = publisher.start()
    assert (dict(nothing.tables), dict(nothing.positions)) == ({}, {}), "INV-2: all or nothing"
    surely(publisher, replace(made, states={table: state}))
    found = publisher.start().tables_of("shop", names.partition)
    assert {key: value.snapshot for key, value in found.items()} == {table: state}


def test_topics_are_made_as_their_group_says(kafka: Broker, names: Names) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    wide = TopicGroup(3, 1, {"cleanup.policy": "compact"}, include=(re.compile(f"{names.prefix}.wide.*"),))
    topics = TopicCreator(admin, TopicCreation(TopicGroup(2), (wide,)), most_record_bytes=123_456)
    topics.ensure([f"{names.prefix}.wide1", f"{names.prefix}.narrow"])
    topics.ensure([f"{names.prefix}.narrow"])
    topic_arrives(admin, f"{names.prefix}.wide1", 3)
    topic_arrives(admin, f"{names.prefix}.narrow", 2)
    assert _config(admin, f"{names.prefix}.wide1", "max.message.bytes") == "123456"
    assert _config(admin, f"{names.prefix}.wide1", "cleanup.policy") == "compact"


def _config(admin: AdminClient, topic: str, name: str) -> object:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return admin.describe_configs([resource])[resource].result(30)[name].value


def test_a_topic_that_cannot_be_created_needs_an_operator(kafka: Broker, names: Names) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    topics = TopicCreator(admin, TopicCreation(TopicGroup(1, 7)), most_record_bytes=1000)
    with pytest.raises(TopicRefusedError) as refused:
        topics.ensure([names.topic])
    assert refused.value.topic == names.topic
    assert isinstance(refused.value.error, OperatorNeeded)
    assert "INVALID_REPLICATION_FACTOR" in str(refused.value.error)


def test_an_offsets_topic_grows_and_must_be_compacted(kafka: Broker, names: Names) -> None:
    """T-H02."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    offsets_topic.prepare_offsets(admin, names.offsets, 1, 1)
    offsets_topic.prepare_offsets(admin, names.offsets, 3, 1)
    offsets_topic.prepare_offsets(admin, names.offsets, 2, 1)
    topic_arrives(admin, names.offsets, 3)
    forgetful = f"{names.prefix}-forgetful"
    admin.create_topics([NewTopic(forgetful, 1, 1)])[forgetful].result(30)
    with pytest.raises(OperatorNeeded, match=r"offsets\.not_compacted"):
        offsets_topic.prepare_offsets(admin, forgetful, 1, 1)


def test_many_prepare_a_topic_at_once(kafka: Broker, names: Names) -> None:
    def prepares(topic: str) -> None:
        offsets_topic.prepare_offsets(AdminClient({"bootstrap.servers": kafka.bootstrap}), topic, 8, 1)

    for number in range(20):  # a client that learns that it is there hears a moment later where
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(prepares, [f"{names.prefix}-{number}"] * 4))


def test_a_large_row_fits_although_the_memory_is_small(kafka: Broker, names: Names) -> None:
    small = client(kafka.bootstrap, queue_buffering_max_kbytes=64)
    publisher = made_publisher(kafka.bootstrap, names, kafka=small)
    publisher.start()
    large = [(names.topic, b"key", bytes(20_000_000)), (names.topic, b"key", bytes(70_000_000))]
    surely(publisher, names.publication(5, *large))
    found = committed(kafka.bootstrap, names.topic)
    assert [len(value or b"") for _, _, value in found] == [20_000_000, 70_000_000]


def test_a_full_memory_waits_for_room(kafka: Broker, names: Names) -> None:
    """T-E10."""
    small = client(kafka.bootstrap, queue_buffering_max_kbytes=64, message_max_bytes=60_000)
    publisher = made_publisher(kafka.bootstrap, names, kafka=small)
    publisher.start()
    many = [(names.topic, b"%d" % number, b"v" * 10_000) for number in range(500)]
    surely(publisher, names.publication(5, *many))
    assert len(committed(kafka.bootstrap, names.topic)) == 500


def test_a_topic_is_made_once_and_one_that_others_made_is_no_error(kafka: Broker, names: Names) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.create_topics([NewTopic(names.topic, 1, 1)])[names.topic].result(30)
    topics = TopicCreator(admin, TopicCreation(TopicGroup(2)), most_record_bytes=1000)
    topics.ensure([names.topic])
    admin.delete_topics([names.topic])[names.topic].result(30)
    until(lambda: names.topic not in admin.list_topics(timeout=30).topics, "it is gone")
    topics.ensure([names.topic])
    assert names.topic not in admin.list_topics(timeout=30).topics, "it is never made again by itself"


def test_an_error_that_may_pass_is_not_blamed_on_a_topic(kafka: Broker, names: Names) -> None:
    topics = TopicCreator(
        AdminClient({"bootstrap.servers": kafka.bootstrap}), TopicCreation(), most_record_bytes=1000
    )
    with pytest.raises(Transient, match="TOPIC_EXCEPTION"):
        topics.ensure([f"{names.prefix} with a space"])

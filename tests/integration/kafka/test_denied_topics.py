"""A broker that lets us write some topics and not others: such a one is refused, and no other."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from tests.integration.kafka.world import Names, committed, made_publisher, surely, until
from wrackline.control.local.stack import kafka as broker_of_stack
from wrackline.control.local.stack.kafka import ExtraListener
from wrackline.control.local.stack.servers import HOST, Broker
from wrackline.control.runtime.events.feed import Feed
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.failures import TopicRefusedError
from wrackline.producers.kafka.topic_creation import TopicCreation, TopicCreator
from wrackline.producers.kafka.topic_deletion import NOT_DELETED, delete_topics, list_topics
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.redaction import Secret
from wrackline.schemas.settings.settings_registry import Values

pytestmark = pytest.mark.servers

USER, PASSWORD = "shop", "c4n4ry"
LOGIN = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
STRICT = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that asks for rights on the one door that has a log-in."""
    settings = {"sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": LOGIN}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(broker_of_stack, "SETTINGS", broker_of_stack.SETTINGS | STRICT)
        made = broker_of_stack.broker(
            tmp_path_factory.mktemp("strict"), ways=[ExtraListener("login", "SASL_PLAINTEXT", settings)]
        )
    made.process.start()
    yield made
    made.process.stop()


def allow(broker: Broker, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    made = [
        AclBinding(
            kind,
            name,
            ResourcePatternType.LITERAL,
            f"User:{USER}",
            "*",
            operation,
            AclPermissionType.ALLOW,
        )
        for operation in operations
    ]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for future in admin.create_acls(made).values():
        future.result(30)


def logged_in(broker: Broker) -> Client:
    return Client(
        {
            "bootstrap.servers": f"{HOST}:{broker.ways['login']}",
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
            "sasl.password": Secret(PASSWORD),
            "message.timeout.ms": 20_000,
        }
    )


@pytest.mark.parametrize("seen", [True, False], ids=["may be seen", "may not"])
def test_a_topic_that_may_not_be_written_is_refused_by_itself(
    strict: Broker, topic_prefix: str, *, seen: bool
) -> None:
    names, admin = Names(topic_prefix), AdminClient({"bootstrap.servers": strict.bootstrap})
    denied = f"{names.topic}-denied"
    for future in admin.create_topics([NewTopic(names.topic, 1, 1), NewTopic(denied, 1, 1)]).values():
        future.result(30)
    topic, operation = ResourceType.TOPIC, AclOperation
    allow(strict, topic, names.topic, operation.WRITE, operation.READ, operation.DESCRIBE, operation.CREATE)
    allow(strict, topic, names.offsets, operation.ALL)
    allow(strict, ResourceType.TRANSACTIONAL_ID, f"{names.prefix}.shop.0", operation.ALL)
    allow(strict, ResourceType.GROUP, "*", operation.ALL)
    allow(strict, ResourceType.BROKER, "kafka-cluster", operation.IDEMPOTENT_WRITE, operation.CREATE)
    if seen:
        allow(strict, topic, denied, operation.DESCRIBE)
    made_publisher(strict.bootstrap, names)  # makes the offsets topic
    publisher = made_publisher(strict.bootstrap, names, kafka=logged_in(strict))
    publisher.start()
    surely(publisher, names.publication(5, *names.events("a")))
    with pytest.raises(TopicRefusedError) as refused:
        publisher.publish([names.publication(7, *names.events("b"), (denied, b"key", b"x"))])
    assert (refused.value.topic, refused.value.error.code) == (denied, "kafka.denied")
    publisher.start()
    surely(publisher, names.publication(8, *names.events("c")))
    assert [value for _, _, value in committed(strict.bootstrap, names.topic)] == [b"a", b"c"]
    publisher.close()


def test_a_topic_that_may_not_be_deleted_is_named(strict: Broker, topic_prefix: str) -> None:
    admin, topic = AdminClient({"bootstrap.servers": strict.bootstrap}), f"{topic_prefix}.kept"
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    allow(strict, ResourceType.TOPIC, topic, AclOperation.DESCRIBE)
    ours = AdminClient(logged_in(strict).admin())
    until(lambda: topic in list_topics(ours), "the broker knows of the right")
    with pytest.raises(OperatorNeeded, match=topic) as refused:
        delete_topics(ours, [topic], iter([0.0]).__next__, lambda _: None)
    assert refused.value.code == NOT_DELETED.code
    assert topic in list_topics(admin)


def test_the_topic_that_may_not_be_written_is_reported_among_many(strict: Broker, topic_prefix: str) -> None:
    admin = AdminClient({"bootstrap.servers": strict.bootstrap})
    unknown, mine, denied = (f"{topic_prefix}.{name}" for name in "abc")
    for future in admin.create_topics([NewTopic(mine, 1, 1), NewTopic(denied, 1, 1)]).values():
        future.result(30)
    allow(strict, ResourceType.TOPIC, mine, AclOperation.WRITE, AclOperation.DESCRIBE)
    allow(strict, ResourceType.TOPIC, denied, AclOperation.DESCRIBE)
    ours = AdminClient(logged_in(strict).admin())
    until(lambda: denied in list_topics(ours), "the broker knows of the last right")
    topics = TopicCreator(ours, TopicCreation(), most_record_bytes=1000)
    assert topics.unwritable([denied, mine, unknown]) == denied
    assert topics.unwritable([mine, unknown]) is None


def test_a_user_who_may_only_read_a_topic_reads_it_without_a_group(strict: Broker, topic_prefix: str) -> None:
    admin = AdminClient({"bootstrap.servers": strict.bootstrap})
    producer = Producer({"bootstrap.servers": strict.bootstrap})
    mine, other = f"{topic_prefix}.mine", f"{topic_prefix}.other"
    for future in admin.create_topics([NewTopic(mine, 1, 1), NewTopic(other, 1, 1)]).values():
        future.result(30)
    for topic in (mine, other):
        producer.produce(topic, b"x")
    assert producer.flush(30) == 0
    allow(strict, ResourceType.TOPIC, mine, AclOperation.READ, AclOperation.DESCRIBE)
    allow(strict, ResourceType.TOPIC, other, AclOperation.DESCRIBE)
    given = {f"kafka.{name}": value for name, value in logged_in(strict).given.items()}
    with Feed(Values({"name": "shop", "max.row.bytes": 1 << 20, **given}, {})) as feed:
        for _ in range(2):  # that groups are refused is said some time after the first
            ((record,),) = feed.newest(feed.spans(mine.__eq__), 10).values()
            assert record.value == b"x"
        with pytest.raises(OperatorNeeded, match=r"tail\.denied"):
            feed.newest(feed.spans(other.__eq__), 10)

"""The topic of signals on a real broker: taken again until it was kept; told of where it can't be heard."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.integration.kafka.world import until
from wrackline.control.stack import kafka as stack
from wrackline.control.stack.kafka import Way
from wrackline.control.stack.servers import HOST, Broker
from wrackline.producers.kafka.client import Identity, client
from wrackline.producers.kafka.signal_topic import SignalTopic, prepare, read
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.signals import Accepted, Rejected

BODY = b'{"type":"execute-snapshot","data":{"data-collections":["public.orders"]}}'
USER, PASSWORD = "shop", "pass"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def send(bootstrap: str, topic: str, *keys: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for key in keys:
        producer.produce(topic, BODY, key)
    assert producer.flush(20) == 0


def opened(bootstrap: str, topic: str, **more: str) -> SignalTopic:
    identity = Identity("group", topic, 0, 1)
    return SignalTopic(client(bootstrap, **more).reader(identity), topic, "server")


def ids(found: list[object]) -> list[str]:
    """The names that requests without an id have."""
    return [one.signal.id for one in found if isinstance(one, Accepted)]


def heard(reader: SignalTopic, count: int) -> list[object]:
    found: list[object] = []

    def all_there() -> bool:
        found.extend(reader.taken())
        return len(found) >= count

    until(all_there, "the messages are taken")
    return found


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        (b"server", BODY, Accepted),
        (b"server", b"nonsense", Rejected),
        (b"server", None, Rejected),
        (b"another", BODY, type(None)),
        (None, BODY, type(None)),
    ],
)
def test_a_message_counts_when_its_key_is_the_server(
    key: bytes | None, value: bytes | None, kind: type
) -> None:
    assert isinstance(read(b"server", key, value, "topic-7"), kind)


@pytest.mark.servers
def test_what_was_not_kept_is_taken_again_and_what_was_kept_is_not(kafka: Broker, topic_prefix: str) -> None:
    topic = f"{topic_prefix}-signal"
    prepare(AdminClient({"bootstrap.servers": kafka.bootstrap}), topic, 1)
    first = opened(kafka.bootstrap, topic)
    send(kafka.bootstrap, topic, b"server", b"another", b"server")
    assert ids(heard(first, 2)) == [f"{topic}-0", f"{topic}-2"]
    first.close()  # as a crash would, before anything was kept
    second = opened(kafka.bootstrap, topic)
    assert ids(heard(second, 2)) == [f"{topic}-0", f"{topic}-2"]
    second.kept()
    second.close()
    send(kafka.bootstrap, topic, b"server")
    third = opened(kafka.bootstrap, topic)
    assert ids(heard(third, 1)) == [f"{topic}-3"]
    third.close()


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that keeps rights, with one door by password; who comes in by the other may do everything."""
    folder = tmp_path_factory.mktemp("strict")
    login = {
        "sasl.enabled.mechanisms": "PLAIN",
        "plain.sasl.jaas.config": f'{PLAIN} required user_{USER}="{PASSWORD}";',
    }
    made = stack.broker(folder, ways=[Way("login", "SASL_PLAINTEXT", login)])
    with (folder / "server.properties").open("a") as file:
        file.write("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n")
        file.write("super.users=User:ANONYMOUS\nallow.everyone.if.no.acl.found=true\n")
    made.process.start()
    yield made
    made.process.stop()


@pytest.mark.servers
@pytest.mark.deep
def test_a_topic_that_may_not_be_read_is_told_once_until_it_is_heard(
    strict: Broker, topic_prefix: str
) -> None:
    topic, admin = f"{topic_prefix}-signal", AdminClient({"bootstrap.servers": strict.bootstrap})
    prepare(admin, topic, 1)
    pattern = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{USER}", "*", AclOperation.READ)
    for made in admin.create_acls([AclBinding(*pattern, AclPermissionType.DENY)]).values():
        made.result(20)
    by_password = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "PLAIN",
        "sasl_username": USER,
        "sasl_password": PASSWORD,
    }
    rights = AclBindingFilter(*pattern, AclPermissionType.DENY)
    until(lambda: bool(admin.describe_acls(rights).result(20)), "the broker knows of it")
    reader = opened(f"{HOST}:{strict.ways['login']}", topic, **by_password)
    (told,) = heard(reader, 1)
    assert isinstance(told, WracklineError)
    assert (told.code, topic in told.sentence, f"--topic '{topic}'" in told.hint) == (
        "kafka.signals_unheard",
        True,
        True,
    )
    send(strict.bootstrap, topic, b"server")
    assert [reader.taken() for _ in range(50)] == [[]] * 50
    for gone in admin.delete_acls([rights]).values():
        gone.result(20)
    assert ids(heard(reader, 1)) == [f"{topic}-0"]
    reader.close()

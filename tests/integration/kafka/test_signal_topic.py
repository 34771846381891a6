"""The topic of signals on a real broker: taken again until it was kept; an error where it can't be heard."""

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.integration.kafka.world import topic_arrives, until
from wrackline.control.local.stack import kafka as stack
from wrackline.control.local.stack.kafka import ExtraListener
from wrackline.control.local.stack.servers import HOST, Broker
from wrackline.producers.kafka import signal_topic
from wrackline.producers.kafka.client import Identity, client
from wrackline.producers.kafka.signal_topic import (
    SignalTopic,
    SignalTopicEnd,
    prepare_signals,
    read_signal,
)
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.signals import AcceptedSignal, RejectedSignal

BODY = b'{"type":"execute-snapshot","data":{"data-collections":["public.orders"]}}'
USER, PASSWORD = "shop", "pass"
LOGIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_username": USER,
    "sasl_password": PASSWORD,
}
LITERAL = ResourcePatternType.LITERAL
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
    return [one.signal.id for one in found if isinstance(one, AcceptedSignal)]


def heard(reader: SignalTopic, count: int) -> list[object]:
    found: list[object] = []

    def all_there() -> bool:
        found.extend(reader.take())
        return len(found) >= count

    until(all_there, "the messages are taken")
    return found


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        (b"server", BODY, AcceptedSignal),
        (b"server", b"nonsense", RejectedSignal),
        (b"server", None, RejectedSignal),
        (b"another", BODY, type(None)),
        (None, BODY, type(None)),
    ],
)
def test_a_message_counts_when_its_key_is_the_server(
    key: bytes | None, value: bytes | None, kind: type
) -> None:
    assert isinstance(read_signal(b"server", key, value, "topic-7"), kind)


@pytest.mark.servers
def test_what_was_not_kept_is_taken_again_and_what_was_kept_is_not(kafka: Broker, topic_prefix: str) -> None:
    topic = f"{topic_prefix}-signal"
    prepare_signals(AdminClient({"bootstrap.servers": kafka.bootstrap}), topic, 1)
    first = opened(kafka.bootstrap, topic)
    send(kafka.bootstrap, topic, b"server", b"another", b"server")
    assert ids(heard(first, 2)) == [f"{topic}-0", f"{topic}-2"]
    first.close()  # as a crash would, before anything was kept
    second = opened(kafka.bootstrap, topic)
    assert ids(heard(second, 2)) == [f"{topic}-0", f"{topic}-2"]
    second.commit()
    second.close()
    send(kafka.bootstrap, topic, b"server")
    third = opened(kafka.bootstrap, topic)
    assert ids(heard(third, 1)) == [f"{topic}-3"]
    third.close()
    with pytest.raises(RuntimeError, match="closed"):
        third.take()


@pytest.mark.servers
def test_a_topic_without_messages_is_heard_to_its_end(kafka: Broker, topic_prefix: str) -> None:
    topic, admin = f"{topic_prefix}-signal", AdminClient({"bootstrap.servers": kafka.bootstrap})
    assert [prepare_signals(admin, topic, 1) for _ in range(2)] == [True, True]
    topic_arrives(admin, topic, 1)
    reader = opened(kafka.bootstrap, topic)
    assert not reader.heard, "nobody has looked"

    def is_heard() -> bool:
        assert reader.take() == []
        return reader.heard

    until(is_heard, "the topic's end is there")
    reader.commit()  # nothing was taken, so the group stays where it is
    reader.close()
    send(kafka.bootstrap, topic, b"server")
    again = opened(kafka.bootstrap, topic)
    assert ids(heard(again, 1)) == [f"{topic}-0"]
    again.close()


def test_only_a_refusal_of_what_is_kept_is_an_error_and_once() -> None:
    reader = opened("127.0.0.1:1", "nobody-signal")
    reader._committed(None, [])
    reader._committed(
        KafkaError(KafkaError.NOT_COORDINATOR), []
    )  # the client commits again with the next one
    assert reader.take() == []
    for codes in (["kafka.signals_unheard"], []):
        reader._committed(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED), [])
        assert [one.code for one in reader.take() if isinstance(one, WracklineError)] == codes
    reader.close()


class SilentOnce:
    """A client whose first question for the group's offset is lost, as librdkafka 2.16 loses it."""

    def __init__(self, _: object) -> None:
        self.assigned, self.unheard = 0, [KafkaError(KafkaError._ALL_BROKERS_DOWN)]

    def assign(self, _: object) -> None:
        self.assigned += 1

    def poll(self, _: float) -> object:
        """Report what says nothing of the assignment at first, and the end of a second assignment."""
        if self.assigned == 1 and self.unheard:
            return Report(self.unheard.pop())
        return Report(KafkaError(KafkaError._PARTITION_EOF)) if self.assigned == 2 else None


class Report:
    def __init__(self, error: KafkaError) -> None:
        self.error = lambda: error

    def offset(self) -> int:
        return 0


def test_an_assignment_of_which_nothing_is_heard_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise no request is read until the task is started again, and a read that ends never does."""
    now = [100.0]
    monkeypatch.setattr(signal_topic, "Consumer", SilentOnce)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    reader = opened("127.0.0.1:1", "quiet-signal")
    seen = []
    for now[0] in (100.0, 109.9, 110.0, 10_000.0):
        assert reader.take() == []
        seen.append((reader._consumer.assigned, reader.heard))  # type: ignore[attr-defined] # the silent one
    assert seen == [(1, False), (1, False), (2, True), (2, True)]


class Denied(SilentOnce):
    """A client that reports a denial after its first assignment, and the end after its second."""

    def __init__(self, _: object) -> None:
        self.assigned, self.unheard = 0, [KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)]


def test_a_denial_counts_as_heard_and_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A read that ends by itself does not wait for a topic that it may not read."""
    now = [100.0]
    monkeypatch.setattr(signal_topic, "Consumer", Denied)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    reader = opened("127.0.0.1:1", "denied-signal")
    seen = []
    for now[0] in (100.0, 101.9, 102.0, 102.1):
        reported = len(reader.take())
        seen.append((reader._consumer.assigned, reported, reader.heard))  # type: ignore[attr-defined] # ours
    assert seen == [(1, 1, True), (1, 0, True), (2, 0, True), (2, 0, True)]


def test_without_an_answer_the_topic_may_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_topic, "_SECONDS", 0.2)
    assert prepare_signals(AdminClient({"bootstrap.servers": "127.0.0.1:1"}), "nobody-signal", 1)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that keeps rights, with one door by password; a client of the other door may do everything."""
    folder = tmp_path_factory.mktemp("strict")
    login = {
        "sasl.enabled.mechanisms": "PLAIN",
        "plain.sasl.jaas.config": f'{PLAIN} required user_{USER}="{PASSWORD}";',
    }
    made = stack.broker(folder, ways=[ExtraListener("login", "SASL_PLAINTEXT", login)])
    with (folder / "server.properties").open("a") as file:
        file.write("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n")
        file.write("super.users=User:ANONYMOUS\nallow.everyone.if.no.acl.found=true\n")
    made.process.start()
    yield made
    made.process.stop()


@pytest.mark.servers
def test_a_topic_that_is_missing_and_may_not_be_made_has_nothing_to_say(
    strict: Broker, topic_prefix: str
) -> None:
    """A read that ends by itself waits until all signals that were there are heard."""
    topic, admin = f"{topic_prefix}-signal", AdminClient({"bootstrap.servers": strict.bootstrap})
    rights = [
        (ResourceType.BROKER, "kafka-cluster", AclOperation.CREATE, AclPermissionType.DENY),
        (ResourceType.TOPIC, topic, AclOperation.CREATE, AclPermissionType.DENY),
        (ResourceType.TOPIC, topic, AclOperation.READ, AclPermissionType.ALLOW),
    ]
    who = f"User:{USER}", "*"
    given = [AclBinding(kind, name, LITERAL, *who, deed, may) for kind, name, deed, may in rights]
    for made in admin.create_acls(given).values():
        made.result(20)
    door = f"{HOST}:{strict.ways['login']}"
    user = AdminClient(client(door, **LOGIN).admin())
    whatever: Any = None  # as the client wants it, and its stub does not
    ours = AclBindingFilter(
        ResourceType.ANY,
        whatever,
        ResourcePatternType.ANY,
        who[0],
        whatever,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    # only then: a try before that would make the topic
    until(lambda: {*given} <= {*admin.describe_acls(ours).result(20)}, "the broker knows of the rights")
    assert not prepare_signals(user, topic, 1)
    assert topic not in admin.list_topics(timeout=20).topics
    settings = client(door, **LOGIN).reader(Identity("group", topic, 0, 1))
    reader = SignalTopic(settings, topic, "server", there=False)
    assert reader.heard
    prepare_signals(admin, topic, 1)
    send(strict.bootstrap, topic, b"server")
    assert ids(heard(reader, 1)) == [f"{topic}-0"], "the sender of the first signal makes the topic"
    reader.close()
    assert prepare_signals(user, topic, 1)


@pytest.mark.servers
def test_a_topic_that_may_not_be_read_is_reported_once_until_it_is_heard(
    strict: Broker, topic_prefix: str
) -> None:
    topic, admin = f"{topic_prefix}-signal", AdminClient({"bootstrap.servers": strict.bootstrap})
    prepare_signals(admin, topic, 1)
    pattern = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{USER}", "*", AclOperation.READ)
    for made in admin.create_acls([AclBinding(*pattern, AclPermissionType.DENY)]).values():
        made.result(20)
    rights = AclBindingFilter(*pattern, AclPermissionType.DENY)
    until(lambda: bool(admin.describe_acls(rights).result(20)), "the broker knows of it")
    reader = opened(f"{HOST}:{strict.ways['login']}", topic, **LOGIN)
    (told,) = heard(reader, 1)
    assert isinstance(told, WracklineError)
    assert (told.code, topic in told.sentence, f"--topic '{topic}'" in told.hint) == (
        "kafka.signals_unheard",
        True,
        True,
    )
    send(strict.bootstrap, topic, b"server")
    assert [reader.take() for _ in range(50)] == [[]] * 50
    for gone in admin.delete_acls([rights]).values():
        gone.result(20)
    assert ids(heard(reader, 1)) == [f"{topic}-0"]
    reader.close()


@pytest.mark.servers
def test_the_end_of_the_topic_is_the_place_of_who_has_read_all(kafka: Broker, topic_prefix: str) -> None:
    topic = f"{topic_prefix}-signal"
    prepare_signals(AdminClient({"bootstrap.servers": kafka.bootstrap}), topic, 1)
    settings = client(kafka.bootstrap).reader(Identity("group", topic, 0, 1))
    reader, end = opened(kafka.bootstrap, topic), SignalTopicEnd(settings, topic)
    absent = SignalTopicEnd(settings, f"{topic_prefix}-absent")
    found: list[object] = []

    def both_are_at(place: int) -> bool:
        found.extend(reader.take())
        return reader.place == end() == place

    until(lambda: both_are_at(0), "an empty topic is read")
    send(kafka.bootstrap, topic, b"server", b"another")
    until(lambda: both_are_at(2), "what has come is read")
    assert ids(found) == [f"{topic}-0"]
    assert absent() is None
    reader.close()
    end.close()
    absent.close()

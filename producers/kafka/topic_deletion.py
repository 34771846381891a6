"""Topics deleted, and waited for: a broker says yes before a topic has left every list.

In: names.  Out: none of them exists.  A topic that is gone already is not an error, so the same call finishes
what a crash interrupted.
"""

from collections.abc import Callable, Collection
from typing import Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from wrackline.producers.kafka.failures import UNREACHABLE, of_request
from wrackline.schemas.errors import OperatorNeeded, define

SECONDS: Final = 30.0  # for an answer of the brokers
_LOOK: Final = 0.1

NOT_DELETED = define(
    "kafka.topic_not_deleted",
    OperatorNeeded,
    "topic {topic} can't be deleted: {name}",
    hint="let the brokers delete topics (delete.topic.enable=true), and grant the right: kafka-acls"
    " --bootstrap-server <brokers> --add --operation Delete --topic '{topic}' --allow-principal"
    " User:<user>; then repeat the command",
)
_REFUSED: Final = frozenset(
    {
        KafkaError.TOPIC_DELETION_DISABLED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.POLICY_VIOLATION,
    }
)


def list_topics(admin: AdminClient) -> frozenset[str]:
    """Return every topic that we may see."""
    try:
        return frozenset(admin.list_topics(timeout=SECONDS).topics)
    except KafkaException as exc:
        raise of_request(exc, seconds=SECONDS) from exc


def delete_topics(
    admin: AdminClient, topics: Collection[str], clock: Callable[[], float], wait: Callable[[float], object]
) -> None:
    """Delete these, and return when no list has them anymore."""
    if not topics:
        return
    for topic, future in admin.delete_topics(sorted(topics), operation_timeout=SECONDS).items():
        try:
            future.result()
        except KafkaException as exc:
            error: KafkaError = exc.args[0]
            if error.code() in _REFUSED:
                raise NOT_DELETED(topic=topic, name=error.name()) from exc
            if error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise of_request(exc, topic, seconds=SECONDS) from exc
    deadline = clock() + SECONDS
    while list_topics(admin) & set(topics):
        if clock() > deadline:
            raise UNREACHABLE(who="the admin client", seconds=SECONDS)
        wait(_LOOK)

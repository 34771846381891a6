"""Topics of tables and control records, made when they are first written to.

A topic that exists stays as it is.  A new topic gets its partitions, replicas and settings from the group
whose patterns it matches, else from the default, named as in Kafka Connect (`topic.creation.*`); it
takes records as large as the largest row makes them.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AclOperation,
    AdminClient,
    NewTopic,
)

from wrackline.producers.kafka.failures import TopicRefusedError, of_request
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.settings.settings_registry import DEFAULT_GROUP, Values

SECONDS: Final = 30.0

NOT_MADE = define(
    "kafka.topic_not_made",
    OperatorNeeded,
    "topic {topic} can't be created: {name}",
    hint="check topic.creation.*, or create it: kafka-topics --bootstrap-server <brokers> --create --topic"
    " '{topic}'",
)

_UNHEALED: Final = frozenset(
    {KafkaError.INVALID_REPLICATION_FACTOR, KafkaError.INVALID_CONFIG, KafkaError.POLICY_VIOLATION}
)


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """How the topics of one group are made."""

    partitions: int = 1
    replication: int = -1
    config: Mapping[str, str] = field(default_factory=dict)
    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()

    def takes(self, topic: str) -> bool:
        """Return whether a topic belongs to this group."""
        return any(p.fullmatch(topic) for p in self.include) and not any(
            p.fullmatch(topic) for p in self.exclude
        )


@dataclass(frozen=True, slots=True)
class TopicCreation:
    """The groups, in the order in which they are checked, and the default for all other topics."""

    default: TopicGroup = field(default_factory=TopicGroup)
    groups: tuple[TopicGroup, ...] = ()

    def of(self, topic: str) -> TopicGroup:
        """Return the first group that takes the topic."""
        return next((group for group in self.groups if group.takes(topic)), self.default)


def read_creation(values: Values) -> TopicCreation:
    """Read `topic.creation.*`."""
    names = values.get("topic.creation.groups")
    default = _group(values, DEFAULT_GROUP, TopicGroup())
    listed = names if isinstance(names, tuple) else ()
    return TopicCreation(default, tuple(_group(values, name, default) for name in listed))


def _group(values: Values, name: str, default: TopicGroup) -> TopicGroup:
    own = values.below(f"topic.creation.{name}.")

    def number(setting: str, otherwise: int) -> int:
        value = own.pop(setting, otherwise)
        return int(value) if isinstance(value, int | str) else otherwise

    def patterns(setting: str) -> tuple[re.Pattern[str], ...]:
        value = own.pop(setting, ())
        return tuple(map(re.compile, value)) if isinstance(value, tuple) else ()

    partitions = number("partitions", default.partitions)
    replication = number("replication.factor", default.replication)
    include, exclude = patterns("include"), patterns("exclude")
    config = {**default.config, **{key: str(value) for key, value in own.items()}}
    return TopicGroup(partitions, replication, config, include, exclude)


class TopicCreator:
    """Makes topics that are missing, each once; and finds those that we may not write."""

    def __init__(self, admin: AdminClient, creation: TopicCreation, most_record_bytes: int) -> None:
        self._admin, self._creation, self._most = admin, creation, most_record_bytes
        self._there: set[str] = set()

    def ensure(self, topics: Iterable[str]) -> None:
        """Make the topics that do not exist."""
        wanted = [topic for topic in dict.fromkeys(topics) if topic not in self._there]
        if not wanted:
            return
        futures = self._admin.create_topics([self._new(topic) for topic in wanted], operation_timeout=SECONDS)
        for topic, future in futures.items():
            try:
                future.result()
            except KafkaException as exc:
                error: KafkaError = exc.args[0]
                if error.code() in _UNHEALED:
                    raise TopicRefusedError(topic, NOT_MADE(topic=topic, name=error.name())) from exc
                if error.code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    meant = of_request(exc, topic, seconds=SECONDS)
                    raise (
                        meant if isinstance(meant, Transient) else TopicRefusedError(topic, meant)
                    ) from exc
            self._there.add(topic)

    def unwritable(self, topics: Collection[str]) -> str | None:
        """Return one of them that we may not write, if the broker reports it."""
        asked = TopicCollection(sorted(topics))
        futures = self._admin.describe_topics(
            asked, include_authorized_operations=True, request_timeout=SECONDS
        )
        for topic, future in futures.items():
            try:
                rights = future.result().authorized_operations
            except KafkaException:
                continue  # nothing is known about this topic
            if rights is not None and AclOperation.WRITE not in rights:
                return str(topic)
        return None

    def _new(self, topic: str) -> NewTopic:
        group = self._creation.of(topic)
        config = {"max.message.bytes": str(self._most), **group.config}
        return NewTopic(topic, group.partitions, group.replication, config=config)

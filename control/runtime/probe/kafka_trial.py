"""A transaction that is committed and read back, and one that is aborted and not read.

    topic, made as tables' topics are made -> begin, a record as large as a row, commit -> begin, abort
    -> begin, the last record, commit -> a reader with read_committed
    -> the other servers are tried -> the topic is deleted

The topic and the transactional id are this assessment's own, so nobody else is fenced.  The topic has the
time at which a broker took each record, which shows its clock.  It stays until the end, because its name says
to a later assessment what this one may have left elsewhere.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined] # it offers these without saying so
    AdminClient,
    ConfigResource,
    ResourceType,
)

from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.probe.clocks import ClockReading
from wrackline.producers.contract.trials import Measures, Trial, left_stamps
from wrackline.producers.failpoints import reach
from wrackline.producers.kafka.client import Client, Identity, Settings
from wrackline.producers.kafka.failures import DENIED, UNREACHABLE, of_exception
from wrackline.producers.kafka.topic_creation import TopicCreation, TopicCreator, read_creation
from wrackline.producers.kafka.topic_deletion import delete_topics, list_topics
from wrackline.schemas.errors import Definite, OperatorNeeded, define
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.settings.settings_registry import Values

REPLICAS_FEW = rule(
    "kafka.replicas_few",
    Severity.WARNING,
    "Topics have fewer replicas than must be in sync",
    "a topic of this pipeline has {replicas} replicas, and its min.insync.replicas is {least}",
    "older brokers refuse every record, and newer ones keep fewer copies than was meant",
    "let topics have more replicas: topic.creation.default.replication.factor = {least}; or need fewer:"
    " topic.creation.default.min.insync.replicas = {replicas}",
)
NOT_ISOLATED = define(
    "kafka.not_isolated",
    Definite,
    "a reader of committed records got other records than those that were committed: {count} instead of 2",
    hint="Kafka, or what is called Kafka here, has no transactions; use brokers of Apache Kafka 3 or newer",
)

LIMIT_SMALL = rule(
    "kafka.message_limit_small",
    Severity.WARNING,
    "A topic takes no record as large as a row",
    "topic {topic} takes {limit} bytes, and an update of the widest row that was read has {bytes}",
    "its table is set aside at the first such record that does not become smaller when it is compressed",
    "kafka-configs --bootstrap-server <brokers> --alter --entity-type topics --entity-name '{topic}'"
    " --add-config max.message.bytes={more}",
)

ID_DENIED = define(
    "kafka.trial_denied",
    OperatorNeeded,
    "Kafka rejects {who}: {name}",
    hint="check kafka.sasl.*, and grant the rights by prefix, because each trial has another id: kafka-acls"
    " --bootstrap-server <brokers> --add --producer --resource-pattern-type prefixed"
    " --transactional-id '{prefix}' --topic '{prefix}' --allow-principal User:<user>",
    connects=True,
)

PATIENCE_S: Final = 10.0
_MOST_PAYLOAD: Final = 8 << 20
_LEAST_PAYLOAD: Final = 1000


class KafkaTrial:
    """Tries a pipeline's Kafka."""

    def __init__(self, values: Values, stamp: str, widest: Callable[[], int]) -> None:
        """Take also what returns the bytes of the largest row that was read."""
        self._values, self._widest = values, widest
        name = values.text("name")
        self._before = f"{group_of(name)}-probe-"
        self.topic = f"{self._before}{stamp}"
        self._is_made = False
        self.left: Sequence[str] = ()  # the stamps of assessments that were killed
        self._client = Client(values.below("kafka."), values.integer("max.row.bytes"))
        self._identity = Identity(group_of(name), f"{name}.trial-{stamp}", 0, 0)
        self.replicas = 1
        self.findings: list[Finding] = []  # beside the trial's own
        self.clock: ClockReading | None = None
        self._before_ms = self._after_ms = 0  # around the last record

    @property
    def transactional_id(self) -> str:
        """The id of its transactions."""
        return self._identity.transactional_id

    def trial(self) -> Trial:
        """Return the trial."""
        return Trial("transaction", "a transaction is committed, another aborted", self._run)

    def _run(self) -> Measures:
        admin = AdminClient(self._client.admin())
        self.left = left_stamps(list_topics(admin), self._before, time.time())
        self._is_made = True  # also of one whose creation was not answered
        self._make(admin)
        reach("probe_topic")
        began = time.monotonic()
        try:
            sent = self._send()
        finally:
            seconds = round(time.monotonic() - began, 3)
            self._look_at_replicas(admin)
        self._read_back(sent)
        return {"seconds": seconds, "replicas": self.replicas, "recordBytes": len(sent)}

    def end(self, *, own: bool, others: bool) -> None:
        """Delete the own topic, and those of other assessments that were killed or left something."""
        stamps = self.left if others else ()
        ours = [self.topic] if own and self._is_made else []
        topics = [*ours, *(f"{self._before}{stamp}" for stamp in stamps)]
        if topics:
            delete_topics(AdminClient(self._client.admin()), topics, time.monotonic, time.sleep)

    def _make(self, admin: AdminClient) -> None:
        group = read_creation(self._values).of(self.topic)
        config = {**group.config, "message.timestamp.type": "LogAppendTime"}
        made = replace(group, partitions=1, config=config)
        TopicCreator(admin, TopicCreation(made), self._client.most_record_bytes).ensure([self.topic])

    def _look_at_replicas(self, admin: AdminClient) -> None:
        """Compare the replicas with those that must be in sync; after a record, when there is a leader."""
        try:
            found = admin.list_topics(self.topic, timeout=PATIENCE_S).topics[self.topic].partitions
            least = int(topic_config(admin, self.topic).get("min.insync.replicas", "1"))
        except KafkaException:
            return  # we may not see it
        self.replicas = max([1, *(len(one.replicas) for one in found.values())])
        if found and self.replicas < least:
            self.findings.append(REPLICAS_FEW(replicas=self.replicas, least=least))

    def _send(self) -> bytes:
        settings: Settings = {
            **self._client.producer(self._identity),
            "message.timeout.ms": int(PATIENCE_S * 1000),
        }
        producer = Producer(settings)
        payload = os.urandom(max(_LEAST_PAYLOAD, min(2 * self._widest(), _MOST_PAYLOAD)))
        failed: list[KafkaError] = []

        def arrived(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failed.append(error)

        def put(value: bytes) -> None:
            producer.begin_transaction()
            producer.produce(self.topic, value, partition=0, on_delivery=arrived)
            producer.flush(PATIENCE_S)
            if failed:
                raise KafkaException(failed[0])

        try:
            producer.init_transactions(PATIENCE_S)
            put(payload)
            reach("probe_open")
            producer.commit_transaction(PATIENCE_S)
            put(b"aborted")
            producer.abort_transaction(PATIENCE_S)
            self._before_ms = now_ms()
            put(b"last")
            self._after_ms = now_ms()
            producer.commit_transaction(PATIENCE_S)
            reach("probe_committed")
        except KafkaException as exc:
            who = self.transactional_id
            error = of_exception(exc, who, self.topic)
            if error.code == DENIED.code:
                error = ID_DENIED(who=who, name=exc.args[0].name(), prefix=self._identity.group)
            raise error from exc
        finally:
            producer.purge()
        return payload

    def _read_back(self, sent: bytes) -> None:
        consumer = Consumer(self._client.reader(self._identity))
        values, written = list[bytes](), 0
        deadline = time.monotonic() + PATIENCE_S
        try:
            consumer.assign([TopicPartition(self.topic, 0, 0)])
            while time.monotonic() < deadline:
                message = consumer.poll(PATIENCE_S)
                error = None if message is None else message.error()
                if message is None or error is not None:
                    if error is not None and error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                        break
                    raise UNREACHABLE(who=self.transactional_id, seconds=PATIENCE_S)
                values.append(bytes(message.value() or b""))
                written = message.timestamp()[1]
        finally:
            consumer.close()
        if values != [sent, b"last"]:
            raise NOT_ISOLATED(count=len(values))
        self.clock = ClockReading("Kafka", written, self._before_ms, self._after_ms)


def limit_findings(client: Client, topics: Iterable[str], widest: int) -> Iterator[Finding]:
    """Report topics that exist and take smaller records than an update of the widest row that was read."""
    admin = AdminClient(client.admin())
    try:
        there = admin.list_topics(timeout=PATIENCE_S).topics
        limits = {topic: topic_config(admin, topic) for topic in topics if topic in there}
    except KafkaException:
        return  # the transaction shows it
    for topic, config in limits.items():
        limit = int(config.get("max.message.bytes", client.most_record_bytes))
        if limit < 2 * widest:
            yield LIMIT_SMALL(topic=topic, limit=limit, bytes=2 * widest, more=client.most_record_bytes)


def topic_config(admin: AdminClient, topic: str) -> dict[str, str]:
    """Return a topic's settings as the brokers apply them."""
    [answer] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
    return {name: str(entry.value) for name, entry in answer.result(PATIENCE_S).items()}

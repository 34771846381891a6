"""Kafka's side of a round: which topics there are, how far they may be read, and their bytes.

    ranges     topic + applied offsets -> the offsets to read, up to the last stable ones
    read       ranges -> frame of key, value, partition, offset

Aborted records never appear: the end is the last *stable* offset, and Spark reads `read_committed`.
Gaps between offsets are control records, not loss; loss is an offset that the topic no longer has, and
is an error, never skipped.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from pyspark.sql import DataFrame, SparkSession

from wrackline.schemas.errors import Definite, Transient, define

OFFSETS_GONE = define(
    "consume.offsets_gone",
    Definite,
    "{topic}-{partition} begins at offset {first}, but the table has applied only up to {applied}",
    hint="read the table again: wrackline snapshot start <pipeline.toml> '{table}';"
    " keep events longer: retention.ms",
)
TOPIC_CUT = define(
    "consume.topic_cut",
    Definite,
    "{topic}-{partition} ends at offset {end}, but the table has applied up to {applied}",
    hint="the topic was made anew; read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)
KAFKA_UNREACHABLE = define(
    "consume.kafka_unreachable",
    Transient,
    "Kafka at {brokers} did not answer",
    hint="try: kcat -b {brokers} -L",
)

_TIMEOUT = 10.0  # seconds for one question to Kafka
_PARTS = 4  # server.database.schema.table


@dataclass(frozen=True, slots=True)
class Range:
    """What to read of one topic: by partition, from (inclusive) and to (exclusive)."""

    topic: str
    start: Mapping[int, int]
    end: Mapping[int, int]

    @property
    def empty(self) -> bool:
        """Whether there is no news."""
        return self.start == self.end


class Topics:
    """Asks one Kafka cluster about topics; holds one client for as long as it lives."""

    def __init__(self, brokers: str) -> None:
        self.brokers = brokers
        self._client = AdminClient({"bootstrap.servers": brokers})

    def of_server(self, server: str) -> list[str]:
        """Name the topics with rows of a server."""
        try:
            known = self._client.list_topics(timeout=_TIMEOUT).topics
        except KafkaException as exc:
            raise KAFKA_UNREACHABLE(brokers=self.brokers) from exc
        parted = {topic: topic.split(".") for topic in known}
        return sorted(t for t, parts in parted.items() if parts[0] == server and len(parts) == _PARTS)

    def ranges(self, topic: str, applied: Mapping[int, int]) -> Range:
        """Return what the table has not applied; a partition it does not know is read from its beginning."""
        try:
            partitions = self._client.list_topics(topic, timeout=_TIMEOUT).topics[topic].partitions
        except KafkaException as exc:
            raise KAFKA_UNREACHABLE(brokers=self.brokers) from exc
        # First the ends: what is deleted meanwhile then shows as lost instead of as an empty range.
        ends = self._offsets(topic, list(partitions), OffsetSpec.latest())  # type: ignore[no-untyped-call]  # the client's gap
        firsts = self._offsets(topic, list(partitions), OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # as above
        return checked(topic, applied, firsts, ends)

    def _offsets(self, topic: str, partitions: list[int], which: OffsetSpec) -> dict[int, int]:
        asked = {TopicPartition(topic, partition): which for partition in partitions}
        answers = self._client.list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_TIMEOUT
        )
        try:
            return {partition.partition: answer.result().offset for partition, answer in answers.items()}
        except KafkaException as exc:
            raise KAFKA_UNREACHABLE(brokers=self.brokers) from exc


def checked(
    topic: str, applied: Mapping[int, int], firsts: Mapping[int, int], ends: Mapping[int, int]
) -> Range:
    """Return the range from what is applied to the ends, unless events between them are gone."""
    table = topic.partition(".")[2]
    for partition, offset in applied.items():
        if partition not in ends or ends[partition] < offset:
            raise TOPIC_CUT(
                topic=topic, partition=partition, end=ends.get(partition, 0), applied=offset, table=table
            )
        if firsts[partition] > offset:
            raise OFFSETS_GONE(
                topic=topic, partition=partition, first=firsts[partition], applied=offset, table=table
            )
    return Range(topic, {partition: applied.get(partition, firsts[partition]) for partition in ends}, ends)


def read(session: SparkSession, brokers: str, wanted: Range) -> DataFrame:
    """Return the records of a range as bytes: key, value, partition, offset."""
    return (
        session.read.format("kafka")
        .option("kafka.bootstrap.servers", brokers)
        .option("kafka.isolation.level", "read_committed")
        .option("failOnDataLoss", "true")
        # A range ends in a control record, after which the broker would wait for more than was asked.
        .option("kafka.fetch.max.wait.ms", "20")
        .option("subscribe", wanted.topic)
        .option("startingOffsets", json.dumps({wanted.topic: {str(p): o for p, o in wanted.start.items()}}))
        .option("endingOffsets", json.dumps({wanted.topic: {str(p): o for p, o in wanted.end.items()}}))
        .load()
        .select("key", "value", "partition", "offset")
    )

"""What a consumer asks Kafka besides the records: which topics there are, and how far they may be read.

    ends      every topic of a server, and the last stable offset of each of its partitions
    range_of  one topic's ends + the offsets that a table has applied -> what it has to read
    known_by  one topic, and the id by which the table knows it -> the same with Kafka's id of now

Aborted records never appear: an end is the last *stable* offset.  Offsets that the topic no longer has are
an error, never skipped; so is a topic with another id than the table knows: its offsets count something
else, however far they reach.  The ends are asked for before the beginnings, so that what is deleted meanwhile
shows as lost and not as an empty range.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition, Uuid
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # it is public

from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.kafka.client_settings import Settings
from wrackline.schemas.errors import Definite, Transient, WracklineError, define
from wrackline.schemas.kafka import login_errors
from wrackline.schemas.kafka.topic_names import Naming, is_of_table
from wrackline.schemas.redaction import Redactor, Secret
from wrackline.schemas.settings.declared.kafka_client_settings import SECRET

OFFSETS_GONE = define(
    "consume.offsets_gone",
    Definite,
    "{topic}-{partition} begins at offset {first}, but the table has applied only up to {applied}",
    hint="drop the table in the target, then read its rows again: wrackline snapshot start <pipeline.toml>"
    " '{table}'; and start it again: wrackline consume <pipeline.toml>; keep events longer: retention.ms",
)
TOPIC_CUT = define(
    "consume.topic_cut",
    Definite,
    "topic {topic} was deleted and created again since its table was merged: {sign}",
    hint="drop the table in the target, then read its rows again: wrackline snapshot start <pipeline.toml>"
    " '{table}'; and start it again: wrackline consume <pipeline.toml>",
)
KAFKA_UNREACHABLE = define(
    "consume.kafka_unreachable",
    Transient,
    "Kafka at {brokers} did not answer",
    hint="it is waited for; whether it lets us in: wrackline check <pipeline.toml>",
    connects=True,
)

_TIMEOUT = 10.0  # seconds for one question to Kafka
_UNSIGNED = 2**64 - 1

Ends = Mapping[str, Mapping[int, int]]  # by topic and partition: the next offset that nobody may read yet


class TopicOffsets:
    """Asks one Kafka cluster; holds one client for as long as it lives."""

    def __init__(self, settings: Settings) -> None:
        self._brokers = settings["bootstrap.servers"]
        clean = Redactor(Secret(str(settings[name])) for name in SECRET & settings.keys()).clean
        protocol = str(settings.get("security.protocol", "plaintext"))
        self._heard = login_errors.LoginErrors(protocol, clean, settings.get("logger"))
        try:
            heard: dict[str, Any] = {"error_cb": self._heard.error, "logger": self._heard}
            self._client = AdminClient({**settings, **heard})
        except KafkaException as exc:
            reason = clean(exc.args[0].str())
        else:
            return
        raise login_errors.CLIENT_REFUSED(reason=reason)  # out here, so that frames with secrets go

    def ends(self, server: str, naming: Naming) -> Ends:
        """Return how far each topic with rows of a server may be read; one that can't say now is left out."""
        return self.ends_of(lambda topic: is_of_table(server, topic, naming))

    def ends_of(self, wanted: Callable[[str], bool]) -> Ends:
        """Return the same for the topics whose names are wanted."""
        try:
            known = self._client.list_topics(timeout=_TIMEOUT).topics
        except KafkaException as exc:
            raise self._why_not() from exc
        ours = [topic for topic in known if wanted(topic)]
        partitions = [TopicPartition(topic, number) for topic in ours for number in known[topic].partitions]
        found: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for partition, end in self._offsets(partitions, OffsetSpec.latest()).items():  # type: ignore[no-untyped-call]  # the client's gap
            found[partition.topic][partition.partition] = end
        whole = {topic: ends for topic, ends in found.items() if len(ends) == len(known[topic].partitions)}
        if ours and not whole:
            raise KAFKA_UNREACHABLE(brokers=self._brokers)
        return whole

    def range_of(self, topic: str, applied: Mapping[int, int], ends: Mapping[int, int]) -> BatchRange:
        """Return what the table has not applied; a partition that it does not know is read from its start."""
        partitions = [TopicPartition(topic, number) for number in ends]
        found = self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]  # as above
        firsts = {partition.partition: first for partition, first in found.items()}
        if firsts.keys() != ends.keys():
            raise KAFKA_UNREACHABLE(brokers=self._brokers)
        return check_range(topic, applied, firsts, ends)

    def marks(self, topic: str, known: Collection[int]) -> Mapping[int, int]:
        """Return where the written part of these partitions ends, with what is not committed yet."""
        partitions = [TopicPartition(topic, number) for number in known]
        latest = self._offsets(partitions, OffsetSpec.latest(), IsolationLevel.READ_UNCOMMITTED)  # type: ignore[no-untyped-call]  # as above
        return {partition.partition: end for partition, end in latest.items()}

    def written(self, ends: Ends) -> Ends:
        """Return how far each partition is written; records of open transactions are there, too."""
        partitions = [TopicPartition(topic, number) for topic, known in ends.items() for number in known]
        found: defaultdict[str, dict[int, int]] = defaultdict(dict)
        level = IsolationLevel.READ_UNCOMMITTED
        for partition, end in self._offsets(partitions, OffsetSpec.latest(), level).items():  # type: ignore[no-untyped-call]  # as above
            found[partition.topic][partition.partition] = end
        return found

    def first_offsets(self, ends: Ends) -> Ends:
        """Return the first offset that each partition still has; those that can't say now are left out."""
        partitions = [TopicPartition(topic, number) for topic, known in ends.items() for number in known]
        found: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for partition, first in self._offsets(partitions, OffsetSpec.earliest()).items():  # type: ignore[no-untyped-call]  # as above
            found[partition.topic][partition.partition] = first
        return found

    def with_topic_id(self, topic: str, before: Applied) -> Applied:
        """Return what is applied with the topic's id, unless the table knows another id."""
        answer = self._client.describe_topics(
            TopicCollection([topic]), request_timeout=_TIMEOUT
        )  # Kafka before 2.8 has no ids, and says zeros
        try:
            found = answer[topic].result().topic_id
        except KafkaException as exc:
            raise KAFKA_UNREACHABLE(brokers=self._brokers) from exc
        return same_topic(topic, before, _hex(found))

    def _why_not(self) -> WracklineError:
        """Say why Kafka did not answer: it refuses us, or it is away."""
        self._client.poll(0)  # hands over what else it said
        refusal = self._heard.refusal
        if refusal is None or refusal.code == login_errors.HUNG_UP.code:  # a broker that stops does so, too
            return KAFKA_UNREACHABLE(brokers=self._brokers)
        return refusal

    def _offsets(
        self,
        partitions: list[TopicPartition],
        which: OffsetSpec,
        level: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[TopicPartition, int]:
        """Return the offsets of those partitions whose leaders answer."""
        if not partitions:
            return {}
        found = {}
        answers = self._client.list_offsets(
            dict.fromkeys(partitions, which),
            isolation_level=level,
            request_timeout=_TIMEOUT,
        )
        for partition, answer in answers.items():
            try:
                found[partition] = answer.result().offset
            except KafkaException:  # its leader is away; the others continue
                continue
        return found


def check_range(
    topic: str, applied: Mapping[int, int], firsts: Mapping[int, int], ends: Mapping[int, int]
) -> BatchRange:
    """Return the range from what is applied to the ends, unless events between them are gone."""
    table = topic.partition(".")[2]
    for partition, offset in applied.items():
        if partition not in ends or ends[partition] < offset:
            sign = f"partition {partition} ends at {ends.get(partition, 0)}, and {offset} is applied"
            raise TOPIC_CUT(topic=topic, sign=sign, table=table)
        if firsts[partition] > offset:
            raise OFFSETS_GONE(
                topic=topic, partition=partition, first=firsts[partition], applied=offset, table=table
            )
    return BatchRange(
        topic, {partition: applied.get(partition, firsts[partition]) for partition in ends}, ends
    )


def same_topic(topic: str, before: Applied, its_id: str | None) -> Applied:
    """Add a topic's id to what is applied; what is applied of another topic of that name is worth nothing."""
    known = before.topic_ids.get(topic)
    if its_id is None:
        return before
    if known is not None and known != its_id:
        sign = f"its id was {known} and is {its_id}"
        raise TOPIC_CUT(topic=topic, sign=sign, table=topic.partition(".")[2])
    return before.then(Applied(topic_ids={topic: its_id}))


def _hex(given: Uuid) -> str | None:
    parts = (given.get_most_significant_bits(), given.get_least_significant_bits())  # type: ignore[attr-defined]  # the client's gap
    return "".join(f"{part & _UNSIGNED:016x}" for part in parts) if any(parts) else None

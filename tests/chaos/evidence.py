"""What a run left behind, read into plain values: topics, offsets, ledger, tables, what the slot said.

Nothing here decides what is right; `checks.py` does, over `Evidence` alone.
"""

import io
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.request import urlopen

import fastavro
import orjson
from confluent_kafka import Consumer, IsolationLevel, KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined] # it offers this unsaid

from wrackline.producers.sources.postgres.log.position import lsn_number
from wrackline.schemas.kafka import offsets_records
from wrackline.schemas.kafka.topic_names import control_topics

Key = tuple[str, int]  # table, id


@dataclass(frozen=True, slots=True)
class Record:
    """One record as Kafka has it."""

    topic: str
    partition: int
    offset: int
    ms: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Event:
    """One row event; `n` is unknown of a delete whose log has only the key."""

    table: str
    partition: int
    offset: int
    id: int
    op: str
    n: int | None
    seq: str
    xid: int
    size: int = 0

    @property
    def key(self) -> Key:
        """Whose event."""
        return self.table, self.id


@dataclass(frozen=True, slots=True)
class Numbered:
    """The `seq` of one event of any table, where it lies; a `t` has no key in a table that has one."""

    topic: str
    partition: int
    offset: int
    keyed: bool
    op: str
    seq: str


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The record without a value that follows a delete."""

    table: str
    partition: int
    offset: int
    id: int


@dataclass(frozen=True, slots=True)
class Write:
    """One line of the ledger: an event that must be published."""

    table: str
    id: int
    op: str
    n: int
    xid: int

    @property
    def key(self) -> Key:
        """Whose change."""
        return self.table, self.id


@dataclass(frozen=True, slots=True)
class Told:
    """How far the slot was confirmed at a moment."""

    ms: int
    confirmed: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A record of the offsets partition: a transaction's begin, or its end with the position."""

    ms: int
    generation: int
    n: int
    ends: bool
    resume: int = 0
    position: bytes = b""
    previous: bytes | None = None
    events: int = 0
    checksum: int = 0


@dataclass(frozen=True)
class Evidence:
    """All of one run."""

    events: Sequence[Event]  # what read_committed shows; each partition in its order
    tombstones: Sequence[Tombstone]
    attempts: Sequence[Event]  # what read_uncommitted shows: also what was aborted and sent again
    writes: Sequence[Write]  # in the order of each key's changes
    rows: Mapping[Key, int]  # what the tables hold now: n of each row
    numbered: Sequence[Numbered] = ()  # every committed event, in the order of each partition
    told: Sequence[Told] = ()
    marks: Sequence[Mark] = ()
    records: int = 0  # committed ones of all topics
    checksum: int = 0  # of their values
    whole: frozenset[str] = field(default_factory=frozenset)  # tables whose deletes say n


class Reader:
    """Reads all topics of one prefix; a second `read` gives only what came since."""

    def __init__(self, bootstrap: str, isolation: str = "read_committed") -> None:
        self._bootstrap, self._isolation = bootstrap, isolation
        self._next: dict[tuple[str, int], int] = {}

    def read(self, topics: Iterable[str], patience: float = 60.0) -> list[Record]:
        """Every record up to the end of each topic; partition by partition in order."""
        reader = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "chaos",
                "isolation.level": self._isolation,
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 10,
                "allow.auto.create.topics": False,
            }
        )
        try:
            wanted = frozenset(topics)
            known = reader.list_topics(timeout=patience).topics
            left = {(name, number) for name in wanted & known.keys() for number in known[name].partitions}
            reader.assign([TopicPartition(*place, self._next.get(place, 0)) for place in sorted(left)])
            found: list[Record] = []
            deadline = time.monotonic() + patience
            while left:
                message = reader.poll(1.0)
                assert time.monotonic() < deadline, f"these can't be read to their end: {sorted(left)}"
                if message is not None:
                    self._take(message, left, found)
            return sorted(found, key=lambda record: (record.topic, record.partition, record.offset))
        finally:
            reader.close()

    def _take(self, message: Message, left: set[tuple[str, int]], found: list[Record]) -> None:
        error = message.error()
        topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
        if error is None:
            key, value = message.key(), message.value()
            assert not isinstance(key, str)
            assert not isinstance(value, str)
            found.append(Record(topic, partition, offset, message.timestamp()[1], key, value))
            self._next[topic, partition] = offset + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            left.discard((topic, partition))
        else:
            assert error.retriable() or error.code() in _PASSING, error


_PASSING = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT}


def topics_of(bootstrap: str, prefix: str) -> list[str]:
    """The topics of one server name, also that of its heartbeats; internal ones aside."""
    known = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=30).topics
    own = (prefix, control_topics(prefix).heartbeat)
    return sorted(name for name in known if name in own or name.startswith(prefix + "."))


def settled(bootstrap: str, topics: Sequence[str]) -> bool:
    """Whether no transaction hides anything at the end of these topics."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    known = admin.list_topics(timeout=30).topics
    places = [TopicPartition(name, number) for name in topics for number in known[name].partitions]
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call] # the client leaves it without types
    ends = []
    for isolation in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
        asked = admin.list_offsets(dict.fromkeys(places, latest), isolation_level=isolation)
        ends.append([asked[place].result(30).offset for place in places])
    return ends[0] == ends[1]


class Decoder:
    """Reads Avro with the registry's schemas and a reader that is not ours."""

    def __init__(self, registry: str) -> None:
        self._registry = registry
        self._schemas: dict[int, Any] = {}

    def decode(self, raw: bytes) -> dict[str, Any]:
        """A key or a value as a map."""
        assert raw[0] == 0
        number = int.from_bytes(raw[1:5], "big")
        if number not in self._schemas:
            where = f"{self._registry}/schemas/ids/{number}"
            with urlopen(where, timeout=30) as answer:  # noqa: S310 - our own stack's registry
                text = orjson.loads(answer.read())["schema"]
            self._schemas[number] = fastavro.parse_schema(orjson.loads(text))
        body = io.BytesIO(raw[5:])
        decoded: Any = fastavro.schemaless_reader(body, self._schemas[number], None)
        assert not body.read(), "bytes are left behind the value"
        return dict(decoded)


def events_of(records: Iterable[Record], decoder: Decoder) -> tuple[list[Event], list[Tombstone]]:
    """The row events, and the tombstones."""
    events: list[Event] = []
    tombstones: list[Tombstone] = []
    for record in records:
        if record.key is None or record.topic.count(".") != 3:
            continue  # a control topic's
        table = record.topic.rpartition(".")[2]
        keys = decoder.decode(record.key)
        if "id" not in keys:
            continue  # no table of the writers
        place = (table, record.partition, record.offset, keys["id"])
        if record.value is None:
            tombstones.append(Tombstone(*place))
            continue
        value = decoder.decode(record.value)
        image = value["before"] if value["op"] == "d" else value["after"]
        seen = image["n"] if image is not None else None
        source = value["source"]
        events.append(Event(*place, value["op"], seen, value["seq"], source["txId"], len(record.value)))
    return events, tombstones


def numbered_of(records: Iterable[Record], decoder: Decoder) -> list[Numbered]:
    """What each event of a table's topic says of its place in the log."""
    values = (
        (record, decoder.decode(record.value))
        for record in records
        if record.value is not None and record.topic.count(".") == 3
    )
    return [
        Numbered(*place_of(record), record.key is not None, value["op"], value["seq"])
        for record, value in values
    ]


def place_of(record: Record) -> tuple[str, int, int]:
    """Where it lies."""
    return record.topic, record.partition, record.offset


def marks_of(records: Iterable[Record]) -> list[Mark]:
    """The begins and ends of a task's transactions, in order."""
    found = []
    for record in records:
        place = offsets_records.RecordPlace(record.topic, record.partition, record.offset)
        match offsets_records.parse(place, record.key, record.value).value:
            case offsets_records.BeginRecord(generation, n):
                found.append(Mark(record.ms, generation, n, ends=False))
            case offsets_records.Offset() as end:
                position = orjson.loads(end.position)
                found.append(
                    Mark(
                        record.ms,
                        end.generation,
                        end.n,
                        ends=True,
                        resume=lsn_number(position["resume"]) if "resume" in position else 0,
                        position=end.position,
                        previous=end.previous,
                        events=end.events,
                        checksum=end.checksum,
                    )
                )
            case _:
                pass
    return found

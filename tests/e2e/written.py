"""A table's topic, written by hand as a source's worker writes it: transactions of events in our format."""

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]  # it is public
from confluent_kafka.cimpl import NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.schemas.events.envelope import dump, key_schema, value_schema
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind, exact_number

ID = Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False)
AMOUNT = Column("amount", 2, exact_number("numeric(10,2)", 10, 2), nullable=False)
NOTE = Column("note", 3, ColumnType(Kind.STRING, "text"))
AT = Column("at", 4, ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz"))
NOON = datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=UTC)
TEXT = "2026-01-02T12:00:00.123456Z"

READ_COMMITTED, READ_UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED

Row = dict[str, object]


class Server:
    """One server's topics, and the schemas of their events."""

    def __init__(self, kafka: Broker, registry: SchemaRegistry, server: str, namespace: str) -> None:
        self.kafka, self.server, self.namespace = kafka, server, namespace
        self.registry = SchemaRegistryClient({"url": registry.url})
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap})

    def create(self, topic: str) -> None:
        self._admin.create_topics([NewTopic(topic, 2, 1)])[topic].result(30)

    def await_markers(self, topic: str) -> None:
        """Wait until what has ended shows as ended: a commit is answered before its markers are written."""
        deadline = time.monotonic() + 30
        while self._ends(topic, READ_COMMITTED) != self._ends(topic, READ_UNCOMMITTED):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def _ends(self, topic: str, level: IsolationLevel) -> list[int]:
        wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in range(2)}  # type: ignore[no-untyped-call]  # the client's gap
        found = self._admin.list_offsets(wanted, isolation_level=level)
        return [found[partition].result(30).offset for partition in wanted]


class Written:
    """One table's topic, and a transactional producer of its events."""

    def __init__(self, world: Server, columns: Sequence[Column] = (ID, AMOUNT, NOTE, AT)) -> None:
        self._world = world
        self.id = TableId("shop", world.namespace, "orders")
        self.topic = table_topic(world.server, self.id, Naming.WRACKLINE)
        self._seq = 0
        world.create(self.topic)
        self._producer = Producer(
            {
                "bootstrap.servers": world.kafka.bootstrap,
                "transactional.id": self.topic,
                "linger.ms": 0,
                "transaction.timeout.ms": 300_000,
            }
        )
        self._producer.init_transactions(30)
        self.reshape(columns)

    def reshape(self, columns: Sequence[Column]) -> None:
        """Write with other columns from here on."""
        table = TableSchema(self.id, tuple(columns), ("id",), KeyKind.PRIMARY)
        self._key = self._registered("key", key_schema(table, topic=self.topic))
        value = value_schema(table, topic=self.topic, connector="test", source_fields=[])
        self._value = self._registered("value", value)

    def _registered(self, part: str, of: Mapping[str, Any] | None) -> tuple[int, Any]:
        text = dump(dict(of or {}))
        number = self._world.registry.register_schema(f"{self.topic}-{part}", Schema(text, "AVRO"))
        return number, fastavro.parse_schema(dict(of or {}))

    @contextmanager
    def transaction(self, *, abort: bool = False) -> Iterator[None]:
        self._producer.begin_transaction()
        yield
        if abort:
            assert self._producer.flush(30) == 0  # it is in the log, and must not be seen
            self._producer.abort_transaction(30)
        else:
            self._producer.commit_transaction(30)
        self._world.await_markers(self.topic)

    def event(self, op: str, row: Row, *, unsent: Sequence[str] = (), seq: int | None = None) -> None:
        """Produce one event; a delete is followed by its tombstone."""
        self._seq += 1
        value = {
            "before": row if op == "d" else None,
            "after": row if op in "cur" else None,
            "source": {
                "version": "1", "connector": "test", "name": self._world.server, "ts_ms": 1_767_355_200_000,
                "db": self.id.database, "schema": self.id.schema, "table": self.id.name,
                "unchanged": list(unsent) or None,
            },
            "op": op, "ts_ms": None, "transaction": None,
            "seq": f"{self._seq if seq is None else seq:08x}",
        }  # fmt: skip
        key = None if op == "t" else wire(self._key, {"id": row["id"]})
        self.raw(key, wire(self._value, value))
        if op == "d":
            self.raw(key, None)

    def raw(self, key: bytes | None, value: bytes | None) -> None:
        self._producer.produce(self.topic, value, key)


def wire(written: tuple[int, Any], value: Mapping[str, object]) -> bytes:
    """Encode as the Confluent wire format wants it."""
    out = io.BytesIO(b"\0" + written[0].to_bytes(4, "big"))
    out.seek(5)
    fastavro.schemaless_writer(out, written[1], value)
    return out.getvalue()


def order(number: int, amount: str = "1.50", note: str | None = "n") -> Row:
    return {"id": number, "amount": Decimal(amount), "note": note, "at": TEXT}


def merged(number: int, amount: str = "1.50", note: str | None = "n") -> tuple[object, ...]:
    return (number, Decimal(amount), note, NOON.replace(tzinfo=None))

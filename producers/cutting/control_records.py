"""The records beside the rows, as bytes: BEGIN and END, logical messages, schema changes.

Comes in: what the cutter sees.  Goes out: records of the control topics in Debezium's shapes, in the same
wire format as the rows.  The ids of the schemas are requested when the first record of a kind is made.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import fastavro

from wrackline.producers.contract.steps import (
    Appeared,
    Coming,
    Message,
    Misfit,
    Renamed,
    Reshaped,
    Saved,
    Shape,
    Vanished,
)
from wrackline.producers.cutting.message_filter import (
    MESSAGES_TOO_LARGE,
    PREFIX_MOST,
    PREFIXES_TOO_LONG,
    MessageFilter,
)
from wrackline.producers.cutting.record_buffer import Record
from wrackline.producers.kit.notice_throttle import NoticeThrottle
from wrackline.producers.rows.unfit_values import column_list
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.events import control_events
from wrackline.schemas.events.envelope import Schema, dump, value_schema
from wrackline.schemas.kafka.offsets_records import canonical_json
from wrackline.schemas.kafka.topic_names import ControlTopics, Naming, table_topic
from wrackline.schemas.tables.table import TableId, TableSchema

Avro = Mapping[str, Any]
Register = Callable[[str, str], int]  # subject, schema text -> id

_ZEROES: Final[Mapping[object, object]] = {"string": "", "long": 0, "int": 0, "boolean": False, "bytes": b""}


SET_ASIDE = define(
    "value.set_aside",
    OperatorNeeded,
    "rows of {table} are set aside as dead letters, because values of {listed} do not fit;"
    " since the start: {count}",
    hint="their keys are on the topic <topic.prefix>.letter; set column.as.text = '{listed}' to carry the"
    " values as text, or correct the rows in the source; then read the table again:"
    " wrackline snapshot start <pipeline.toml> '{table}'",
)
NULLED = define(
    "value.nulled",
    OperatorNeeded,
    "rows of {table} are published with null, because values of {listed} do not fit;"
    " since the start: {count}",
    hint="set column.as.text = '{listed}' to carry the values as text; then read the table again:"
    " wrackline snapshot start <pipeline.toml> '{table}'",
)


@dataclass(frozen=True, slots=True)
class EventOrigin:
    """The origin of the events, for their `source` record."""

    version: str
    connector: str
    server: str
    source_fields: Sequence[Mapping[str, object]]
    naming: Naming  # of the tables' topics


@dataclass(frozen=True, slots=True)
class WantedTopics:
    """Which of the control topics are written."""

    transactions: bool = False  # provide.transaction.metadata
    schema_changes: bool = True  # include.schema.changes
    own_prefixes: tuple[str, ...] = ("wrackline",)  # prefixes of messages that are marks of ours
    notifications: str | None = None  # their topic: notification.sink.topic.name
    messages: MessageFilter = field(default_factory=MessageFilter)


class _ControlEvent(Protocol):
    def key(self) -> dict[str, Any]: ...

    def value(self) -> dict[str, Any]: ...


class _TopicWriter:
    """Writes the records of one topic."""

    def __init__(self, topic: str, key: Avro, value: Avro, register: Register) -> None:
        self._topic = topic
        self._key, self._value = fastavro.parse_schema(dict(key)), fastavro.parse_schema(dict(value))
        self._key_head = _head(register(f"{topic}-key", dump(dict(key))))
        self._value_head = _head(register(f"{topic}-value", dump(dict(value))))

    def write(self, event: _ControlEvent) -> Record:
        key, value = io.BytesIO(), io.BytesIO()
        fastavro.schemaless_writer(key, self._key, event.key())
        fastavro.schemaless_writer(value, self._value, event.value())
        return (self._topic, self._key_head + key.getvalue(), self._value_head + value.getvalue())


class ControlRecords:
    """Makes the records of one source partition."""

    def __init__(
        self,
        topics: ControlTopics,
        wanted: WantedTopics,
        origin: EventOrigin,
        database: str,
        register: Register,
        *,
        now_ms: Callable[[], int],
        tell: Callable[[WracklineError], None] = lambda _: None,
    ) -> None:
        """Take a function that reports messages that are left out."""
        self._topics, self._wanted, self._origin, self._register = topics, wanted, origin, register
        self._left_out = NoticeThrottle(now_ms, tell)
        self._database, self._now_ms = database, now_ms
        self._source_schema = _source_schema(origin)
        self._writers: dict[str, _TopicWriter] = {}
        self._shapes: dict[TableId, TableSchema] = {}  # as they were last written

    def heartbeat(self) -> Record:
        """The position moves, and nothing else changes."""
        writer = self._open_writer(
            self._topics.heartbeat, lambda: (control_events.HEARTBEAT_KEY, control_events.HEARTBEAT_VALUE)
        )
        return writer.write(control_events.HeartbeatEvent(self._origin.server, self._now_ms()))

    @property
    def notify(self) -> Callable[[control_events.NotificationEvent], Record] | None:
        """The function that writes a notification; None if none are wanted."""
        topic = self._wanted.notifications
        if topic is None:
            return None
        shapes = control_events.NOTIFICATION_KEY, control_events.NOTIFICATION_VALUE
        return lambda notification: self._open_writer(topic, lambda: shapes).write(notification)

    @property
    def counts(self) -> bool:
        """Whether transactions' BEGIN and END are published."""
        return self._wanted.transactions

    def begin(self, transaction: str, ts_ms: int) -> Record:
        """A source transaction has its first event."""
        return self._transactions().write(control_events.BeginEvent(transaction, ts_ms))

    def end(self, transaction: str, ts_ms: int, counts: Mapping[TableId, int]) -> Record:
        """A source transaction has had its last event; tables are named as Debezium names them."""
        named = {f"{table.schema}.{table.name}": count for table, count in counts.items()}
        return self._transactions().write(control_events.EndEvent(transaction, ts_ms, named))

    def message(self, step: Message, ts_ms: int) -> Record | None:
        """A logical message, unless it is one of ours, is not wanted or is too large."""
        messages = self._wanted.messages
        if step.prefix.partition(".")[0] in self._wanted.own_prefixes:
            return None
        if len(step.prefix) > PREFIX_MOST:
            self._left_out.tell(PREFIXES_TOO_LONG, size=len(step.prefix), most=PREFIX_MOST)
            return None
        if not messages.takes(step.prefix):
            return None
        if (size := messages.excess(step)) is not None:
            self._left_out.tell(MESSAGES_TOO_LARGE, size=size, most=messages.most)
            return None
        writer = self._writer(
            self._topics.message, control_events.message_key_schema, control_events.message_value_schema
        )
        source = self._source(TableId(self._database, "", ""), ts_ms)
        return writer.write(control_events.MessageEvent(step.prefix, step.content, source, ts_ms))

    def unfit(
        self, table: TableId, misfit: Misfit, place: Saved, chunk: str | None, ts_ms: int
    ) -> Record | None:
        """A row with values that do not fit: its dead letter, or None if it is published with nulls."""
        columns = [(one.name, one.type, one.reason) for one in misfit.columns]
        names = column_list(table, (one.name for one in misfit.columns))
        self._left_out.tell(SET_ASIDE if misfit.letter else NULLED, table=table, listed=names)
        if not misfit.letter:
            return None
        topics = self._topics
        writer = self._open_writer(
            topics.letter, lambda: (control_events.LETTER_KEY, control_events.LETTER_VALUE)
        )
        return writer.write(
            control_events.LetterEvent(
                str(table),
                table_topic(self._origin.server, table, self._origin.naming),
                misfit.key,
                misfit.op,
                columns,
                misfit.seq,
                chunk,
                canonical_json(dict(place)).decode(),
                ts_ms or self._now_ms(),
            )
        )

    def shape(self, step: Shape, ts_ms: int) -> Record | None:
        """A table that had another shape before, or was reported without columns; else nothing changed."""
        told = self._shapes.get(step.table.id)
        if step.before is None and (told is None or told.columns):
            return None
        return self._altered(step.table, ts_ms)

    def coming(self, step: Coming, ts_ms: int) -> Record | None:
        """A table that came, went or changed; if its columns are not known, none are named."""
        match step:
            case Appeared(table, _, shape, ddl):
                return self._change("CREATE", shape or TableSchema(table, ()), ts_ms, ddl)
            case Vanished(table, ddl):
                dropped = self._change("DROP", TableSchema(table, ()), ts_ms, ddl)
                self._shapes.pop(table, None)
                return dropped
            case Renamed(_, new, shape, ddl):
                return self._change("ALTER", shape or TableSchema(new, ()), ts_ms, ddl)
            case Reshaped(_, _, TableSchema() as shape):
                return self._altered(shape, ts_ms)
            case Reshaped(table, _, _, _, ddl):
                return None if ddl is None else self._change("ALTER", TableSchema(table, ()), ts_ms, ddl)

    def _altered(self, table: TableSchema, ts_ms: int) -> Record | None:
        """An alteration, once: the catalogue shows it, and the log's next row of the table again."""
        return None if self._shapes.get(table.id) == table else self._change("ALTER", table, ts_ms)

    def _change(self, kind: str, table: TableSchema, ts_ms: int, ddl: str | None = None) -> Record | None:
        if not self._wanted.schema_changes:
            return None
        writer = self._writer(
            self._topics.schema_changes,
            control_events.schema_change_key_schema,
            control_events.schema_change_value_schema,
        )
        self._shapes[table.id] = table
        source = self._source(table.id, ts_ms)
        return writer.write(control_events.SchemaChangeEvent(kind, table, source, ts_ms, ddl))

    def _transactions(self) -> _TopicWriter:
        return self._open_writer(
            self._topics.transaction,
            lambda: (control_events.TRANSACTION_KEY, control_events.TRANSACTION_VALUE),
        )

    def _writer(
        self,
        topic: str,
        key: Callable[[str], Avro],
        value: Callable[[str, Avro], Avro],
    ) -> _TopicWriter:
        kind = self._origin.connector
        return self._open_writer(topic, lambda: (key(kind), value(kind, self._source_schema)))

    def _open_writer(self, topic: str, schemas: Callable[[], tuple[Avro, Avro]]) -> _TopicWriter:
        if topic not in self._writers:
            self._writers[topic] = _TopicWriter(topic, *schemas(), self._register)
        return self._writers[topic]

    def _source(self, table: TableId, ts_ms: int) -> dict[str, Any]:
        """Return the `source` record of an event without a row: what only rows have is null, or zero."""
        known = {
            "version": self._origin.version,
            "connector": self._origin.connector,
            "name": self._origin.server,
            "ts_ms": ts_ms,
            "ts_us": ts_ms * 1000,
            "ts_ns": ts_ms * 1_000_000,
            "db": table.database,
            "schema": table.schema,
            "table": table.name,
        }
        fields: Any = self._source_schema["fields"]
        return {f["name"]: known.get(f["name"], f.get("default", _zero(f["type"]))) for f in fields}


def _source_schema(origin: EventOrigin) -> Schema:
    """Return the `source` record of the envelope, which is the same for all tables."""
    nobody = TableSchema(TableId("", "", ""), ())
    envelope: Any = value_schema(
        nobody, topic="t", connector=origin.connector, source_fields=origin.source_fields
    )
    return next(dict(field["type"]) for field in envelope["fields"] if field["name"] == "source")


def _zero(avro: object) -> object:
    return None if isinstance(avro, list) else _ZEROES.get(avro)


def _head(schema_id: int) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big")

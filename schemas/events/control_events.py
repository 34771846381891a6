"""The events beside the rows, in the shapes that Debezium uses.

Comes in: frozen values.  Goes out: an Avro schema and a payload that fits it, one pair for keys
and one for values, of transactions, schema changes, logical messages, heartbeats and
notifications.  A reader of Debezium's topics reads these without a change: record names, field
names, their order and what may be null are Debezium's.  The `source` record belongs to the
envelope, so its schema and value are passed in.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from wrackline.schemas.tables.table import Column, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

Avro = Mapping[str, Any]
Payload = dict[str, Any]

_OURS: Final = "com.wrackline"
_COMMON: Final = "io.debezium.connector.common"


def _optional(avro: object) -> dict[str, Any]:
    return {"type": ["null", avro], "default": None}


def _record(namespace: str, name: str, version: int, /, **fields: object) -> Avro:
    return {
        "type": "record",
        "name": name,
        "namespace": namespace,
        "fields": [
            {"name": field, **avro}
            if isinstance(avro, dict) and "default" in avro
            else {"name": field, "type": avro}
            for field, avro in fields.items()
        ],
        "connect.version": version,
        "connect.name": f"{namespace}.{name}",
    }


TRANSACTION_BLOCK: Final = _record(
    "event", "block", 1, id="string", total_order="long", data_collection_order="long"
)
TRANSACTION_KEY: Final = _record(_COMMON, "TransactionMetadataKey", 1, id="string")
TRANSACTION_VALUE: Final = _record(
    _COMMON,
    "TransactionMetadataValue",
    1,
    status="string",
    id="string",
    event_count=_optional("long"),
    data_collections=_optional(
        {
            "type": "array",
            "items": [
                "null",
                _record("event", "collection", 1, data_collection="string", event_count="long"),
            ],
        }
    ),
    ts_ms="long",
)
HEARTBEAT_KEY: Final = _record(_COMMON, "ServerNameKey", 1, serverName="string")
HEARTBEAT_VALUE: Final = _record(_COMMON, "Heartbeat", 1, ts_ms="long")
NOTIFICATION_KEY: Final = _record(_COMMON, "NotificationKey", 1, id="string")
NOTIFICATION_VALUE: Final = _record(
    _COMMON,
    "Notification",
    1,
    id="string",
    type="string",
    aggregate_type="string",
    additional_data=_optional({"type": "map", "values": "string"}),
    timestamp="long",
)
LETTER_KEY: Final = _record(_OURS, "LetterKey", 1, table="string")
_UNFIT: Final = _record(_OURS, "UnfitColumn", 1, name="string", type="string", reason="string")
LETTER_VALUE: Final = _record(
    _OURS,
    "Letter",
    1,
    table="string",
    topic="string",
    key=_optional("bytes"),
    op="string",
    columns={"type": "array", "items": _UNFIT},
    seq=_optional("string"),
    chunk=_optional("string"),
    position="string",
    ts_ms="long",
)
_COLUMN: Final = _record(
    "io.debezium.connector.schema",
    "Column",
    1,
    name="string",
    jdbcType="int",
    nativeType=_optional("int"),
    typeName="string",
    typeExpression=_optional("string"),
    charsetName=_optional("string"),
    length=_optional("int"),
    scale=_optional("int"),
    position="int",
    optional=_optional("boolean"),
    autoIncremented=_optional("boolean"),
    generated=_optional("boolean"),
    comment=_optional("string"),
    defaultValueExpression=_optional("string"),
    enumValues=_optional({"type": "array", "items": "string"}),
)
_TABLE: Final = _record(
    "io.debezium.connector.schema",
    "Table",
    1,
    defaultCharsetName=_optional("string"),
    primaryKeyColumnNames=_optional({"type": "array", "items": "string"}),
    columns={"type": "array", "items": _COLUMN},
    comment=_optional("string"),
)
_CHANGE: Final = _record(
    "io.debezium.connector.schema", "Change", 1, type="string", id="string", table=_optional(_TABLE)
)


def schema_change_key_schema(connector: str) -> Avro:
    """The key of the schema change topic; `connector` is the source's kind, such as postgresql."""
    return _record(f"io.debezium.connector.{connector}", "SchemaChangeKey", 1, databaseName="string")


def schema_change_value_schema(connector: str, source: Avro) -> Avro:
    """The value of the schema change topic, around the envelope's `source` record."""
    return _record(
        f"io.debezium.connector.{connector}",
        "SchemaChangeValue",
        1,
        source=source,
        ts_ms="long",
        databaseName=_optional("string"),
        schemaName=_optional("string"),
        ddl=_optional("string"),
        tableChanges={"type": "array", "items": _CHANGE},
    )


def message_key_schema(connector: str) -> Avro:
    """The key of the logical message topic."""
    return _record(f"io.debezium.connector.{connector}", "MessageKey", 1, prefix=_optional("string"))


def message_value_schema(connector: str, source: Avro) -> Avro:
    """The value of the logical message topic, around the envelope's `source` record."""
    namespace = f"io.debezium.connector.{connector}"
    block = _record(namespace, "Message", 1, prefix=_optional("string"), content=_optional("bytes"))
    return _record(
        namespace,
        "MessageValue",
        1,
        op="string",
        ts_ms=_optional("long"),
        source=source,
        transaction=_optional(TRANSACTION_BLOCK),
        message=block,
    )


@dataclass(frozen=True, slots=True)
class BeginEvent:
    """A source transaction begins; its id is the one in its events' `transaction`."""

    id: str
    ts_ms: int

    def key(self) -> Payload:
        """The payload of the key."""
        return {"id": self.id}

    def value(self) -> Payload:
        """The payload of the value."""
        return {
            "status": "BEGIN",
            "id": self.id,
            "event_count": None,
            "data_collections": None,
            "ts_ms": self.ts_ms,
        }


@dataclass(frozen=True, slots=True)
class EndEvent:
    """A source transaction has ended, after its last event, with the events of each table."""

    id: str
    ts_ms: int
    events: Mapping[str, int]

    def key(self) -> Payload:
        """The payload of the key."""
        return {"id": self.id}

    def value(self) -> Payload:
        """The payload of the value; the tables in the order of their first event."""
        counts = [{"data_collection": table, "event_count": count} for table, count in self.events.items()]
        return {
            "status": "END",
            "id": self.id,
            "event_count": sum(self.events.values()),
            "data_collections": counts,
            "ts_ms": self.ts_ms,
        }


@dataclass(frozen=True, slots=True)
class LetterEvent:
    """A row that is set aside, because values do not fit their columns' types; it holds none of its values.

    `record_key` is the key that the row's record would have on `topic`, byte for byte; None where the table
    has none, or where it does not fit itself.  A row of the log has a `seq`, any other the `chunk` it was in.
    """

    table: str
    topic: str
    record_key: bytes | None
    op: str
    columns: Sequence[tuple[str, str, str]]  # name, type and reason
    seq: str | None
    chunk: str | None
    position: str  # the source's own, as JSON: behind the row, or where the chunk's rows went out
    ts_ms: int

    def key(self) -> Payload:
        """Render the key."""
        return {"table": self.table}

    def value(self) -> Payload:
        """Render the value."""
        columns = [dict(zip(("name", "type", "reason"), column, strict=True)) for column in self.columns]
        return {
            "table": self.table,
            "topic": self.topic,
            "key": self.record_key,
            "op": self.op,
            "columns": columns,
            "seq": self.seq,
            "chunk": self.chunk,
            "position": self.position,
            "ts_ms": self.ts_ms,
        }


@dataclass(frozen=True, slots=True)
class HeartbeatEvent:
    """The connector lives and its position moves on."""

    server: str
    ts_ms: int

    def key(self) -> Payload:
        """The payload of the key."""
        return {"serverName": self.server}

    def value(self) -> Payload:
        """The payload of the value."""
        return {"ts_ms": self.ts_ms}


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """A message that a session wrote into the log (`pg_logical_emit_message`)."""

    prefix: str
    content: bytes
    source: Mapping[str, Any]
    ts_ms: int
    transaction: Mapping[str, Any] | None = None  # None: written outside a transaction

    def key(self) -> Payload:
        """The payload of the key."""
        return {"prefix": self.prefix}

    def value(self) -> Payload:
        """The payload of the value."""
        return {
            "op": "m",
            "ts_ms": self.ts_ms,
            "source": dict(self.source),
            "transaction": None if self.transaction is None else dict(self.transaction),
            "message": {"prefix": self.prefix, "content": self.content},
        }


@dataclass(frozen=True, slots=True)
class NotificationEvent:
    """What happens to a snapshot, for people and tools; `id` is the request's."""

    id: str
    aggregate_type: str
    type: str
    additional_data: Mapping[str, str]
    timestamp: int

    def key(self) -> Payload:
        """The payload of the key."""
        return {"id": self.id}

    def value(self) -> Payload:
        """The payload of the value."""
        return {
            "id": self.id,
            "type": self.type,
            "aggregate_type": self.aggregate_type,
            "additional_data": dict(self.additional_data),
            "timestamp": self.timestamp,
        }


@dataclass(frozen=True, slots=True)
class SchemaChangeEvent:
    """A table was created, altered or dropped; without columns if it is gone, or they are not known yet."""

    type: str  # CREATE, ALTER or DROP
    table: TableSchema
    source: Mapping[str, Any]
    ts_ms: int
    ddl: str | None = None  # if the log has it

    def key(self) -> Payload:
        """The payload of the key."""
        return {"databaseName": self.table.id.database}

    def value(self) -> Payload:
        """The payload of the value."""
        table = self.table
        return {
            "source": dict(self.source),
            "ts_ms": self.ts_ms,
            "databaseName": table.id.database,
            "schemaName": table.id.schema,
            "ddl": self.ddl,
            "tableChanges": [
                {
                    "type": self.type,
                    "id": ".".join(f'"{part}"' for part in table.id),
                    "table": None if self.type == "DROP" or not table.columns else _table(table),
                }
            ],
        }


def _table(table: TableSchema) -> Payload:
    return {
        "defaultCharsetName": None,
        "primaryKeyColumnNames": list(table.key),
        "columns": [_column(column, number) for number, column in enumerate(table.columns, 1)],
        "comment": None,
    }


def _column(column: Column, position: int) -> Payload:
    length, scale = _length_and_scale(column.type)
    return {
        "name": column.name,
        "jdbcType": JDBC_TYPES[column.type.kind],
        "nativeType": None,
        "typeName": column.type.source.partition("(")[0].strip(),
        "typeExpression": column.type.source,
        "charsetName": None,
        "length": length,
        "scale": scale,
        "position": position,
        "optional": column.nullable,
        "autoIncremented": None,
        "generated": column.generated,
        "comment": None,
        "defaultValueExpression": None,
        "enumValues": list(column.type.labels) or None,
    }


def _length_and_scale(column_type: ColumnType) -> tuple[int | None, int | None]:
    if column_type.precision is not None:
        return column_type.precision, column_type.scale
    if column_type.length is not None:
        return column_type.length, None
    written = re.search(r"\(([0-9]{1,9})\)", column_type.source)
    return (int(written.group(1)) if written else None), None


# java.sql.Types, which Debezium's readers know a column's type by
JDBC_TYPES: Mapping[Kind, int] = MappingProxyType(
    {
        Kind.BOOLEAN: 16,
        Kind.INT16: 5,
        Kind.INT32: 4,
        Kind.INT64: -5,
        Kind.UINT64: 3,
        Kind.FLOAT32: 7,
        Kind.FLOAT64: 8,
        Kind.DECIMAL: 3,
        Kind.NUMERIC_TEXT: 2,
        Kind.STRING: 12,
        Kind.BYTES: -3,
        Kind.BITS: -7,
        Kind.DATE: 91,
        Kind.TIME_MICROS: 92,
        Kind.TIMESTAMP_MICROS: 93,
        Kind.ZONED_TIMESTAMP: 2014,
        Kind.INSTANT_MICROS: 2014,
        Kind.ZONED_TIME: 2013,
        Kind.DURATION_MICROS: 92,
        Kind.INTERVAL: 1111,
        Kind.YEAR: 4,
        Kind.UUID: 1111,
        Kind.JSON: 1111,
        Kind.XML: 2009,
        Kind.ENUM: 1,
        Kind.ENUM_SET: 1,
        Kind.TEXT_OF: 1111,
        Kind.ARRAY: 2003,
    }
)

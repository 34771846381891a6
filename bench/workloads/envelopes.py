"""The envelope around `orders`: its table, its schemas and its `source`, as a worker of PostgreSQL writes."""

import io
from collections.abc import Mapping
from typing import Any

import fastavro

from wrackline.schemas.events import envelope
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TOPIC = "bench.bench.public.orders"
TABLE = TableSchema(
    TableId("bench", "public", "orders"),
    (
        Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
        Column("customer_id", 2, ColumnType(Kind.INT32, "integer"), nullable=False),
        Column("sku", 3, ColumnType(Kind.STRING, "character varying(32)"), nullable=False),
        Column("quantity", 4, ColumnType(Kind.INT32, "integer"), nullable=False),
        Column("price", 5, ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2), nullable=False),
        Column("status", 6, ColumnType(Kind.STRING, "text"), nullable=False),
        Column("note", 7, ColumnType(Kind.STRING, "text")),
        Column("placed_at", 8, ColumnType(Kind.ZONED_TIMESTAMP, "timestamp with time zone"), nullable=False),
        Column("changed_at", 9, ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"), nullable=False),
    ),
    ("id",),
    KeyKind.PRIMARY,
)
SOURCE: Mapping[str, object] = {
    "version": "0.1.0", "connector": "postgresql", "name": "bench", "ts_ms": 1_760_000_000_000,
    "snapshot": None, "db": "bench", "sequence": None, "schema": "public", "table": "orders", "txId": 775,
    "lsn": 23_847_231, "xmin": None, "unchanged": None, "chunk": None,
}  # fmt: skip
_FIELDS = [{"name": name, "type": ["null", "long"]} for name in ("txId", "lsn", "xmin")]


def key_schema() -> envelope.Schema:
    """Return the schema of a record's key."""
    return envelope.key_schema(TABLE, topic=TOPIC) or {}


def value_schema() -> envelope.Schema:
    """Return the schema of a record's value."""
    return envelope.value_schema(TABLE, topic=TOPIC, connector="postgresql", source_fields=_FIELDS)


def source_bytes(told: Mapping[str, object] = SOURCE) -> bytes:
    """Write `source` up to `unchanged`, as a stream does once a transaction."""
    fields: Any = value_schema()["fields"]
    (source,) = [field["type"] for field in fields if field["name"] == "source"]
    kept = [field for field in source["fields"] if field["name"] not in {"unchanged", "chunk"}]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(source | {"fields": kept}), dict(told))
    return out.getvalue()

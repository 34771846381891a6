"""Events as bytes for the fake source: the real schemas and tail, the row through fastavro."""

import io
from collections.abc import Mapping
from typing import Any

import fastavro

from wrackline.producers.contract.source_plugin import WriterIds
from wrackline.schemas.events.envelope import key_schema, value_schema
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.tables.table import TableSchema
from wrackline.testing.sources.schema_ids import SchemaIds

NO_ROW = b"\x00"  # an Avro null in a union whose first branch it is
CONNECTOR = "fake"

Row = Mapping[str, object]


class Registry(SchemaIds):
    """The ids of the fake's schemas."""

    def __init__(self) -> None:
        super().__init__(CONNECTOR)


class TableWriter:
    """Writes the keys and values of one table in one shape."""

    def __init__(self, table: TableSchema, ids: WriterIds) -> None:
        self._table = table
        self._key_header = b"" if ids.key is None else b"\x00" + ids.key.to_bytes(4, "big")
        self._header = b"\x00" + ids.value.to_bytes(4, "big")
        self._key: Any = key_schema(table, topic="t")
        fields: Any = value_schema(table, topic="t", connector=CONNECTOR, source_fields=())["fields"]
        self._row = fields[0]["type"][1]
        source = fields[2]["type"]
        self._source = {**source, "fields": source["fields"][:-2]}  # `unchanged` and `chunk` are the frame's

    def key(self, row: Row) -> bytes | None:
        """The complete Kafka key."""
        if self._key is None:
            return None
        return self._key_header + _avro(self._key, {name: row[name] for name in self._table.key})

    def head(self, before: Row | None, after: Row | None) -> bytes:
        """The header and the two images."""
        return self._header + self._image(before) + self._image(after)

    def _image(self, row: Row | None) -> bytes:
        return NO_ROW if row is None else b"\x02" + _avro(self._row, row)

    def frame(
        self,
        seq_prefix: bytes,
        *,
        happened_ms: int,
        ts_ms: int,
        transaction: str | None = None,
        snapshot: str | None = None,
        chunk: str | None = None,
    ) -> Frame:
        """The tail of all events of one transaction or slice."""
        table = self._table.id
        source = _avro(
            self._source,
            {
                "version": "0",
                "connector": CONNECTOR,
                "name": "server",
                "ts_ms": happened_ms,
                "snapshot": snapshot,
                "db": table.database,
                "sequence": None,
                "schema": table.schema,
                "table": table.name,
            },
        )
        return Frame(source, seq_prefix, ts_ms=ts_ms, transaction=transaction, chunk=chunk)


def _avro(schema: Any, record: Row) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, dict(record))
    return out.getvalue()

"""Stands for the schema registry: gives ids to the schemas of tables, and decodes events by them."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro

from wrackline.producers.contract.source_plugin import WriterIds
from wrackline.schemas.events.envelope import key_schema, value_schema
from wrackline.schemas.tables.table import TableSchema


class SchemaIds:
    """Gives ids to schemas, and decodes what was written with them."""

    def __init__(self, connector: str, source_fields: Sequence[Mapping[str, object]] = ()) -> None:
        """Take what the plug-in calls itself in events, and what it adds to their `source`."""
        self._connector, self._source_fields = connector, source_fields
        self._schemas: list[dict[str, object]] = []

    def register(self, table: TableSchema) -> WriterIds:
        """Return the ids of a table's schemas; the same schemas get the same ids."""
        topic = f"server.{table.id}"
        key = key_schema(table, topic=topic)
        value = value_schema(table, topic=topic, connector=self._connector, source_fields=self._source_fields)
        return WriterIds(None if key is None else self._id(key), self._id(value))

    def decode(self, raw: bytes) -> dict[str, object]:
        """Read Confluent's five bytes and the Avro behind them, to the last byte."""
        assert raw[0] == 0
        body = io.BytesIO(raw[5:])
        schema: Any = self._schemas[int.from_bytes(raw[1:5], "big") - 1]
        decoded: Any = fastavro.schemaless_reader(body, schema, None)
        assert not body.read(), "bytes are left behind the value"
        return dict(decoded)

    def _id(self, schema: dict[str, object]) -> int:
        if schema not in self._schemas:
            self._schemas.append(schema)
        return self._schemas.index(schema) + 1

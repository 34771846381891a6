"""Rows into the bytes of events: the key, the row (`head`), and what is around it (`frame`)."""

import io
from collections.abc import Sequence
from typing import Any

import fastavro

from wrackline.producers.contract.source_plugin import WriterIds
from wrackline.producers.contract.steps import Position
from wrackline.producers.rows.python_rows import RowEncoder
from wrackline.schemas.events.envelope import value_schema
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.tables.seq import log_prefix, snapshot_prefix
from wrackline.schemas.tables.table import TableSchema
from wrackline_jsonl.journal import Line, Place, Row

CONNECTOR = "journal"


class TableEvents:
    """The events of one table in one shape."""

    def __init__(self, server: str, table: TableSchema, ids: WriterIds) -> None:
        """Take the ids of the registered schemas."""
        self.table, self._server = table, server
        self._encoder = RowEncoder(table, ids.key or 0, ids.value)
        fields: Any = value_schema(table, topic="t", connector=CONNECTOR, source_fields=())["fields"]
        source = next(one["type"] for one in fields if one["name"] == "source")
        self._source = {**source, "fields": source["fields"][:-2]}  # the frame writes the last two

    def key(self, row: Row) -> bytes | None:
        """Return the record's key."""
        return self._encoder.key(self._cells(row))

    def head(self, before: Row | None, after: Row | None) -> bytes:
        """Return an event up to its `source`."""
        return self._encoder.head(*(None if row is None else self._cells(row) for row in (before, after)))

    def logged(self, line: Line, now_ms: int) -> Frame:
        """Return what is behind the rows of a transaction."""
        source = self._origin(line.committed_ms, None)
        prefix = log_prefix(0, Place(line.at).position)
        return Frame(source, prefix, ts_ms=now_ms, transaction=line.name)

    def released(self, at: Position, ts_ms: int, snapshot: str) -> tuple[bytes, bytes]:
        """Return what is behind a row that was read: its `source`, and the beginning of its seq."""
        if not isinstance(at, Place):
            raise TypeError("not a place of a journal")
        return self._origin(ts_ms, snapshot), snapshot_prefix(0, at.position)

    def _cells(self, row: Row) -> Sequence[object]:
        return [row.get(column.name) for column in self.table.columns]

    def _origin(self, happened_ms: int, snapshot: str | None) -> bytes:
        table, out = self.table.id, io.BytesIO()
        record = {
            "version": "1",
            "connector": CONNECTOR,
            "name": self._server,
            "ts_ms": happened_ms,
            "snapshot": snapshot,
            "db": table.database,
            "sequence": None,
            "schema": table.schema,
            "table": table.name,
        }
        fastavro.schemaless_writer(out, self._source, record)
        return out.getvalue()

"""Reads tables in both ways: what the log said of each row, and what a chunk gave for it.

Every table is made, filled, read in chunks, updated and emptied; the log of it all is drained at the
end.  So each value is met as an inserted row, in both images of an update and in a deleted row.
"""

import io
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import fastavro
import psycopg
from psycopg import sql

from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.row_chunks import Bound, ChunkRequest, ChunkRow
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Batch, Fault, Message, RowChange, Rows, Shape
from wrackline.producers.sources.postgres.chunks.chunks import PgReader
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId, TableSchema

# Whoever writes the rows has these, whatever the database's own are.
PLAIN_SESSION = (
    "-c datestyle=ISO -c intervalstyle=iso_8601 -c timezone=UTC -c search_path=public"
    " -c extra_float_digits=3 -c bytea_output=hex -c lc_monetary=C"
    " -c quote_all_identifiers=off -c xmloption=content -c array_nulls=on"
)


class Schemas(PgRegistry):
    """Decodes days and microseconds as the numbers that they are: Python's calendar ends at both sides."""

    def numbers(self, raw: bytes) -> dict[str, Any]:
        """Read a key or a value with fastavro, to the last byte; decimals become decimals."""
        body = io.BytesIO(raw[5:])
        schema = _without_calendar(self._schemas[int.from_bytes(raw[1:5], "big") - 1])
        decoded: Any = fastavro.schemaless_reader(body, schema, None)
        assert raw[0] == 0
        assert not body.read(), "bytes are left behind the value"
        return dict(decoded)


def _without_calendar(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_calendar(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _without_calendar(part) for name, part in schema.items()}
    if kept.get("logicalType") != "decimal":
        kept.pop("logicalType", None)
    return kept


@dataclass(frozen=True)
class Sheet:
    """A table of one column `v` of a type, and its rows' literals; `by_value` makes `v` the key."""

    name: str
    type: str
    literals: tuple[str | None, ...]
    by_value: bool = False


@dataclass
class Seen:
    """What both ways gave for one sheet."""

    schema: TableSchema | None = None
    log: list[RowChange] = field(default_factory=list)
    fault: WracklineError | None = None
    chunk: list[ChunkRow] = field(default_factory=list)
    refused: WracklineError | None = None
    texts: list[str | None] = field(default_factory=list)  # the server's own, in the rows' order


@dataclass(frozen=True)
class Observed:
    """Every sheet, and what decodes its bytes."""

    schemas: Schemas
    sheets: dict[str, Seen]


def observe(dsn: str, sheets: Sequence[Sheet], **more: str) -> Observed:
    """Make, fill, read, change and empty the sheets' tables; `more` are settings of the source."""
    schemas = Schemas()
    around = Surroundings(time.monotonic, lambda: time.time_ns() // 1_000_000, schemas.register)
    source = PgSource(settings_of(dsn, **more), around)
    seen = {sheet.name: Seen() for sheet in sheets}
    with (
        psycopg.connect(dsn, autocommit=True, client_encoding="UTF8", options=PLAIN_SESSION) as writer,
        closing(source),
    ):
        for sheet in sheets:
            _make(writer, sheet)
        (partition,) = source.partitions()
        tables = {table.name: table for table in source.tables(partition)}
        stream = source.stream(partition, [tables[sheet.name] for sheet in sheets], None)
        with writer.transaction():
            for sheet in sheets:
                _fill(writer, sheet)
        reader = source.reader(partition)
        for sheet in sheets:
            seen[sheet.name].texts = _texts(writer, sheet)
            if reader.closed:  # as one does that was refused something
                reader = source.reader(partition)
            _read(reader, tables[sheet.name], sheet, seen[sheet.name])
        for change in ("UPDATE {} SET n = n", "DELETE FROM {}"):
            with writer.transaction():
                for sheet in sheets:
                    writer.execute(sql.SQL(change).format(sql.Identifier(sheet.name)))
        writer.execute("SELECT pg_logical_emit_message(true, 'end', '')")
        _drain(stream.poll, seen)
        stream.close()
    return Observed(schemas, seen)


def _make(writer: psycopg.Connection[tuple[object, ...]], sheet: Sheet) -> None:
    """Make the table; its old rows are logged whole, so that `before` holds every value too."""
    name, kind = sql.Identifier(sheet.name), sql.SQL(sheet.type)
    key = sql.SQL("v" if sheet.by_value else "n")
    writer.execute(sql.SQL("CREATE TABLE {} (n int, v {}, PRIMARY KEY ({}))").format(name, kind, key))
    if not sheet.by_value:
        writer.execute(sql.SQL("ALTER TABLE {} REPLICA IDENTITY FULL").format(name))


def _fill(writer: psycopg.Connection[tuple[object, ...]], sheet: Sheet) -> None:
    insert = sql.SQL("INSERT INTO {} VALUES ({}, {})")
    for number, literal in enumerate(sheet.literals):
        writer.execute(insert.format(sql.Identifier(sheet.name), sql.Literal(number), sql.Literal(literal)))


def _texts(writer: psycopg.Connection[tuple[object, ...]], sheet: Sheet) -> list[str | None]:
    """Ask for what the types' output functions write, where they write text."""
    query = sql.SQL(
        "SELECT CASE WHEN v IS DISTINCT FROM NULL THEN format('%s', v) END FROM {} ORDER BY n"
    ).format(sql.Identifier(sheet.name))
    return [None if text is None else str(text) for (text,) in writer.execute(query)]


def _read(reader: PgReader, table: TableId, sheet: Sheet, seen: Seen) -> None:
    """Walk the table in chunks of two rows, as long as the last one says that more may follow."""
    key = ("v",) if sheet.by_value else ("n",)
    after: Bound | None = None
    for _ in range(len(sheet.literals) + 1):
        request = ChunkRequest(table, key, after=after, upto=None, most_rows=2)
        try:
            chunk = reader.read(request)
        except WracklineError as error:
            seen.refused = error
            return
        seen.schema = chunk.shape
        for part in chunk.slices:
            seen.chunk.extend(part.rows)
            after = part.upto
        if chunk.complete:
            return
    raise AssertionError(f"the chunks of {sheet.type} by {key} never end")


def _drain(poll: Callable[[float], Batch | None], seen: dict[str, Seen]) -> None:
    """Take the log up to the message that was written last."""
    of_ref: dict[int, Seen] = {}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        batch = poll(min(deadline, time.monotonic() + 1))
        for step in batch.steps if batch is not None else ():
            match step:
                case Shape():
                    of_ref[step.ref] = seen[step.table.id.name]
                case Rows():
                    for row in step.rows:
                        of_ref[row[0]].log.append(row)
                case Fault():
                    seen[step.table.name].fault = step.error
                case Message(prefix="end"):
                    return
    raise AssertionError("the log did not get to the end")

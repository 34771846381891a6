"""What MySQL's source makes of bytes, without Kafka or a registry, on one core.

    decode: the log from a place on  ->  batches of events, dropped       (includes the wait for the dump)
    codec: the table's rows as the server sent them, kept in memory  ->  keys and heads of events, dropped

Beside the bare producer, they show the limit of any pipeline made of the two.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from threading import Event

from bench.cost import metered
from bench.ours.log_reading import cost_of_events, take_rows
from bench.ours.mysql import NAME, Source
from bench.score import Outcome
from bench.stage import mysql_session
from bench.workloads.orders import TABLE
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Surroundings, WriterIds
from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.mysql.chunks import chunk_sql
from wrackline.producers.sources.mysql.chunks.read_session import set_up_session
from wrackline.producers.sources.mysql.chunks.slicing import MySqlSlicing
from wrackline.producers.sources.mysql.config import SETTINGS
from wrackline.producers.sources.mysql.connect.statement_rows import StatementRows
from wrackline.producers.sources.mysql.rows.result_rows import result_decoder
from wrackline.producers.sources.mysql.source import PLUGIN, MySqlSource
from wrackline.producers.task.memory_tuning import collect_rarely
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry, Values
from wrackline.schemas.tables.table import TableSchema

_IDS = WriterIds(1, 2)
_HEADER, _END = 4, 0xFE


def decode(metric: str, source: Source, start: Saved, changes: int) -> Outcome:
    """Poll the stream from `start` on, and let what it hands out go."""
    reading = _opened(source)
    [partition] = reading.partitions()
    polled = reading.stream(partition, reading.tables(partition), start)
    began = time.perf_counter()
    with collect_rarely(), metered() as meter:
        take_rows(polled, changes)
        seconds = time.perf_counter() - began
    reading.close()
    return Outcome({metric: changes / seconds}, meter.cost)


def event_cost(metrics: Sequence[str], source: Source, start: Saved, changes: int) -> Outcome:
    """Do the same, and return the CPU of this process per change under each of these names."""
    with closing(_opened(source)) as reading:
        cost = cost_of_events(reading, start, changes)
    return Outcome(dict.fromkeys(metrics, cost))


def codec(metric: str, source: Source, rows: int) -> Outcome:
    """Read every row once, then make chunks of what the server had sent."""
    reading = _opened(source)
    [partition] = reading.partitions()
    [table] = reading.tables(partition)
    shape = reading.described(partition, [table])[table]
    reading.close()
    if not isinstance(shape, TableSchema):
        raise shape
    request, kept = ChunkRequest(table, shape.key), _Kept()
    with closing(mysql_session(source.at)) as session:
        set_up_session(session)
        result = StatementRows(session, chunk_sql.all_rows(project_all(shape)), Event())
        result.pass_rows(kept, lambda: False)
    bound_of = chunk_sql.bounds(shape, request.key, result.columns)
    made, at, began = 0, 0, time.perf_counter()
    with collect_rarely(), metered() as meter:
        while made < rows:
            chunk = MySqlSlicing(result_decoder(project_all(shape), _IDS, result.columns), bound_of, request)
            at = chunk.fill(kept.packets, at, len(kept.packets))
            chunk.end()
            made += chunk.count
        seconds = time.perf_counter() - began
    return Outcome({metric: rows / seconds}, meter.cost)


class _Kept:
    """Keeps the packets of all rows."""

    def __init__(self) -> None:
        self.packets = bytearray()
        self.last: bytes | None = None

    def fill(self, buffer: bytearray, start: int, end: int) -> int:
        at = start
        while self.last is None and end - at >= _HEADER:
            size = int.from_bytes(buffer[at : at + 3], "little")
            if end - at - _HEADER < size:
                break
            if buffer[at + _HEADER] == _END:
                self.last = bytes(buffer[at + _HEADER : at + _HEADER + size])
            else:
                self.packets += buffer[at : at + _HEADER + size]
            at += _HEADER + size
        return at


def _opened(source: Source) -> MySqlSource:
    around = Surroundings(time.monotonic, lambda: time.time_ns() // 1_000_000, lambda _: _IDS)
    return PLUGIN.open(_settings(source), around)


def _settings(source: Source) -> Values:
    given: Mapping[str, str] = {
        "name": NAME,
        "connector.class": source.kind,
        "topic.prefix": NAME,
        "kafka.bootstrap.servers": source.bootstrap,
        "schema.registry.url": source.registry,
        "database.hostname": "127.0.0.1",
        "database.port": str(source.at.port),
        "database.user": source.at.user,
        "database.ssl.mode": "disabled",
        "table.include.list": f"{source.at.database}.{TABLE}",
    }
    values = SettingsRegistry(CORE, SETTINGS).read(given, Resolver(Allowed(), {})).values
    if values is None:
        raise ValueError(given)
    return values

"""One MySQL or MariaDB server as a source: connects the folder's parts, and decides nothing itself."""

import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pymysql
from pymysql.connections import Connection

from wrackline.producers.contract.optional_parts import LogState, ServerObject, TableSize
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Position, Saved
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.kit.catalogue_poller import CataloguePoller
from wrackline.producers.kit.lent_connection import LentConnection
from wrackline.producers.kit.open_handles import OpenHandles
from wrackline.producers.kit.polled_stream import PolledStream
from wrackline.producers.kit.selection import Selection
from wrackline.producers.sources.mysql import config, server_objects
from wrackline.producers.sources.mysql.check import check
from wrackline.producers.sources.mysql.chunks import key_uniqueness
from wrackline.producers.sources.mysql.chunks.chunks import MySqlReader, chunk_reader
from wrackline.producers.sources.mysql.chunks.mark_settings import mark_kind, signal_table
from wrackline.producers.sources.mysql.chunks.marks import MySqlFence, MySqlMarks, end_mark
from wrackline.producers.sources.mysql.chunks.read_session import MySqlReadSession
from wrackline.producers.sources.mysql.chunks.whole import MySqlWholeReader
from wrackline.producers.sources.mysql.connect.connect import MySqlServer, query_dicts
from wrackline.producers.sources.mysql.connect.server_errors import translate_errors
from wrackline.producers.sources.mysql.connect.server_facts import Flavour, MySqlServerFacts, facts_of
from wrackline.producers.sources.mysql.decode import MySqlDecoder
from wrackline.producers.sources.mysql.discover.discover import MySqlCatalogue
from wrackline.producers.sources.mysql.discover.shapes import MySqlShapes
from wrackline.producers.sources.mysql.discover.table_sizes import table_sizes
from wrackline.producers.sources.mysql.events.gtids import MySqlGtids
from wrackline.producers.sources.mysql.follow.catalogue_snapshot import CATALOGUE_UNSEEN, MySqlCatalogueReader
from wrackline.producers.sources.mysql.follow.table_resolver import MySqlTableResolver
from wrackline.producers.sources.mysql.follow.table_tracker import MySqlTableTracker
from wrackline.producers.sources.mysql.heartbeat import MySqlHeartbeat
from wrackline.producers.sources.mysql.log.dump import DumpReader, dump_after, file_creation_time
from wrackline.producers.sources.mysql.log.position import ColumnNames, MySqlPosition, position_of
from wrackline.producers.sources.mysql.log.stream_options import MySqlStreamOptions, most_event_bytes
from wrackline.producers.sources.mysql.resume import log_opening
from wrackline.producers.sources.mysql.resume.initial_gtids import add_initial_gtids
from wrackline.producers.sources.mysql.resume.log_loss import LOST
from wrackline.producers.sources.mysql.resume.log_retention import LogRetention
from wrackline.producers.sources.mysql.resume.xa_wait import wait_for_open_xa
from wrackline.producers.sources.mysql.rows.result_rows import result_decoder
from wrackline.producers.sources.mysql.rows.source_record import FIELDS, MySqlSourceLabels
from wrackline.producers.sources.mysql.stream import MySqlLogWire, MySqlStream, StreamServices
from wrackline.producers.sources.mysql.transactions.discarded import DiscardedTransactions
from wrackline.producers.sources.mysql.transactions.xa_part_dump import XaPartDump
from wrackline.producers.sources.mysql.transactions.xa_parts import XaPart
from wrackline.producers.sources.mysql.trials import MySqlTrials
from wrackline.schemas import versions
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.pipelines.lineage_names import Located
from wrackline.schemas.pipelines.publication_settings import skipped_letters
from wrackline.schemas.settings.declared.source_settings import INSTANTS
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.setting import Declared
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

BINLOG = "binlog"  # the name of the one source partition: a server has one log for all its databases
_HEARTBEATS = 4  # in the time after which a silent server is given up


class MySqlSource:
    """A server with valid settings."""

    def __init__(self, settings: Values, around: Surroundings, connector: str) -> None:
        self._settings, self._around, self._connector = settings, around, connector
        self._server = MySqlServer(settings)
        self._rules = ColumnRules.of(settings)
        self._selection = Selection(self._catalogued, TableFilter.of(settings), lambda: self._signal_table)
        self._connection = LentConnection(self._server.connect_to_ask, lambda one: one.open, translate_errors)
        self._heartbeat = MySqlHeartbeat(self._server, settings)
        self._opened = OpenHandles()
        self._log_kept = LogRetention(self._begun)
        self._cut_off = DiscardedTransactions()
        self._streamed = ""  # the id of the server whose log is streamed
        self._start: MySqlPosition | None = None  # of the stream that was opened last
        self._collations: Mapping[int, str] | None = None
        self._names: Callable[[], ColumnNames] = (
            dict  # the renamed columns, as far as the open stream has come
        )

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the one log."""
        return [SourcePartition(self._settings.text("topic.prefix"), BINLOG)]

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the user can see and the filters capture."""
        return self._selection.tables()

    def left_out(self, partition: SourcePartition) -> Mapping[TableId, UncapturedReason]:
        """List the tables that the user can see and the filters do not capture; the server hides others."""
        return dict.fromkeys(self._selection.left_out(), UncapturedReason.FILTERS)

    def sizes(self, partition: SourcePartition) -> Mapping[TableId, TableSize]:
        """Return the server's estimates."""
        with self._connection.lend() as connection:
            return table_sizes(connection)

    def describe(self, partition: SourcePartition, table: TableId) -> TableSchema:
        """Return a table's current shape."""
        return self._selection.describe(table)

    def described(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, TableSchema | WracklineError]:
        """Return the current shapes of many tables."""
        return self._selection.described(tables)

    def unproven(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, Sequence[str]]:
        """Name the keys by message.key.columns that no unique index proves."""
        chosen = {table: key for table in tables if (key := self._rules.key(table))}
        if not chosen:
            return {}
        with self._connection.lend() as connection:
            return {
                table: key
                for table, key in chosen.items()
                if not key_uniqueness.is_proven_unique(connection, table, key)
            }

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> MySqlStream:
        """Open the log after `saved`; a table's log is complete from its first event, so none is `fresh`."""
        with self._connection.lend() as connection:
            facts = facts_of(connection)
            self._streamed = facts.identity
            start = log_opening.start_position(connection, facts, saved)
            if log_opening.is_fresh(saved):
                start = self._completed(start, self._most_event_bytes(facts))
                start = wait_for_open_xa(connection, facts, start, self._around.monotonic)
            self._start = start
            known = self._catalogue_over(connection).facts_of(tables)
            shapes = self._shapes(connection)
        roll = MySqlTableTracker(self._selection.captures(tables, aside), tables)
        most = self._settings.integer("max.row.bytes")
        changed_only = self._settings.flag("skip.messages.without.change")
        explained = MySqlTableResolver(
            self._catalogued, shapes, self._around, known, most, changed_only=changed_only
        )
        reading = self._reading(facts, shapes)
        decoder = MySqlDecoder(start, self._labels(partition), roll, explained, reading, self._cut_off)
        self._names = lambda: decoder.names
        if saved is None or log_opening.fresh_epoch(saved) is not None:
            decoder.say()  # or after a fault before the first commit we would begin at a later end
        reader = self._reader_of_log(self._server.replica_id, reading.most_event_bytes)
        dumped = self._server.connect()
        packets = log_opening.flow(dumped, reader, start)
        looker = MySqlCatalogueReader(
            self._server.connect_to_ask,
            self._catalogue_over,
            shapes,
            roll.tables.captures,
            roll.reports,
            self._names,
            facts.log_status,
            known,
        )
        watch = CataloguePoller(looker, roll.reports, CATALOGUE_UNSEEN, pymysql.err.Error)
        wire = MySqlLogWire(
            packets,
            decoder,
            self._around,
            most_silence=self._server.most_silence,
            beside=StreamServices(
                end=self._end_of(dumped),
                part=lambda part: self._part_dump(part, reading.most_event_bytes),
                metadata=self._metadata,
            ),
        )
        return self._opened.keep_stream(PolledStream(wire, watch, self._around.monotonic))

    def reader(self, partition: SourcePartition) -> MySqlReader:
        """Open a connection for chunks."""
        labels, connect = self._labels(partition), self._server.connect
        whole = MySqlWholeReader(
            self._session, connect, result_decoder, labels, self._around, lambda: self._streamed
        )
        reader = chunk_reader(self._session, connect, result_decoder, labels, self._around, whole)
        return self._opened.keep_reader(reader)

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return the findings; change nothing."""
        return check.check(self._server, self._settings, tables)

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say for every copied column how far it is carried."""
        with self._server.connect() as connection, translate_errors(connection, "show its catalogue", table):
            return check.support(connection, self._settings, table)

    def trying(self, partition: SourcePartition) -> MySqlTrials:
        """Return what can be tried."""
        return MySqlTrials(self._server, self._settings)

    def log_state(self, partition: SourcePartition, confirmed: Position | None = None) -> LogState | None:
        """Say how long the log that Kafka lacks is still kept; None without the position that Kafka has."""
        if not isinstance(confirmed, MySqlPosition):
            return None
        with self._connection.lend() as connection:
            return self._log_kept.look(connection, facts_of(connection), confirmed)

    def log_end(self, partition: SourcePartition) -> MySqlFence:
        """Mark where the log ends."""
        with self._connection.lend() as connection:
            return end_mark(connection)

    def beat(self, partition: SourcePartition) -> None:
        """Run the heartbeat's query."""
        self._heartbeat.beat()

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[ServerObject]:
        """Name the pipeline's objects on the server; we made none of them."""
        ours = self._signal_table
        with self._connection.lend() as connection:
            return tuple(server_objects.pipeline_objects(connection, ours))

    def log_reader(self, partition: SourcePartition) -> str | None:
        """Return the reader of the log with our number."""
        with self._connection.lend() as connection:
            return server_objects.log_reader(connection, facts_of(connection), self._server.replica_id)

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Do nothing: we made no objects."""

    def place(self, partition: SourcePartition, saved: Saved) -> str:
        """Write a position in a readable form."""
        epoch = log_opening.fresh_epoch(saved)
        if epoch is not None:
            return f"the end of the log (epoch {epoch})"
        position = position_of(saved)
        inside = f", {position.done} changes into its transaction" if position.done else ""
        file = position.history.file if position.history else ""
        return f"{file}:{position.offset} (epoch {position.epoch}{inside})"

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Raise unless the log still reaches back to this position."""
        with self._connection.lend() as connection:
            log_opening.start_position(connection, facts_of(connection), saved)

    def anew(self, partition: SourcePartition, saved: Saved | None, newest: Saved | None) -> Saved:
        """Put a position into an epoch of its own."""
        epoch = (
            max((_epoch(known) for known in (saved, newest) if known), default=log_opening.FIRST_EPOCH - 1)
            + 1
        )
        return {"epoch": epoch} if saved is None else replace(position_of(saved), epoch=epoch).saved()

    def lost(self, partition: SourcePartition, error: WracklineError) -> bool:
        """Whether the log is another log, or lacks a part."""
        return error.code in LOST

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        """Return an epoch of its own, which begins at the log's end; nothing is kept for the lost log."""
        return self.anew(partition, None, saved)

    def close(self) -> None:
        """End the catalogue's connection, and the streams and readers that the caller left open."""
        with ExitStack() as ends:
            ends.callback(self._connection.close)
            ends.callback(self._heartbeat.close)
            ends.callback(self._opened.close)  # first, because the last is called first

    def _reader_of_log(self, number: int, most_event_bytes: int, *, waits: bool = True) -> DumpReader:
        named = uuid.uuid5(uuid.NAMESPACE_OID, f"{self._server.name} {number}")
        heartbeat = self._server.most_silence / _HEARTBEATS
        return DumpReader(number, named, heartbeat, most_event_bytes, waits=waits)

    def _completed(self, start: MySqlPosition, most_event_bytes: int) -> MySqlPosition:
        """Add what MySQL's set lacks at the log's end; the log's own dump later ends this reader."""
        if not isinstance(start.gtids, MySqlGtids):
            return start
        reader = self._reader_of_log(self._server.replica_id, most_event_bytes)
        packets = dump_after(self._server.connect(), reader, start.gtids)
        with closing(packets):
            return add_initial_gtids(start, packets, self._server.most_silence)

    def _part_dump(self, part: XaPart, most_event_bytes: int) -> XaPartDump:
        """Open the dump of an XA transaction's rows, with another reader than the log's."""
        reader = self._reader_of_log(self._server.second_id, most_event_bytes, waits=False)
        dumped = self._server.connect()
        return XaPartDump(part, lambda: log_opening.flow_of_part(dumped, reader, part), self._end_of(dumped))

    def _begun(self, file: str) -> int:
        """Ask when a file of the log was begun, with a reader of its own."""
        most = self._settings.integer("max.row.bytes")
        reader = self._reader_of_log(self._server.third_id, most, waits=False)
        return file_creation_time(self._server.connect(), reader, file)

    def _end_of(self, dumped: "Connection[Any]") -> Callable[[], None]:
        number = int(dumped.thread_id())  # type: ignore[no-untyped-call]
        return lambda: self._end_dump(number)

    def _end_dump(self, number: int) -> None:
        """End a process that may still send us the log: on a quiet server it would not notice our end."""
        with suppress(WracklineError), self._connection.lend() as connection:
            still = query_dicts(
                connection, "SELECT command FROM information_schema.processlist WHERE id = %s", number
            )
            if any(str(next(iter(row.values()))).startswith("Binlog Dump") for row in still):
                connection.kill(number)  # type: ignore[no-untyped-call]

    def _session(self) -> MySqlReadSession:
        """Connect a reader, in the same way each time, so that it sees the same server."""
        kind, ours = mark_kind(self._settings), self._signal_table
        connection = self._server.connect()
        marks = MySqlMarks(
            connection,
            kind,
            signal_table=ours,
            now_ms=self._around.now_ms,
            start=lambda: self._start,
        )
        return MySqlReadSession(connection, self._catalogue_over(connection), marks)

    @cached_property
    def _signal_table(self) -> TableId | None:
        """Our one table, as the server writes names; use it only while nobody has the connection."""
        with self._connection.lend() as connection:
            return signal_table(self._settings, facts_of(connection))

    def _most_event_bytes(self, facts: MySqlServerFacts) -> int:
        return most_event_bytes(
            self._settings.integer("max.row.bytes"), facts.count("binlog_row_event_max_size")
        )

    def _reading(self, facts: MySqlServerFacts, shapes: MySqlShapes) -> MySqlStreamOptions:
        return MySqlStreamOptions(
            facts.identity,
            facts.flavour is Flavour.MARIADB,
            self._around.most_batch_bytes,
            self._most_event_bytes(facts),
            signal_table=self._signal_table,
            lower_names=facts.lower_names,
            collations=shapes.charsets,
        )

    def _labels(self, partition: SourcePartition) -> MySqlSourceLabels:
        counted = self._settings.flag("provide.transaction.metadata")
        skipped = skipped_letters(self._settings)
        return MySqlSourceLabels(versions.OURS, self._connector, partition.server, counted, skipped)

    def _metadata(self) -> str:
        with self._connection.lend() as connection:
            return facts_of(connection).text("binlog_row_metadata")

    @contextmanager
    def _catalogued(self) -> Iterator[MySqlCatalogue]:
        with self._connection.lend() as connection:
            yield self._catalogue_over(connection)

    def _catalogue_over(self, connection: "Connection[Any]") -> MySqlCatalogue:
        return MySqlCatalogue(connection, self._shapes(connection), self._renamed_so_far)

    def _renamed_so_far(self) -> ColumnNames:
        return self._names()  # of the stream that is open at the call: a reader outlives a stream

    def _shapes(self, connection: "Connection[Any]") -> MySqlShapes:
        instants = INSTANTS[self._settings.text("timestamptz.handling.mode")]
        if self._collations is None:
            self._collations = MySqlCatalogue(connection, MySqlShapes(self._rules, instants)).collations()
        return MySqlShapes(self._rules, instants, self._collations)


def _epoch(saved: Saved) -> int:
    fresh = log_opening.fresh_epoch(saved)
    return position_of(saved).epoch if fresh is None else fresh


@dataclass(frozen=True, slots=True)
class MySqlPlugin:
    """What this folder offers, under one of its two names."""

    kind: str
    connector: str
    settings: Declared = config.SETTINGS
    source_fields: Sequence[Mapping[str, object]] = FIELDS
    position_bytes: int = 8  # the file's number and the offset in it

    def open(self, settings: Values, around: Surroundings) -> MySqlSource:
        """Take the settings; the first query opens the first connection."""
        return MySqlSource(settings, around, self.connector)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table is."""
        host, port = settings.text("database.hostname"), settings.integer("database.port")
        return Located(f"mysql://{host}:{port}", f"{table.schema}.{table.name}")


PLUGIN = MySqlPlugin("mysql", "mysql")

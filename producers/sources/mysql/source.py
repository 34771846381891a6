"""One server of MySQL's family as a source: puts the folder's parts together, decides nothing itself."""

import threading
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from weakref import WeakSet, finalize

import pymysql
from pymysql.connections import Connection

from wrackline.producers.changes import Position, Saved
from wrackline.producers.plugin import Kept, LogState, Surroundings
from wrackline.producers.selection import Selection
from wrackline.producers.sources.mysql import belongings, check, config, opening
from wrackline.producers.sources.mysql.chunks import MySqlReader
from wrackline.producers.sources.mysql.connect import Server, ask
from wrackline.producers.sources.mysql.cut_off import CutOff
from wrackline.producers.sources.mysql.decode import Decoder
from wrackline.producers.sources.mysql.discover import Catalogue
from wrackline.producers.sources.mysql.dump import Reader, begun, dump_after
from wrackline.producers.sources.mysql.explained import CatalogueAndRegistry
from wrackline.producers.sources.mysql.first_set import completed
from wrackline.producers.sources.mysql.gtids import MySqlGtids
from wrackline.producers.sources.mysql.heartbeat import Heartbeat
from wrackline.producers.sources.mysql.log_kept import LogKept
from wrackline.producers.sources.mysql.log_lost import LOST
from wrackline.producers.sources.mysql.mark_settings import mark_kind, signal_table
from wrackline.producers.sources.mysql.marks import MySqlMarks
from wrackline.producers.sources.mysql.origin import FIELDS, Labels
from wrackline.producers.sources.mysql.part_dump import PartDump
from wrackline.producers.sources.mysql.picture import CATALOGUE_UNSEEN, Looker
from wrackline.producers.sources.mysql.position import MySqlPosition, Names, position_of
from wrackline.producers.sources.mysql.prepared import Part
from wrackline.producers.sources.mysql.reading import Session
from wrackline.producers.sources.mysql.result_rows import decoding
from wrackline.producers.sources.mysql.roll import Roll
from wrackline.producers.sources.mysql.scope import Reading
from wrackline.producers.sources.mysql.server_errors import asking
from wrackline.producers.sources.mysql.server_facts import Flavour, ServerFacts, facts_of
from wrackline.producers.sources.mysql.shapes import Shapes
from wrackline.producers.sources.mysql.stream import Beside, MySqlStream
from wrackline.producers.sources.mysql.whole import WholeReader
from wrackline.producers.sources.mysql.xa_open import waited_for
from wrackline.producers.watch import Watch
from wrackline.schemas import versions
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.filters import ColumnRules, TableFilter
from wrackline.schemas.findings import ColumnSupport, Finding
from wrackline.schemas.located import Located
from wrackline.schemas.setting import Declared
from wrackline.schemas.settings import Values
from wrackline.schemas.source_settings import INSTANTS
from wrackline.schemas.table import SourcePartition, TableId, TableSchema

BINLOG = "binlog"  # what the one source partition is called: a server has one log for all its databases
_HEARTBEATS = 4  # in the time after which a silent server is given up


class MySqlSource:
    """A server with settings that were found good."""

    def __init__(self, settings: Values, around: Surroundings, connector: str) -> None:
        self._settings, self._around, self._connector = settings, around, connector
        self._server = Server(settings)
        self._rules = ColumnRules.of(settings)
        self._selection = Selection(self._catalogued, TableFilter.of(settings), lambda: self._signal_table)
        self._connection: Connection[Any] | None = None
        self._catalogue_lock = threading.Lock()
        self._heartbeat = Heartbeat(self._server, settings)
        self._streams: WeakSet[MySqlStream] = WeakSet()  # one that is dropped takes its buffers along
        self._log_kept = LogKept(self._begun)
        self._cut_off = CutOff()
        self._streamed = ""  # whose log, by the server's own id
        self._readers: list[MySqlReader] = []
        self._start: MySqlPosition | None = None  # of the stream that was opened last
        self._collations: Mapping[int, str] | None = None
        self._names: Callable[[], Names] = dict  # the renamed columns, as far as the open stream has come

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the one log."""
        return [SourcePartition(self._settings.text("topic.prefix"), BINLOG)]

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the user can see and the filters capture."""
        del partition
        return self._selection.tables()

    def left_out(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the user can see and the filters do not capture."""
        del partition
        return self._selection.left_out()

    def describe(self, partition: SourcePartition, table: TableId) -> TableSchema:
        """Return a table's shape now."""
        del partition
        return self._selection.describe(table)

    def described(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, TableSchema | WracklineError]:
        """Return the shapes of many tables now."""
        del partition
        return self._selection.described(tables)

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> MySqlStream:
        """Open the log after `saved`; a table's log is complete from its first event, so none is `fresh`."""
        del fresh
        with self._asking() as connection:
            facts = facts_of(connection)
            self._streamed = facts.identity
            start = opening.start_of(connection, facts, saved)
            if opening.is_fresh(saved):
                start = self._completed(start)
                start = waited_for(connection, facts, start, self._around.monotonic)
            self._start = start
            known = self._catalogue_over(connection).facts_of(tables)
            shapes = self._shapes(connection)
        roll = Roll(self._selection.captures(tables, aside), tables)
        most = self._settings.integer("max.row.bytes")
        explained = CatalogueAndRegistry(self._catalogued, shapes, self._around, known, most)
        reading = self._reading(facts, shapes)
        decoder = Decoder(start, self._labels(partition), roll, explained, reading, self._cut_off)
        self._names = lambda: decoder.names
        if saved is None or opening.fresh_epoch(saved) is not None:
            decoder.say()  # or a fault before the first commit would have us begin at a later end
        reader = self._reader_of_log(self._server.replica_id, reading.most_event_bytes)
        dumped = self._server.connect()
        packets = opening.flow(dumped, reader, start)
        looker = Looker(
            self._server.connect_to_ask,
            self._catalogue_over,
            shapes,
            roll,
            self._names,
            facts.log_status,
            known,
        )
        watch = Watch(looker, roll, CATALOGUE_UNSEEN, pymysql.err.Error)
        stream = MySqlStream(
            packets,
            decoder,
            self._around,
            watch,
            most_silence=self._server.most_silence,
            beside=Beside(
                end=self._end_of(dumped),
                part=lambda part: self._part_dump(part, reading.most_event_bytes),
                metadata=self._metadata,
            ),
        )
        finalize(stream, watch.stop)  # a stream that is dropped without a close must not leave its watch
        self._streams.add(stream)
        return stream

    def reader(self, partition: SourcePartition) -> MySqlReader:
        """Open a connection for chunks."""
        labels, connect = self._labels(partition), self._server.connect
        whole = WholeReader(self._session, connect, decoding, labels, self._around, lambda: self._streamed)
        reader = MySqlReader(self._session, connect, decoding, labels, self._around, whole)
        self._readers = [*(one for one in self._readers if not one.closed), reader]
        return reader

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Say what stands in the way; changes nothing."""
        del partition
        return check.check(self._server, self._settings, tables)

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say of every column that is copied how far it is carried."""
        del partition
        with self._server.connect() as connection, asking(connection, "show its catalogue", table):
            return check.support(connection, self._settings, table)

    def log_state(self, partition: SourcePartition, confirmed: Position | None = None) -> LogState | None:
        """Say how long what Kafka lacks is still kept; of nothing, where it is not told what Kafka has."""
        del partition
        if not isinstance(confirmed, MySqlPosition):
            return None
        with self._asking() as connection:
            return self._log_kept.look(connection, facts_of(connection), confirmed)

    def beat(self, partition: SourcePartition) -> None:
        """Run the heartbeat's query."""
        del partition
        self._heartbeat.beat()

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[Kept]:
        """Name what stands there for the pipeline; none of it was made by us."""
        del partition, saved
        ours = self._signal_table
        with self._asking() as connection:
            return tuple(belongings.kept(connection, ours))

    def log_reader(self, partition: SourcePartition) -> str | None:
        """Ask who reads under our number."""
        del partition
        with self._asking() as connection:
            return belongings.log_reader(connection, facts_of(connection), self._server.replica_id)

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Nothing is ours to remove."""

    def place(self, saved: Saved) -> str:
        """Write a position as people read it."""
        epoch = opening.fresh_epoch(saved)
        if epoch is not None:
            return f"wherever the log ends (epoch {epoch})"
        position = position_of(saved)
        inside = f", {position.done} changes into its transaction" if position.done else ""
        file = position.history.file if position.history else ""
        return f"{file}:{position.offset} (epoch {position.epoch}{inside})"

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Say whether the log still reaches back there."""
        del partition
        with self._asking() as connection:
            opening.start_of(connection, facts_of(connection), saved)

    def anew(self, saved: Saved | None, newest: Saved | None) -> Saved:
        """Put a position into an epoch of its own."""
        epoch = (
            max((_epoch(known) for known in (saved, newest) if known), default=opening.FIRST_EPOCH - 1) + 1
        )
        return {"epoch": epoch} if saved is None else replace(position_of(saved), epoch=epoch).saved()

    def lost(self, error: WracklineError) -> SourcePartition | None:
        """Say whether the log is not the one that was read, or lacks a part."""
        return self.partitions()[0] if error.code in LOST else None

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        """Return an epoch of its own, wherever the log then ends; nothing is kept for the lost one."""
        del partition, error
        return self.anew(None, saved)

    def close(self) -> None:
        """End the catalogue's connection, and what the caller left open."""
        for stream in tuple(self._streams):
            stream.close()
        for reader in self._readers:
            reader.close()
        self._heartbeat.close()
        with self._catalogue_lock:
            if self._connection is not None and self._connection.open:
                self._connection.close()
            self._connection = None

    def _reader_of_log(self, number: int, most_event_bytes: int, *, waits: bool = True) -> Reader:
        named = uuid.uuid5(uuid.NAMESPACE_OID, f"{self._server.name} {number}")
        heartbeat = self._server.most_silence / _HEARTBEATS
        return Reader(number, named, heartbeat, most_event_bytes, waits=waits)

    def _completed(self, start: MySqlPosition) -> MySqlPosition:
        """Find what MySQL's set of the log's end lacks, as the reader that the log's own dump ends."""
        if not isinstance(start.gtids, MySqlGtids):
            return start
        reader = self._reader_of_log(self._server.replica_id, self._most_event_bytes)
        packets = dump_after(self._server.connect(), reader, start.gtids)
        with closing(packets):
            return completed(start, packets, self._server.most_silence)

    def _part_dump(self, part: Part, most_event_bytes: int) -> PartDump:
        """Open the dump of an XA transaction's rows, as another reader than the log's."""
        reader = self._reader_of_log(self._server.second_id, most_event_bytes, waits=False)
        dumped = self._server.connect()
        return PartDump(part, lambda: opening.flow_of_part(dumped, reader, part), self._end_of(dumped))

    def _begun(self, file: str) -> int:
        """Ask when a file of the log was begun, as a reader that is neither the log's nor a part's."""
        most = self._settings.integer("max.row.bytes")
        reader = self._reader_of_log(self._server.third_id, most, waits=False)
        return begun(self._server.connect(), reader, file)

    def _end_of(self, dumped: "Connection[Any]") -> Callable[[], None]:
        number = int(dumped.thread_id())  # type: ignore[no-untyped-call]
        return lambda: self._end_dump(number)

    def _end_dump(self, number: int) -> None:
        """End what may still send us the log, for on a quiet server it would not notice that we are gone."""
        with suppress(WracklineError), self._asking() as connection:
            still = ask(
                connection, "SELECT command FROM information_schema.processlist WHERE id = %s", number
            )
            if any(str(next(iter(row.values()))).startswith("Binlog Dump") for row in still):
                connection.kill(number)  # type: ignore[no-untyped-call]

    def _session(self) -> Session:
        """Connect a reader: the same way each time, so that it sees the same server."""
        kind, ours = mark_kind(self._settings), self._signal_table
        connection = self._server.connect()
        marks = MySqlMarks(
            connection,
            kind,
            signal_table=ours,
            now_ms=self._around.now_ms,
            start=lambda: self._start,
        )
        return Session(connection, self._catalogue_over(connection), marks)

    @cached_property
    def _signal_table(self) -> TableId | None:
        """The one table that is ours, as the server writes names; asked for outside `_asking`."""
        with self._asking() as connection:
            return signal_table(self._settings, facts_of(connection))

    @property
    def _most_event_bytes(self) -> int:
        return self._settings.integer("max.row.bytes") * 2  # an update has its row twice

    def _reading(self, facts: ServerFacts, shapes: Shapes) -> Reading:
        return Reading(
            facts.identity,
            facts.flavour is Flavour.MARIADB,
            self._around.most_batch_bytes,
            self._most_event_bytes,
            signal_table=self._signal_table,
            lower_names=facts.lower_names,
            collations=shapes.said,
        )

    def _labels(self, partition: SourcePartition) -> Labels:
        counted = self._settings.flag("provide.transaction.metadata")
        return Labels(versions.OURS, self._connector, partition.server, counted)

    def _metadata(self) -> str:
        with self._asking() as connection:
            return facts_of(connection).text("binlog_row_metadata")

    @contextmanager
    def _catalogued(self) -> Iterator[Catalogue]:
        with self._asking() as connection:
            yield self._catalogue_over(connection)

    @contextmanager
    def _asking(self) -> "Iterator[Connection[Any]]":
        """Lend the catalogue's connection to one caller; a lost one shows only when it is used."""
        with self._catalogue_lock:
            if self._connection is None or not self._connection.open:
                self._connection = self._server.connect_to_ask()
            with asking(self._connection, "answer about its catalogue"):
                yield self._connection

    def _catalogue_over(self, connection: "Connection[Any]") -> Catalogue:
        return Catalogue(connection, self._shapes(connection), self._renamed_so_far)

    def _renamed_so_far(self) -> Names:
        return self._names()  # of the stream that is open when it is asked: a reader outlives one

    def _shapes(self, connection: "Connection[Any]") -> Shapes:
        instants = INSTANTS[self._settings.text("timestamptz.handling.mode")]
        if self._collations is None:
            self._collations = Catalogue(connection, Shapes(self._rules, instants)).collations()
        return Shapes(self._rules, instants, self._collations)


def _epoch(saved: Saved) -> int:
    fresh = opening.fresh_epoch(saved)
    return position_of(saved).epoch if fresh is None else fresh


@dataclass(frozen=True, slots=True)
class MySqlPlugin:
    """What this folder offers, under one of its two names."""

    kind: str
    connector: str
    debezium_class: str | None
    settings: Declared = config.SETTINGS
    source_fields: Sequence[Mapping[str, object]] = FIELDS
    position_bytes: int = 8  # the file's number and the offset in it

    def open(self, settings: Values, around: Surroundings) -> MySqlSource:
        """Take the settings; the first connection is made when something is asked."""
        return MySqlSource(settings, around, self.connector)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table is."""
        host, port = settings.text("database.hostname"), settings.integer("database.port")
        return Located(f"mysql://{host}:{port}", f"{table.schema}.{table.name}")


PLUGIN = MySqlPlugin("mysql", "mysql", "io.debezium.connector.mysql.MySqlConnector")

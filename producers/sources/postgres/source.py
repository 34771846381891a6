"""One PostgreSQL database as a source: puts the folder's parts together, decides nothing itself."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from weakref import WeakSet, finalize

import psycopg

from wrackline.producers.changes import Position, Saved
from wrackline.producers.plugin import Kept, LogState, MarkKind, Surroundings
from wrackline.producers.selection import Selection
from wrackline.producers.sources.postgres import (
    check,
    config,
    names,
    publication,
    publication_fit,
    removal,
    slot,
    slot_health,
)
from wrackline.producers.sources.postgres.announced import Announced
from wrackline.producers.sources.postgres.chunks import PgReader, Session
from wrackline.producers.sources.postgres.connect import Connection, Server
from wrackline.producers.sources.postgres.decode import Decoder
from wrackline.producers.sources.postgres.discover import Catalogue
from wrackline.producers.sources.postgres.heartbeat import Heartbeat
from wrackline.producers.sources.postgres.marks import PgMarks
from wrackline.producers.sources.postgres.origin import CONNECTOR, FIELDS, Labels
from wrackline.producers.sources.postgres.patience import Guarded
from wrackline.producers.sources.postgres.picture import CATALOGUE_UNSEEN, Looker
from wrackline.producers.sources.postgres.removal import Belongings
from wrackline.producers.sources.postgres.roll import Roll
from wrackline.producers.sources.postgres.sqlstates import asking
from wrackline.producers.sources.postgres.stream import PgStream, Rhythm, begin
from wrackline.producers.sources.postgres.whole import WholeReader
from wrackline.producers.watch import Watch
from wrackline.schemas import unavailable, versions
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.filters import ColumnRules, TableFilter
from wrackline.schemas.findings import ColumnSupport, Finding
from wrackline.schemas.located import Located
from wrackline.schemas.setting import Declared
from wrackline.schemas.settings import Values
from wrackline.schemas.source_settings import INSTANTS
from wrackline.schemas.table import SourcePartition, TableId, TableSchema

KIND = "postgres"

_MARKS = {
    "fence": MarkKind.FENCE,
    "message": MarkKind.MESSAGE,
    "insert_insert": MarkKind.SIGNAL,
    "insert_delete": MarkKind.SIGNAL,
}

MARKS_WRITE = define(
    "pg.marks_write",
    OperatorNeeded,
    "read.only is set, and incremental.snapshot.watermarking.strategy {strategy} writes into the database",
    hint='set incremental.snapshot.watermarking.strategy = "fence", or take the line out',
)


class PgSource:
    """A database with settings that were found good."""

    def __init__(self, settings: Values, around: Surroundings) -> None:
        self._settings, self._around = settings, around
        self._server = Server(settings)
        self._slot = names.slot_name(settings)  # until a saved position names another
        self._rules = ColumnRules.of(settings)
        self._selection = Selection(self._catalogued, TableFilter.of(settings), self._signal_table)
        self._connection: Guarded | None = None
        self._catalogue_lock = threading.Lock()
        self._heartbeat = Heartbeat(self._server, settings)
        self._streams: WeakSet[PgStream] = WeakSet()  # one that is dropped takes its buffers along
        self._readers: list[PgReader] = []

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the one database."""
        return [SourcePartition(self._settings.text("topic.prefix"), self._server.database)]

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the role can read and the filters capture."""
        del partition
        return self._selection.tables()

    def left_out(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the role can read and the filters do not capture."""
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
    ) -> PgStream:
        """Open the log after `saved`; the publication and the slot are made where they may be."""
        settings = self._settings
        self._slot_of(saved)
        name = settings.text("publication.name")
        mode = publication.mode_of(settings)
        self._mark_kind()  # refused here, where somebody looks
        signal_table = self._signal_table()
        listed = tables if signal_table is None else [*tables, signal_table]
        skipped = settings.listed("skipped.operations")
        with self._asking() as connection:
            catalogue = self._catalogue_over(connection)
            unfit = publication_fit.unfit(connection, name, listed, skipped, self._rules, catalogue)
            for table, error in unfit.items():
                if saved is None or table == signal_table:  # at a first start somebody looks
                    raise error
            fit = [table for table in listed if table not in unfit]
            added = publication.ensure_publication(
                connection, name, fit, mode, resumed=saved is not None, made_for=settings.text("name")
            )
            start = slot.ensure_slot(
                self._server,
                connection,
                self._slot,
                slot_health.begins(saved, self._slot),
                failover=settings.flag("slot.failover"),
            )
        epoch = None if saved is None else slot_health.fresh_epoch(saved)
        if epoch is not None:
            start = replace(start, epoch=epoch)
        rhythm = Rhythm(
            settings.integer("status.update.interval.ms") / 1000,
            settings.integer("wal.receiver.timeout.ms") / 1000,
        )
        roll = Roll(self._selection.captures(tables, aside), tables)
        explained = Announced(self._catalogued, roll, self._around)
        decoder = Decoder(start, self._labels(partition), roll, explained, signal_table)
        decoder.leave_out(unfit)
        wire = begin(self._server.replicate(), self._slot, name, start, rhythm.most_silence)
        looker = Looker(
            self._server.guarded,
            self._catalogue_over,
            roll.captures,
            name,
            ours=mode == publication.OURS,
            pushes=not settings.flag("read.only"),
            added=set() if saved is None else set(added) - set(fresh),
        )
        watch = Watch(looker, roll, CATALOGUE_UNSEEN, psycopg.Error)
        stream = PgStream(wire, decoder, start, self._around, slot=self._slot, rhythm=rhythm, watch=watch)
        finalize(stream, watch.stop)  # a stream that is dropped without a close must not leave its watch
        self._streams.add(stream)
        return stream

    def reader(self, partition: SourcePartition) -> PgReader:
        """Open a connection for chunks."""
        labels = self._labels(partition)
        whole = WholeReader(self._session, self._server.replicate, labels, self._around)
        reader = PgReader(self._session, labels, self._around, whole)
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
        """Look at the slot, which knows itself what is confirmed."""
        del partition, confirmed
        with self._asking() as connection:
            return slot_health.log_state(connection, self._slot)

    def beat(self, partition: SourcePartition) -> None:
        """Write a heartbeat into the log."""
        del partition
        self._heartbeat.beat()

    def place(self, saved: Saved) -> str:
        """Write a position as people read it."""
        return slot_health.place(saved, self._slot_of(saved))

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Say whether the log still reaches back there."""
        del partition
        with self._asking() as connection:
            slot_health.resumable(connection, saved, self._slot_of(saved))

    def anew(self, saved: Saved | None, newest: Saved | None) -> Saved:
        """Put a position into an epoch of its own."""
        made = slot_health.anew(saved, newest, self._slot_of(saved or newest))
        own = names.slot_name(self._settings)
        return made if self._slot == own else {**made, "slot": self._slot}

    def lost(self, error: WracklineError) -> SourcePartition | None:
        """Say whether the log is not the one that was read, or lacks a part."""
        return self.partitions()[0] if slot.gone(error) else None

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        """Give up a slot that is of no use; return an epoch of its own, wherever the slot then begins."""
        del partition
        with self._asking() as connection:
            slot.let_go(connection, self._slot_of(saved), error)
        return self.anew(None, saved)

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[Kept]:
        """Look at the slot and the publication."""
        del partition
        with self._asking() as connection:
            return removal.kept(connection, self._belongings(saved))

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Drop those of them that are this pipeline's."""
        del partition
        with self._asking() as connection:
            removal.remove(connection, self._belongings(saved))

    def close(self) -> None:
        """End the catalogue's connection, and what the caller left open."""
        for stream in tuple(self._streams):
            stream.close()
        for reader in self._readers:
            reader.close()
        self._heartbeat.close()
        with self._catalogue_lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _slot_of(self, saved: Saved | None) -> str:
        """Return the slot of a position, and look at that one from here on."""
        self._slot = names.slot_name(self._settings, saved)
        return self._slot

    def _session(self) -> Session:
        """Connect a reader: the same way each time, so that it sees the same server."""
        connection = self._server.guarded()
        marks = PgMarks(
            connection,
            self._mark_kind(),
            signal_table=self._signal_table(),
            writes=not self._settings.flag("read.only"),
            now_ms=self._around.now_ms,
        )
        return Session(connection, self._catalogue_over(connection), marks)

    def _belongings(self, saved: Saved | None) -> Belongings:
        settings = self._settings
        return Belongings(
            settings.text("name"),
            self._slot_of(saved),
            settings.text("publication.name"),
            saved,
        )

    @contextmanager
    def _catalogued(self) -> Iterator[Catalogue]:
        with self._asking() as connection:
            yield self._catalogue_over(connection)

    def _labels(self, partition: SourcePartition) -> Labels:
        counted = self._settings.flag("provide.transaction.metadata")
        placeholder = unavailable.bytes_of(self._settings.text("unavailable.value.placeholder"))
        return Labels(versions.OURS, partition.server, partition.database, counted, placeholder)

    def _signal_table(self) -> TableId | None:
        """Return the signal table: schema.table, or with the database before it."""
        if self._settings["signal.data.collection"] is None:
            return None
        schema, _, name = self._settings.text("signal.data.collection").rpartition(".")
        return TableId(self._server.database, schema.rpartition(".")[2], name)

    def _mark_kind(self) -> MarkKind:
        """Follow the setting; without one, the fence, which needs no rights and no table."""
        if self._settings["incremental.snapshot.watermarking.strategy"] is None:
            return MarkKind.FENCE
        strategy = self._settings.text("incremental.snapshot.watermarking.strategy")
        if self._settings.flag("read.only") and _MARKS[strategy] is not MarkKind.FENCE:
            raise MARKS_WRITE(strategy=strategy)
        return _MARKS[strategy]

    @contextmanager
    def _asking(self) -> Iterator[Connection]:
        """Lend the catalogue's connection to one caller; a lost one shows only when it is used."""
        with self._catalogue_lock:
            if self._connection is None or self._connection.closed:
                self._connection = self._server.guarded()
            with asking(self._connection, "answer about its catalogue"):
                yield self._connection

    def _catalogue_over(self, connection: Connection) -> Catalogue:
        instants = INSTANTS[self._settings.text("timestamptz.handling.mode")]
        publication_name = self._settings.text("publication.name")
        return Catalogue(connection, self._server.database, self._rules, instants, publication_name)


class PgPlugin:
    """What this folder offers."""

    kind = KIND
    connector = CONNECTOR
    debezium_class = "io.debezium.connector.postgresql.PostgresConnector"
    settings: Declared = config.SETTINGS
    source_fields = FIELDS
    position_bytes = 8  # an LSN

    def open(self, settings: Values, around: Surroundings) -> PgSource:
        """Take the settings; the first connection is made when something is asked."""
        return PgSource(settings, around)

    def located(self, settings: Values, table: TableId) -> Located:
        """Return where a table is."""
        host, port = settings.text("database.hostname"), settings.integer("database.port")
        return Located(f"postgres://{host}:{port}", str(table))


PLUGIN = PgPlugin()

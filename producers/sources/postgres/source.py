"""One PostgreSQL database as a source: connects the folder's parts, and decides nothing itself."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import psycopg

from wrackline.producers.contract.optional_parts import LogState, ServerObject, TableSize
from wrackline.producers.contract.source_plugin import MarkKind, Surroundings
from wrackline.producers.contract.steps import Position, Saved
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.kit.catalogue_poller import CataloguePoller
from wrackline.producers.kit.lent_connection import LentConnection, UnusedConnections
from wrackline.producers.kit.open_handles import OpenHandles
from wrackline.producers.kit.polled_stream import PolledStream
from wrackline.producers.kit.selection import Selection
from wrackline.producers.sources.postgres import server_objects, slot_owner
from wrackline.producers.sources.postgres.check import check, check_tables
from wrackline.producers.sources.postgres.chunks import key_uniqueness
from wrackline.producers.sources.postgres.chunks.chunks import PgReader, PgReadSession, chunk_reader
from wrackline.producers.sources.postgres.chunks.marks import PgFence, PgMarks, log_end
from wrackline.producers.sources.postgres.chunks.whole import PgWholeReader
from wrackline.producers.sources.postgres.connect import quoting
from wrackline.producers.sources.postgres.connect.connect import Connection, PgServer
from wrackline.producers.sources.postgres.connect.server_errors import translate_errors
from wrackline.producers.sources.postgres.decode import PgDecoder
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.producers.sources.postgres.discover.table_sizes import table_sizes
from wrackline.producers.sources.postgres.follow import publication, publication_fit
from wrackline.producers.sources.postgres.follow.catalogue_snapshot import CATALOGUE_UNSEEN, PgCatalogueReader
from wrackline.producers.sources.postgres.follow.sight import PgSight
from wrackline.producers.sources.postgres.follow.table_resolver import PgTableResolver
from wrackline.producers.sources.postgres.follow.table_tracker import PgTableTracker
from wrackline.producers.sources.postgres.heartbeat import PgHeartbeat
from wrackline.producers.sources.postgres.log import slot, slot_health
from wrackline.producers.sources.postgres.rows.source_record import PgSourceLabels
from wrackline.producers.sources.postgres.server_objects import PgPipelineObjects
from wrackline.producers.sources.postgres.stream import PgLogWire, PgStream, PgStreamTiming, begin
from wrackline.producers.sources.postgres.trials import PgTrials
from wrackline.schemas import versions
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.events import unavailable
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.pipelines.publication_settings import skipped_letters
from wrackline.schemas.settings.declared.source_settings import INSTANTS
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

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
    hint='set incremental.snapshot.watermarking.strategy = "fence", or remove the line',
)


class PgSource:
    """A database with valid settings."""

    def __init__(
        self,
        settings: Values,
        around: Surroundings,
        sight: PgSight | None = None,
        unused: UnusedConnections | None = None,
    ) -> None:
        """Take a database, and what its neighbours on the server share."""
        self._settings, self._around = settings, around
        self._sight = sight or PgSight(around.monotonic)
        self._server = PgServer(settings)
        self._slot = quoting.slot_name(settings)  # until a saved position names another
        self._rules = ColumnRules.of(settings)
        self._selection = Selection(self._catalogued, TableFilter.of(settings), self._signal_table)
        self._connection = LentConnection(
            self._server.guarded, lambda one: not one.closed, translate_errors, unused
        )
        self._heartbeat = PgHeartbeat(self._server, settings)
        self._opened = OpenHandles()

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the one database."""
        return [SourcePartition(self._settings.text("topic.prefix"), self._server.database)]

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the role can read and the filters capture."""
        return self._selection.tables()

    def left_out(self, partition: SourcePartition) -> Mapping[TableId, UncapturedReason]:
        """Say why each uncaptured table is left out: by the filters, without a grant, or unlogged."""
        with self._connection.lend() as connection:
            everything = check_tables.all_tables(connection, self._server.database)
        ours, chosen = self._signal_table(), TableFilter.of(self._settings)
        found = {one.id: check_tables.why_hidden(one) for one in everything if one.id != ours}
        filtered = {table: None if chosen.captures(table) else UncapturedReason.FILTERS for table in found}
        return {table: why for table, hidden in found.items() if (why := filtered[table] or hidden)}

    def sizes(self, partition: SourcePartition) -> Mapping[TableId, TableSize]:
        """Return the catalogue's estimates."""
        with self._connection.lend() as connection:
            return table_sizes(connection, self._server.database)

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

    def absent(self, partition: SourcePartition, tables: Collection[TableId]) -> Collection[TableId]:
        """Name the tables that were dropped or renamed: roles see the names of all relations."""
        chosen = TableFilter.of(self._settings)
        with self._catalogued() as catalogue:
            return [table for table in catalogue.absent(tables) if chosen.captures(table)]

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
        self._mark_kind()  # refused here, where an operator sees it
        signal_table = self._signal_table()
        listed = tables if signal_table is None else [*tables, signal_table]
        skipped = settings.listed("skipped.operations")
        with self._connection.lend() as connection:
            self._refuse_anothers(connection, saved)
            catalogue = self._catalogue_over(connection)
            unfit = publication_fit.unfit(connection, name, listed, skipped, self._rules, catalogue)
            for table, error in unfit.items():
                if saved is None or table == signal_table:  # an operator sees the error of a first start
                    raise error
            fit = [table for table in listed if table not in unfit]
            added = publication.ensure_publication(
                connection, name, fit, mode, resumed=saved is not None, made_for=settings.text("name")
            )
            begins = slot_health.begins(saved, self._slot)
            failover = settings.flag("slot.failover")
            start = slot.ensure_slot(self._server, connection, self._slot, begins, failover=failover)
        epoch = None if saved is None else slot_health.fresh_epoch(saved)
        if epoch is not None:
            start = replace(start, epoch=epoch)
        rhythm = PgStreamTiming(
            settings.integer("status.update.interval.ms") / 1000,
            settings.integer("wal.receiver.timeout.ms") / 1000,
        )
        roll = PgTableTracker(self._selection.captures(tables, aside), tables)
        explained = PgTableResolver(self._catalogued, roll, self._around)
        decoder = PgDecoder(start, self._labels(partition), roll, explained, signal_table)
        decoder.leave_out(unfit)
        begun = begin(self._server.replicate(), self._slot, name, start.resume, rhythm.most_silence)
        wire = PgLogWire(begun, decoder, start, self._around, slot=self._slot, rhythm=rhythm)
        looker = PgCatalogueReader(
            self._server.guarded,
            self._catalogue_over,
            roll.tables.captures,
            name,
            ours=mode == publication.OURS,
            sight=self._sight,
            pushes=not settings.flag("read.only"),
            added=set() if saved is None else set(added) - set(fresh),
        )
        watch = CataloguePoller(looker, roll.reports, CATALOGUE_UNSEEN, psycopg.Error)
        return self._opened.keep_stream(PolledStream(wire, watch, self._around.monotonic))

    def reader(self, partition: SourcePartition) -> PgReader:
        """Open a connection for chunks."""
        labels = self._labels(partition)
        whole = PgWholeReader(self._session, self._server.replicate, labels, self._around)
        return self._opened.keep_reader(chunk_reader(self._session, labels, self._around, whole))

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return the findings; change nothing."""
        return check.check(self._server, self._settings, tables, self._slot)

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say for every copied column how far it is carried."""
        with self._server.connect() as connection, translate_errors(connection, "show its catalogue", table):
            return check.support(connection, self._settings, table)

    def trying(self, partition: SourcePartition) -> PgTrials:
        """Return what can be tried."""
        return PgTrials(self._server, self._settings)

    def log_state(self, partition: SourcePartition, confirmed: Position | None = None) -> LogState | None:
        """Look at the slot, which has the confirmed place itself."""
        with self._connection.lend() as connection:
            return slot_health.log_state(connection, self._slot)

    def states_of_slots(self, slots: Sequence[str]) -> Mapping[str, LogState]:
        """Look at slots, also of other databases of the server."""
        with self._connection.lend() as connection:
            return slot_health.log_states(connection, slots)

    @property
    def slot(self) -> str:
        """The name of the slot, as far as it is known by now."""
        return self._slot

    def log_end(self, partition: SourcePartition) -> PgFence:
        """Mark the end of what is written; a writer of the server soon flushes the rest."""
        with self._connection.lend() as connection:
            return log_end(connection, "end")[0]

    def beat(self, partition: SourcePartition) -> None:
        """Write a heartbeat into the log."""
        self._heartbeat.beat()

    def place(self, partition: SourcePartition, saved: Saved) -> str:
        """Write a position in a readable form."""
        return slot_health.place(saved, self._slot_of(saved))

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Raise unless the log still reaches back to this position."""
        with self._connection.lend() as connection:
            slot_health.resumable(connection, saved, self._slot_of(saved))

    def anew(self, partition: SourcePartition, saved: Saved | None, newest: Saved | None) -> Saved:
        """Put a position into an epoch of its own."""
        return slot_health.anew(saved, newest, self._slot_of(saved or newest))

    def refuse_anothers(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Raise if the slot is known to be another pipeline's."""
        self._slot_of(saved)
        with self._connection.lend() as connection:
            self._refuse_anothers(connection, saved)

    def lost(self, partition: SourcePartition, error: WracklineError) -> bool:
        """Whether the log is another log, or lacks a part."""
        return slot.is_log_lost(error)

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        """Give up a slot that is useless; return an epoch of its own, which begins where the slot begins."""
        with self._connection.lend() as connection:
            slot.drop_lost_slot(connection, self._slot_of(saved), error)
        return self.anew(partition, None, saved)

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[ServerObject]:
        """Look at the slot and the publication."""
        with self._connection.lend() as connection:
            return server_objects.pipeline_objects(connection, self._belongings(saved))

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Drop the objects that are this pipeline's own."""
        with self._connection.lend() as connection:
            server_objects.remove(connection, self._belongings(saved))

    def close(self) -> None:
        """End the catalogue's connection, and the streams and readers that the caller left open."""
        with ExitStack() as ends:
            ends.callback(self._connection.close)
            ends.callback(self._heartbeat.close)
            ends.callback(self._opened.close)  # first, because the last is called first

    def _refuse_anothers(self, connection: Connection, saved: Saved | None) -> None:
        if saved is None or saved.get("slot") != self._slot:
            name = self._settings.text("name")
            slot_owner.refuse_anothers(connection, self._slot, name, self._around.neighbours)

    def _slot_of(self, saved: Saved | None) -> str:
        """Return the slot of a position, and use that slot from here on."""
        self._slot = quoting.slot_name(self._settings, saved)
        return self._slot

    def _session(self) -> PgReadSession:
        """Connect a reader, in the same way each time, so that it sees the same server."""
        kind = self._mark_kind()
        connection = self._server.guarded(reads_only=kind is not MarkKind.SIGNAL)
        marks = PgMarks(
            connection,
            kind,
            signal_table=self._signal_table(),
            writes=not self._settings.flag("read.only"),
            now_ms=self._around.now_ms,
        )
        return PgReadSession(connection, self._catalogue_over(connection), marks)

    def _belongings(self, saved: Saved | None) -> PgPipelineObjects:
        settings = self._settings
        return PgPipelineObjects(
            settings.text("name"),
            self._slot_of(saved),
            settings.text("publication.name"),
            saved,
        )

    @contextmanager
    def _catalogued(self) -> Iterator[PgCatalogue]:
        with self._connection.lend() as connection:
            yield self._catalogue_over(connection)

    def _labels(self, partition: SourcePartition) -> PgSourceLabels:
        counted = self._settings.flag("provide.transaction.metadata")
        return PgSourceLabels(
            versions.OURS,
            partition.server,
            partition.database,
            counted,
            skipped_letters(self._settings),
            changed_only=self._settings.flag("skip.messages.without.change"),
            placeholder=unavailable.bytes_of(self._settings.text("unavailable.value.placeholder")),
        )

    def _signal_table(self) -> TableId | None:
        """Return the signal table: schema.table, or with the database before it."""
        if self._settings["signal.data.collection"] is None:
            return None
        place, _, name = self._settings.text("signal.data.collection").rpartition(".")
        database, _, schema = place.rpartition(".")
        several = self._settings["database.names"] is not None
        if several and database not in ("", self._server.database):
            return None  # it is in another one of the pipeline's databases
        return TableId(self._server.database, schema, name)

    def _mark_kind(self) -> MarkKind:
        """Follow the setting; without one, the fence, which needs no rights and no table."""
        if self._settings["incremental.snapshot.watermarking.strategy"] is None:
            return MarkKind.FENCE
        strategy = self._settings.text("incremental.snapshot.watermarking.strategy")
        if self._settings.flag("read.only") and _MARKS[strategy] is not MarkKind.FENCE:
            raise MARKS_WRITE(strategy=strategy)
        return _MARKS[strategy]

    def _catalogue_over(self, connection: Connection) -> PgCatalogue:
        instants = INSTANTS[self._settings.text("timestamptz.handling.mode")]
        publication_name = self._settings.text("publication.name")
        return PgCatalogue(connection, self._server.database, self._rules, instants, publication_name)

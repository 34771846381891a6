"""One database of Oracle as a source: connects the folder's parts, and decides nothing itself."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Final

from wrackline.producers.contract.assumptions import AssumptionReport
from wrackline.producers.contract.optional_parts import OpenTransactions, ServerObject, TableSize
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Position, Saved
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.kit.lent_connection import LentConnection
from wrackline.producers.kit.open_handles import OpenHandles
from wrackline.producers.kit.polled_stream import PolledStream, WireThreadWatch
from wrackline.producers.kit.selection import Selection
from wrackline.producers.sources.oracle.assume.redo_observer import try_assumptions
from wrackline.producers.sources.oracle.check import check
from wrackline.producers.sources.oracle.chunks.chunks import (
    OracleReader,
    OracleReadSession,
    chunk_reader,
    is_proven_unique,
)
from wrackline.producers.sources.oracle.chunks.fence import OracleFence, OracleMarks, current_scn
from wrackline.producers.sources.oracle.chunks.whole import OracleReadScns, OracleWholeReader
from wrackline.producers.sources.oracle.connect import meanings
from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.producers.sources.oracle.connect.driver import Driver, Fields
from wrackline.producers.sources.oracle.connect.quoting import table_name
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.decode import OracleDecoder, OracleStreamScope
from wrackline.producers.sources.oracle.discover.catalogue import OracleCatalogue
from wrackline.producers.sources.oracle.discover.catalogue_looks import CatalogueLooks
from wrackline.producers.sources.oracle.discover.shapes import OracleShapes
from wrackline.producers.sources.oracle.follow.continuity import (
    FIRST_EPOCH,
    LOST,
    OracleLogState,
    epoch_of,
    fresh_epoch,
    start_position,
)
from wrackline.producers.sources.oracle.follow.table_tracker import OracleTableTracker
from wrackline.producers.sources.oracle.heartbeat import OracleHeartbeat
from wrackline.producers.sources.oracle.mining import mining_sql
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.log_files import cover
from wrackline.producers.sources.oracle.mining.log_miner import ended_logs, listed_files
from wrackline.producers.sources.oracle.mining.mining_thread import mining_thread
from wrackline.producers.sources.oracle.mining.position import OraclePosition, position_of
from wrackline.producers.sources.oracle.mining.safe_scn import THREAD, flush_table
from wrackline.producers.sources.oracle.resolver import OracleTableResolver
from wrackline.producers.sources.oracle.rows.source_record import OracleSourceLabels
from wrackline.producers.sources.oracle.stream import OracleLogWire, OracleStream
from wrackline.producers.sources.oracle.transactions.transaction_buffer import MOST_BYTES, TransactionBuffer
from wrackline.producers.sources.oracle.trials import OracleTrials
from wrackline.schemas import versions
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.events import unavailable
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.pipelines.publication_settings import skipped_letters
from wrackline.schemas.settings.declared.source_settings import INSTANTS
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

READERS_UNSEEN = define(
    "oracle.readers_unseen",
    OperatorNeeded,
    "an Oracle server does not show who mines the redo log of {database}",
    hint="nothing to do: it is waited until the pipeline has written nothing for half a minute",
)
NODE_UNASKED = define(
    "oracle.node_unasked",
    OperatorNeeded,
    "redo thread {threads} is open, and no session of ours is on its node, so nothing says which transactions"
    " are open there",
    hint="name each node of the cluster: rac.nodes = '<host>,<host>'; the nodes: SELECT THREAD#, HOST_NAME"
    " FROM GV$INSTANCE;",
)

_AHEAD: Final = 8 << 20  # bytes that were mined and not handed out
_LOG: Final = "SELECT CURRENT_SCN, RESETLOGS_CHANGE#, DBID FROM V$DATABASE"
_OPEN: Final = "SELECT MIN(START_SCN) FROM V$TRANSACTION WHERE START_SCN > 0"  # 0: it is unknown


class OracleSource:
    """A database with valid settings."""

    def __init__(self, settings: Values, around: Surroundings, driver: Driver | None = None) -> None:
        """Take the settings; the first query opens the first connection."""
        self.most_bytes, self.most_ahead = MOST_BYTES, _AHEAD
        self._settings, self._around = settings, around
        self._connector = OracleConnector(settings, driver)
        self.database = self._connector.database
        self._rules = ColumnRules.of(settings)
        self._shapes = OracleShapes(self._rules, INSTANTS[settings.text("timestamptz.handling.mode")])
        self._filter = TableFilter.of(settings)
        self._selection = Selection(self._catalogued, self._filter, self._signal_table)
        self._connection = LentConnection(
            self._connector.connect, lambda one: not one.closed, _ended_when_lost
        )
        self._heartbeat = OracleHeartbeat(self._connector, settings)
        self._opened = OpenHandles()
        self._scns = OracleReadScns()
        self._decoder: OracleDecoder | None = None  # of the stream that was opened last
        self._flush_table = flush_table(self._connector, settings)

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the one database."""
        return [SourcePartition(self._settings.text("topic.prefix"), self.database)]

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that the user can see and the filters capture."""
        return self._selection.tables()

    def left_out(self, partition: SourcePartition) -> Mapping[TableId, UncapturedReason]:
        """Say why each other table is left out."""
        ours = self._signal_table()
        with self._catalogued() as catalogue:
            found = catalogue.left_out(self._filter.captures)
        return {table: reason for table, reason in found.items() if table != ours}

    def sizes(self, partition: SourcePartition) -> Mapping[TableId, TableSize]:
        """Return how large tables were when the server gathered its statistics."""
        with self._catalogued() as catalogue:
            return catalogue.sizes()

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
        with self._catalogued() as catalogue:
            return {
                table: key
                for table, key in chosen.items()
                if not is_proven_unique(catalogue.facts(table), key)
            }

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> OracleStream:
        """Open the log after `saved`; a table's log is complete from its first change, so none is `fresh`."""
        ours, captured = self._signal_table(), self._selection.captures(tables, aside)

        def reads(table: TableId) -> bool:
            return table == ours or captured(table)

        start = self._begin(saved)
        tracker = OracleTableTracker(captured, tables)
        settings, labels = self._settings, self._labels(partition)
        resolver = OracleTableResolver(
            self._shapes,
            self._around,
            tracker.tables.captures,
            self.database,
            ours,
            placeholder=labels.placeholder,
            changed_only=settings.flag("skip.messages.without.change"),
        )
        folder = Path(gettempdir())
        decoder = OracleDecoder(
            start,
            labels,
            tracker,
            resolver,
            lambda threads: TransactionBuffer(threads, start, folder, self.most_bytes),
            OracleStreamScope(reads, self._around.most_batch_bytes, meanings.excluded_users(settings)),
        )
        self._decoder = decoder
        if fresh_epoch(saved) is not None:
            decoder.say()  # or after a fault before the first commit we would begin at a later end
        looks = CatalogueLooks(self._connector.connect, self._catalogue_over, reads)
        thread = mining_thread(
            self._connector,
            settings,
            start,
            looks.look,
            frozenset({ours.schema} if ours is not None else ()),
            self.most_ahead,
        )
        wire = OracleLogWire(thread, looks, decoder, self._around.monotonic)
        return self._opened.keep_stream(
            PolledStream(wire, WireThreadWatch(thread.stop), self._around.monotonic)
        )

    def reader(self, partition: SourcePartition) -> OracleReader:
        """Open a connection for chunks."""
        labels = self._labels(partition)
        whole = OracleWholeReader(self._session, labels, self._around, self._scns)
        return self._opened.keep_reader(chunk_reader(self._session, labels, self._around, whole))

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return the findings; change nothing."""
        return check.check(self._connector, self._settings, self._shapes, tables, self._signal_table())

    def assumptions(
        self, partition: SourcePartition, rest: Callable[[float], None] = time.sleep
    ) -> AssumptionReport:
        """Write into a table of our own, mine what came of it, and judge what the source relies on."""
        settings = self._settings
        flush = None if meanings.archived_only(settings) else self._flush_table
        destinations = settings.listed("archive.destination.name")
        return try_assumptions(self._connector, flush, destinations, self._around.now_ms() / 1000, rest)

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say for every copied column how far it is carried."""
        with self._catalogued() as catalogue:
            return check.support(catalogue.facts(table), self._shapes)

    def trying(self, partition: SourcePartition) -> OracleTrials:
        """Return what can be tried in the database."""
        return OracleTrials(
            self._connector,
            self._settings,
            self._signal_table(),
            lambda: self.stream(partition, self.tables(partition), None),
            self._heartbeat.beat,
        )

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Raise unless the log still reaches back to this position."""
        start, settings = self._begin(saved), self._settings
        after = start.oldest - 1
        archived = mining_sql.archived_sql(settings.listed("archive.destination.name"))
        with closing(self._connector.connect_root()) as root:
            threads = mining_sql.redo_threads(root.ask(mining_sql.THREADS, "show its redo threads"))
            files = listed_files(root, archived, start.incarnation, after)
            ended = partial(ended_logs, root, start.incarnation, after)
            cover(files, threads, after, archived_only=meanings.archived_only(settings), ended=ended)

    def log_end(self, partition: SourcePartition) -> OracleFence:
        """Mark a place above all that is committed."""
        with self._connection.lend() as session:
            return OracleFence("end", current_scn(session, "say where its log is"))

    def beat(self, partition: SourcePartition) -> None:
        """Run the heartbeat's query."""
        self._heartbeat.beat()

    def place(self, partition: SourcePartition, saved: Saved) -> str:
        """Write a position in a readable form."""
        if (epoch := fresh_epoch(saved)) is not None:
            return f"the end of the log (epoch {epoch})"
        at = position_of(saved)
        inside = f", {at.rows} changes into its transaction" if at.cut is not None else ""
        return f"SCN {at.place.scn} (epoch {at.epoch}{inside}), mined from {at.oldest} on, {at.open} open"

    def log_state(self, partition: SourcePartition, confirmed: Position | None = None) -> None:
        """Return nothing: the server keeps its log for a time, and no reader holds it back."""

    def open_transactions(self, partition: SourcePartition) -> OpenTransactions | None:
        """Say what is kept of transactions that have not ended."""
        return None if self._decoder is None else self._decoder.backlog

    def log_reader(self, partition: SourcePartition) -> str | None:
        """Raise: a server shows sessions, and not whose log they mine."""
        raise READERS_UNSEEN(database=partition.database)

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[ServerObject]:
        """Name the pipeline's tables in the database, which other pipelines may use."""
        ours = [("flush table", self._flush_table), ("signal table", self._signal_table())]
        with self._connection.lend() as session:
            there = {one.id for one in OracleCatalogue(session, self.database, self._shapes).listed()}
        return tuple(
            ServerObject(
                f"{what} {table_name(table)}",
                f"DROP TABLE {table_name(table)} PURGE;",
                left="other pipelines may use it",
            )
            for what, table in ours
            if table in there
        )

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Do nothing: what is there may be another's."""

    def anew(self, partition: SourcePartition, saved: Saved | None, newest: Saved | None) -> Saved:
        """Put a position into an epoch of its own."""
        epoch = max((epoch_of(known) for known in (saved, newest) if known), default=FIRST_EPOCH - 1) + 1
        if saved is None or fresh_epoch(saved) is not None:
            return {"epoch": epoch}
        return replace(position_of(saved), epoch=epoch).saved()

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

    def _begin(self, saved: Saved | None) -> OraclePosition:
        """Say where the log begins for us, or raise why that is not possible.

        A transaction that begins while we ask is behind the first SCN, and what is open at the last one has
        begun before the question, or behind the first SCN.
        """
        with closing(self._connector.connect_root()) as root:
            first, *identity = _log_row(root)
            oldest = first if fresh_epoch(saved) is None else min([first, *self._open_since(root)])
            current, *_ = _log_row(root)
        return start_position(saved, OracleLogState(Incarnation(*identity), current, oldest))

    def _open_since(self, root: OracleSession) -> Iterator[int]:
        """Return, of each node that is up, where its oldest open transaction began."""
        asked: set[int] = set()
        failed: Transient | None = None
        for node in self._connector.nodes:
            try:
                with closing(self._connector.connect_node(node)) as session:
                    ((thread,),) = session.ask(THREAD, "say which redo thread is its own")
                    began = [scn for (scn,) in session.ask(_OPEN, "show its open transactions")]
            except Transient as error:
                failed = error
                continue
            asked.add(int(thread))
            yield from (int(scn) for scn in began if scn is not None)
        threads = mining_sql.redo_threads(root.ask(mining_sql.THREADS, "show its redo threads"))
        left = [one.number for one in threads if one.enabled and one.open and one.number not in asked]
        if left:
            raise failed or NODE_UNASKED(threads=", ".join(map(str, left)))

    def _session(self) -> OracleReadSession:
        """Connect a reader."""
        session = self._connector.connect()
        return OracleReadSession(session, self._catalogue_over(session), OracleMarks(session))

    def _labels(self, partition: SourcePartition) -> OracleSourceLabels:
        settings = self._settings
        return OracleSourceLabels(
            versions.OURS,
            partition.server,
            settings.flag("provide.transaction.metadata"),
            skipped_letters(settings),
            unavailable.bytes_of(settings.text("unavailable.value.placeholder")),
        )

    def _signal_table(self) -> TableId | None:
        """Return the signal table: owner.table, or with the database before it."""
        if self._settings["signal.data.collection"] is None:
            return None
        place, _, name = self._settings.text("signal.data.collection").rpartition(".")
        database, _, owner = place.rpartition(".")
        return TableId(self.database, owner, name) if database in {"", self.database} else None

    @contextmanager
    def _catalogued(self) -> Iterator[OracleCatalogue]:
        with self._connection.lend() as session:
            yield self._catalogue_over(session)

    def _catalogue_over(self, session: OracleSession) -> OracleCatalogue:
        return OracleCatalogue(session, self.database, self._shapes, {self._flush_table})


def _log_row(session: OracleSession) -> Fields:
    (row,) = session.ask(_LOG, "say which log it writes")
    return row


@contextmanager
def _ended_when_lost(session: OracleSession, _action: str) -> Iterator[None]:
    """End a connection whose caller got an error that may be of the connection."""
    try:
        yield
    except OperatorNeeded:
        raise
    except WracklineError:
        session.close()
        raise

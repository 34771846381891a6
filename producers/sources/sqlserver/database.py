"""One database of a SQL Server as a source: connects the folder's parts, and decides nothing itself."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import inf, isinf

from wrackline.producers.contract.assumptions import AssumptionReport
from wrackline.producers.contract.optional_parts import LogRecount, ServerObject, TableSize
from wrackline.producers.contract.source_plugin import MarkKind, Surroundings
from wrackline.producers.contract.steps import Saved
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.kit.lent_connection import LentConnection, UnusedConnections
from wrackline.producers.kit.notice_throttle import NoticeThrottle
from wrackline.producers.kit.open_handles import OpenHandles
from wrackline.producers.kit.polled_stream import PolledStream, WireThreadWatch
from wrackline.producers.kit.selection import Selection
from wrackline.producers.sources.sqlserver.assume.assumption_sql import VERSION
from wrackline.producers.sources.sqlserver.assume.assumptions import judge, untried
from wrackline.producers.sources.sqlserver.assume.log_observer import LogObserver, observed_tables
from wrackline.producers.sources.sqlserver.check import check, grants
from wrackline.producers.sources.sqlserver.chunks.chunks import (
    SqlServerReader,
    SqlServerReadSession,
    chunk_reader,
    is_proven_unique,
)
from wrackline.producers.sources.sqlserver.chunks.marks import (
    MarkSettings,
    SqlServerFence,
    SqlServerMarks,
    mark_settings,
    savepoint_lsn,
)
from wrackline.producers.sources.sqlserver.chunks.whole import SqlServerWholeReader
from wrackline.producers.sources.sqlserver.connect.quoting import table_name
from wrackline.producers.sources.sqlserver.connect.server_errors import OBJECT_MISSING
from wrackline.producers.sources.sqlserver.decode import SqlServerDecoder
from wrackline.producers.sources.sqlserver.discover import database_sql, table_sql
from wrackline.producers.sources.sqlserver.discover.database_sql import identity_of
from wrackline.producers.sources.sqlserver.discover.discover import (
    CatalogueLook,
    SqlServerCatalogue,
    SqlServerShapes,
)
from wrackline.producers.sources.sqlserver.follow.capture_instances import enable_sql
from wrackline.producers.sources.sqlserver.follow.continuity import (
    FIRST_EPOCH,
    LOST,
    DatabaseState,
    resume_position,
)
from wrackline.producers.sources.sqlserver.follow.handover import CLEANED_AWAY, NOT_CAPTURED
from wrackline.producers.sources.sqlserver.follow.instance_tracker import InstanceTracker, names_at
from wrackline.producers.sources.sqlserver.heartbeat import SqlServerHeartbeat
from wrackline.producers.sources.sqlserver.log.lsn import ZERO, lsn_text, previous_lsn
from wrackline.producers.sources.sqlserver.log.position import WHOLE, SqlServerPosition, position_of
from wrackline.producers.sources.sqlserver.log.range_audit import AuditTally, RangeAudit
from wrackline.producers.sources.sqlserver.poll.capture_watch import CaptureWatch
from wrackline.producers.sources.sqlserver.poll.following import Following, follow
from wrackline.producers.sources.sqlserver.poll.log_fetcher import LogFetcher, PollPace, SteadyPace
from wrackline.producers.sources.sqlserver.poll.news_watch import NewsWatch, PaceByNews
from wrackline.producers.sources.sqlserver.poll.rotator import InstanceRotator
from wrackline.producers.sources.sqlserver.poll.round_reader import PollSettings, RoundReader
from wrackline.producers.sources.sqlserver.resolver import TableResolver
from wrackline.producers.sources.sqlserver.rows.source_record import SqlServerSourceLabels
from wrackline.producers.sources.sqlserver.session.server import (
    OpenedSession,
    SqlServerConnector,
    SqlServerEdition,
    as_it_is,
    ask_values,
    database_row,
    edition_of,
    refuse_uncaptured,
)
from wrackline.producers.sources.sqlserver.stream import SqlServerLogWire, SqlServerStream
from wrackline.producers.sources.sqlserver.trials import SqlServerTrials
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas import versions
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.pipelines.publication_settings import skipped_letters
from wrackline.schemas.settings.declared.source_settings import INSTANTS
from wrackline.schemas.settings.filters import ColumnRules, TableFilter
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId, TableSchema


class SqlServerDatabase:
    """A database with valid settings."""

    def __init__(
        self,
        settings: Values,
        around: Surroundings,
        database: str,
        most_ahead: int,
        news: NewsWatch | None = None,
        unused: UnusedConnections | None = None,
    ) -> None:
        """Take how many bytes of its log may wait, read and not handed out; and what tells of news."""
        self._news = news
        self._settings, self._around, self.name = settings, around, database
        self.most_ahead = most_ahead
        self._server = SqlServerConnector(settings, database)
        self._rules = ColumnRules.of(settings)
        self._shapes = SqlServerShapes(self._rules, INSTANTS[settings.text("timestamptz.handling.mode")])
        self._filter = TableFilter.of(settings)
        self._selection = Selection(self._catalogued, self._filter, self._signal_table)
        self._connection = LentConnection(self._server.connect, lambda one: not one.closed, as_it_is, unused)
        self._heartbeat = SqlServerHeartbeat(self._server, settings, self._mark_settings, around.now_ms)
        self._opened = OpenHandles()
        self._audit_s = settings.integer("log.audit.interval.ms") / 1000 or inf
        self._tally = AuditTally()

    def tables(self) -> Sequence[TableId]:
        """List the tables that change data capture and the filters capture."""
        return self._selection.tables()

    def left_out(self) -> Mapping[TableId, UncapturedReason]:
        """Say why each other table is left out."""
        with self._catalogued() as catalogue:
            look = catalogue.look()
        captured = {facts.id for facts in look.tables.values() if facts.newest is not None}
        ours = self._signal_table()
        found = {table: self._reason(table, captured) for table in look.names.values() if table != ours}
        return {table: reason for table, reason in found.items() if reason is not None}

    def sizes(self) -> Mapping[TableId, TableSize]:
        """Return how many rows each table has; how many bytes is not asked."""
        with self._connection.lend() as session:
            ((rows),) = ask_values(session, table_sql.ROWS, "count the rows of its tables")
        found = Counter[TableId]()
        for schema, name, count in rows:
            found[TableId(self.name, schema, name)] += int(count or 0)
        return {table: TableSize(count, None) for table, count in found.items()}

    def describe(self, table: TableId) -> TableSchema:
        """Return a table's current shape."""
        return self._selection.describe(table)

    def described(self, tables: Collection[TableId]) -> Mapping[TableId, TableSchema | WracklineError]:
        """Return the current shapes of many tables."""
        return self._selection.described(tables)

    def unproven(self, tables: Collection[TableId]) -> Mapping[TableId, Sequence[str]]:
        """Name the keys by message.key.columns that no unique index proves."""
        chosen = {table: key for table in tables if (key := self._rules.key(table))}
        with self._catalogued() as catalogue:
            return {
                table: key
                for table, key in chosen.items()
                if not is_proven_unique(catalogue.facts(table), key)
            }

    def stream(
        self,
        server: str,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId],
        *,
        rotates: bool = True,
    ) -> SqlServerStream:
        """Open the log after `saved`; unless it `rotates`, it leaves capture instances as they are."""
        marks, ours = self._mark_settings(), self._signal_table()
        captured = self._selection.captures(tables, aside)

        def reads(table: TableId) -> bool:
            return table == ours or captured(table)

        session = self._server.connect()
        try:
            following, start, edition = self._begin(session, saved, reads, marks)
        except BaseException:
            session.close()
            raise
        labels = self._labels(server)
        tracker = InstanceTracker(captured, tables, names_at(start.instances, self.name))
        resolver = TableResolver(
            self._shapes,
            self._around,
            tracker.tables.captures,
            ours,
            changed_only=self._settings.flag("skip.messages.without.change"),
        )
        decoder = SqlServerDecoder(start, labels, tracker, resolver, self._around.most_batch_bytes)
        for table, error in following.lost(start.instances, start.passed):
            if error.code == CLEANED_AWAY.code:
                session.close()
                raise error
            decoder.leave_out(table, error)
        if saved is None or _is_fresh(saved):
            decoder.say()  # or after a fault before the first commit we would begin at a later end
        rotates = rotates and self._settings.flag("capture.instance.rotate")
        rotator = InstanceRotator(session.execute, self._around.tell, works=rotates)
        reader = self._round_reader(
            session, edition, start, following, reads, rotator, counted=labels.counted
        )
        interval_s = self._settings.integer("poll.interval.ms") / 1000
        pace: PollPace = SteadyPace(interval_s)
        if self._news is not None and not edition.azure:
            pace = PaceByNews(self._news, self.name)
        fetcher = LogFetcher(reader, session.close, pace, self.most_ahead)
        wire = SqlServerLogWire(fetcher, decoder, self._around.monotonic, reader.rotator.confirm)
        return self._opened.keep_stream(
            PolledStream(wire, WireThreadWatch(fetcher.stop), self._around.monotonic)
        )

    def reader(self, server: str) -> SqlServerReader:
        """Open a connection for chunks."""
        labels = self._labels(server)
        whole = SqlServerWholeReader(
            self._session, labels, self._around, self._keeps_versions, self._server.reads_only
        )
        return self._opened.keep_reader(chunk_reader(self._session, labels, self._around, whole))

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return the findings; change nothing."""
        return check.check(self._server, self._settings, self._shapes, tables, self._mark_settings())

    def assumptions(self, rest: Callable[[float], None]) -> AssumptionReport:
        """Watch the log, and judge what the source relies on."""
        server = ""
        try:
            with OpenedSession(self._server.connect()) as session:
                (((server,),),) = ask_values(session, VERSION, "say which server it is")
                row = database_row(session, edition_of(session), self.name)
                refuse_uncaptured(row)
                tables = observed_tables(
                    self._catalogue_over(session).look(),
                    self._signal_table(),
                    versions=row.versions,
                    read_only=self._server.reads_only or self._settings.flag("read.only"),
                )
            seen = LogObserver(self._server, tables, self._around.now_ms() / 1000, rest).observe()
        except WracklineError as error:
            return AssumptionReport(self.name, server, untried(error.sentence))
        return AssumptionReport(self.name, server, judge(seen))

    def trying(self, server: str) -> SqlServerTrials:
        """Return what can be tried."""

        def open_log() -> SqlServerStream:
            return self.stream(server, self.tables(), None, (), rotates=False)

        return SqlServerTrials(
            self._server, self._settings, self._mark_settings, open_log, self._heartbeat.beat
        )

    def support(self, table: TableId) -> Sequence[ColumnSupport]:
        """Say for every copied column how far it is carried."""
        with self._catalogued() as catalogue:
            return check.support(catalogue.facts(table), self._shapes)

    def server_objects(self) -> Sequence[ServerObject]:
        """Name the signal table, if there is one."""
        table = self._signal_table()
        if table is None:
            return ()
        with self._catalogued() as catalogue:
            there = table in catalogue.look().names.values()
        name = table_name(table)
        made = ServerObject(f"signal table {name}", f"DROP TABLE {name};", left="other pipelines may use it")
        return (made,) if there else ()

    def log_end(self) -> SqlServerFence:
        """Mark a place above all that is committed."""
        with self._connection.lend() as session:
            return SqlServerFence("end", savepoint_lsn(session))

    def recount(self) -> LogRecount | None:
        """Say how many ranges of its log were counted again, and when."""
        if isinf(self._audit_s):
            return None
        last = self._tally.last_at
        return LogRecount(self._tally.ranges, None if last is None else self._around.monotonic() - last)

    def beat(self) -> None:
        """Write a heartbeat."""
        self._heartbeat.beat()

    def place(self, saved: Saved) -> str:
        """Write a position in a readable form."""
        if _is_fresh(saved):
            return f"the end of the log (epoch {saved['epoch']})"
        at = position_of(saved)
        inside = f", {at.done} changes into its transaction" if at.cut is not None else ""
        return f"{lsn_text(at.lsn)} (epoch {at.epoch}{inside})"

    def resumable(self, saved: Saved) -> None:
        """Raise unless the log still reaches back to this position."""
        ours, chosen = self._signal_table(), self._selection.captures((), ())

        def captured(table: TableId) -> bool:
            return table == ours or chosen(table)

        with OpenedSession(self._server.connect()) as session:
            following, start, _ = self._begin(session, saved, captured, self._mark_settings())
            for _, error in following.lost(start.instances, start.passed):
                raise error

    def anew(self, saved: Saved | None, newest: Saved | None) -> Saved:
        """Put a position into an epoch of its own."""
        epoch = max((_epoch(known) for known in (saved, newest) if known), default=FIRST_EPOCH - 1) + 1
        if saved is None or _is_fresh(saved):
            return {"epoch": epoch}
        return replace(position_of(saved), epoch=epoch).saved()

    def lost(self, error: WracklineError) -> bool:
        """Whether the log is another log, or lacks a part."""
        return error.code in LOST

    def close(self) -> None:
        """End the catalogue's connection, and the streams and readers that the caller left open."""
        with ExitStack() as ends:
            ends.callback(self._connection.close)
            ends.callback(self._heartbeat.close)
            ends.callback(self._opened.close)  # first, because the last is called first

    def _begin(
        self, session: TdsSession, saved: Saved | None, reads: Callable[[TableId], bool], marks: MarkSettings
    ) -> tuple[Following, SqlServerPosition, SqlServerEdition]:
        """Say which tables are read, from where, and on which server; or raise why that is not possible."""
        edition = edition_of(session)
        row = database_row(session, edition, self.name)
        self._server.refuse_twin(row)
        refuse_uncaptured(row)
        look = self._catalogue_over(session).look()
        following = follow(look, reads)
        self._refuse_silence(session, following, marks, azure=edition.azure)
        if marks.table is not None and not following.reads(marks.table):  # a mark would never come back
            raise NOT_CAPTURED(table=marks.table, statement=enable_sql(marks.table))
        fresh = saved is None or _is_fresh(saved)
        position = None if saved is None or fresh else position_of(saved)
        ((bounds,),) = ask_values(
            session,
            database_sql.log_bounds_sql(None, ZERO if position is None else position.lsn),
            "say which part of its log was captured",
        )
        every = [one for facts in look.tables.values() for one in facts.instances]
        state = DatabaseState(
            self.name,
            identity_of(row),
            bounds[1],
            every,
            bounds[0],
            bounds[2],
            self._server.reads_only,
            look.names.keys(),
        )
        start = resume_position(position, state)
        if position is None:
            epoch = FIRST_EPOCH if saved is None else _epoch(saved)
            start = replace(start, epoch=epoch, instances=following.instances())
        return following, start, edition

    def _refuse_silence(
        self, session: TdsSession, following: Following, marks: MarkSettings, *, azure: bool
    ) -> None:
        """Raise if our login lacks a right: without it change tables look empty, and no error says why."""
        roles = [one.role for _, one in following.by_change_table.values() if one.role is not None]
        fenced = marks.table is None
        user = self._server.user
        rights = list(grants.needed_rights(user, [], roles, signals=marks.table, fence=fenced, azure=azure))
        ((answer,),) = ask_values(session, grants.rights_sql(rights), "show our rights")
        for right, found in zip(rights, answer, strict=True):
            if found != 1:
                raise grants.missing(right, self.name)

    def _round_reader(
        self,
        session: TdsSession,
        edition: SqlServerEdition,
        start: SqlServerPosition,
        following: Following,
        reads: Callable[[TableId], bool],
        rotator: InstanceRotator,
        *,
        counted: bool,
    ) -> RoundReader:
        settings = self._settings
        poll = PollSettings(
            self.name,
            settings.integer("max.iteration.transactions"),
            edition.zoned,
            reads,
            lambda: self._look(session),
            NoticeThrottle(self._around.now_ms, self._around.tell),
            self.most_ahead,
            self._capture_watch(session, edition),
            self._server.user,
            self._mark_settings().table,
        )
        audit = RangeAudit(self.name, self._audit_s, self._tally)
        if counted and start.cut is not None:  # events are numbered, so a commit is read from its beginning
            start = replace(start, lsn=previous_lsn(start.lsn), done=WHOLE, cut=None)
        return RoundReader(session, poll, start, following, audit, self._around.monotonic, rotator)

    def _look(self, session: TdsSession) -> CatalogueLook:
        """Look at the catalogue."""
        with self._uncaptured_named(session):
            return self._catalogue_over(session).look()

    def _capture_watch(self, session: TdsSession, edition: SqlServerEdition) -> CaptureWatch:
        """Watch the agent of this server, unless the changes come from elsewhere."""
        beat_s = self._settings.integer("heartbeat.interval.ms") / 1000
        beats = beat_s > 0 and self._mark_settings().kind is MarkKind.SIGNAL
        here = not edition.azure and not self._server.reads_only
        return CaptureWatch(
            self.name,
            (lambda sql: ask_values(session, sql, "say whether its agent runs")) if here else None,
            self._around.tell,
            beat_s if beats else None,
            (lambda: False) if self._news is None else self._news.agent_stands,
        )

    def _session(self) -> SqlServerReadSession:
        """Connect a reader."""
        marks = self._mark_settings()
        session = self._server.connect_to_read()
        set_by = SqlServerMarks(session, marks, self._around.now_ms)
        return SqlServerReadSession(
            session, self._catalogue_over(session), set_by, versions=self._server.reads_versions
        )

    def _keeps_versions(self) -> bool:
        with self._connection.lend() as session:
            return database_row(session, edition_of(session), self.name).versions

    def _reason(self, table: TableId, captured: Collection[TableId]) -> UncapturedReason | None:
        if not self._filter.captures(table):
            return UncapturedReason.FILTERS
        return None if table in captured else UncapturedReason.NO_CAPTURE

    def _signal_table(self) -> TableId | None:
        """Return the signal table: schema.table, or with the database before it."""
        if self._settings["signal.data.collection"] is None:
            return None
        place, _, name = self._settings.text("signal.data.collection").rpartition(".")
        database, _, schema = place.rpartition(".")
        return TableId(self.name, schema, name) if database in {"", self.name} else None

    def _mark_settings(self) -> MarkSettings:
        return mark_settings(self._settings, self._signal_table())

    def _labels(self, server: str) -> SqlServerSourceLabels:
        settings = self._settings
        return SqlServerSourceLabels(
            versions.OURS,
            server,
            settings.flag("provide.transaction.metadata"),
            skipped_letters(settings),
        )

    @contextmanager
    def _catalogued(self) -> Iterator[SqlServerCatalogue]:
        with self._connection.lend() as session, self._uncaptured_named(session):
            yield self._catalogue_over(session)

    @contextmanager
    def _uncaptured_named(self, session: TdsSession) -> Iterator[None]:
        """Say of a catalogue that is not there that nothing is captured any more, if that is the reason."""
        try:
            yield
        except WracklineError as error:
            if error.code == OBJECT_MISSING.code:
                refuse_uncaptured(database_row(session, edition_of(session), self.name))
            raise

    def _catalogue_over(self, session: TdsSession) -> SqlServerCatalogue:
        return SqlServerCatalogue(
            lambda sql: ask_values(session, sql, "describe its tables"), self.name, self._shapes
        )


def _is_fresh(saved: Saved) -> bool:
    """Whether a position is only an epoch, which begins at the log's end."""
    return "lsn" not in saved


def _epoch(saved: Saved) -> int:
    epoch = saved["epoch"]
    return epoch if isinstance(epoch, int) else FIRST_EPOCH

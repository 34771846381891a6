"""Pieces of the change tables into steps: the output of the poll, in the words of `steps.py`.  Pure.

    LogPiece: commit, change change change, commit ...   ->   Begin Rows Commit Progress

A commit is announced with its first published change, so a commit without our rows costs a place and no step.
Ordinals count the changes of all tables that are read, in the order of the change tables, before any filter
of columns: so the same event has the same seq after any restart.  News of tables comes between commits.
"""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from wrackline.producers.contract.steps import (
    Batch,
    Begin,
    Commit,
    Fault,
    RowChange,
    Rows,
    Signal,
    UnfitRow,
)
from wrackline.producers.kit.step_log import StepLog
from wrackline.producers.sources.sqlserver.follow.instance_tracker import InstanceTracker
from wrackline.producers.sources.sqlserver.log.change_rows import Change, RowKey, place_of, row_key
from wrackline.producers.sources.sqlserver.log.lsn import lsn_text
from wrackline.producers.sources.sqlserver.log.page_merger import CommitPart, LoggedCommit
from wrackline.producers.sources.sqlserver.log.position import WHOLE, SqlServerPosition
from wrackline.producers.sources.sqlserver.poll.following import Following
from wrackline.producers.sources.sqlserver.poll.round_reader import LogPiece
from wrackline.producers.sources.sqlserver.resolver import ChangeTableReader, SignalReader, TableResolver
from wrackline.producers.sources.sqlserver.rows.rows import ChangeCount
from wrackline.producers.sources.sqlserver.rows.source_record import SqlServerSourceLabels, streamed_record
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.tables.seq import log_prefix
from wrackline.schemas.tables.table import TableId


@dataclass(slots=True)
class OpenCommit:
    """A commit whose end has not come."""

    commit: LoggedCommit
    count: ChangeCount
    skip: int = 0  # so many changes were published before
    announced: bool = False
    frames: dict[TableId, Frame] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in events."""
        return lsn_text(self.commit.lsn)

    @property
    def committed_ms(self) -> int:
        """When it was committed."""
        return self.commit.committed_us // 1000

    def frame(self, labels: SqlServerSourceLabels, epoch: int, table: TableId) -> Frame:
        """Return the common part of its events of one table."""
        made = self.frames.get(table)
        if made is None:
            made = self.frames[table] = Frame(
                streamed_record(labels, table, self.commit.lsn, ts_us=self.commit.committed_us),
                log_prefix(epoch, self.commit.lsn),
                ts_ms=self.committed_ms,
                transaction=self.name if labels.counted else None,
                skipped=labels.skipped,
            )
        made.total = self.count.total
        return made


class PlaceInside(NamedTuple):
    """The place behind a change, as parts: most are never asked for."""

    base: SqlServerPosition  # with what all positions have in common
    commit: LoggedCommit
    done: int
    last: RowKey
    serial: int

    @property
    def position(self) -> SqlServerPosition:
        """The position."""
        base, commit, done, last, serial = self
        transaction = commit.transaction
        cut = place_of(last)
        return replace(base, lsn=commit.lsn, done=done, cut=cut, serial=serial, transaction=transaction)


class SqlServerDecoder:
    """Takes pieces one by one; `take` hands out their steps."""

    def __init__(
        self,
        start: SqlServerPosition,
        labels: SqlServerSourceLabels,
        tracker: InstanceTracker,
        resolver: TableResolver,
        most_bytes: int,
    ) -> None:
        self._labels, self._tracker, self._resolver = labels, tracker, resolver
        self._most_bytes = most_bytes
        self._log = StepLog(start, tracker.tables.aside)
        self._at = start  # with what the next positions have in common
        self._start = start
        self._following: Following | None = None
        self._untold = False  # whether something of the catalogue has not been reported
        self._open: OpenCommit | None = None
        self._rows: list[RowChange] = []  # since the last other step
        self._upto: PlaceInside | None = None  # the place behind them
        self._size = 0

    @property
    def full(self) -> bool:
        """Whether a batch is complete."""
        return self._log.full

    def feed(self, piece: LogPiece) -> None:
        """Take a piece."""
        self._at = replace(self._at, ddl=piece.ddl, instances=piece.following.instances())
        if piece.following is not self._following:
            self._following, self._untold = piece.following, True
            self._resolver.follow(piece.following)
        for table, error in piece.lost:
            self._flush()
            self._log.report(Fault(table, error))
        self._tell_news()
        for part in piece.parts:
            self._part(part, piece)
            self._tell_news()

    def leave_out(self, table: TableId, error: WracklineError) -> None:
        """Report a table that can't be read from the start."""
        self._log.report(Fault(table, error))

    def say(self) -> None:
        """Report the log's place, even if nothing has happened."""
        if self._open is None and self._log.at.cut is None:
            self._flush()
            self._log.progress(self._log.at)

    def take(self) -> Batch | None:
        """Hand out the steps so far."""
        if (batch := self._log.take()) is None:
            self._flush()
            if self._log.steps:
                self._end_batch()
            batch = self._log.take()
        return batch

    def _tell_news(self) -> None:
        """Report what the catalogue shows, as far as the log has passed it, between commits."""
        following = self._following
        if not self._untold or self._open is not None or following is None:
            return
        # a stop right behind the news would report them again if their place had the names of before
        self._log.at = replace(self._log.at, ddl=self._at.ddl, instances=self._at.instances)
        shown, passed = self._resolver.shown(), self._log.at.passed
        news = list(self._tracker.update(shown, following.names, passed))
        self._untold = self._tracker.waits(shown, passed)
        if news:
            self._flush()
            self._log.report(*news)
            self._log.progress(self._log.at)

    def _part(self, part: CommitPart, piece: LogPiece) -> None:
        opened = self._open
        if opened is None:
            opened = self._open = self._begin(part)
        changes, at = part.changes, 0
        while at < len(changes):
            at = self._changes(opened, changes, at, piece)
        if part.complete:
            self._commit(opened)

    def _begin(self, part: CommitPart) -> OpenCommit:
        start, count = self._start, ChangeCount(part.first)
        opened = OpenCommit(part.commit, count)
        if start.cut is not None and start.lsn == part.commit.lsn:
            opened.skip = start.done
            count.resume(start.done, row_key(start.lsn, start.cut))
            if part.first:
                count.last, count.serial = count.behind, start.serial
            self._announce(opened)  # only its end may be left to publish
        return opened

    def _announce(self, opened: OpenCommit) -> None:
        if not opened.announced:
            opened.announced = True
            self._log.steps.append(Begin(opened.name, opened.committed_ms, opened.skip))

    def _commit(self, opened: OpenCommit) -> None:
        self._flush()
        self._open = None
        whole = replace(
            self._at,
            lsn=opened.commit.lsn,
            done=WHOLE,
            cut=None,
            serial=0,
            transaction=opened.commit.transaction,
        )
        self._at, self._upto = whole, None
        if opened.announced:
            self._log.at = whole
            self._log.steps.append(Commit(opened.name, whole, opened.committed_ms))
        else:
            self._log.progress(whole)

    def _changes(self, opened: OpenCommit, changes: list[Change], at: int, piece: LogPiece) -> int:
        """Take a change, and those of its table that follow it; return the place of the next one."""
        number, op, key, *_ = changes[at]
        try:
            reader = self._resolver.reader(number, piece.types[number])
            if isinstance(reader, ChangeTableReader) and not reader.announced:
                self._flush()
                self._announce(opened)
                reader.announce(self._log)
        except OperatorNeeded as error:
            self._give_up(number, error)
            reader = None
        if isinstance(reader, ChangeTableReader):
            self._publish(opened, reader, changes, at)
            return opened.count.at
        if reader is None:
            opened.count.take(key, op)
        else:
            self._signal(opened, reader, changes[at])
        return at + 1

    def _publish(self, opened: OpenCommit, reader: ChangeTableReader, changes: list[Change], at: int) -> None:
        """Take changes of one table; a row that can't be published ends only its own table."""
        count, decoder = opened.count, reader.decoder
        frame = opened.frame(self._labels, self._at.epoch, reader.table)
        made: list[RowChange] = []
        failed: OperatorNeeded | None = None
        try:
            decoder.changes(changes, at, self._most_bytes - self._size, count, frame, made)
        except OperatorNeeded as error:
            failed = error
        unfit, made = made[count.whole :], made[: count.whole]
        if made:
            self._announce(opened)
            self._rows += made
            self._upto = PlaceInside(self._at, opened.commit, *count.published())
        self._size += count.size
        if failed is not None:
            # a task that resumes there reaches this change again (INV-4)
            self._give_up(changes[at][0], failed)
        elif decoder.misfit is not None:
            self._announce(opened)
            self._flush()
            here = self._inside(opened).position
            self._log.steps += (UnfitRow(reader.ref, decoder.misfit.misfit, here), Rows(unfit, here))
            self._log.at = here
        if self._size >= self._most_bytes:
            self._flush()
            self._end_batch()

    def _signal(self, opened: OpenCommit, reader: SignalReader, change: Change) -> None:
        """Read a row that was inserted into the signal table.

        Also a row before a resume: what it started is saved only at the end of its commit.
        """
        self._flush()
        opened.count.take(change[2], change[1])
        found = reader.signal(change)
        if found is not None:
            self._announce(opened)
            self._log.steps.append(Signal(*found, self._inside(opened).position))

    def _give_up(self, number: int, error: OperatorNeeded) -> None:
        self._flush()
        table = self._resolver.give_up(number, error)
        if table is not None:
            self._log.report(Fault(table, error))

    def _inside(self, opened: OpenCommit) -> PlaceInside:
        """Return the place behind the change that came last."""
        count = opened.count
        return PlaceInside(self._at, opened.commit, count.done, count.last, count.serial)

    def _flush(self) -> None:
        """Close the stretch of rows before another step."""
        if self._rows:
            assert self._upto is not None  # noqa: S101 - set with each row, only for the type
            self._log.end_rows(self._rows, self._upto.done - 1, self._upto.position)
            self._rows = []

    def _end_batch(self) -> None:
        self._log.end_batch(self._size)
        self._size = 0

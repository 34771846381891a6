"""One round trip after the other through the change tables of a database.

    pages of the commits that are known | proof | DDL | the next commits | names     ->  LogPiece

The next commits come with the pages of the last ones, so a poll costs one round trip, of a busy log and of a
quiet one.  A page counts only together with its proof: if an instance came, went, or was cleaned, or a table
was altered, the pages are dropped, and read again as the catalogue is then.  So rows that are handed out have
the columns and the types of the catalogue that is handed out with them.

The log has no names.  So each page comes with the names that its tables have then: a row that was written
under a name is not published under an older one.  Within a commit the names stay as they were.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import inf
from typing import Final, Protocol

from wrackline.producers.kit.notice_throttle import NoticeThrottle
from wrackline.producers.sources.sqlserver.check import grants
from wrackline.producers.sources.sqlserver.connect.server_errors import OBJECT_MISSING, ROWS_LOCKED
from wrackline.producers.sources.sqlserver.discover.discover import CatalogueLook
from wrackline.producers.sources.sqlserver.discover.types import WireType
from wrackline.producers.sources.sqlserver.follow.capture_instances import enable_sql
from wrackline.producers.sources.sqlserver.follow.handover import CLEANED_AWAY
from wrackline.producers.sources.sqlserver.log import page_sql
from wrackline.producers.sources.sqlserver.log.change_rows import ChangeRow, place_of
from wrackline.producers.sources.sqlserver.log.changes import image_size
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.log.page_merger import (
    LEAST_ROWS,
    MOST_ROWS,
    CommitPart,
    LoggedCommit,
    PageMerger,
    PageRequest,
)
from wrackline.producers.sources.sqlserver.log.position import WHOLE, SqlServerPosition
from wrackline.producers.sources.sqlserver.log.range_audit import CountedRange, RangeAudit
from wrackline.producers.sources.sqlserver.poll.capture_watch import CaptureWatch
from wrackline.producers.sources.sqlserver.poll.following import Following, follow, under_names
from wrackline.producers.sources.sqlserver.poll.rotator import InstanceRotator
from wrackline.producers.sources.sqlserver.rows.answers import TableAnswer, python_rows
from wrackline.producers.sources.sqlserver.rows.packed_row import RowPacker
from wrackline.producers.sources.sqlserver.wire.session import TdsAnswer, add_to_answers
from wrackline.producers.sources.sqlserver.wire.token_reader import TdsBatch
from wrackline.schemas.errors import Transient, WracklineError, define
from wrackline.schemas.tables.table import TableId

LOG_LOCKED = define(
    "sqlserver.log_locked",
    Transient,
    "the change tables of {database} can't be read now, because another session locks them; tried {count}"
    " times so far",
    hint="nobody has to act while the capture job writes a large transaction; to see who locks them: SELECT"
    " session_id, blocking_session_id, wait_resource FROM sys.dm_exec_requests WHERE blocking_session_id <>"
    " 0;",
)

MARKS_UNCAPTURED = define(
    "sqlserver.marks_uncaptured",
    Transient,
    "the signal table {table} is not captured any more, so no mark that is written into it would come back",
    hint="the log is opened again, in case it is captured by then; else, as db_owner: {statement}",
)

_OWN: Final = 5  # columns of a page before the table's
_AT_ONCE: Final = 50  # pages in one round trip
_PROOFS: Final = 3  # results behind the pages: proof, DDL, commits
_NAMES_S: Final = 10.0  # between two looks at the names of a quiet log


class LogSession(Protocol):
    """A connection to the database."""

    def stream(self, sql: str, at_once: int) -> Iterator[TdsBatch]:
        """Run a batch, and return the rows of its results as they come."""
        ...


@dataclass(slots=True)
class ReadPage:
    """A page of a change table."""

    types: Sequence[WireType]  # of the table's own columns
    rows: list[ChangeRow] = field(default_factory=list)
    size: int = 0  # of its rows on the wire
    cut: bool = False  # whether it had its bytes before its last row came

    def has_room(self, request: PageRequest) -> bool:
        """Whether more rows are taken; both rows of an update always are."""
        return len(self.rows) < LEAST_ROWS or self.size < request.most_bytes


@dataclass(frozen=True, slots=True)
class PollSettings:
    """How a database is polled."""

    database: str
    most_commits: int
    zoned: bool  # whether the server knows its zone by name
    captures: Callable[[TableId], bool]
    look: Callable[[], CatalogueLook]
    notices: NoticeThrottle
    most_bytes: int  # of the pages of all tables
    watch: CaptureWatch
    user: str  # our login
    marks: TableId | None = None  # the table that they are written into


@dataclass(frozen=True, slots=True)
class LogPiece:
    """What one round trip gave."""

    following: Following
    parts: Sequence[CommitPart] = ()
    types: dict[int, Sequence[WireType]] = field(default_factory=dict)  # of the columns of change tables
    ddl: Lsn = b""
    lost: Sequence[tuple[TableId, WracklineError]] = ()  # tables of which rows are missing
    size: int = 0
    quiet: bool = False  # nothing more is there now
    # after which it is read again, also if somebody else knows that nothing is new; None: a lock hid it all
    rest_s: float | None = inf
    question: bool = False  # the place is to be reported, also if nothing is new


class RoundReader:
    """Reads behind a place; one thread calls `read`."""

    def __init__(
        self,
        session: LogSession,
        settings: PollSettings,
        at: SqlServerPosition,
        following: Following,
        audit: RangeAudit,
        clock: Callable[[], float],
        rotator: InstanceRotator,
    ) -> None:
        self._session, self._settings, self._audit, self._clock = session, settings, audit, clock
        self.rotator = rotator
        # everything up to here was returned; what of it was lost while nobody looked, the caller has reported
        self._at, self._following = replace(at, instances=following.instances()), following
        self._next: Sequence[LoggedCommit] = ()
        self._merger: PageMerger | None = None
        self._upto = at.lsn  # of the merger's commits
        self._types: dict[int, Sequence[WireType]] = {}
        self._packer = RowPacker()
        self._names_due = -inf
        self._names_known = False  # whether the last poll has seen those of all tables

    def read(self) -> LogPiece:
        """Make one round trip."""
        try:
            return self._read()
        except WracklineError as error:
            if error.code != ROWS_LOCKED.code:  # the capture job holds its locks as long as it writes
                raise
            self._settings.notices.tell(LOG_LOCKED, database=self._settings.database)
            return LogPiece(self._following, ddl=self._at.ddl, quiet=True, rest_s=None)

    def _read(self) -> LogPiece:
        self._begin_range()
        merger = self._merger
        wanted = [] if merger is None else list(merger.wanted())[:_AT_ONCE]
        counted = self._audit.due(self._clock(), self._following.by_change_table)
        try:
            pages, answers, names = self._answers(wanted, counted)
        except WracklineError as error:
            if error.code != OBJECT_MISSING.code:
                raise
            before, lost = self._following.proof, self._look_again()
            if self._following.proof == before:
                raise
            return LogPiece(self._following, ddl=self._at.ddl, lost=lost)
        proof, ddl, commits, *counts = answers
        self._refuse_silence(proof)
        now = chain.from_iterable(map(python_rows, names))
        renamed = self._following.renamed(now, self._settings.database)
        inside = self._at.cut is not None
        if (disproven := self._disproven(proof, ddl, renamed=renamed and not inside)) is not None:
            return LogPiece(self._following, ddl=self._at.ddl, lost=disproven)
        found = [int(next(python_rows(one))[0]) for one in counts]
        self._audit.compare(counted, found, self._clock())
        self._next = [LoggedCommit(*row) for row in python_rows(commits)]
        parts = () if merger is None else self._merged(merger, wanted, pages, only_open=renamed)
        size = sum(image_size(one.changes) for one in parts)
        quiet = self._merger is None and not self._next and not renamed
        if self._next:
            self._settings.watch.heard(self._clock())
        if quiet:
            self.rotator.rotate(self._following.tables)
            if not parts:  # else they would not go out
                self._settings.watch.look(self._clock())
        rests = quiet and not self._audit.waits
        piece = LogPiece(self._following, parts, dict(self._types), self._at.ddl, size=size, quiet=rests)
        return replace(piece, rest_s=self._rest_s()) if rests else piece

    def _rest_s(self) -> float:
        """Return when a poll has more to do than to see whether the log or the catalogue has changed."""
        if self.rotator.waits(self._following.tables):
            return 0.0
        now = self._clock()
        names = inf if self._names_known else self._names_due - now
        return min(names, self._settings.watch.rest_s(now), self._audit.rest_s(now))

    def _answers(
        self, wanted: Sequence[PageRequest], counted: Sequence[CountedRange]
    ) -> tuple[list[ReadPage], list[TdsAnswer], list[TdsAnswer]]:
        """Return pages, the other results, and the names, if they were asked for."""
        pages: list[ReadPage] = []
        others: list[TdsAnswer] = []
        named = self._names_known = self._merger is not None or self._clock() >= self._names_due
        before = _PROOFS + len(counted)
        try:
            for batch in self._session.stream(self._batch(wanted, counted, named=named), MOST_ROWS):
                if batch.result < len(wanted):
                    self._fill(pages, wanted[batch.result], batch)
                else:
                    add_to_answers(others, batch, len(wanted))
        except WracklineError as error:
            if error.code != ROWS_LOCKED.code or len(others) <= before:
                raise
            self._names_known = False
            rows = [request.table for request, page in zip(wanted, pages, strict=True) if page.rows]
            others[before + 1 :] = self._unlocked_names(rows)
        if named:
            self._names_due = self._clock() + _NAMES_S
        return pages, others[:before], others[before + 1 :]

    def _unlocked_names(self, change_tables: Sequence[int]) -> list[TdsAnswer]:
        """Return the names of the tables of these, but of those that somebody changes just now.

        What is not committed is no name, so the name that is known still holds.
        """
        found: list[TdsAnswer] = []
        for number in {self._following.by_change_table[one][0].object_id for one in change_tables}:
            answers: list[TdsAnswer] = []
            try:
                for batch in self._session.stream(page_sql.names_now(number), 1):
                    add_to_answers(answers, batch)
                found += answers[1:]
            except WracklineError as error:
                if error.code != ROWS_LOCKED.code:
                    raise
        list(self._session.stream(page_sql.LOCK_TIMEOUT, 1))  # a batch that failed did not come to it
        return found

    def _fill(self, pages: list[ReadPage], request: PageRequest, batch: TdsBatch) -> None:
        """Take the rows of a page as they come, or each batch held a buffer."""
        if batch.result == len(pages):
            pages.append(ReadPage([column.type for column in batch.columns[_OWN:]]))
        page = pages[-1]
        if page.has_room(request):
            page.rows += self._packer.change_rows(batch, request.table)
            page.size += len(batch.data)
        else:
            page.cut = True

    def _begin_range(self) -> None:
        """Begin with the commits that were found, if the last ones are handed out."""
        if self._merger is None and self._next:
            self._upto = self._next[-1].lsn
            ranges = self._following.ranges(self._at, self._upto)
            inside = self._at.done if self._at.cut is not None else 0
            settings = self._settings
            self._merger = PageMerger(
                settings.database, self._next, ranges, done=inside, most_bytes=settings.most_bytes
            )
            self._audit.begin(self._at, ranges)
            self._next = ()

    def _batch(self, wanted: Sequence[PageRequest], counted: Sequence[CountedRange], *, named: bool) -> str:
        settings, following = self._settings, self._following
        idle = self._merger is None
        names = {one.table: one.instance for one in following.change_tables([one.table for one in counted])}
        return "\n".join(
            [
                page_sql.poll(
                    None, wanted, following.change_tables([one.table for one in wanted]), self._at.ddl
                ),
                page_sql.commits_after(
                    None,
                    self._at.lsn if idle else self._upto,
                    settings.most_commits,
                    with_it=idle and self._at.cut is not None,
                    zoned=settings.zoned,
                ),
                *(page_sql.rows_of_range(None, names[one.table], one.above, one.upto) for one in counted),
                *([page_sql.names_now()] if named else []),
            ]
        )

    def _refuse_silence(self, proof: TableAnswer) -> None:
        """Raise if a role was taken from our login: the pages of its change tables are empty, not old."""
        known = self._following.by_change_table
        for _, number, _, _, ours in python_rows(proof):
            role = known[number][1].role if number in known else None
            if role is not None and not ours:
                right = grants.role_right(self._settings.user, role)
                raise grants.missing(right, self._settings.database)

    def _disproven(
        self, proof: TableAnswer, ddl: TableAnswer, *, renamed: bool
    ) -> Sequence[tuple[TableId, WracklineError]] | None:
        """Return None if the pages count; else look at the catalogue, and return tables that lost rows."""
        now = frozenset((number, start, bool(gone)) for _, number, start, gone, _ in python_rows(proof))
        altered = [row[4] for row in python_rows(ddl)]
        if now == self._following.proof and not altered and not renamed:
            return None
        lost = self._look_again()
        if altered:
            self._at = replace(self._at, ddl=altered[-1])
        return lost

    def _look_again(self) -> Sequence[tuple[TableId, WracklineError]]:
        """Look at the catalogue, and begin again behind what was returned; return tables that lost rows."""
        known, after = self._at.instances, self._at.passed
        look = self._settings.look()
        if self._at.cut is not None:
            look = under_names(look, self._following.names)
        self._following = follow(look, self._settings.captures)
        marks = self._settings.marks
        if marks is not None and not self._following.reads(marks):  # a mark would never come back
            raise MARKS_UNCAPTURED(table=marks, statement=enable_sql(marks))
        self._at = replace(self._at, instances=self._following.instances())
        self._merger, self._next = None, ()
        self._types.clear()
        lost = list(self._following.lost(known, after))
        for _, error in lost:
            if error.code == CLEANED_AWAY.code:
                raise error
        return lost

    def _merged(
        self,
        merger: PageMerger,
        wanted: Sequence[PageRequest],
        pages: Sequence[ReadPage],
        *,
        only_open: bool,
    ) -> Sequence[CommitPart]:
        """Hand out what is complete; `only_open`: of the commit that we are in, as tables were renamed."""
        for request, page in zip(wanted, pages, strict=True):
            if self._types.get(request.table) != page.types:  # or each row would compare two lists
                self._types[request.table] = page.types
            full = page.cut or len(page.rows) == request.most_rows
            merger.feed(request.table, page.rows, full=full)
        parts = merger.take()
        if only_open:
            parts = parts[:1]
            if parts and parts[0].complete:
                self._merger, self._next = None, ()  # the rest is read again, under newer names
        for part in parts:
            self._audit.count(part)
            self._pass(part)
        if self._merger is not None and merger.done:
            self._audit.end(self._clock())
            self._merger = None
        return parts

    def _pass(self, part: CommitPart) -> None:
        """Note that a part is returned."""
        lsn, transaction = part.commit.lsn, part.commit.transaction
        if part.complete:
            self._at = replace(self._at, lsn=lsn, done=WHOLE, cut=None, transaction=transaction)
        elif part.changes:
            done, last = part.first + len(part.changes), place_of(part.changes[-1][2])
            self._at = replace(self._at, lsn=lsn, done=done, cut=last, transaction=transaction)

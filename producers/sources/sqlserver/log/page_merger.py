"""Pages of several change tables into transactions, in the order of their commits.  Pure.

    change table A   a1 a4 a5 a9 | page is full        the last rows of all full pages: a9, b3
    change table B   b2 b3 | page is full              up to the lowest of them, b3, nothing can be missing
    change table C   c6 c7 . no more                   so a1 b2 b3 go out; then B's next page is needed

In: the commits of a range, from `cdc.lsn_time_mapping`, and page after page of each change table in the
range. Out: the changes of one commit after the other, in parts.  A row goes out when every table has shown
all of its rows before it, so the order is total, and the same wherever pages end.  At most one page of each
table is held, whatever the size of a transaction, and the tables that have more share a number of bytes.

Both rows of an update are next to each other in their table.  If a full page ends between them, the first is
dropped and comes again with the second.  What can't be a log stops the stream: rows that do not rise, rows of
a commit that is not listed, half an update.  Rows that are not handed out would be missing for ever.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Final, NamedTuple

from wrackline.producers.sources.sqlserver.log.change_rows import BEFORE, Change, ChangeRow, RowKey, lsn_of
from wrackline.producers.sources.sqlserver.log.changes import (
    ContradictionError,
    match_updates,
    packed_size,
    rise,
)
from wrackline.producers.sources.sqlserver.log.lsn import HIGHEST, Lsn, lsn_text
from wrackline.schemas.errors import Definite, define

LOG_INCONSISTENT = define(
    "sqlserver.log_inconsistent",
    Definite,
    "the change tables of {database} contradict each other at {lsn}: {reason}",
    hint="report it with the server's version: SELECT @@VERSION; to copy the tables again: wrackline offsets"
    " reset <pipeline.toml>, and the next start reads all rows",
)

LEAST_ROWS: Final = 2  # of a page: both rows of an update
MOST_ROWS: Final = 10_000
FIRST_ROWS: Final = 200  # until the size of a table's rows is known
_TABLE_BYTES: Final = 1 << 20  # of a table's page

_END: Final = HIGHEST + b"\xff"  # above every row
_LAST: Final = b"\xff" * 20  # behind a commit's LSN: above each of its rows
_KEY = itemgetter(0)


class LoggedCommit(NamedTuple):
    """A row of `cdc.lsn_time_mapping`."""

    lsn: Lsn
    committed_us: int
    transaction: bytes  # tran_id

    @property
    def quiet(self) -> bool:
        """Whether it only says how far the log was read: no transaction has the id 0."""
        return not any(self.transaction)


class CommitPart(NamedTuple):
    """Changes of one commit, as far as they are known; the first has the ordinal `first`."""

    commit: LoggedCommit
    first: int
    changes: list[Change]
    complete: bool


class TableRange(NamedTuple):
    """What is read of a change table: rows behind `after`, of commits up to `upto`."""

    table: int
    after: RowKey
    upto: Lsn


class PageRequest(NamedTuple):
    """A page to read: at most this many rows behind a place, and so many bytes."""

    table: int
    after: RowKey
    upto: Lsn
    most_rows: int
    most_bytes: int = _TABLE_BYTES


class _TableFeed:
    """One change table: the rows that wait, and whether more may come behind `last`."""

    def __init__(self, part: TableRange) -> None:
        self.table, self.last, self.upto = part
        self.more = self.last < self.upto + _END
        self.rows: list[ChangeRow] = []
        self._known = (0, 0)  # rows of the last page that had some, and their bytes

    def request(self, most_bytes: int) -> PageRequest:
        rows, size = self._known
        fitting = most_bytes * rows // max(size, 1) if rows else FIRST_ROWS
        return PageRequest(
            self.table, self.last, self.upto, min(max(fitting, LEAST_ROWS), MOST_ROWS), most_bytes
        )

    def fault(self, rows: list[ChangeRow]) -> str | None:
        """Say why these can't be this table's next rows."""
        if not rise(rows):
            return "rows do not rise"
        if rows and not (self.last < rows[0][0] and lsn_of(rows[-1][0]) <= self.upto):
            return "rows are outside of the range that was read"
        return None

    def take(self, rows: list[ChangeRow], *, full: bool) -> None:
        if rows:
            self._known = len(rows), packed_size(rows)
        if full and rows and rows[-1][0][-1] == BEFORE:
            rows = rows[:-1]
        if full and not rows:
            raise ValueError("a full page has room for both rows of an update")
        self.rows += rows
        self.more = full
        if rows:
            self.last = rows[-1][0]

    def upto_place(self, horizon: RowKey) -> list[ChangeRow]:
        """Hand out the rows up to a place."""
        count = bisect_right(self.rows, horizon, key=_KEY)
        out, self.rows = self.rows[:count], self.rows[count:]
        return out


class PageMerger:
    """One range of commits of one database."""

    def __init__(
        self,
        database: str,
        commits: Sequence[LoggedCommit],
        parts: Sequence[TableRange],
        *,
        done: int = 0,
        most_bytes: int = 8 * _TABLE_BYTES,
    ) -> None:
        """Take the commits in order, and what is read of each table; `most_bytes` bounds the pages of all.

        `done` is how many changes of the first commit are out, if the ranges begin inside it.
        """
        self._database, self._commits, self._first = database, deque(commits), done
        self._feeds, self._most_bytes = {part.table: _TableFeed(part) for part in parts}, most_bytes

    @property
    def done(self) -> bool:
        """Whether all commits are handed out."""
        return not self._commits

    def wanted(self) -> Sequence[PageRequest]:
        """Name the pages without which nothing more can go out."""
        more = [feed for feed in self._feeds.values() if feed.more]
        share = min(_TABLE_BYTES, self._most_bytes // max(len(more), 1))
        return [feed.request(share) for feed in more if not feed.rows]

    def feed(self, table: int, rows: list[ChangeRow], *, full: bool) -> None:
        """Take a page; `full`: the table may have more rows in the range."""
        feed = self._feeds[table]
        if (reason := feed.fault(rows)) is not None:
            raise self._inconsistent(rows[0][0], reason)
        feed.take(rows, full=full)

    def take(self) -> Sequence[CommitPart]:
        """Hand out what is complete: whole commits, and the beginning of one more."""
        horizon = min((feed.last for feed in self._feeds.values() if feed.more), default=_END)
        known = [rows for feed in self._feeds.values() if (rows := feed.upto_place(horizon))]
        rows = known[0] if len(known) == 1 else sorted(chain.from_iterable(known), key=_KEY)
        made: list[CommitPart] = []
        at = 0
        while self._commits and self._commits[0].lsn < lsn_of(horizon):
            at = self._part(self._commits.popleft(), rows, at, made, complete=True)
            self._first = 0
        if at < len(rows) and self._commits:
            at = self._part(self._commits[0], rows, at, made, complete=False)
            self._first += len(made[-1].changes)
        if at < len(rows):
            raise self._inconsistent(rows[at][0], "a change belongs to a commit that is not listed")
        return made

    def _part(
        self, commit: LoggedCommit, rows: list[ChangeRow], at: int, made: list[CommitPart], *, complete: bool
    ) -> int:
        """Append what is known of a commit from a place in the rows on; return the place behind it."""
        end = at
        if at < len(rows) and lsn_of(rows[at][0]) == commit.lsn:
            end = bisect_right(rows, commit.lsn + _LAST, at, key=_KEY)
        try:
            made.append(CommitPart(commit, self._first, match_updates(rows, at, end), complete))
        except ContradictionError as error:
            raise self._inconsistent(error.key, str(error)) from None
        return end

    def _inconsistent(self, key: RowKey, reason: str) -> Exception:
        return LOG_INCONSISTENT(database=self._database, lsn=lsn_text(lsn_of(key)), reason=reason)

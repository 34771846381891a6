"""Writes into a table of its own, and mines what came of it, for the assumptions.

    table -> transactions that overlap, one with a savepoint -> flush -> mine -> count rows as of each commit
          -> wait -> mine the same again -> ALTER TABLE -> mine -> mine around the newest end of a log -> drop

The log is mined by what a pipeline mines it with.  The table is dropped whatever happens, and that of a probe
that was killed by one that comes an hour later.
"""

import random
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Final

from wrackline.producers.contract.assumptions import AssumptionReport
from wrackline.producers.contract.trials import left_stamps, trial_stamp
from wrackline.producers.sources.oracle.assume import assumption_sql
from wrackline.producers.sources.oracle.assume.assumptions import (
    REST_S,
    CountedRows,
    ObservedRedo,
    Reason,
    judge,
    own_rows,
    untried,
)
from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.discover.facts import OracleLook
from wrackline.producers.sources.oracle.mining import mining_sql
from wrackline.producers.sources.oracle.mining.log_files import LogFile
from wrackline.producers.sources.oracle.mining.log_miner import LogMiner, MiningScope, MiningSteps
from wrackline.producers.sources.oracle.mining.mined_row import COMMIT, MinedRow
from wrackline.producers.sources.oracle.mining.mining_range import MOST_STEP
from wrackline.producers.sources.oracle.mining.safe_scn import CURRENT, AskThreads, LogFlush, SafePoint
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId

SETTLE_S: Final = 4.0  # a table can't be read as of a moment that is too near to its making
_PAIRS: Final = 10  # of transactions that are committed one behind the other
_MOST_COUNTS: Final = 12  # SCNs at which rows are counted
_AROUND: Final = 200  # SCNs before and behind the end of a log
_DOING: Final = "try an assumption"
_STEPS: Final = MiningSteps(first=MOST_STEP)


def try_assumptions(
    connector: OracleConnector,
    flush: TableId | None,
    destinations: Sequence[str],
    now_s: float,
    rest: Callable[[float], None],
) -> AssumptionReport:
    """Try them all; `flush` is the table with which the log is flushed, None: nothing may be written."""
    server = ""
    try:
        with closing(connector.connect()) as session:
            server = next((str(banner) for (banner,) in session.ask(assumption_sql.SERVER, _DOING)), "")
        if flush is None:
            judged = untried("nothing may be written: log.mining.archive.log.only.mode or read.only is set")
        else:
            judged = judge(RedoObserver(connector, flush, destinations, now_s, rest).observe())
    except WracklineError as error:
        judged = untried(error.sentence)
    return AssumptionReport(connector.database, server, judged)


class KnownScn:
    """A safe SCN that was taken before."""

    def __init__(self, scn: int) -> None:
        self._scn = scn

    def take(self, ask_threads: AskThreads) -> SafePoint:
        """Return it."""
        return SafePoint(self._scn, ask_threads())

    def cancel(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class RedoObserver:
    """Writes and mines once; `rest` waits for so many seconds."""

    def __init__(
        self,
        connector: OracleConnector,
        flush: TableId,
        destinations: Sequence[str],
        now_s: float,
        rest: Callable[[float], None],
    ) -> None:
        """Take the table with which the log is flushed, and the destinations whose logs are mined."""
        self._connector, self._flush, self._destinations = connector, flush, destinations
        self._now_s, self._rest = now_s, rest
        self._table = assumption_sql.own_table(trial_stamp(now_s, random.getrandbits(32)))

    def observe(self) -> ObservedRedo:
        """Do it; for some 20 seconds."""
        connect = self._connector.connect
        with ExitStack() as ends:
            root = ends.enter_context(closing(self._connector.connect_root()))
            own, other = (ends.enter_context(closing(connect())) for _ in range(2))
            flushes = [partial(self._connector.connect_node, node) for node in self._connector.nodes]
            flush = ends.enter_context(closing(LogFlush(flushes, self._flush)))
            with self._own_table(own):
                return self._observe(root, own, other, lambda: _safe_scn(flush, root))

    def _observe(
        self, root: OracleSession, own: OracleSession, other: OracleSession, safe: Callable[[], int]
    ) -> ObservedRedo:
        ((user,),) = own.ask(assumption_sql.USER, _DOING)
        ((row,),) = (root.ask(mining_sql.DATABASE, _DOING),)
        incarnation = mining_sql.database_facts(row).incarnation
        container, owners = self._connector.container, frozenset({str(user)})
        scope = MiningScope(incarnation, container, owners, self._destinations)
        after = _current_scn(own) - 1  # the next change may still have it
        self._rest(SETTLE_S)
        written = self._write(own, other)
        upto = safe()
        first = self._mine(scope, after, upto)
        names = str(user), self._table
        mine = {row.xid for row in own_rows(names, first)}
        commits = [row.scn for row in first if row.operation == COMMIT and row.xid in mine]
        counts = self._count(own, commits)
        self._rest(REST_S)
        again = self._mine(scope, after, upto)
        logs = self._logs(root, scope, after)
        return ObservedRedo(
            names,
            written,
            first,
            again,
            counts,
            self._alter(own, scope, first, upto, safe),
            self._around_switch(scope, logs, upto),
            logs,
        )

    @contextmanager
    def _own_table(self, session: OracleSession) -> Iterator[None]:
        left = (assumption_sql.stamp_of(str(name)) for (name,) in session.ask(assumption_sql.TABLES, _DOING))
        for stamp in left_stamps(left, "", self._now_s):
            session.execute(assumption_sql.drop(assumption_sql.own_table(stamp)), _DOING)
        try:
            for statement in assumption_sql.create(self._table):
                session.execute(statement, _DOING)
            yield
        finally:
            with closing(self._connector.connect()) as last:
                if (self._table,) in last.ask(assumption_sql.TABLES, _DOING):
                    last.execute(assumption_sql.drop(self._table), _DOING)

    def _write(self, own: OracleSession, other: OracleSession) -> int:
        """Let two transactions overlap, one of which takes changes back; return how many rows are left."""
        table = self._table
        _run(own, assumption_sql.insert(table, 1))
        _run(
            other,
            assumption_sql.insert(table, 2),
            assumption_sql.SAVEPOINT,
            assumption_sql.insert(table, 3),
            assumption_sql.update(table, 2),
            assumption_sql.delete(table, 3),
            assumption_sql.ROLLBACK_TO,
        )
        other.commit()
        own.commit()
        for number in range(4, 4 + 2 * _PAIRS, 2):
            _run(own, assumption_sql.insert(table, number))
            _run(other, assumption_sql.insert(table, number + 1))
            other.commit()
            own.commit()
        return 2 + 2 * _PAIRS

    def _mine(self, scope: MiningScope, after: int, upto: int) -> list[MinedRow]:
        rows: list[MinedRow] = []
        miner = LogMiner(
            self._connector.connect_root, KnownScn(upto), scope, after, lambda: OracleLook({}), _STEPS
        )
        with closing(miner):
            while after < upto:
                before = after
                for piece in miner.mine():
                    rows += piece.rows
                    after = after if piece.upto is None else piece.upto
                if after == before:
                    break
        return rows

    def _count(self, session: OracleSession, commits: Collection[int]) -> Sequence[CountedRows] | Reason:
        """Count our rows as of our commits, and just before each."""
        scns = sorted({scn - back for scn in commits for back in (0, 1)})[:_MOST_COUNTS]
        try:
            return [
                CountedRows(scn, int(rows))
                for scn in scns
                for ((rows,),) in (session.ask(assumption_sql.count(self._table, scn), _DOING),)
            ]
        except WracklineError as error:
            return f"the rows as of an SCN could not be counted: {error.sentence}"

    def _alter(
        self,
        session: OracleSession,
        scope: MiningScope,
        first: Sequence[MinedRow],
        after: int,
        safe: Callable[[], int],
    ) -> tuple[int, int] | Reason:
        """Add a column, and look at the version that rows have before and behind it."""
        _run(session, assumption_sql.add_column(self._table), assumption_sql.insert(self._table, 0))
        session.commit()
        names = next(iter(scope.owners)), self._table
        before = [row.object_version for row in own_rows(names, first)]
        behind = [row.object_version for row in own_rows(names, self._mine(scope, after, safe()))]
        if not before or not behind:
            return "no row of ours was mined on both sides of an ALTER TABLE"
        return max(before), min(behind)

    def _logs(self, root: OracleSession, scope: MiningScope, after: int) -> list[LogFile]:
        archived = mining_sql.archived_sql(self._destinations)
        binds = {"resetlogs": scope.incarnation.resetlogs_scn, "scn_after": max(after - MOST_STEP, 0)}
        return [
            *mining_sql.online_files(root.ask(mining_sql.ONLINE, _DOING)),
            *mining_sql.archived_files(root.ask(archived, _DOING, binds)),
        ]

    def _around_switch(
        self, scope: MiningScope, logs: Sequence[LogFile], upto: int
    ) -> Sequence[MinedRow] | Reason:
        """Mine around the end of the log that was archived last."""
        ended = [log for log in logs if log.archived and log.end <= upto]
        if not ended:
            return "no log was archived lately: ALTER SYSTEM SWITCH LOGFILE; and run it again"
        newest = max(ended, key=lambda log: log.end)
        after = max(newest.end - _AROUND, newest.first_scn) - 1
        try:
            return self._mine(scope, after, min(newest.end + _AROUND, upto))
        except WracklineError as error:
            return error.sentence


def _run(session: OracleSession, *statements: str) -> None:
    for statement in statements:
        session.execute(statement, _DOING)


def _current_scn(session: OracleSession) -> int:
    ((scn,),) = session.ask(CURRENT, _DOING)
    return int(scn)


def _safe_scn(flush: LogFlush, root: OracleSession) -> int:
    """Flush the log; return the SCN up to which it is complete."""
    scn = flush.take(lambda: mining_sql.redo_threads(root.ask(mining_sql.THREADS, _DOING))).scn
    assert scn is not None  # noqa: S101 - a flush always says how far
    return scn

"""Watches the change tables of one database for the assumptions.

    look, savepoint | idle for 10 s | rows into the signal table, until they come back | remove them | 10 s

All but the rows is read.  Three rows are written, only where the login may write and remove them; they are
removed whatever happens, and those of a probe that was killed by one that comes an hour later.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wrackline.producers.contract.trials import left_stamps, trial_stamp
from wrackline.producers.sources.sqlserver.assume import assumption_sql
from wrackline.producers.sources.sqlserver.assume.assumptions import (
    REST_S,
    NewestRow,
    ObservedLog,
    OwnRows,
    RangeCounts,
    Reason,
    ScanReach,
)
from wrackline.producers.sources.sqlserver.check import grants
from wrackline.producers.sources.sqlserver.check.grants import NeededRight
from wrackline.producers.sources.sqlserver.chunks.marks import savepoint_lsn, signal_sql
from wrackline.producers.sources.sqlserver.discover.discover import CatalogueLook
from wrackline.producers.sources.sqlserver.follow.capture_instances import CatalogueInstance
from wrackline.producers.sources.sqlserver.log import page_sql
from wrackline.producers.sources.sqlserver.log.change_rows import INSERT
from wrackline.producers.sources.sqlserver.log.lsn import ZERO, Lsn, parse_lsn
from wrackline.producers.sources.sqlserver.session.server import (
    OpenedSession,
    SqlServerConnector,
    ask_values,
    edition_of,
)
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.kafka.signals import SignalRow
from wrackline.schemas.tables.table import TableId

LOOK_S: Final = 0.5
_QUIET_LOOKS: Final = int(REST_S / LOOK_S)
_MOST_TABLES: Final = 50  # whose rows are counted
_MOST_LOOKS: Final = 120  # until our rows have come
_KIND: Final = "snapshot-window-close"  # of a window that nobody has: a running pipeline passes it by
_PREFIX: Final = "wrackline-probe-"
_DOING: Final = "try an assumption"


@dataclass(frozen=True, slots=True)
class ObservedTables:
    """What is watched."""

    instances: Sequence[CatalogueInstance]  # with __$command_id
    signals: tuple[TableId, CatalogueInstance] | Reason
    versions: bool  # whether the database has ALLOW_SNAPSHOT_ISOLATION


def observed_tables(
    look: CatalogueLook,
    signals: TableId | None,
    *,
    versions: bool,
    read_only: bool,
) -> ObservedTables:
    """Choose what is watched, and say why no rows are written."""
    tables = look.tables.values()
    numbered = [one for facts in tables for one in facts.instances if one.name not in look.unnumbered]
    newest = next((facts.newest for facts in tables if facts.id == signals), None)
    chosen: tuple[TableId, CatalogueInstance] | Reason
    if read_only:
        chosen = "nothing may be written: read.only or driver.applicationIntent is set"
    elif signals is None:
        chosen = "no rows could be written: name a signal table with signal.data.collection"
    elif newest is None or newest not in numbered:
        chosen = f"the signal table {signals} has no capture instance whose change table numbers commands"
    else:
        chosen = signals, newest
    return ObservedTables(numbered[-_MOST_TABLES:], chosen, versions)


class LogObserver:
    """Watches once; `rest` waits for so many seconds."""

    def __init__(
        self, server: SqlServerConnector, tables: ObservedTables, now_s: float, rest: Callable[[float], None]
    ) -> None:
        self._server, self._tables, self._now_s, self._rest = server, tables, now_s, rest
        self._looks: list[Sequence[Lsn]] = []
        self._counts: Counter[str] = Counter()
        self._base = self._counted = ZERO
        self._visible: Sequence[Lsn] = ()
        self._savepoint: Lsn | Reason = ""
        self._azure = False

    def observe(self) -> ObservedLog:
        """Watch; for 20 seconds, and until our own rows have come."""
        with OpenedSession(self._server.connect()) as session:
            self._azure = edition_of(session).azure
            self._look(session)
            self._base = self._counted
            scan = self._see_idle_scan(session)
            own = self._see_own_rows(session)
            self._watch(session)
            rows = self._newest_rows(session)
            self._look(session)
            counts = self._count(session, self._base)
        pairs = [RangeCounts(name, self._counts[name], later) for name, later in counts.items()]
        return ObservedLog(self._looks, pairs, rows, self._savepoint, self._visible, scan, own)

    def _look(self, session: TdsSession) -> None:
        """List the newest commits; of those that were not there before, count the rows at once."""
        (listed,) = ask_values(session, assumption_sql.COMMITS, _DOING)
        commits = [lsn for (lsn,) in listed]
        above, self._counted = self._counted, max([self._counted, *commits[:1]])
        if self._looks and above < self._counted:
            self._counts.update(self._count(session, above))
        self._looks.append(commits)

    def _watch(self, session: TdsSession) -> None:
        for _ in range(_QUIET_LOOKS):
            self._rest(LOOK_S)
            self._look(session)

    def _count(self, session: TdsSession, above: Lsn) -> dict[str, int]:
        names = [one.name for one in self._tables.instances]
        batch = "\n".join(page_sql.rows_of_range(None, name, above, self._counted) for name in names)
        answers = ask_values(session, batch, _DOING) if names else []
        return {name: int(number) for name, ((number,),) in zip(names, answers, strict=True)}

    def _newest_rows(self, session: TdsSession) -> dict[int, list[NewestRow]]:
        """Read the newest rows of each table; of two instances one has them all the same."""
        names = {one.source: one.name for one in self._tables.instances}
        batch = "\n".join(map(assumption_sql.newest_rows, names.values()))
        answers = ask_values(session, batch, _DOING) if names else []
        return {table: _whole_commits(answer) for table, answer in zip(names, answers, strict=True)}

    def _see_idle_scan(self, session: TdsSession) -> ScanReach | Reason:
        if (missing := self._missing(session, self._rights(fence=True))) is not None:
            self._savepoint = missing
            self._watch(session)
            return missing
        self._visible, self._savepoint = self._looks[-1][:1], savepoint_lsn(session)
        above = self._savepoint
        (before,) = ask_values(session, assumption_sql.SCANS, _DOING)
        self._watch(session)
        (after,) = ask_values(session, assumption_sql.SCANS, _DOING)
        if self._looks[-1][:1] != self._looks[0][:1]:
            return f"commits came within {REST_S:g} s: run it again while the database is idle"
        ends = [parse_lsn(end) for end, _, _ in after if end and ":" in end]  # none while a scan runs
        if after == before or not ends:
            return f"no scan of the capture job ended within {REST_S:g} s"
        return ScanReach(above, max(ends))

    def _see_own_rows(self, session: TdsSession) -> OwnRows | Reason:
        signals = self._tables.signals
        if isinstance(signals, str):
            return signals
        table, instance = signals
        if (missing := self._missing(session, self._rights(signals=table))) is not None:
            return missing
        (there,) = ask_values(session, assumption_sql.rows_like(table, _PREFIX), _DOING)
        if left := left_stamps((one for (one,) in there), _PREFIX, self._now_s):
            session.execute(assumption_sql.remove(table, [_PREFIX + one for one in left]), _DOING)
        chance = random.getrandbits(32)
        ids = [_PREFIX + trial_stamp(self._now_s, chance + number) for number in range(3)]
        forbidden = self._missing(session, [grants.update_right(self._server.user, table)])
        try:
            self._write(session, table, ids, exchanges=forbidden is None)
            return self._wait(session, table, instance.name, ids, forbidden)
        finally:
            with OpenedSession(self._server.connect()) as last:
                last.execute(assumption_sql.remove(table, ids), _DOING)

    def _write(self, session: TdsSession, table: TableId, ids: Sequence[str], *, exchanges: bool) -> None:
        """Let two transactions overlap, and set a savepoint before the third."""
        rows = [SignalRow(one, _KIND, f'{{"row": {number}}}') for number, one in enumerate(ids)]
        first, second, third = (signal_sql(table, one, delete=False) for one in rows)
        with OpenedSession(self._server.connect()) as other:
            other.execute(assumption_sql.begun(first), _DOING)
            session.execute(second, _DOING)
            other.execute("COMMIT TRANSACTION;", _DOING)
        ask_values(session, assumption_sql.rows_there(table, ids), _DOING)
        if not isinstance(self._savepoint, str):
            self._savepoint = savepoint_lsn(session)
        session.execute(third, _DOING)
        if exchanges:
            session.execute(assumption_sql.exchange(table, ids[0], ids[1]), _DOING)

    def _wait(
        self, session: TdsSession, table: TableId, instance: str, ids: Sequence[str], forbidden: Reason | None
    ) -> OwnRows | Reason:
        """Look until our rows are in the change table; as soon as one is, read it with versions."""
        unseen, shown = 0, set[str]()
        most = len(ids) + (0 if forbidden else 4)
        with OpenedSession(self._server.connect()) as reader:
            if self._tables.versions:
                reader.execute(assumption_sql.VERSIONS, _DOING)
            for _ in range(_MOST_LOOKS):
                (rows,) = ask_values(session, assumption_sql.own_rows(instance, self._base, ids), _DOING)
                fresh = {id_ for *_, id_ in rows} - shown
                if fresh and self._tables.versions:
                    (there,) = ask_values(reader, assumption_sql.rows_there(table, fresh), _DOING)
                    unseen += len(fresh) - len(there)
                shown |= fresh
                if len(rows) >= most:
                    return self._own_rows(rows, ids, unseen, forbidden)
                self._rest(LOOK_S)
                self._look(session)
        return f"rows that were written did not come back in {_MOST_LOOKS * LOOK_S:g} s: see the capture job"

    def _own_rows(
        self, rows: Sequence[tuple[Any, ...]], ids: Sequence[str], unseen: int, forbidden: Reason | None
    ) -> OwnRows:
        first = [min(lsn for lsn, _, _, kind, id_ in rows if (kind, id_) == (INSERT, one)) for one in ids]
        self._visible = [*self._visible, *first[:2]]
        moved = [(kind, id_) for lsn, _, _, kind, id_ in rows if lsn not in first]
        none = f"ALLOW_SNAPSHOT_ISOLATION is OFF in {self._server.database}, so no versions are read"
        return OwnRows(
            (first[1], first[0]),
            first[2],
            unseen if self._tables.versions else none,
            moved if forbidden is None else forbidden,
        )

    def _rights(self, *, signals: TableId | None = None, fence: bool = False) -> Iterable[NeededRight]:
        user = self._server.user
        return grants.needed_rights(user, [], [], signals=signals, fence=fence, azure=self._azure)

    def _missing(self, session: TdsSession, rights: Iterable[NeededRight]) -> Reason | None:
        """Name the first right that our login lacks."""
        asked = list(rights)
        ((answer,),) = ask_values(session, grants.rights_sql(asked), "show our rights")
        for right, found in zip(asked, answer, strict=True):
            if found != 1:
                return f"the login may not {right.purpose}: {right.statement_in(self._server.database)}"
        return None


def _whole_commits(answer: Collection[tuple[Any, ...]]) -> list[NewestRow]:
    """Leave out the oldest commit of a full page, which may have more rows."""
    rows = [NewestRow(lsn, command, seqval) for lsn, command, seqval, _ in answer]
    if len(rows) == assumption_sql.MOST_ROWS:
        rows = [row for row in rows if row.lsn != rows[-1].lsn]
    return rows

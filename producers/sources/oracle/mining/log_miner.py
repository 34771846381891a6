"""Mines range after range, each in a mining of its own.

    write redo -> safe SCN -> list files -> add -> start -> SELECT -> list again, a piece, list again, a piece

The files are listed again before each piece, because an online file may be given to another log meanwhile:
then rows are missing.  What is handed out is complete so far, because a commit in it may be published at
once.  While nothing of a range was handed out, it is mined again; behind that the error goes to the stream,
whose next one begins at its own position.  So no row comes twice to one buffer.

The catalogue is looked at again behind a DDL of a captured owner, when that has ended, and behind a name that
the server could not resolve; and from time to time, because what other owners create is not mined.
"""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Final, NamedTuple, Self

from wrackline.producers.sources.oracle.connect.driver import Fields
from wrackline.producers.sources.oracle.connect.server_errors import LOGS_CHANGED
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.discover.facts import OracleLook
from wrackline.producers.sources.oracle.mining import mining_sql
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation, check_same
from wrackline.producers.sources.oracle.mining.log_files import (
    NO_END,
    LogFile,
    RedoThread,
    cover,
    still_holds,
)
from wrackline.producers.sources.oracle.mining.mined_piece import MinedPiece
from wrackline.producers.sources.oracle.mining.mined_row import DDL, ENDS, ROW_BYTES, MinedRow
from wrackline.producers.sources.oracle.mining.mining_range import (
    FIRST_STEP,
    LEAST_STEP,
    MOST_STEP,
    MiningRange,
    next_range,
    next_step,
)
from wrackline.producers.sources.oracle.mining.mining_sql import MinedDatabase
from wrackline.producers.sources.oracle.mining.safe_scn import SafeScn
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.settings.settings_registry import Values

PIECE_BYTES: Final = 1 << 20
LOOK_S: Final = 10.0  # after which the catalogue is looked at again
_AT_ONCE: Final = 250  # rows of one round trip, each of 4,000 bytes or less
_TRIES: Final = 3
_SLOT_DIGITS: Final = 8  # of an XID
_DOING: Final = "mine a range of the log"
_ENDING: Final = "end a mining"
_LISTING: Final = "list its log files"
_SWITCHED: Final = "an online log file was given to another log"


class MiningSteps(NamedTuple):
    """How many SCNs are mined at once: at first, and within which bounds."""

    first: int = FIRST_STEP
    least: int = LEAST_STEP
    most: int = MOST_STEP

    @classmethod
    def of(cls, settings: Values) -> Self:
        """Read the settings."""
        return cls(
            settings.integer("log.mining.batch.size.default"),
            settings.integer("log.mining.batch.size.min"),
            settings.integer("log.mining.batch.size.max"),
        )


class MiningScope(NamedTuple):
    """What is mined."""

    incarnation: Incarnation
    container: str | None = None  # the pluggable database
    owners: frozenset[str] = frozenset()  # beside those of captured tables
    destinations: Sequence[str] = ()  # whose archived logs are mined; none: each that is local


_STEPS: Final = MiningSteps()


def listed_files(
    session: OracleSession, archived: str, incarnation: Incarnation, after: int
) -> list[LogFile]:
    """List the log files: first those online, because what is given up meanwhile was archived before."""
    online = session.ask(mining_sql.ONLINE, _LISTING)
    binds = {"resetlogs": incarnation.resetlogs_scn, "scn_after": after}
    listed = session.ask(archived, _LISTING, binds)
    return [*mining_sql.online_files(online), *mining_sql.archived_files(listed)]


def ended_logs(session: OracleSession, incarnation: Incarnation, after: int) -> dict[int, int]:
    """Return the last log of each thread that ended at or below an SCN."""
    binds = {"resetlogs": incarnation.resetlogs_scn, "scn_from": after + 1}
    return dict(session.ask(mining_sql.ENDED, _LISTING, binds))


class LogMiner:
    """Mines one container's changes, over a session in the root."""

    def __init__(
        self,
        connect_root: Callable[[], OracleSession],
        safe: SafeScn,
        scope: MiningScope,
        after: int,
        looks: Callable[[], OracleLook],
        steps: MiningSteps = _STEPS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Mine rows with an SCN above `after`; the first range opens the session."""
        self._connect, self._safe, self._scope, self._after = connect_root, safe, scope, after
        self._looks, self._steps, self._clock = looks, steps, clock
        self._step = steps.first
        self._archived = mining_sql.archived_sql(scope.destinations)
        self._session: OracleSession | None = None
        self._look: OracleLook | None = None
        self._looked_at = 0.0
        self._stale = False  # whether the catalogue is newer than the look
        self._altering: set[str] = set()  # undo slots of transactions with a DDL that have not ended
        self._threads: frozenset[int] = frozenset()
        self._mined_owners: frozenset[str] | None = None  # of the range that is mined; None: there is none
        self._busy_s = 0.0
        self.behind = True
        """Whether the last range ended before what is safe."""

    def mine(self) -> Generator[MinedPiece]:
        """Mine the next range: pieces, the last of which says so; without news, one that has no rows."""
        for left in reversed(range(_TRIES)):
            handed_out = False
            try:
                with closing(self._mine()) as pieces:
                    for piece in pieces:
                        handed_out = True
                        yield piece
            except WracklineError as error:
                if handed_out or not left or error.code != LOGS_CHANGED.code:
                    raise
            else:
                return

    def cancel(self) -> None:
        """End the call that is under way; any thread may ask."""
        self._safe.cancel()
        if (session := self._session) is not None:
            session.cancel()

    def close(self) -> None:
        """End the sessions."""
        self._safe.close()
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _mine(self) -> Generator[MinedPiece]:
        session = self._session = self._session or self._connect()

        def ask_threads() -> Sequence[RedoThread]:
            return mining_sql.redo_threads(session.ask(mining_sql.THREADS, "show its redo threads"))

        safe, threads = self._safe.take(ask_threads)
        (row,) = session.ask(mining_sql.DATABASE, "show its state")
        facts = mining_sql.database_facts(row)
        check_same(self._scope.incarnation, facts.incarnation)
        if self._look is None or self._clock() - self._looked_at >= LOOK_S:
            self._look_again()
        listed = self._listed(session)
        if safe is None:  # a thread that was added meanwhile may have changes below what was archived since
            threads = ask_threads()
        ended = partial(ended_logs, session, self._scope.incarnation, self._after)
        known = cover(listed, threads, self._after, archived_only=safe is None, ended=ended)
        found = next_range(self._after, self._step, known, safe)
        numbers = [thread.number for thread in threads if thread.enabled]
        if found is None:
            self.behind, self._threads, self._mined_owners = False, frozenset(numbers), None
            yield self._piece([], 0, self._after)
            return
        self._threads = frozenset([*numbers, *(file.thread for file in found.files)])
        self._busy_s, self._mined_owners = 0.0, self._owners()
        some: list[MinedRow] = []
        size = 0
        with closing(self._rows(session, found, facts)) as rows:
            for mined in rows:
                some.append(mined)
                size += ROW_BYTES + len(mined.redo)
                if size >= PIECE_BYTES:
                    _check_files(session, found)
                    yield self._piece(some, size, None)
                    some, size = [], 0
        _check_files(session, found)
        last = self._piece(some, size, found.upto)  # it may fail, and then the range is mined again
        mined_scns = found.upto - found.after
        self._step = next_step(self._step, mined_scns, self._busy_s, self._steps.least, self._steps.most)
        self._after = found.upto
        self.behind = found.upto < min(known.upto, NO_END if safe is None else safe)
        yield last

    def _rows(self, session: OracleSession, found: MiningRange, facts: MinedDatabase) -> Generator[MinedRow]:
        """Return the rows of a range; the mining ends with them."""
        began = self._clock()
        try:
            for number, file in enumerate(found.files):
                added = mining_sql.add_file_sql(first=number == 0)
                session.execute(added, "add a log file to a mining", {"name": file.name})
            scns = {"scn_from": found.after + 1, "scn_upto": found.upto}
            session.execute(mining_sql.START_MINING, "start a mining", scns)
            container = mining_sql.mined_container(facts, self._scope.container)
            sql = mining_sql.contents_sql(self._mined_owners or frozenset(), container)
            binds = {"scn_after": found.after, "scn_upto": found.upto}
            batches = session.stream(sql, _DOING, binds, at_once=_AT_ONCE)
            self._busy_s += self._clock() - began
            for batch in self._timed(batches):
                for fields in batch:
                    row = mining_sql.row_of(fields, facts.zone_s)
                    self._note(row)
                    yield row
        except BaseException:
            with suppress(WracklineError):  # the first error says why
                session.execute(mining_sql.END_MINING, _ENDING)
            raise
        session.execute(mining_sql.END_MINING, _ENDING)

    def _timed(self, batches: Iterator[Sequence[Fields]]) -> Iterator[Sequence[Fields]]:
        """Count the time that the server takes, and not that of the caller."""
        while True:
            began = self._clock()
            batch = next(batches, None)
            self._busy_s += self._clock() - began
            if batch is None:
                return
            yield batch

    def _listed(self, session: OracleSession) -> list[LogFile]:
        return listed_files(session, self._archived, self._scope.incarnation, self._after)

    def _owners(self) -> frozenset[str]:
        look = self._look
        tables = () if look is None else look.tables.values()
        return self._scope.owners.union(facts.id.schema for facts in tables)

    def _note(self, row: MinedRow) -> None:
        """Note whether a row says that the catalogue has changed."""
        slot = row.xid[:_SLOT_DIGITS]
        if row.operation == DDL:
            self._altering.add(slot)
            self._stale = True
        elif row.operation in ENDS:
            if slot in self._altering:
                self._altering.remove(slot)
                self._stale = True
        elif mining_sql.is_unresolved(row):
            self._stale = True

    def _look_again(self) -> None:
        self._stale = False
        self._looked_at = self._clock()
        self._look = self._looks()

    def _piece(self, rows: Sequence[MinedRow], size: int, upto: int | None) -> MinedPiece:
        if self._look is None or self._stale:
            self._look_again()
        assert self._look is not None  # noqa: S101 - it was looked at just now, only for the type
        owners = self._owners() if self._mined_owners is None else self._mined_owners
        return MinedPiece(rows, size, upto, self._look, self._threads, owners)


def _check_files(session: OracleSession, found: MiningRange) -> None:
    """Refuse a range whose online files were given to other logs since they were listed."""
    if not still_holds(found.files, mining_sql.online_files(session.ask(mining_sql.ONLINE, _LISTING))):
        raise LOGS_CHANGED(doing=_DOING, reason=_SWITCHED)

"""The rounds of a pipeline: which table is merged when, side by side, until the operator asks for an end.

    main thread     looks for news every `consume.trigger.interval.ms`, hands out tables, collects outcomes
    pool            one batch of one table each, at most `consume.parallel.tables` at a time; a table whose
                    turn comes late is read up to where the newest look saw its topic
    upkeep          beside both, one table at a time (upkeep_worker.py)
    departures      a table that is gone at the source, and all merged, may lose its copy (departures.py)

A table fails on its own: retry_state.py says how long it rests.  While Kafka does not answer, no
table is handed out, and the look is tried again without end.  What is known here of progress (`reached`) only
saves questions: every batch asks the table itself.
"""

import random
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from wrackline.consumers.batch.batch import SPARK_GONE, translate_errors
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.drive.claim import FENCED
from wrackline.consumers.drive.departures import Departure
from wrackline.consumers.drive.leaving import NOT_LEFT, CopyRemover
from wrackline.consumers.drive.retry_state import RetryLimits, TableRetryState
from wrackline.consumers.drive.upkeep_worker import UpkeepOutcome, UpkeepWorker
from wrackline.consumers.kafka.topic_offsets import Ends
from wrackline.schemas.errors import Transient, WracklineError
from wrackline.schemas.kafka.topic_names import table_of

_ENDS_ALL = frozenset({SPARK_GONE.code, FENCED.code})  # no other table can be merged either
_LOOK = 0.2  # seconds between two looks at the request


class DriverRequest(Enum):
    """What a driver is asked to do."""

    GO_ON = "go on"
    RESUME = "resume"  # try the stopped tables again, once
    STOP = "stop"


class DriverObserver(Protocol):
    """Is called with what happens, on the driver's own thread."""

    def merged(self, topic: str, read: BatchRange, seconds: float) -> None:
        """A batch is in its table."""
        ...

    def round_done(self) -> None:
        """A round has handed out all that is new."""
        ...

    def stands(self, topic: str, standing: TableRetryState) -> None:
        """A try has failed, even in the same way as the last, or has succeeded after a failure."""
        ...

    def failed(self, topic: str, standing: TableRetryState) -> None:
        """A table waits or is stopped, for a reason that was not reported before."""
        ...

    def recovered(self, topic: str) -> None:
        """A table that had failed continues."""
        ...

    def outage(self, error: WracklineError | None) -> None:
        """Kafka does not answer, or answers again."""
        ...

    def tended(self, tended: UpkeepOutcome) -> None:
        """A table's upkeep has ended."""
        ...

    def departs(self, departures: Mapping[str, Departure], changed: Collection[str]) -> None:
        """Tables are gone at the source, back again, or their copies are gone; of `changed` it is news."""
        ...


@dataclass(frozen=True, slots=True)
class DriverPace:
    """How often and how much at a time."""

    interval: float  # seconds between two looks for news
    at_once: int  # tables merged side by side
    patience: RetryLimits
    last_word: float = 20.0  # seconds that batches under way have when the driver is asked to stop


Merge = Callable[[str, Mapping[int, int]], BatchRange]  # consumers/batch/batch.py
PollEnds = Callable[[], Ends]  # consumers/kafka/topic_offsets.py


class DriverWishes(Protocol):
    """What operators wish for single tables, by their names; asked on the driver's own thread."""

    @property
    def paused(self) -> frozenset[str]:
        """The tables of which no batch is begun."""
        ...

    @property
    def staying(self) -> frozenset[str] | None:
        """The tables whose copies stay when they are gone at the source; None: not known, so all stay."""
        ...

    def take_retries(self) -> frozenset[str]:
        """Return the tables that are to be tried again, each once."""
        ...


class NoWishes:
    """Nobody can wish anything."""

    paused: frozenset[str] = frozenset()
    staying: frozenset[str] | None = frozenset()

    def take_retries(self) -> frozenset[str]:
        """Return none."""
        return frozenset()


class LeftCopy(NamedTuple):
    """What a copy has become, of a table that is gone at the source; None: nothing yet."""

    became: str | None


@dataclass(slots=True)
class _DrivenTable:
    standing: TableRetryState = field(default_factory=TableRetryState)
    reached: Mapping[int, int] | None = None
    waits: bool = False  # its last look found nothing that it may take yet
    started: float = 0.0
    departure: Departure | None = None  # for which its last try was; None: that was a merge


class Driver:
    """Drives the tables of one pipeline."""

    def __init__(  # noqa: PLR0913 - what is merged, who is told, and who else decides
        self,
        look: PollEnds,
        merge: Merge,
        pace: DriverPace,
        witness: DriverObserver,
        tending: UpkeepWorker,
        *,
        clock: Callable[[], float] = time.monotonic,
        wishes: DriverWishes | None = None,
        leaving: CopyRemover | None = None,
    ) -> None:
        self._leaving = leaving
        self._wishes: DriverWishes = wishes or NoWishes()
        self._look, self._merge, self._pace, self._witness, self._clock = look, merge, pace, witness, clock
        self._tending = tending
        self._tables: dict[str, _DrivenTable] = {}
        self._running: dict[Future[BatchRange | LeftCopy], str] = {}
        self._ends: Ends = {}  # as the newest look saw them
        self._outage: TableRetryState = TableRetryState()

    @property
    def standings(self) -> Mapping[str, TableRetryState]:
        """The state of each table."""
        return {topic: table.standing for topic, table in self._tables.items()}

    def once(self) -> list[WracklineError]:
        """Bring every table to where its topic is now, in one try each; return what failed."""
        with ThreadPoolExecutor(self._pace.at_once, thread_name_prefix="merge") as pool:
            self._depart()
            ends = self._look()
            self._hand_out(pool, ends)
            while self._running:
                self._hear(None)
                self._hand_out(pool, {topic: end for topic, end in ends.items() if not self._behind(topic)})
        errors = (standing.error for standing in self.standings.values())
        return [error for error in errors if error is not None]

    def run(self, wish: Callable[[], DriverRequest]) -> bool:
        """Merge until asked to stop; return whether everything that began has ended by then."""
        pool = ThreadPoolExecutor(self._pace.at_once, thread_name_prefix="merge")
        due = self._clock()
        try:
            while (wished := wish()) is not DriverRequest.STOP:
                if wished is DriverRequest.RESUME:
                    self._resume(self._tables)
                self._resume(self._wishes.take_retries())
                if self._clock() >= due:
                    due = self._clock() + self._pace.interval
                    self._round(pool)
                self._hear(min(_LOOK, max(0.01, due - self._clock())))
                for tended in self._tending.done():
                    self._witness.tended(tended)
            deadline = self._clock() + self._pace.last_word
            for future in [one for one in self._running if one.cancel()]:
                del self._running[future]
            while self._running and self._clock() < deadline:
                self._hear(_LOOK)
            return not self._running
        finally:
            self._tending.close()
            pool.shutdown(wait=False, cancel_futures=True)

    def _round(self, pool: ThreadPoolExecutor) -> None:
        now = self._clock()
        if not self._outage.ready(now):
            return
        self._depart()  # before the ends: the rows of a table that is gone are committed by then
        try:
            ends = self._look()
        except Transient as error:
            before, endless = self._outage, RetryLimits(self._pace.patience.most_wait, None)
            self._outage = before.failed(error, self._clock(), endless, random.random())  # noqa: S311 - spreads tries
            if self._outage.is_news(before):
                self._witness.outage(error)
            return
        if self._outage.error is not None:
            self._outage = TableRetryState()
            self._witness.outage(None)
        self._hand_out(pool, ends)
        self._witness.round_done()

    def _hand_out(self, pool: ThreadPoolExecutor, ends: Ends) -> None:
        """Give the pool each table that has news, may be tried and is not under way."""
        now, under_way, self._ends = self._clock(), set(self._running.values()), ends
        paused = self._wishes.paused
        for topic, wanted in ends.items():
            table = self._tables.setdefault(topic, _DrivenTable())
            if paused and _table_of(topic) in paused:
                continue
            if topic in under_way or not table.standing.ready(now):
                continue
            if table.reached != wanted:
                table.departure = None
                self._running[pool.submit(self._timed, table, topic, wanted)] = topic
            elif not self._tending.is_under_way(topic) and (departure := self._due(topic)) is not None:
                table.departure = departure
                self._running[pool.submit(self._leave, topic, wanted, departure)] = topic

    def _timed(self, table: _DrivenTable, topic: str, ends: Mapping[int, int]) -> BatchRange:
        table.started = self._clock()
        newest, leaving = self._ends.get(topic, ends), self._leaving
        if leaving is not None and leaving.policy.ends(_table_of(topic)):
            with translate_errors(topic, table_of(topic)):
                is_there = leaving.is_there(topic)
            if not is_there:
                return BatchRange(topic, newest, newest)  # what the topic still has makes no new copy
        return self._merge(topic, newest)

    def _leave(self, topic: str, ends: Mapping[int, int], departure: Departure) -> LeftCopy:
        with translate_errors(topic, table_of(topic), NOT_LEFT):
            return LeftCopy(None if self._leaving is None else self._leaving.leave(topic, ends, departure))

    def _depart(self) -> None:
        """Take which tables are gone at the source, and look again at each of which that is news."""
        if self._leaving is None:
            return
        changed, known = self._leaving.policy.look(self._wishes.staying), self._leaving.policy.known
        for topic, table in self._tables.items():
            if _table_of(topic) in changed:
                table.reached = None
            if table.departure is not None and known.get(_table_of(topic)) != table.departure:
                table.standing = TableRetryState(table.standing.error)  # the reason of its failure is over
        if changed:
            self._witness.departs(known, changed)

    def _due(self, topic: str) -> Departure | None:
        """Return a departure whose copy may go; that of a renamed table goes after the new one is merged."""
        found = None if self._leaving is None else self._leaving.policy.due(_table_of(topic))
        if found is None or found.gone.renamed_to is None:
            return found
        new = f"{topic.partition('.')[0]}.{found.gone.renamed_to}"
        table, ends = self._tables.get(new), self._ends.get(new)
        return found if table is None or (ends is not None and table.reached == ends) else None

    def _hear(self, patience: float | None) -> None:
        """Wait for outcomes, for `patience` seconds at most, and record them."""
        if not self._running:
            time.sleep(patience or 0)
            return
        for future in wait(self._running, patience, FIRST_COMPLETED).done:
            topic = self._running.pop(future)
            table = self._tables[topic]
            try:
                read = future.result()
            except WracklineError as error:
                if error.code in _ENDS_ALL:
                    raise
                self._note(topic, table, error)
            else:
                if table.standing.error is not None:
                    table.standing = TableRetryState()
                    self._witness.stands(topic, table.standing)
                    self._witness.recovered(topic)
                if isinstance(read, LeftCopy):
                    table.waits = True
                    self._left(topic, read)
                    continue
                table.reached, table.waits = read.end, read.empty and read.end != self._ends.get(topic)
                if not read.empty:
                    self._witness.merged(topic, read, self._clock() - table.started)
                    self._tending.merged(topic)

    def _left(self, topic: str, copy: LeftCopy) -> None:
        name, leaving = _table_of(topic), self._leaving
        if leaving is not None and copy.became is not None:
            leaving.policy.left(name, copy.became)
            self._witness.departs(leaving.policy.known, {name})

    def _note(self, topic: str, table: _DrivenTable, error: WracklineError) -> None:
        before = table.standing
        table.standing = before.failed(error, self._clock(), self._pace.patience, random.random())  # noqa: S311 - as above
        self._witness.stands(topic, table.standing)
        if table.standing.is_news(before):
            self._witness.failed(topic, table.standing)

    def _behind(self, topic: str) -> bool:
        """Whether a table has failed or has to wait, so that one try is all it gets."""
        table = self._tables[topic]
        return table.waits or table.standing.error is not None

    def _resume(self, named: Collection[str]) -> None:
        """Try tables again that have stopped; they are named by their topics, or without the server."""
        for topic, table in self._tables.items() if named else ():
            if table.standing.stopped and (topic in named or _table_of(topic) in named):
                table.standing = TableRetryState(table.standing.error)


def _table_of(topic: str) -> str:
    return topic.partition(".")[2]

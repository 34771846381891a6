"""A consumer's figures: what its tables have merged, how late, and the state of each.

    a batch that is over (the pool's threads)     --> Figures --> metrics.py, status.py
    looks, failures, upkeep (the driver's thread) --^

Only what is committed counts, so what is done again after a failure counts once.  Everything here is reported
by others; this module asks neither Kafka nor the target.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from wrackline.consumers.batch.report import BatchReport, Step
from wrackline.consumers.contract.target import UpkeepRemoval
from wrackline.consumers.drive.retry_state import TableRetryState
from wrackline.consumers.drive.upkeep_worker import UpkeepOutcome
from wrackline.consumers.kafka.retention import retained_ratio
from wrackline.consumers.kafka.topic_offsets import OFFSETS_GONE, Ends
from wrackline.consumers.observe.source_progress import SourceProgress
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.moment_queue import MomentQueue
from wrackline.schemas.language.exposition import Histogram

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0)


@dataclass(frozen=True, slots=True)
class MergeLag:
    """How late the newest merged change was, in milliseconds by stage."""

    publish: int  # from its commit at the source until its record was made
    wait: int  # until it was read
    merge: int  # until it was in the target

    @property
    def whole(self) -> int:
        """From its commit until it could be seen."""
        return self.publish + self.wait + self.merge


class RetentionRisk(NamedTuple):
    """How near a table's unread events are to being dropped."""

    part: float  # as retention.py has it; 1: nothing threatens
    behind: int


class Completeness(NamedTuple):
    """Whether a table is complete through the newest known moment; if not, through which."""

    current: bool
    own_ms: int | None
    lacks: bool  # rows of before that moment may be missing, so it only says since when the table is late
    since_ms: int | None  # the first moment through which it was complete


class TableMoments(NamedTuple):
    """Through which moment a table is complete, None: no longer known; and the first such moment."""

    through_ms: int | None
    since_ms: int


class EarlierTable(NamedTuple):
    """What an earlier process has seen of a table."""

    through_ms: int | None  # None: no longer known
    since_ms: int
    lacks: bool = False


@dataclass(slots=True)
class TableFigures:
    """What is known of one table; its counters begin with the process."""

    standing: TableRetryState = field(default_factory=TableRetryState)
    applied: Mapping[int, int] | None = None  # by partition; None: nobody has asked the table yet
    ends: Mapping[int, int] = field(default_factory=dict)
    seq: str | None = None  # the greatest that is merged
    lag: MergeLag | None = None
    merged_ms: int | None = None  # the newest batch
    events: Counter[str] = field(default_factory=Counter)
    alterations: Counter[str] = field(default_factory=Counter)  # of the target's table, by kind
    batches: int = 0
    direct: int = 0  # batches that the driver merged by itself
    letters: int = 0  # records that were set aside
    steps: Counter[Step] = field(default_factory=Counter)  # seconds
    failures: Counter[str] = field(default_factory=Counter)  # by code
    upkeeps: Counter[bool] = field(default_factory=Counter)  # by whether it succeeded
    upkeep_seconds: float = 0.0
    upkeep_error: WracklineError | None = None
    removed: Counter[UpkeepRemoval] = field(default_factory=Counter)  # by upkeep
    incomplete: int | None = None  # rows, at the newest upkeep
    retained: float | None = None
    stuck: Mapping[int, int] = field(default_factory=dict)  # readable ends with more behind, at the last look
    held: tuple[int, float] | None = None  # offsets behind an open transaction, and since when
    unread: tuple[Mapping[int, int], float] | None = None  # ends that are not merged, and since when
    complete: MomentQueue[Mapping[int, int]] = field(default_factory=MomentQueue)  # by the ends after it
    lacks: bool = False  # it was read, or set aside, after the moment through which it was complete
    complete_since: int | None = None

    def holds(self, written: Mapping[int, int], now: float) -> None:
        """Take how far the topic is written: what cannot be read waits for a transaction to end.

        Most transactions end soon.  A transaction counts as held up if the readable part ended at the same
        offset at the look before.
        """
        stuck = {at: self.ends[at] for at, end in written.items() if end > self.ends.get(at, end)}
        same = {at for at, end in stuck.items() if self.stuck.get(at) == end}
        waiting = sum(written[at] - self.ends[at] for at in same)
        since = now if self.held is None else self.held[1]
        self.stuck, self.held = stuck, (waiting, since) if waiting else None

    @property
    def behind(self) -> int | None:
        """Offsets that are not merged."""
        if self.applied is None:
            return None
        return sum(max(0, end - self.applied.get(at, 0)) for at, end in self.ends.items())

    def reach_moments(self) -> None:
        """Take through which moment all is merged, by what is applied."""
        applied = self.applied
        if applied is not None and self.complete.reach(
            lambda ends: all(applied.get(at, 0) >= end for at, end in ends.items())
        ):
            self.lacks = False
            if self.complete_since is None:
                self.complete_since = self.complete.through

    def lose(self) -> None:
        """Take that the table is read or set aside: its copy may be emptied, so its moment stands still."""
        self.complete.forget()
        self.lacks = True

    def depart(self) -> None:
        """Take that the source half no longer reports the table."""
        self.complete, self.lacks, self.complete_since = MomentQueue(), False, None

    def recall(self, earlier: EarlierTable) -> None:
        """Take what an earlier process has seen; what this one has seen is newer."""
        if self.complete.through is None:
            self.complete.through, self.lacks = earlier.through_ms, self.lacks or earlier.lacks
        known = self.complete_since
        self.complete_since = earlier.since_ms if known is None else min(known, earlier.since_ms)

    def look(self, ends: Mapping[int, int], now: float) -> None:
        """Take how far the topic may be read."""
        self.ends = ends
        if self.unread is None and self.behind != 0:
            self.unread = (ends, now)

    def reach(self, applied: Mapping[int, int], now: float) -> None:
        """Take how far the table is."""
        self.applied = applied
        self.reach_moments()
        if self.unread is not None and all(applied.get(at, 0) >= end for at, end in self.unread[0].items()):
            self.unread = (self.ends, now) if self.behind else None


class ConsumerFigures:
    """Adds up a consumer's figures; any thread may report and read them."""

    def __init__(
        self,
        server: str,
        clock: Callable[[], float] = time.monotonic,
        wall_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.server, self._clock, self._wall_ms = server, clock, wall_ms
        self._tables: dict[str, TableFigures] = {}
        self._changed: set[str] = set()  # topics, since they were taken
        self._states: set[str] = set()  # topics of tables whose state has changed, since they were taken
        self.paused: frozenset[str] = frozenset()  # tables, by an operator
        self._knows_wishes = False
        self.departures: Mapping[str, Mapping[str, object]] = {}  # of tables that are gone at the source
        self._lock = Lock()
        self.seconds = Histogram(BOUNDS)
        self.outage: WracklineError | None = None
        self.outages = 0
        self.through_ms: int | None = None  # the newest moment that tables can be complete through
        self._earlier: dict[str, EarlierTable] = {}  # by table
        self.has_looked = False  # before, nobody knows which tables there are

    @contextmanager
    def held(self) -> Iterator[Mapping[str, TableFigures]]:
        """Yield the tables by their topics; nothing is added until the block is left."""
        with self._lock:
            yield self._tables

    def pause(self, paused: frozenset[str]) -> None:
        """Take which tables an operator has paused, by their names."""
        with self._lock:
            names = self.paused ^ paused
            found = {topic for topic in self._tables if self.named(topic) in names} if names else set()
            self._changed |= found
            self._states |= found
            self.paused, self._knows_wishes = paused, True

    def was_paused(self, paused: frozenset[str]) -> None:
        """Take which tables an earlier process had paused: they are until the wishes are known."""
        with self._lock:
            if not self._knows_wishes:
                self.paused = paused

    def departs(self, departures: Mapping[str, Mapping[str, object]], names: Collection[str]) -> None:
        """Take which tables are gone at the source, and of which of them that is news."""
        with self._lock:
            self.departures = departures
            self._changed.update(topic for topic in self._tables if self.named(topic) in names)

    def take_changed(self) -> frozenset[str]:
        """Return the topics of the tables that have changed since the last call."""
        with self._lock:
            changed, self._changed = self._changed, set()
        return frozenset(changed)

    def take_states(self) -> frozenset[str]:
        """Return the topics of the tables whose state has changed since the last call."""
        with self._lock:
            changed, self._states = self._states, set()
        return frozenset(changed)

    def letters(self, topic: str) -> int:
        """Return how many records of a topic were set aside."""
        with self._lock:
            table = self._tables.get(topic)
            return 0 if table is None else table.letters

    def named(self, topic: str) -> str:
        """Return what a topic's table is called: without the server; a flow's, which has none, whole."""
        return topic.partition(".")[2] if self.server else topic

    @property
    def now(self) -> float:
        """The time by which `unread` is counted."""
        return self._clock()

    @property
    def now_ms(self) -> int:
        """The time by which moments are counted."""
        return self._wall_ms()

    def batch(self, account: BatchReport) -> None:
        """Take the report of one look at one table."""
        with self._lock:
            table = self._changed_table(account.read.topic)
            table.reach(account.read.end, self._clock())
            newest = account.applied.newest
            table.seq = table.seq if newest is None else newest.seq
            if account.read.empty:
                return
            table.batches += 1
            table.direct += account.direct
            table.letters += account.letters
            table.merged_ms = account.merged_ms
            table.events.update(account.tally.operations)
            table.alterations.update(account.tally.shape)
            table.steps.update(account.seconds)
            self.seconds.observe(sum(account.seconds.values()))
            latest = account.tally.latest
            if latest is not None:
                table.lag = MergeLag(
                    max(0, latest.published_ms - latest.committed_ms),
                    max(0, account.read_ms - latest.published_ms),
                    account.merged_ms - account.read_ms,
                )

    def remember(self, earlier: Mapping[str, EarlierTable]) -> None:
        """Take what an earlier process has seen of tables, by their names."""
        with self._lock:
            self._earlier = dict(earlier)
            for topic in self._tables:
                self._recall(topic)

    def moments(self) -> Mapping[str, TableMoments]:
        """Return the moments of each table that was complete once."""
        with self._lock:
            known = {} if self.through_ms is not None else self._earlier  # its topic may be gone since
            return {name: TableMoments(*one[:2]) for name, one in known.items()} | {
                self.named(topic): TableMoments(table.complete.through, table.complete_since)
                for topic, table in self._tables.items()
                if table.complete_since is not None
            }

    def published(self, source: SourceProgress, written: Ends) -> None:
        """Take what the source half said, and how far topics were written *after* that was known.

        What is committed in Kafka at that moment ends there or earlier, also behind an open transaction.
        """
        reported = source.whole | source.lacking
        with self._lock:
            for topic, table in self._tables.items():
                name, before = self.named(topic), self.completeness(table)
                table.complete.now(source.at_ms)
                if name not in reported:
                    table.depart()
                elif name in source.lacking:
                    table.lose()
                elif _names_all(written.get(topic, {}), table.ends):
                    table.complete.add(source.at_ms, written[topic])
                    table.reach_moments()
                if before != _completeness(table, source.at_ms):
                    self._changed.add(topic)
            self.through_ms = source.at_ms

    def completeness(self, table: TableFigures) -> Completeness:
        """Return through which moment a table is complete, as the board has it."""
        return _completeness(table, self.through_ms)

    def take_ends(self, ends: Ends) -> None:
        """Take how far each topic may be read."""
        now = self._clock()
        with self._lock:
            self.has_looked = True
            for topic in self._tables.keys() - ends.keys():
                self._tables[topic].ends = {}
            for topic, its_ends in ends.items():
                known = self._tables.get(topic)
                if known is None or known.ends != its_ends:
                    self._changed_table(topic).look(its_ends, now)

    def waiting_offsets(self, written: Ends) -> Mapping[str, int]:
        """Take how far topics are written; return how much waits behind an open transaction, by topic."""
        now, found = self._clock(), {}
        with self._lock:
            for topic, its_ends in written.items():
                table = self._tables.get(topic)
                if table is not None:
                    before = table.held
                    table.holds(its_ends, now)
                    if table.held != before:
                        self._changed.add(topic)
                    if table.held is not None:
                        found[topic] = table.held[0]
        return found

    def retention_risks(self, firsts: Ends) -> Mapping[str, RetentionRisk]:
        """Take where topics begin; return how near unread events are to going, where they are still there."""
        found = {}
        with self._lock:
            for topic, its_firsts in firsts.items():
                table = self._tables.get(topic)
                if table is None or table.applied is None:
                    continue
                table.retained = retained_ratio(table.applied, its_firsts, table.ends)
                error = table.standing.error
                if error is None or error.code != OFFSETS_GONE.code:
                    part = 1.0 if table.retained is None else table.retained
                    found[topic] = RetentionRisk(part, table.behind or 0)
        return found

    def stands(self, topic: str, standing: TableRetryState) -> None:
        """Take a table's state after a batch failed, or succeeded again."""
        with self._lock:
            table = self._changed_table(topic)
            if standing.is_news(table.standing):
                self._states.add(topic)
            table.standing = standing
            if standing.error is not None:
                table.failures[standing.error.code] += 1

    def _changed_table(self, topic: str) -> TableFigures:
        self._changed.add(topic)
        if topic not in self._tables:
            self._tables[topic] = TableFigures()
            self._recall(topic)
        return self._tables[topic]

    def _recall(self, topic: str) -> None:
        """Give a table its past before it is reported: a report replaces the earlier one."""
        earlier = self._earlier.pop(self.named(topic), None)
        if earlier is not None:
            self._changed.add(topic)
            self._tables[topic].recall(earlier)

    def went(self, error: WracklineError | None) -> None:
        """Take that Kafka does not answer, or answers again."""
        with self._lock:
            self.outages += self.outage is None and error is not None
            self.outage = error

    def tended(self, tended: UpkeepOutcome) -> None:
        """Take the outcome of an upkeep."""
        with self._lock:
            table = self._changed_table(tended.topic)
            table.upkeeps[tended.error is None] += 1
            table.upkeep_seconds += tended.seconds
            table.upkeep_error = tended.error
            table.removed.update(tended.did.removed)
            if tended.error is None:
                table.incomplete = tended.did.incomplete


def _completeness(table: TableFigures, through_ms: int | None) -> Completeness:
    own = table.complete.through
    if own is not None and through_ms is not None and own >= through_ms and not table.lacks:
        return Completeness(True, None, lacks=False, since_ms=table.complete_since)
    return Completeness(False, own, table.lacks, table.complete_since)


def _names_all(written: Mapping[int, int], ends: Mapping[int, int]) -> bool:
    """Whether each partition has answered: one without a leader is in neither."""
    return bool(ends) and written.keys() >= ends.keys()

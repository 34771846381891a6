"""A task's figures: an observer that adds up publications, and the metrics that are served.

    publications (once a Kafka commit) --> TaskMeasures --samples--> exposition
    the log as its server shows it (every few seconds) --^

Why this does not slow down the rows: they were counted where they were cut, and here some numbers are added
once a commit.  Only what Kafka has committed counts, so what is read again after an error counts once.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from threading import Lock

from wrackline.producers.contract.optional_parts import LogRecount, LogState, OpenTransactions
from wrackline.producers.contract.row_chunks import Mark
from wrackline.producers.contract.steps import Fault, Position
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.cutting.cutter import Publication
from wrackline.producers.cutting.record_buffer import Unfitting
from wrackline.producers.observe import task_metric_names as names
from wrackline.producers.observe.published_through import PublishedThrough
from wrackline.producers.observe.table_figures import PartitionTables
from wrackline.producers.snapshot.work_index import ReadUnderWay
from wrackline.producers.task.task_observers import Health
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.offset_replay import OffsetsState
from wrackline.schemas.language.exposition import Family, Histogram, Metric, Sample, Type
from wrackline.schemas.tables.table import SourcePartition, TableId

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SMOOTH = 0.3  # weight of the newest rate of the log
_UNKNOWN = -1.0  # as Debezium says it


@dataclass(slots=True)
class PartitionFigures:
    """What is known of one source partition."""

    events: Counter[tuple[TableId, str]] = field(default_factory=Counter)
    faults: Counter[tuple[TableId, str]] = field(default_factory=Counter)
    unfit: Counter[Unfitting] = field(default_factory=Counter)
    tables: PartitionTables = field(default_factory=PartitionTables)
    bytes: int = 0
    transactions: int = 0
    position: Position | None = None  # the last one that was committed
    lag_ms: int | None = None  # of the newest event
    last_ms: int | None = None  # when that was committed in Kafka
    log: LogState | None = None
    left_out: Mapping[TableId, UncapturedReason] = field(default_factory=dict)  # tables that are not captured
    through: PublishedThrough = field(default_factory=PublishedThrough)
    health: Health | None = None  # its own, where the task has other databases beside it
    error: WracklineError | None = None  # of that
    recoveries: Counter[str] = field(default_factory=Counter)  # its own, by code
    log_seen: float = 0.0
    log_rate: float | None = None  # bytes a second

    @property
    def is_read(self) -> bool:
        """Whether its log is open, as far as the task is."""
        return self.health in {None, Health.RUNNING}

    @property
    def seconds_until_lost(self) -> float:
        """The seconds until what we need is lost, at this rate or by its age, if we confirm nothing."""
        if self.log is None:
            return inf
        by_age = inf if self.log.expires_s is None else self.log.expires_s
        if self.log.spare is None or not self.log_rate:
            return by_age
        return min(by_age, max(0, self.log.spare) / self.log_rate)


class TaskMeasures:
    """Adds up one task's figures; any thread may read them."""

    def __init__(
        self,
        task: int,
        plugin: str,
        partitions: Sequence[SourcePartition],
        most_queued: int,
        *,
        monotonic: Callable[[], float],
        now_ms: Callable[[], int],
    ) -> None:
        self._task, self._most_queued = task, most_queued
        self._plugin = names.PLUGINS.get(plugin, plugin)
        self._monotonic, self._now_ms = monotonic, now_ms
        self._figures = {partition: PartitionFigures() for partition in partitions}
        self._commits = Histogram(BOUNDS)
        self._recoveries: Counter[str] = Counter()
        self._queued: Callable[[], int] = lambda: 0
        self._reads: Callable[[], Sequence[ReadUnderWay]] = tuple
        self._recount: Callable[[SourcePartition], LogRecount | None] = lambda _: None
        self._backlog: Callable[[SourcePartition], OpenTransactions | None] = lambda _: None
        self._changed: set[TableId] = set()  # tables, since they were taken
        self._states: set[TableId] = set()  # tables whose state has changed, since they were taken
        self._lock = Lock()
        self.running = False
        self.has_resumed = False  # before, nobody knows which tables there are

    def queue(self, queued: Callable[[], int]) -> None:
        """Take a function that returns how much waits."""
        self._queued = queued

    def reads(self, look: Callable[[], Sequence[ReadUnderWay]]) -> None:
        """Take a function that returns which chunks of existing rows are under way."""
        self._reads = look

    def recounts(self, look: Callable[[SourcePartition], LogRecount | None]) -> None:
        """Take a function that says what the source has counted again of a log."""
        self._recount = look

    def keeps(self, look: Callable[[SourcePartition], OpenTransactions | None]) -> None:
        """Take a function that says which transactions the source keeps until they end."""
        self._backlog = look

    def reads_under_way(self) -> Sequence[ReadUnderWay]:
        """Return the chunks that are being read or held now."""
        return self._reads()

    def health(self, health: Health, error: Exception | None) -> None:
        """Note whether the task runs, and what it recovers from."""
        self.running = health is Health.RUNNING
        if error is not None:
            code = error.code if isinstance(error, WracklineError) else type(error).__name__
            with self._lock:
                self._recoveries[code] += 1

    def database(self, partition: SourcePartition, health: Health, error: WracklineError | None) -> None:
        """Take how one of several databases is."""
        with self._lock:
            figures = self._figures[partition]
            figures.health, figures.error = health, error
            figures.through.reopened()  # what is opened next may be another log
            if error is not None:
                figures.recoveries[error.code] += health is Health.RECOVERING

    def left_out(self, partition: SourcePartition, tables: Mapping[TableId, UncapturedReason]) -> None:
        """Take the tables that are not captured, and why."""
        with self._lock:
            self._figures[partition].left_out = tables

    def resumed(self, state: OffsetsState) -> None:
        """Take the states of the tables."""
        with self._lock:
            for partition, figures in self._figures.items():
                figures.through.reopened()
                tables = PartitionTables()
                for key, kept in state.tables.items():
                    if key.partition == partition:
                        tables.take(key.table, kept.snapshot)
                        self._changed.add(key.table)
                figures.tables = tables  # at once: who looks meanwhile would miss some
            self.has_resumed = True

    def fault(self, partition: SourcePartition, fault: Fault) -> None:
        """Count it."""
        with self._lock:
            self._figures[partition].faults[fault.table, fault.error.code] += 1

    def published(self, publications: Sequence[Publication], commit_seconds: float) -> None:
        """Add a Kafka transaction."""
        now = self._now_ms()
        with self._lock:
            self._commits.observe(commit_seconds)
            for publication in publications:
                figures, tally = self._figures[publication.partition], publication.tally
                figures.bytes += publication.size
                figures.position = publication.position
                if figures.is_read:  # else its log was closed, and the next one may be another
                    figures.through.reached(publication.position)
                figures.unfit.update(tally.unfit)
                figures.transactions += tally.transactions
                for table, state in publication.states.items():
                    if figures.tables.take(table, state):
                        self._states.add(table)
                self._changed.update(publication.states)
                if tally.events:
                    self._changed.update(table for table, _ in tally.events)
                    figures.events.update(tally.events)
                    figures.last_ms = now
                if tally.committed_ms is not None:
                    figures.lag_ms = max(0, now - tally.committed_ms)

    def reached(self, partition: SourcePartition, position: Position) -> None:
        """Take that all up to a place is in Kafka, though no publication says so."""
        self._figures[partition].through.reached(position)

    def log_end(self, partition: SourcePartition, at_ms: int, end: Mark) -> None:
        """Take a moment, and where the log ended after it."""
        self._figures[partition].through.take_end(at_ms, end)

    def log_state(self, partition: SourcePartition, log: LogState | None) -> None:
        """Take how the server sees the log."""
        now = self._monotonic()
        with self._lock:
            figures = self._figures[partition]
            passed = now - figures.log_seen
            if log is not None and figures.log is not None and passed > 0:
                rate = max(0, log.end - figures.log.end) / passed
                before = rate if figures.log_rate is None else figures.log_rate
                figures.log_rate = _SMOOTH * rate + (1 - _SMOOTH) * before
            figures.log, figures.log_seen = log, now

    def figures(self) -> Mapping[SourcePartition, PartitionFigures]:
        """Return the figures themselves; each single figure may be read at any time."""
        return self._figures

    def known(self) -> frozenset[TableId]:
        """Return all tables that have a saved state, or events."""
        with self._lock:
            found = {table for figures in self._figures.values() for table, _ in figures.events}
            return frozenset(found.union(*(figures.tables.known() for figures in self._figures.values())))

    def take_changed(self) -> frozenset[TableId]:
        """Return the tables that have changed since the last call."""
        with self._lock:
            changed, self._changed = self._changed, set()
        return frozenset(changed)

    def take_states(self) -> frozenset[TableId]:
        """Return the tables whose state has changed since the last call."""
        with self._lock:
            changed, self._states = self._states, set()
        return frozenset(changed)

    @property
    def events(self) -> int:
        """All events so far."""
        with self._lock:
            return sum(figures.events.total() for figures in self._figures.values())

    def families(self) -> Iterator[Family]:
        """Yield everything that is served, with its current values."""
        with self._lock:
            ours: dict[Metric, list[Sample]] = {metric: [] for metric in names.METRICS}
            theirs: dict[names.Alias, list[Sample]] = {
                alias: []
                for alias in (
                    *names.ALIASES,
                    names.ACTIVE,
                    names.OLDEST,
                    *names.QUEUE_ALIASES,
                    *names.SNAPSHOT_ALIASES,
                    names.SCANNED,
                )
            }
            for partition, figures in self._figures.items():
                labels = self._labels(partition)
                kept = self._backlog(partition)
                values = (*self._ours(figures), *self._recounted(partition), *self._opened(kept))
                for metric, more, value in values:
                    ours[metric].append(Sample({**labels, **more}, value))
                jmx = self._beans(partition)
                for alias, value in zip(names.ALIASES, self._theirs(figures), strict=True):
                    theirs[alias].append(Sample(jmx, value))
                if kept is not None:
                    theirs[names.ACTIVE].append(Sample(jmx, kept.count))
                    theirs[names.OLDEST].append(Sample(jmx, self._age_ms(kept)))
                jmx = {**jmx, "context": "snapshot"}
                for alias, value in zip(names.SNAPSHOT_ALIASES, figures.tables.theirs(), strict=True):
                    theirs[alias].append(Sample(jmx, value))
                for (table, operation), times in figures.events.items():
                    if operation == "r":
                        theirs[names.SCANNED].append(Sample({**jmx, "table": _topic_names(table)}, times))
            self._add_task(ours, theirs)
        for metric, samples in ours.items():
            yield Family(metric.name, metric.type.value, metric.meaning, samples)
        for alias, samples in theirs.items():
            yield Family(alias.name, Type.GAUGE.value, alias.meaning, samples)

    def _labels(self, partition: SourcePartition | None) -> dict[str, str]:
        """Return the labels; figures of several databases together have no database."""
        of_all = sorted(self._figures) if partition is None else [partition]
        servers = dict.fromkeys(partition.server for partition in of_all)
        labels = {"server": ",".join(servers), "task": str(self._task)}
        return labels | ({"database": of_all[0].database} if len(of_all) == 1 else {})

    def _beans(self, partition: SourcePartition | None) -> dict[str, str]:
        """Return Debezium's labels of the same figures."""
        labels = self._labels(partition)
        found = {"plugin": self._plugin, "name": labels.pop("server"), **labels}
        return found | {"context": "streaming"}

    def _add_task(self, ours: dict[Metric, list[Sample]], theirs: dict[names.Alias, list[Sample]]) -> None:
        """Add what all databases of the task share: once, so that a sum over series is right."""
        labels, queued = self._labels(None), self._queued()
        connected = sum(one.is_read for one in self._figures.values()) if self.running else 0
        ours[names.QUEUE].append(Sample(labels, queued))
        ours[names.QUEUE_MOST].append(Sample(labels, self._most_queued))
        ours[names.DATABASES].append(Sample(labels, len(self._figures)))
        ours[names.CONNECTED].append(Sample(labels, connected))
        ours[names.COMMITS] = self._commits.samples(labels)
        ours[names.RECOVERIES] += [
            Sample({**labels, "code": code}, times) for code, times in self._recoveries.items()
        ]
        free = max(0, self._most_queued - queued)
        for alias, value in zip(
            names.QUEUE_ALIASES, (self._most_queued, free, self._most_queued, queued), strict=True
        ):
            theirs[alias].append(Sample(self._beans(None), value))

    def _ours(self, figures: PartitionFigures) -> Iterator[tuple[Metric, Mapping[str, str], float]]:
        none: Mapping[str, str] = {}
        yield names.RUNNING, none, self.running and figures.is_read
        for (table, operation), times in figures.events.items():
            yield names.EVENTS, {"table": _topic_names(table), "operation": operation}, times
        for code, times in figures.recoveries.items():
            yield names.RECOVERIES, {"code": code}, times
        for (table, code), times in figures.faults.items():
            yield names.FAULTS, {"table": _topic_names(table), "code": code}, times
        for (table, column, letter), times in figures.unfit.items():
            policy = "letter" if letter else "null"
            yield names.UNFIT, {"table": _topic_names(table), "column": column, "policy": policy}, times
        yield from figures.tables.ours()
        yield names.BYTES, none, figures.bytes
        yield names.TRANSACTIONS, none, figures.transactions
        if figures.lag_ms is not None:
            yield names.LAG_MS, none, figures.lag_ms
        if figures.last_ms is not None:
            yield names.IDLE_MS, none, max(0, self._now_ms() - figures.last_ms)
        if figures.log is not None:
            yield from self._of_the_log(figures, figures.log)

    def _recounted(self, partition: SourcePartition) -> Iterator[tuple[Metric, Mapping[str, str], float]]:
        none: Mapping[str, str] = {}
        counted = self._recount(partition)
        if counted is not None:
            yield names.RECOUNTED, none, counted.ranges
            if counted.ago_s is not None:
                yield names.RECOUNT_AGE, none, counted.ago_s

    def _opened(self, kept: OpenTransactions | None) -> Iterator[tuple[Metric, Mapping[str, str], float]]:
        none: Mapping[str, str] = {}
        if kept is not None:
            yield names.OPEN, none, kept.count
            yield names.OPEN_AGE, none, self._age_ms(kept) / 1000
            yield names.OPEN_FILES, none, kept.file_bytes

    def _age_ms(self, kept: OpenTransactions) -> int:
        return 0 if kept.oldest_ms is None else max(0, self._now_ms() - kept.oldest_ms)

    def _of_the_log(
        self, figures: PartitionFigures, log: LogState
    ) -> Iterator[tuple[Metric, Mapping[str, str], float]]:
        none: Mapping[str, str] = {}
        if log.behind is not None:
            yield names.LAG_BYTES, none, log.behind
            yield names.POSITION, none, log.end - log.behind
        if log.retained is not None:
            yield names.RETAINED, none, log.retained
        if log.status is not None:
            yield names.STATUS, {"status": log.status}, 1
        if log.kept_s is not None:
            yield names.KEPT, none, log.kept_s
        yield names.SPARE, none, inf if log.spare is None else log.spare
        yield names.LOST_IN, none, figures.seconds_until_lost
        if figures.log_rate is not None:
            yield names.WRITTEN, none, figures.log_rate

    def _theirs(self, figures: PartitionFigures) -> Iterator[float]:
        """Yield the aliases' values, in their order."""
        by_operation: Counter[str] = Counter()
        for (_, operation), times in figures.events.items():
            by_operation[operation] += times
        yield self.running and figures.is_read
        yield _UNKNOWN if figures.lag_ms is None else figures.lag_ms
        yield _UNKNOWN if figures.last_ms is None else max(0, self._now_ms() - figures.last_ms)
        yield by_operation.total()
        yield by_operation["c"]
        yield by_operation["u"]
        yield by_operation["d"]
        yield figures.faults.total()
        yield figures.transactions


def _topic_names(table: TableId) -> str:
    return f"{table.schema}.{table.name}"

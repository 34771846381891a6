"""A consumer's figures as metrics: one family for each that metric_names.py declares, in its order."""

from collections import Counter
from collections.abc import Iterator, Mapping

from wrackline.consumers.observe import metric_names as names
from wrackline.consumers.observe.figures import ConsumerFigures, TableFigures
from wrackline.consumers.observe.slo_figures import Line, SloFigures
from wrackline.schemas.language.exposition import Family, Metric, Sample


def families(figures: ConsumerFigures, slo: SloFigures | None = None) -> Iterator[Family]:
    """Everything that is served, as it is now."""
    server = {"server": figures.server}
    found: dict[Metric, list[Sample]] = {metric: [] for metric in names.METRICS}
    with figures.held() as tables:
        found[names.SECONDS] = figures.seconds.samples(server)
        standings = Counter(table.standing.word for table in tables.values())
        lines = [
            line
            for topic, table in tables.items()
            for line in _table_lines(figures.named(topic), table, figures.now, figures.now_ms)
        ]
        lines += [(names.TABLES, {"standing": word}, times) for word, times in standings.items()]
        lines += [(names.RUNNING, {}, figures.outage is None), (names.OUTAGES, {}, figures.outages)]
    lines += [] if slo is None else slo.lines()
    for metric, labels, value in lines:
        found[metric].append(Sample({**server, **labels}, value))
    for metric, samples in found.items():
        yield Family(metric.name, metric.type.value, metric.meaning, samples)


def _table_lines(name: str, table: TableFigures, now: float, now_ms: int) -> Iterator[Line]:
    its = {"table": name}
    yield names.STANDING, {**its, "standing": table.standing.word}, 1
    yield names.BATCHES, its, table.batches
    yield names.DIRECT, its, table.direct
    yield names.LETTERS, its, table.letters
    for operation, times in table.events.items():
        yield names.EVENTS, {**its, "operation": operation}, times
    for change, times in table.alterations.items():
        yield names.SCHEMA_CHANGES, {**its, "change": change.lower()}, times
    for code, times in table.failures.items():
        yield names.FAILURES, {**its, "code": code}, times
    for good, times in table.upkeeps.items():
        yield names.UPKEEPS, {**its, "outcome": "done" if good else "failed"}, times
    if table.upkeeps:
        yield names.UPKEEP_S, its, table.upkeep_seconds
    for what, count in table.removed.items():
        yield names.REMOVED, {**its, "what": what.value}, count
    if table.incomplete is not None:
        yield names.INCOMPLETE, its, table.incomplete
    for step, seconds in table.steps.items():
        yield names.STEPS, {**its, "step": step.value}, seconds
    if (through := table.complete.through) is not None:
        yield names.FRESHNESS, its, max(0, now_ms - through) / 1000
    yield from _how_far(its, table, now)


def _how_far(its: Mapping[str, str], table: TableFigures, now: float) -> Iterator[Line]:
    if table.lag is not None:
        for stage in ("publish", "wait", "merge"):
            yield names.LAG, {**its, "stage": stage}, getattr(table.lag, stage)
    if table.behind is not None:
        yield names.BEHIND, its, table.behind
        yield names.BEHIND_S, its, 0 if table.unread is None else now - table.unread[1]
    for partition, offset in (table.applied or {}).items():
        yield names.OFFSET, {**its, "partition": str(partition)}, offset
    if table.merged_ms is not None:
        yield names.MERGED_AT, its, table.merged_ms / 1000
    if table.retained is not None:
        yield names.RETAINED, its, table.retained

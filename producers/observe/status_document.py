"""A task's figures as documents, for the board: how far behind its log it is, and how each table is.

In: figures.  Out: what JSON can hold; null is what is not known.  A document changes only when something has
happened, so nothing in it counts time.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from wrackline.producers.contract.uncaptured import MOST_NAMED, UncapturedReason, group_by_reason
from wrackline.producers.observe.task_metrics import PartitionFigures, TaskMeasures
from wrackline.schemas.tables.table import TableId

OPERATIONS = "crudt"
MOST_FORESEEN_S = 8 * 7 * 86_400  # beyond that the rate is noise, and nobody has to act


def databases_document(measures: TaskMeasures) -> dict[str, Any]:
    """Return the state of each source partition's log, by database."""
    return {partition.database: _of_log(figures) for partition, figures in measures.figures().items()}


def events_of(measures: TaskMeasures, table: TableId) -> dict[str, int]:
    """Return a table's events that were published since the start, by operation."""
    found: Counter[str] = Counter()
    for figures in measures.figures().values():
        for operation in OPERATIONS:
            if times := figures.events.get((table, operation)):
                found[operation] += times
    return dict(found)


def _of_log(figures: PartitionFigures) -> dict[str, Any]:
    log = figures.log
    return {
        "behind_bytes": None if log is None else log.behind,
        "retained_bytes": None if log is None else log.retained,
        "spare_bytes": None if log is None else log.spare,
        "lost_in_s": _forecast(figures.seconds_until_lost),
        "log": None if log is None else log.name,
        "status": None if log is None else log.status,
        "end_bytes": None if log is None else log.end,
        "bytes_a_second": None if figures.log_rate is None else round(figures.log_rate),
        "kept_s": None if log is None else log.kept_s,
        "expires_s": None if log is None or log.expires_s is None else round(log.expires_s),
        "lag_ms": figures.lag_ms,  # of the newest event, when Kafka had it
        "last_ms": figures.last_ms,
        "through_ms": figures.through.at_ms,
        "bytes": figures.bytes,
        "transactions": figures.transactions,
        "left_out": _left_out(figures.left_out),
    }


def database_state(figures: PartitionFigures) -> dict[str, Any]:
    """Return the state of one database among several, and why; None where it is the task's own."""
    return {
        "state": None if figures.health is None else figures.health.value,
        "error": None if figures.error is None else figures.error.document(),
    }


def _left_out(tables: Mapping[TableId, UncapturedReason]) -> dict[str, Any]:
    """Count the tables that are not captured, by reason, and name some."""
    return {
        why.value: {"count": len(found), "tables": list(map(str, found[:MOST_NAMED]))}
        for why, found in group_by_reason(tables).items()
    }


def _forecast(seconds: float) -> int | None:
    return round(seconds) if seconds < MOST_FORESEEN_S else None

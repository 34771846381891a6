"""A task's figures as one document, for `wrackline status` and for programs: how far behind its log it is.

In: figures, and the pipeline that runs.  Out: what JSON can hold, by database; null is what is not known.
"""

import os
from collections.abc import Mapping
from typing import Any

from wrackline.producers.contract.uncaptured import MOST_NAMED, UncapturedReason, group_by_reason
from wrackline.producers.observe.task_metrics import PartitionFigures, TaskMeasures
from wrackline.schemas.tables.table import TableId

MOST_FORESEEN_S = 8 * 7 * 86_400  # beyond that the rate is noise, and nobody has to act


def document(measures: TaskMeasures, pipeline: str, began_ms: int, now_ms: int) -> dict[str, Any]:
    """Return the state of each source partition's log."""
    return {
        "pipeline": pipeline,
        "pid": os.getpid(),
        "began_ms": began_ms,
        "now_ms": now_ms,
        "running": measures.running,
        "databases": {
            partition.database: _of_log(figures, now_ms) for partition, figures in measures.figures().items()
        },
    }


def _of_log(figures: PartitionFigures, now_ms: int) -> dict[str, Any]:
    log = figures.log
    return {
        "behind_bytes": None if log is None else log.behind,
        "retained_bytes": None if log is None else log.retained,
        "lost_in_s": _forecast(figures.seconds_until_lost),
        "lag_ms": figures.lag_ms,  # of the newest event, when Kafka had it
        "left_out": _left_out(figures.left_out),
        "idle_ms": None if figures.last_ms is None else max(0, now_ms - figures.last_ms),
    }


def _left_out(tables: Mapping[TableId, UncapturedReason]) -> dict[str, Any]:
    """Count the tables that are not captured, by reason, and name some."""
    return {
        why.value: {"count": len(found), "tables": list(map(str, found[:MOST_NAMED]))}
        for why, found in group_by_reason(tables).items()
    }


def _forecast(seconds: float) -> int | None:
    return round(seconds) if seconds < MOST_FORESEEN_S else None

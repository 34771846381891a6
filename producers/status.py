"""A task's figures as one document, for `wrackline status` and for programs: how far behind its log it is.

In: figures, and who runs.  Out: what JSON can hold, by database; null is what nobody can say.
"""

import os
from typing import Any

from wrackline.producers.metrics import Figures, Measures

MOST_FORESEEN_S = 8 * 7 * 86_400  # beyond that the rate is noise, and nobody has to act


def document(measures: Measures, pipeline: str, began_ms: int, now_ms: int) -> dict[str, Any]:
    """Return where the log of each source partition stands."""
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


def _of_log(figures: Figures, now_ms: int) -> dict[str, Any]:
    log = figures.log
    return {
        "behind_bytes": None if log is None else log.behind,
        "retained_bytes": None if log is None else log.retained,
        "lost_in_s": _foreseen(figures.seconds_until_lost),
        "lag_ms": figures.lag_ms,  # of the newest event, when Kafka had it
        "idle_ms": None if figures.last_ms is None else max(0, now_ms - figures.last_ms),
    }


def _foreseen(seconds: float) -> int | None:
    return round(seconds) if seconds < MOST_FORESEEN_S else None

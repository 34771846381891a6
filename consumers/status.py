"""A consumer's figures as one document, for `wrackline status` and for programs: plain values, no row's.

In: figures, and who runs.  Out: what JSON can hold; `--json` prints it as it is.
"""

import os
from collections.abc import Mapping
from typing import Any

from wrackline.consumers.figures import Figures, TableFigures
from wrackline.schemas.errors import WracklineError


def document(figures: Figures, pipeline: str, target: str, began_ms: int, now_ms: int) -> dict[str, Any]:
    """Return where all tables stand."""
    with figures.held() as tables:
        found = {
            figures.named(topic): _of_table(topic, table, figures.now)
            for topic, table in sorted(tables.items())
        }
    return {
        "pipeline": pipeline,
        "target": target,
        "pid": os.getpid(),
        "began_ms": began_ms,
        "now_ms": now_ms,
        "outage": _told(figures.outage),
        "tables": found,
    }


def _told(error: WracklineError | None) -> Mapping[str, str] | None:
    return None if error is None else error.document()


def _of_table(topic: str, table: TableFigures, now: float) -> dict[str, Any]:
    lag, standing = table.lag, table.standing
    stages = None
    if lag is not None:
        stages = {"publish": lag.publish, "wait": lag.wait, "merge": lag.merge, "whole": lag.whole}
    return {
        "topic": topic,
        "standing": standing.word,
        "error": _told(standing.error),
        "failures_in_a_row": standing.failures,
        "offsets": _by_partition(table.applied),
        "ends": _by_partition(table.ends),
        "behind": table.behind,
        "behind_s": 0 if table.unread is None else round(now - table.unread[1], 1),
        "retained": table.retained,
        "seq": table.seq,
        "merged_ms": table.merged_ms,
        "lag_ms": stages,
        "events": dict(table.events),
        "batches": table.batches,
        "dead_letters": table.letters,
        "seconds": {step.value: round(seconds, 3) for step, seconds in table.steps.items()},
        "upkeep": {
            "done": table.upkeeps[True],
            "failed": table.upkeeps[False],
            "seconds": round(table.upkeep_seconds, 3),
            "error": _told(table.upkeep_error),
            "removed": {what.value: count for what, count in table.removed.items()},
        },
        "incomplete": table.incomplete,
    }


def _by_partition(offsets: Mapping[int, int] | None) -> dict[str, int] | None:
    return None if offsets is None else {str(partition): offset for partition, offset in offsets.items()}

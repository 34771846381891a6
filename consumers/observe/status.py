"""A consumer's figures as documents, for the board: plain values, none of a row.

In: figures.  Out: what JSON can hold.  What grows with time alone is said as of the moment of the document: a
reader adds the time that has passed since.
"""

from collections.abc import Collection, Mapping
from typing import Any

from wrackline.consumers.observe.figures import Completeness, ConsumerFigures, TableFigures
from wrackline.schemas.errors import WracklineError


def table_documents(figures: ConsumerFigures, topics: Collection[str] | None = None) -> dict[str, Any]:
    """Return the state of these tables, or of all, by their names."""
    with figures.held() as tables:
        return {
            figures.named(topic): {
                **_table_document(
                    topic,
                    tables[topic],
                    figures.now,
                    paused=figures.named(topic) in figures.paused,
                    complete=figures.completeness(tables[topic]),
                ),
                "departure": figures.departures.get(figures.named(topic)),
            }
            for topic in sorted(tables if topics is None else tables.keys() & topics)
        }


def _error_document(error: WracklineError | None) -> Mapping[str, str] | None:
    return None if error is None else error.document()


def _table_document(
    topic: str, table: TableFigures, now: float, *, paused: bool, complete: Completeness
) -> dict[str, Any]:
    lag, standing = table.lag, table.standing
    stages = None
    if lag is not None:
        stages = {"publish": lag.publish, "wait": lag.wait, "merge": lag.merge, "whole": lag.whole}
    return {
        "topic": topic,
        "standing": "paused" if paused and not standing.stopped else standing.word,
        "error": _error_document(standing.error),
        "failures_in_a_row": standing.failures,
        "offsets": _by_partition(table.applied),
        "ends": _by_partition(table.ends),
        "behind": table.behind,
        "behind_s": 0 if table.unread is None else round(now - table.unread[1], 1),
        "held": 0 if table.held is None else table.held[0],
        "held_s": 0 if table.held is None else round(now - table.held[1], 1),
        "retained": table.retained,
        "seq": table.seq,
        "merged_ms": table.merged_ms,
        "lag_ms": stages,
        "events": dict(table.events),
        "schema_changes": dict(table.alterations),
        "batches": table.batches,
        "dead_letters": table.letters,
        "seconds": {step.value: round(seconds, 3) for step, seconds in table.steps.items()},
        "upkeep": {
            "done": table.upkeeps[True],
            "failed": table.upkeeps[False],
            "seconds": round(table.upkeep_seconds, 3),
            "error": _error_document(table.upkeep_error),
            "removed": {what.value: count for what, count in table.removed.items()},
        },
        "incomplete": table.incomplete,
        "current": complete.current,  # the half says through when, so that an idle table is not written
        "complete_ms": complete.own_ms,
        "complete_since_ms": complete.since_ms,
        "lacks": complete.lacks,
    }


def _by_partition(offsets: Mapping[int, int] | None) -> dict[str, int] | None:
    return None if offsets is None else {str(partition): offset for partition, offset in offsets.items()}

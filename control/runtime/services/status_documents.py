"""A pipeline's status as plain values: for `--json`, and for REST.  Pure.

In: what status.py gathered.  Out: what JSON can hold; null is what is unknown.
"""

from collections.abc import Mapping
from typing import Any

from wrackline.control.runtime.services.status import PipelineStatus
from wrackline.schemas.errors import WracklineError


def status_document(status: PipelineStatus) -> dict[str, Any]:
    """Return all that each side reports."""
    source = status.source
    told = {"error": source.document()} if isinstance(source, WracklineError) else {"tables": source}
    return {
        "pipeline": status.pipeline,
        "source": told,
        "first_read": dict(status.first),
        "log": _or_error(status.log),
        "target": _or_error(status.target),
    }


def tables_document(status: PipelineStatus) -> dict[str, Any]:
    """Return both sides of each table in one place, and the sides that are unknown."""
    return {
        "pipeline": status.pipeline,
        "tables": {name: _table(status.of_source(name), status.of_target(name)) for name in status.tables},
        "errors": _errors(status),
    }


def lag_document(status: PipelineStatus) -> dict[str, Any]:
    """Return how far each database's log is ahead of Kafka, and Kafka ahead of each table of the target."""
    log = {} if isinstance(status.log, WracklineError) else status.log["databases"]
    words = ("behind_bytes", "retained_bytes", "lost_in_s", "lag_ms", "left_out", "idle_ms")
    return {
        "pipeline": status.pipeline,
        "databases": {name: {word: told[word] for word in words} for name, told in log.items()},
        "tables": {
            name: {word: told[word] for word in ("behind", "behind_s", "held", "lag_ms", "freshness_ms")}
            for name in status.tables
            if (told := status.of_target(name)) is not None
        },
        "errors": _errors(status),
    }


def _table(source: Mapping[str, Any] | None, target: Mapping[str, Any] | None) -> dict[str, Any]:
    source, target = source or {}, target or {}
    errors = (source.get("reason"), target.get("error"))
    return {
        "source": source.get("state"),
        "percent": source.get("percent"),
        "target": target.get("standing"),
        "seq": target.get("seq"),
        "behind": target.get("behind"),
        "held": target.get("held"),
        "lag_ms": (target.get("lag_ms") or {}).get("whole"),
        "freshness_ms": target.get("freshness_ms"),
        "dead_letters": target.get("dead_letters"),
        "errors": [error for error in errors if error],
    }


def _errors(status: PipelineStatus) -> dict[str, Any]:
    """Name the sides that are unknown, and an outage of the target."""
    sides = {"source": status.source, "log": status.log, "target": status.target}
    found: dict[str, Any] = {
        side: told.document() for side, told in sides.items() if isinstance(told, WracklineError)
    }
    if isinstance(status.target, Mapping) and status.target["error"]:
        found["target"] = status.target["error"]
    return found


def _or_error(side: Mapping[str, Any] | WracklineError | None) -> Mapping[str, Any] | None:
    return {"error": side.document()} if isinstance(side, WracklineError) else side

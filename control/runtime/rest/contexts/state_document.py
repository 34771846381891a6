"""What the document's getState answers, made from a pipeline's board.  Pure.

    FAILING       an error at the source or in the target, also one that is tried again
    SNAPSHOTTING  existing rows are read, or wait for it
    REPLICATING   the rest

In: both halves as they were reported, and the state of the source's process.  Out: the document, with our own
words beside its fields.  A table that the source has dropped is left out; the document does not know pauses,
so a paused table is REPLICATING and `paused`.  The document has no place for an error of the whole target, so
each table has it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from wrackline.control.runtime.board.board_summary import late_ms
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.services.status import HAS_ENDED, NO_REPORT, half_trouble
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.tables.table import TableId

_READING: Final = frozenset({"queued", "snapshotting", "refreshing"})
_RESTS: Final = frozenset({TaskState.PAUSED, TaskState.STOPPED})
_HARMLESS: Final = frozenset({NO_REPORT.code, HAS_ENDED.code})


class StateWords(NamedTuple):
    """The document has two sets of words."""

    fine: str
    wrong: str
    reading: str
    replicating: str


GET_STATE: Final = StateWords("OK", "FAILING", "SNAPSHOTTING", "REPLICATING")
STATE_FILE: Final = StateWords("OK", "ERROR", "SNAPSHOT", "REPLICATE")  # of the route …/pipelines/{p}/state


def state_document(
    name: str,
    halves: Mapping[Half, HalfBoard],
    standing: ConnectorState,
    at_ms: int,
    words: StateWords = GET_STATE,
) -> dict[str, Any]:
    """Return the state of a pipeline and of its tables."""
    source, target = (
        _half_error(name, half, halves[half], one, at_ms)
        for half, one in ((Half.SOURCE, standing), (Half.TARGET, standing.target))
    )
    heard = [half.heard_ms for half in halves.values() if half.heard_ms]
    return {
        "sourceState": words.fine if source is None else words.wrong,
        "sourceError": _error(source),
        "targetState": words.fine if target is None else words.wrong,
        "targetError": _error(target),
        "tables": list(_tables(halves, target, at_ms, words)),
        "as_of_ms": max(heard, default=None),
        "silent": [half.value for half in Half if halves[half].is_silent(at_ms)],
    }


def table_name(key: str, source: Document | None) -> TableId:
    """Return a table's parts; the board's key has `_` for some characters, its own name may have dots."""
    parts = str((source or {}).get("table", "")).split(".")
    return TableId(*parts) if len(parts) == len(TableId._fields) else table_of(f"server.{key}")


def _half_error(
    name: str, half: Half, known: HalfBoard, standing: ConnectorState | None, at_ms: int
) -> Document | None:
    """Return why a half that should run does not, or what it tries again."""
    if standing is not None and standing.state in _RESTS:
        return None
    if known.report.get("error"):
        return dict(known.report["error"])
    trouble = half_trouble(name, half, known, at_ms)
    if trouble is not None and trouble.code not in _HARMLESS:
        return trouble.document()
    if standing is not None and standing.state is TaskState.FAILED:
        return {"code": "", "sentence": standing.reason or "its process has failed", "hint": ""}
    return None


def _tables(
    halves: Mapping[Half, HalfBoard], of_target: Document | None, at_ms: int, words: StateWords
) -> Iterator[dict[str, Any]]:
    sources, targets = halves[Half.SOURCE].tables, halves[Half.TARGET].tables
    for key in sorted(sources.keys() | targets.keys()):
        source, target = sources.get(key), targets.get(key)
        read, merged = source or {}, target or {}
        if read.get("state") == "gone":
            continue
        error = read.get("reason") or merged.get("error") or of_target
        is_reading = read.get("state") in _READING
        state = words.wrong if error else words.reading if is_reading else words.replicating
        database, schema, table = table_name(key, source)
        yield {
            "database": database,
            "schema": schema,
            "table": table,
            "state": state,
            "error": _error(error),
            "source": read.get("state"),
            "target": merged.get("standing"),
            "paused": "paused" in (read.get("state"), merged.get("standing")),
            "freshness_ms": late_ms(halves[Half.TARGET], key, at_ms),
            "percent": read.get("percent"),
        }


def _error(error: Document | None) -> dict[str, Any] | None:
    if error is None:
        return None
    return {
        "message": error["sentence"],
        "stackTrace": list(error.get("frames", ())),
        "code": error["code"],
        "hint": error["hint"],
    }

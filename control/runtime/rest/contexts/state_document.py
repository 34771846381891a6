"""What the document's getState answers, made from a pipeline's board.  Pure.

    FAILING       an error at the source or in the target, also one that is tried again
    SNAPSHOTTING  existing rows are read, or wait for it
    REPLICATING   the rest

In: both halves as they were reported, and the state of the source's process.  Out: the document, with our own
words beside its fields.  A table that the source has dropped is left out; the document does not know pauses,
so a paused table is REPLICATING and `paused`.  The document has no place for an error of the whole target, so
each table has it; an error of one of the source's databases is that of each of its tables.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from wrackline.control.runtime.board.board_summary import database_errors, late_ms
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


class _TableLine(NamedTuple):
    """What both halves report of a table, and its JSON up to its age; without any it is left out."""

    source: Document | None
    target: Document | None
    head: bytes
    is_current: bool  # its age is that of the whole target


class TableLines:
    """Keeps the JSON of a pipeline's tables while their reports are the same; any thread may ask.

    Of ten thousand tables few change between two questions, and to write them takes longer than all else.
    """

    def __init__(self, words: StateWords) -> None:
        self._words = words
        self._known: tuple[Document | None, Mapping[str, Document], Mapping[str, _TableLine]] = None, {}, {}

    def json(
        self,
        halves: Mapping[Half, HalfBoard],
        of_target: Document | None,
        of_databases: Mapping[str, Document],
        at_ms: int,
    ) -> orjson.Fragment:
        """Return the list of tables."""
        sources, target = halves[Half.SOURCE].tables, halves[Half.TARGET]
        targets, through = target.tables, target.report.get("through_ms")
        # as one: a caller on another thread may put others in their place
        target_before, databases_before, lines = self._known
        before = lines if of_target == target_before and of_databases == databases_before else {}
        now, parts = dict[str, _TableLine](), list[bytes]()
        shared = b"null}" if through is None else b"%d}" % max(0, at_ms - through)
        for key in sorted(sources.keys() | targets.keys()):
            read, merged, line = sources.get(key), targets.get(key), before.get(key)
            if line is None or line[0] is not read or line[1] is not merged:
                line = self._line(key, read, merged, of_target, of_databases)
            now[key] = line
            if line[3] and through is not None:
                parts.append(line[2] + shared)
            elif line[2]:
                parts.append(line[2] + orjson.dumps(late_ms(target, key, at_ms)) + b"}")
        self._known = of_target, of_databases, now
        return orjson.Fragment(b"[" + b",".join(parts) + b"]")

    def _line(
        self,
        key: str,
        source: Document | None,
        target: Document | None,
        of_target: Document | None,
        of_databases: Mapping[str, Document],
    ) -> _TableLine:
        said = _table_document(key, source, target, of_target, of_databases, self._words)
        if said is None:
            return _TableLine(source, target, b"", is_current=False)
        head = orjson.dumps(said)[:-1] + b',"freshness_ms":'
        return _TableLine(source, target, head, is_current=bool((target or {}).get("current")))


def state_document(
    name: str,
    halves: Mapping[Half, HalfBoard],
    standing: ConnectorState,
    at_ms: int,
    words: StateWords,
    lines: TableLines,
) -> dict[str, Any]:
    """Return the state of a pipeline and of its tables, whose lines the caller keeps for these words."""
    source, target = (
        _half_error(name, half, halves[half], one, at_ms)
        for half, one in ((Half.SOURCE, standing), (Half.TARGET, standing.target))
    )
    rests = standing.state in _RESTS
    of_databases = {} if rests else database_errors(halves[Half.SOURCE])
    heard = [half.heard_ms for half in halves.values() if half.heard_ms]
    return {
        "sourceState": words.fine if source is None else words.wrong,
        "sourceError": _error(source),
        "targetState": words.fine if target is None else words.wrong,
        "targetError": _error(target),
        "tables": lines.json(halves, target, of_databases, at_ms),
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


def _table_document(
    key: str,
    source: Document | None,
    target: Document | None,
    of_target: Document | None,
    of_databases: Mapping[str, Document],
    words: StateWords,
) -> dict[str, Any] | None:
    """Return what is said of a table but for its age; None: the source has dropped it."""
    read, merged = source or {}, target or {}
    if read.get("state") == "gone":
        return None
    database, schema, table = table_name(key, source)
    error = read.get("reason") or of_databases.get(database) or merged.get("error") or of_target
    is_reading = read.get("state") in _READING
    return {
        "database": database,
        "schema": schema,
        "table": table,
        "state": words.wrong if error else words.reading if is_reading else words.replicating,
        "error": _error(error),
        "source": read.get("state"),
        "target": merged.get("standing"),
        "paused": "paused" in (read.get("state"), merged.get("standing")),
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

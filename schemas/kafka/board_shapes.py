"""What the fields of a board's records must be.  Pure.

In: a document that anybody may have written.  Out: the same, with every field that readers use, each of the
type that they expect.  A field that is missing is as if nothing were known; one of another type is refused.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from wrackline.schemas.untrusted import moment, number, text

Read = Callable[[object], object]
Field = tuple[Read, object]  # what reads it, and what stands for a missing one
Shape = Mapping[str, Field]
MOST_RANGES: Final = 64  # of a table under way; a writer joins neighbours


def half_report(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a half reports of itself; ValueError or TypeError: it is something else."""
    found = _read(document, _HALF)
    found.pop("tasks", None)  # readers make it, of all tasks
    return found


def source_table(document: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return what a source half reports of a table; ValueError or TypeError: it is something else."""
    found = _read(document, {**_SOURCE_TABLE, "table": (text, table)})
    found.pop("error", None)  # the other half's name for a table's error, so it was never checked
    return found


def target_table(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a target half reports of a table; ValueError or TypeError: it is something else."""
    found = _read(document, _TARGET_TABLE)
    found.pop("reason", None)
    return found


def _read(document: object, shape: Shape) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise TypeError("no document")
    known = {
        name: read(document[name]) if name in document else missing for name, (read, missing) in shape.items()
    }
    return {**document, **known}


def _measure(value: object) -> float:
    """Return a number, also a fraction or one below 0: clocks differ."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError("no number")
    _refuse_huge(value)
    return value


def _count(value: object) -> int:
    """Return a whole number from 0 on."""
    _refuse_huge(counted := number(value))
    return counted


def _refuse_huge(value: float) -> None:
    """Refuse what, added up over a thousand tables, no longer is a number of JSON."""
    if not abs(value) < 1 << 53:
        raise ValueError("no number that counts anything")


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("neither true nor false")
    return value


def _maybe(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _each(read: Read) -> Read:
    def read_all(value: object) -> object:
        if not isinstance(value, dict):
            raise TypeError("no map")
        return {text(name): read(one) for name, one in value.items()}

    return read_all


def _list(read: Read) -> Read:
    def read_all(value: object) -> object:
        if not isinstance(value, list):
            raise TypeError("no list")
        return [read(one) for one in value]

    return read_all


def _some(read: Read, most: int) -> Read:
    def read_list(value: object) -> object:
        if not isinstance(value, list):
            raise TypeError("no list")
        return [read(one) for one in value[:most]]

    return read_list


def _within(shape: Shape) -> Read:
    return lambda value: _read(value, shape)


_NONE: Final[Field] = (_maybe(_measure), None)
_COUNT: Final[Field] = (_count, 0)
_COUNTS: Final[Field] = (_each(_count), {})
_TEXT: Final[Field] = (text, "")
_FRAME: Final[Shape] = {"fileName": _TEXT, "lineNumber": _COUNT, "methodName": _TEXT}
_FRAMES: Final[Field] = (_list(_within(_FRAME)), [])
_FAULT: Final[Shape] = {
    "code": _TEXT,
    "kind": (text, "Transient"),
    "sentence": _TEXT,
    "hint": _TEXT,
    "frames": _FRAMES,
}
_ERROR: Final[Field] = (_maybe(_within(_FAULT)), None)
_REASON: Final[Field] = (
    _maybe(_within({"code": _TEXT, "sentence": _TEXT, "hint": _TEXT, "frames": _FRAMES})),
    None,
)
_DATABASE: Final[Shape] = {
    **dict.fromkeys(("behind_bytes", "retained_bytes", "spare_bytes", "lost_in_s", "lag_ms"), _NONE),
    **dict.fromkeys(("end_bytes", "bytes_a_second", "kept_s", "expires_s"), _NONE),
    **dict.fromkeys(("log", "status", "state"), (_maybe(text), None)),
    "error": _ERROR,  # of this database, where the half has others beside it
    "last_ms": (_maybe(moment), None),
    "through_ms": (_maybe(moment), None),
    "bytes": _COUNT,
    "transactions": _COUNT,
    "left_out": (_each(_within({"count": _COUNT, "tables": (_list(text), [])})), {}),
    "position": (_maybe(text), None),
}
_HALF: Final[Shape] = {
    "since_ms": (moment, 0),
    "began_ms": (moment, 0),
    "error": _ERROR,
    "host": _TEXT,
    "pid": _COUNT,
    "events": _COUNT,
    "through_ms": (_maybe(moment), None),
    "wished": (_flag, False),
    "databases": (_each(_within(_DATABASE)), {}),
    "deal": (_within({"number": _COUNT, "tasks": (number, 1)}), {"number": 0, "tasks": 1}),
}
_SOURCE_TABLE: Final[Shape] = {
    "state": (text, "failed"),
    "requests": (_list(text), []),
    "rows": _COUNT,
    **dict.fromkeys(("expected", "percent", "seconds_left"), _NONE),
    "letters": _COUNTS,
    "nulls": _COUNTS,
    "reason": _REASON,
    "events": _COUNTS,
    "ranges": (_some(_within({"percent": _NONE, "reading": _COUNT, "held": _COUNT}), MOST_RANGES), []),
    "waits_since_ms": (_maybe(moment), None),
    "dropped": (_flag, False),
    "renamed_to": (_maybe(text), None),
}
_STAGES: Final[Shape] = dict.fromkeys(("publish", "wait", "merge", "whole"), (_measure, 0))
_UPKEEP: Final[Shape] = {
    "done": _COUNT,
    "failed": _COUNT,
    "seconds": (_measure, 0),
    "error": _ERROR,
    "removed": _COUNTS,
}
_DEPARTURE: Final[Shape] = {
    "since_ms": (moment, 0),
    "due_ms": (_maybe(moment), None),
    "behavior": (text, "keep"),
    "renamed_to": (_maybe(text), None),
    "kept": (bool, False),
    "became": (_maybe(text), None),
}
_TARGET_TABLE: Final[Shape] = {
    "standing": _TEXT,
    "error": _ERROR,
    "failures_in_a_row": _COUNT,
    "offsets": (_maybe(_each(number)), None),
    "ends": (_maybe(_each(number)), None),
    "behind": _NONE,
    **dict.fromkeys(("behind_s", "held", "held_s"), (_measure, 0)),
    "retained": _NONE,
    "seq": (_maybe(text), None),
    "merged_ms": (_maybe(moment), None),
    "lag_ms": (_maybe(_within(_STAGES)), None),
    "events": _COUNTS,
    "schema_changes": _COUNTS,
    "batches": _COUNT,
    "dead_letters": _COUNT,
    "seconds": (_each(_measure), {}),
    "upkeep": (_within(_UPKEEP), dict.fromkeys(("done", "failed", "seconds"), 0) | {"error": None}),
    "incomplete": (_maybe(number), None),
    "departure": (_maybe(_within(_DEPARTURE)), None),
    "current": (_flag, False),
    "complete_ms": (_maybe(moment), None),
    "complete_since_ms": (_maybe(moment), None),
    "lacks": (_flag, False),
}

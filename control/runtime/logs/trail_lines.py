"""The lines of a trail as a reader asks for them: by level, table and time.  Pure.

In: records that anybody may have written.  Out: lines, oldest first; what is none is left out.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

_LEVELS: Final = logging.getLevelNamesMapping()
LEVELS: Final = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class LineChoice:
    """Which lines are asked for."""

    level: str = "info"  # and above
    table: str = ""
    since_ms: int = 0
    limit: int = 200


def choose_lines(records: Iterable[bytes], choice: LineChoice) -> tuple[list[Mapping[str, Any]], int]:
    """Return the newest lines that fit, and how many older ones fit too."""
    lines = map(read_line, records)
    fitting = [line for line in lines if line is not None and fits(line, choice)]
    shown = fitting[-choice.limit :]
    return shown, len(fitting) - len(shown)


def read_line(record: bytes) -> Mapping[str, Any] | None:
    """Read a record; None: it is no line."""
    try:
        line = orjson.loads(record)
    except orjson.JSONDecodeError:
        return None
    if isinstance(line, dict) and type(line.get("ts_ms")) is int and isinstance(line.get("line"), str):
        return line
    return None


def fits(line: Mapping[str, Any], choice: LineChoice) -> bool:
    """Whether a line is asked for."""
    level = _LEVELS.get(str(line.get("level")).upper(), logging.INFO)
    if level < _LEVELS[choice.level.upper()] or line["ts_ms"] < choice.since_ms:
        return False
    return not choice.table or line.get("table") == choice.table or choice.table in line["line"]

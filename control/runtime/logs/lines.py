"""The lines of `run`, `worker` and `consume`: text for people, or one JSON object per line for programs.

    log.info("running", line="running: into iceberg, pid 7", target="iceberg", pid=7)

In: an event's stable name, its fields, and as `line` the sentence for people.  Out: on a terminal that
sentence; elsewhere all of it, after its time (`ts_ms`), its level (`level`) and its pipeline (`pipeline`).  A
field contains names, numbers and errors' documents, never a value of a row and never a secret.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

import orjson
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor, WrappedLogger

from wrackline.control.runtime.ground.terminal_text import visible_line

Log = FilteringBoundLogger

_FIRST = ("ts_ms", "level", "event", "pipeline")
_HEARERS: list[Callable[[Mapping[str, object]], None]] = []
_LEVELS = logging.getLevelNamesMapping()


def as_json(*, asked: bool | None) -> bool:
    """Choose the form: the requested one, or text only on a terminal."""
    return not sys.stdout.isatty() if asked is None else asked


def log_to(out: TextIO, *, for_programs: bool, named: bool = False) -> Log:
    """Return what writes lines to a file; `named` has a line of text begin with its pipeline."""
    return _log(structlog.WriteLogger(out), _json if for_programs else _text_with_name if named else _text)


def log_through(hand: Callable[[Mapping[str, object]], None]) -> Log:
    """Return what passes each line on as it is, for a process whose lines another process prints."""
    return _log(_Handed(hand), lambda _logger, _method, record: record)


@contextmanager
def also_hear(hear: Callable[[Mapping[str, object]], None]) -> Iterator[None]:
    """Hand every line of this process over as well, until the block ends; the call must not wait."""
    _HEARERS.append(hear)
    try:
        yield
    finally:
        _HEARERS.remove(hear)


def relay_line(log: Log, record: Mapping[str, object], pipeline: str) -> None:
    """Log what another process has passed on."""
    told = {name: value for name, value in record.items() if name not in ("level", "event", "pipeline")}
    level = _LEVELS.get(str(record.get("level")).upper(), logging.INFO)
    log.log(level, str(record.get("event")), pipeline=pipeline, **told)


class _Handed:
    """What structlog calls with a whole line, by the name of its level."""

    def __init__(self, hand: Callable[[Mapping[str, object]], None]) -> None:
        self._hand = hand

    def info(self, **record: object) -> None:
        self._hand(orjson.loads(line_bytes(record)))

    debug = warning = error = critical = info


def _log(written: WrappedLogger, last: Processor) -> Log:
    log: Log = structlog.wrap_logger(
        written,
        processors=[structlog.processors.add_log_level, _stamp, _hand_over, last],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    )
    return log


def _stamp(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    record.setdefault("ts_ms", time.time_ns() // 1_000_000)  # a relayed line has its own
    return record


def _hand_over(_logger: WrappedLogger, _method: str, record: EventDict) -> EventDict:
    for hear in tuple(_HEARERS):
        hear(dict(record))
    return record


def _json(_logger: WrappedLogger, _method: str, record: EventDict) -> str:
    ordered = {name: record[name] for name in _FIRST if name in record}
    return line_bytes({**ordered, **record}).decode()


def line_bytes(record: Mapping[str, object]) -> bytes:
    """Write a line as JSON, whatever it contains: a file's name, for example, may not be text."""
    try:
        return orjson.dumps(record, default=str)
    except TypeError:
        return json.dumps(record, default=str, ensure_ascii=False).encode(errors="replace")


def _text(_logger: WrappedLogger, _method: str, record: EventDict) -> str:
    return visible_line(str(record["line"]))


def _text_with_name(_logger: WrappedLogger, _method: str, record: EventDict) -> str:
    return visible_line(f"[{record['pipeline']}] {record['line']}")

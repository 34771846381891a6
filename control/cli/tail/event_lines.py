"""An event as one line for people: when, which table, where, what, which row's key, and its columns.

    2026-05-01 12:00:00Z  public.orders  0:17  update  id=7  note: "new" -> "sent"

In: events, the width of the terminal, a topic's name.  Out: texts with their styles, which are colours on a
terminal and nothing elsewhere; never wider than it.  A column that the log did not send is not null, and is
shown as unchanged.  A null in a deleted row is left out, because it mostly means that the log has only a key.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from rich.text import Text

from wrackline.control.runtime.events.record_decoder import DecodedEvent, DecodedPart
from wrackline.control.runtime.events.row_columns import Row, envelope_of, is_same, unsent_columns
from wrackline.control.runtime.events.value_text import show_name, show_value

_OPS: Final = {
    "c": ("insert", "green"),
    "u": ("update", "yellow"),
    "d": ("delete", "red"),
    "r": ("read", "cyan"),
    "t": ("truncate", "bold magenta"),
}
_TOMBSTONE: Final = ("tombstone", "dim")
_OTHER: Final = ("event", "blue")
_BROKEN: Final = ("broken", "bold red")
_UNSENT: Final = "(unchanged, not sent)"
_WIDE: Final = 9  # the longest of these words


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How it is shown."""

    width: int | None = None  # of the terminal; None: lines are as long as they must
    called: Callable[[str], str] = str  # what a topic is called


def line(event: DecodedEvent, look: LineStyle) -> Text:
    """Return the event's line."""
    record = event.record
    word, style = _what(event)
    text = Text.assemble(
        (_time(record.ms), "dim"),
        f"  {look.called(record.topic)}  ",
        (f"{record.partition}:{record.offset}", "dim"),
        "  ",
        (f"{word:{_WIDE}}", style),
        no_wrap=True,
    )
    for piece, its in _pieces(event, look.width):
        if look.width is not None and len(text) > look.width:
            break
        text.append(f"  {piece}", its)
    if look.width is not None:
        text.truncate(look.width, overflow="ellipsis")
    return text


def _what(event: DecodedEvent) -> tuple[str, str]:
    if event.error is not None:
        return _BROKEN
    if event.record.value is None:
        return _TOMBSTONE
    envelope = envelope_of(event.value)
    if envelope is None:
        return _OTHER
    op = envelope["op"]
    return _OPS.get(str(op)) or (show_value(op), _OTHER[1])


def _time(ms: int | None) -> str:
    if ms is None:
        return f"{'-':20}"
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
    except (ValueError, OverflowError, OSError):  # the writer of a record may give it any time
        return f"{ms:20}"


def _pieces(event: DecodedEvent, most: int | None) -> Iterator[tuple[str, str]]:
    """Return the key, then what changed; no more of a value than a line can hold."""
    error = event.error
    key = event.key.value if isinstance(event.key, DecodedPart) else None
    if event.record.key is None:
        yield "no key", "dim"
    elif isinstance(event.key, DecodedPart):
        for piece in _fields(key, most):
            yield piece, "bold"
    if error is not None:
        yield f"{error.sentence} [{error.code}]", "red"
    elif isinstance(event.value, DecodedPart) and event.record.value is not None:
        for piece in _changes(event.value, key if isinstance(key, Mapping) else {}, most):
            yield piece, ""


def _changes(value: DecodedPart, key: Row, most: int | None) -> Iterator[str]:
    envelope = envelope_of(value)
    if envelope is None:
        yield from _fields(value.value, most)
        return
    before, after = envelope["before"], envelope["after"]
    unsent = unsent_columns(envelope)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _differences(before, after, unsent, most)
    elif isinstance(after, Mapping):
        for column, its in after.items():
            if column in unsent:
                yield f"{show_name(column)}={_UNSENT}"
            elif column not in key or not is_same(key[column], its):
                yield f"{show_name(column)}={show_value(its, most)}"
    elif isinstance(before, Mapping):
        for column, its in before.items():
            if its is not None and (column not in key or not is_same(key[column], its)):
                yield f"{show_name(column)}={show_value(its, most)}"


def _differences(before: Row, after: Row, unsent: Collection[str], most: int | None) -> Iterator[str]:
    for column, its in after.items():
        was = before.get(column)
        if column not in unsent and not is_same(was, its):
            yield f"{show_name(column)}: {show_value(was, most)} -> {show_value(its, most)}"


def _fields(value: object, most: int | None) -> Iterator[str]:
    if isinstance(value, Mapping):
        for column, its in value.items():
            yield f"{show_name(column)}={show_value(its, most)}"
    else:
        yield show_value(value, most)

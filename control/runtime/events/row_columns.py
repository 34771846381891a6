"""The columns of an event: what each was and is, and which of them differ.

In: a decoded event.  Out: its columns.  A column that the log did not send is not null, and is told apart.
Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from wrackline.control.runtime.events.record_decoder import DecodedEvent, DecodedPart
from wrackline.control.runtime.events.value_text import show_name, show_value

Row = Mapping[str, Any]

_ENVELOPE: Final = {"op", "before", "after"}


class ColumnChange(Enum):
    """What became of a column's value."""

    SAME = "same"
    CHANGED = "changed"
    NEW = "new"  # there is only an after
    OLD = "old"  # there is only a before
    UNSENT = "unsent"  # the log says that it did not change, and left it out


@dataclass(frozen=True, slots=True)
class EventColumn:
    """One column; None as a text: that side has no row."""

    name: str
    before: object
    after: object
    change: ColumnChange


def envelope_of(part: object) -> Row | None:
    """Return the value if it is an event of a row."""
    value = part.value if isinstance(part, DecodedPart) else None
    return value if isinstance(value, Mapping) and value.keys() >= _ENVELOPE else None


def is_same(one: object, other: object) -> bool:
    """Whether both are one value; NaN is NaN, and -0 is not 0."""
    if isinstance(one, str | bytes | int):
        return one == other
    return show_value(one) == show_value(other)


def unsent_columns(envelope: Row) -> frozenset[str]:
    """Return the names of the columns that the log left out."""
    source = envelope.get("source")
    return frozenset((source.get("unchanged") or ()) if isinstance(source, Mapping) else ())


def columns_of(envelope: Row) -> Sequence[EventColumn]:
    """Return the columns in the order of the schema."""
    before, after, unsent = envelope["before"], envelope["after"], unsent_columns(envelope)
    before = before if isinstance(before, Mapping) else None
    after = after if isinstance(after, Mapping) else None
    names = list(after if after is not None else before or ())
    return [
        EventColumn(
            name,
            None if before is None else before.get(name),
            None if after is None else after.get(name),
            _change(name, before, after, unsent),
        )
        for name in names
    ]


def key_text(event: DecodedEvent) -> str:
    """Write a record's key: its fields, or a dash."""
    key = event.key.value if isinstance(event.key, DecodedPart) else None
    if isinstance(key, Mapping):
        return ", ".join(f"{show_name(name)}={show_value(value)}" for name, value in key.items())
    return "" if key is None else show_value(key)


def has_key(event: DecodedEvent, wanted: str) -> bool:
    """Whether this is the key that somebody typed: `id=7`, or only its value, with or without quotes."""
    key = event.key.value if isinstance(event.key, DecodedPart) else None
    if wanted == key_text(event):
        return True
    values = list(key.values()) if isinstance(key, Mapping) else [key]
    return len(values) == 1 and values[0] is not None and wanted in (show_value(values[0]), str(values[0]))


def _change(name: str, before: Row | None, after: Row | None, unsent: frozenset[str]) -> ColumnChange:
    if name in unsent:
        return ColumnChange.UNSENT
    if before is None:
        return ColumnChange.NEW
    if after is None:
        return ColumnChange.OLD
    return ColumnChange.SAME if is_same(before.get(name), after.get(name)) else ColumnChange.CHANGED

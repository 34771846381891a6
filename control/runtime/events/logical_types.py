"""Avro's logical types, read without losing a value that Python's own types can't hold.

A date before year 1 or after 9999, 24:00:00, a decimal with more digits than its schema allows: databases
have them, and fastavro's own readers refuse or round them.  So a writer's schema is read under our own names,
for which the readers here are registered; other code's reading does not change.
"""

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

import fastavro

from wrackline.control.runtime.events.value_text import ShownMoment

Schema = Any  # a list, an object or a name, as JSON has it

_OURS: Final = "wrackline-"
_EPOCH: Final = date(1970, 1, 1).toordinal()
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400  # after which the calendar is the same again
_YEARS: Final = range(10_000)  # that ISO writes without a sign
_DAY: Final = 86_400_000_000


def under_our_names(schema: Schema) -> Schema:
    """Return the schema with the logical types renamed that are read here."""
    match schema:
        case list():
            return [under_our_names(one) for one in schema]
        case dict():
            made = {
                key: under_our_names(one) if key in {"type", "items", "values", "fields"} else one
                for key, one in schema.items()
            }
            base, logical = schema.get("type"), schema.get("logicalType")
            if isinstance(base, str) and f"{base}-{logical}" in _READERS:
                made["logicalType"] = f"{_OURS}{logical}"
            return made
        case _:
            return schema


def day(days: int) -> str:
    """Write the day this many days after 1970-01-01, in today's calendar, which ISO carries backwards."""
    ordinal = days + _EPOCH - 1
    cycle, left = divmod(ordinal, _CYCLE_DAYS)
    found = date.fromordinal(left + 1)
    year = found.year + cycle * _CYCLE_YEARS
    shown = f"{year:04}" if year in _YEARS else f"{year:+05}"
    return f"{shown}-{found.month:02}-{found.day:02}"


def clock(micros: int) -> str:
    """Write a time of day, with as many digits of its second as it has."""
    sign, micros = ("-", -micros) if micros < 0 else ("", micros)
    seconds, part = divmod(micros, 1_000_000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    fraction = f".{part:06}" if part % 1000 else f".{part // 1000:03}" if part else ""
    return f"{sign}{hour:02}:{minute:02}:{second:02}{fraction}"


def moment(micros: int, zone: str = "") -> str:
    """Write this many microseconds after 1970-01-01 00:00."""
    days, left = divmod(micros, _DAY)
    return f"{day(days)}T{clock(left)}{zone}"


def decimal(unscaled: bytes, scale: int) -> Decimal:
    """Return the number, whatever a context would round it to."""
    whole = int.from_bytes(unscaled, "big", signed=True)
    return Decimal((int(whole < 0), tuple(map(int, str(abs(whole)))), -scale))


_READERS: Final[Mapping[str, Callable[[Any, Any], object]]] = {
    "int-date": lambda days, _: ShownMoment(day(days)),
    "int-time-millis": lambda millis, _: ShownMoment(clock(millis * 1000)),
    "long-time-micros": lambda micros, _: ShownMoment(clock(micros)),
    "long-timestamp-millis": lambda millis, _: ShownMoment(moment(millis * 1000, "Z")),
    "long-timestamp-micros": lambda micros, _: ShownMoment(moment(micros, "Z")),
    "long-local-timestamp-millis": lambda millis, _: ShownMoment(moment(millis * 1000)),
    "long-local-timestamp-micros": lambda micros, _: ShownMoment(moment(micros)),
    "bytes-decimal": lambda unscaled, schema: decimal(unscaled, schema.get("scale", 0)),
    "fixed-decimal": lambda unscaled, schema: decimal(unscaled, schema.get("scale", 0)),
}


def _as_reader(read: Callable[[Any, Any], object]) -> Callable[..., object]:
    return lambda data, writers=None, _readers=None: read(data, writers)


for _type, _read in _READERS.items():
    _base, _, _logical = _type.partition("-")
    fastavro.read.LOGICAL_READERS[f"{_base}-{_OURS}{_logical}"] = _as_reader(_read)

"""An event as one JSON object: exact, and nothing in it that a terminal would obey.

Numbers that readers of JSON would round (decimals) are texts of their digits; bytes are 0x and hex; what
JSON has no number for (NaN, infinities) is its name.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson

from wrackline.control.tail.decoded import Event, Part
from wrackline.control.tail.shown import Moment, escaped, number, shown


def line(event: Event) -> str:
    """Return the object, on one line."""
    return escaped(orjson.dumps(document(event)).decode())


def document(event: Event) -> dict[str, Any]:
    """Return it as plain values; what could not be decoded is not there, and `error` says why."""
    record = event.record
    made: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.ms,
    }
    for name, part in (("key", event.key), ("value", event.value)):
        if isinstance(part, Part):
            made |= {name: _plain(part.value), f"{name}_schema_id": part.schema}
    if event.error is not None:
        made["error"] = event.error.document()
    if record.headers:
        made["headers"] = [{"key": key, "value": _header(value)} for key, value in record.headers]
    return made


def _header(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return shown(value)


def _plain(value: object) -> object:
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else number(value)
        case bytes() | Decimal() | Moment():
            return shown(value)
        case Mapping():
            return {str(name): _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return str(value)

"""An event as one JSON object: exact, and without anything that a terminal would obey.

Numbers that readers of JSON would round (decimals) are texts of their digits; bytes are 0x and hex; what
JSON has no number for (NaN, infinities) is its name.
"""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson

from wrackline.control.runtime.events.record_decoder import DecodedEvent, DecodedPart
from wrackline.control.runtime.events.value_text import ShownMoment, show_number, show_value
from wrackline.control.runtime.ground.terminal_text import escape


def line(event: DecodedEvent) -> str:
    """Return the object, on one line."""
    return escape(orjson.dumps(document(event)).decode())


def document(event: DecodedEvent) -> dict[str, Any]:
    """Return it as plain values; what could not be decoded is left out, and `error` has the reason."""
    record = event.record
    made: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.ms,
    }
    for name, part in (("key", event.key), ("value", event.value)):
        if isinstance(part, DecodedPart):
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
        return show_value(value)


def _plain(value: object) -> object:
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else show_number(value)
        case bytes() | Decimal() | ShownMoment():
            return show_value(value)
        case Mapping():
            return {str(name): _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return str(value)

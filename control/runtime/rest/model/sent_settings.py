"""Settings as they are sent: one flat object of texts, in JSON.

In: a body, or an object read from it.  Out: a map of texts.  As in Connect, a value that is not text is taken
as it is in the JSON, digit for digit.  As in a pipeline's file, a repeated setting is refused.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from wrackline.schemas.errors import Definite, define
from wrackline.schemas.redaction import shown_name

NOT_SETTINGS = define(
    "rest.not_settings",
    Definite,
    "the request's body is not an object of settings: {why}",
    hint='send one such as {{"connector.class": "postgres", "name": "shop"}}',
)
MOST: Final = 1 << 20  # bytes of a body
_MOST_SETTINGS = 10_000


def read_object(body: bytes, number: Callable[[str], object] | None = str) -> dict[str, Any]:
    """Read an object; its numbers are texts, or what JSON's own are without `number`."""
    if len(body) > MOST:
        raise NOT_SETTINGS(why=f"it is larger than {MOST} bytes")
    try:
        read = json.loads(
            body.decode(),
            parse_int=number,
            parse_float=number,
            parse_constant=_refuse_constant,
            object_pairs_hook=_object_without_repeats,
        )
        orjson.dumps(read)  # half a character, or too deep a nesting
    except (ValueError, TypeError, RecursionError):
        raise NOT_SETTINGS(why="it is not JSON") from None
    if not isinstance(read, dict):
        raise NOT_SETTINGS(why="it is not an object")
    return read


def read_settings(read: Mapping[str, Any]) -> dict[str, str]:
    """Take an object as settings, or raise."""
    changes = read_changes(read)
    for name, text in changes.items():
        if text is None:
            raise _no_text(name)
    return {name: text for name, text in changes.items() if text is not None}


def read_changes(read: Mapping[str, Any]) -> dict[str, str | None]:
    """Take an object as changes of settings: null removes a setting."""
    if len(read) > _MOST_SETTINGS:
        raise NOT_SETTINGS(why=f"it has more than {_MOST_SETTINGS} of them")
    made: dict[str, str | None] = {}
    for name, value in read.items():
        match value:
            case bool():
                made[name] = "true" if value else "false"
            case str() | None:
                made[name] = value
            case _:
                raise _no_text(name)
    return made


def _no_text(name: str) -> Exception:
    return NOT_SETTINGS(why=f"{shown_name(name)} is not a text, a number, true or false")


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is not JSON's")


def _object_without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for name, value in pairs:
        if name in read:
            raise NOT_SETTINGS(why=f"{shown_name(name)} is said twice")
        read[name] = value
    return read

"""Documents as JSON holds them: an enumeration by its value, and what JSON does not know as text."""

from enum import Enum
from typing import Any

import orjson


def plain_values(document: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return a document as its reader gets it."""
    return orjson.loads(orjson.dumps(document, default=jsonable))


def jsonable(value: object) -> object:
    """Return the JSON form of a value that JSON does not know."""
    match value:
        case Enum():
            return value.value
        case _:
            return str(value)

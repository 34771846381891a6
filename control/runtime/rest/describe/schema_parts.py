"""Parts that JSON schemas are made of.

In: schemas.  Out: schemas of lists, maps and objects of them.
"""

from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

TEXT: Final[Schema] = {"type": "string"}
MAYBE: Final[Schema] = {"type": ["string", "null"]}
NUMBER: Final[Schema] = {"type": ["number", "null"], "description": "null: not known"}

PAGE: Final[Mapping[str, Schema]] = {  # what a list takes
    "search": {"type": "string", "default": ""},
    "limit": {"type": "integer", "default": 1000, "minimum": 1, "maximum": 10_000},
    "after": {"type": "integer", "default": 0, "minimum": 0},
}


def list_of(of: Schema) -> Schema:
    """Return a list of these."""
    return {"type": "array", "items": of}


def ref(name: str) -> Schema:
    """Return a schema of the document, by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def map_of(of: Schema) -> Schema:
    """Return an object of any fields, each one of these."""
    return {"type": "object", "additionalProperties": of}


def object_of(*, optional: tuple[str, ...] = (), **properties: Schema) -> Schema:
    """Return an object of these fields and no others."""
    return whole(properties, optional)


def whole(properties: Mapping[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    """Return the same for names that are words of Python."""
    return {
        "type": "object",
        "required": [name for name in properties if name not in optional],
        "properties": properties,
        "additionalProperties": False,
    }

"""Whether a foreign schema can be read: that the values it makes of a record's bytes have a bound.

In: a schema as JSON has it.  Out: nothing, or ValueError.  A record type that contains itself nests as deep
as the bytes demand, and overflows the stack of a reader in C.  Items that take no byte repeat as often as a
number before them demands.  Types that contain others twice, and these again, make a million values of no
byte at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

_DEPTH: Final = 64
_VALUES: Final = 100_000  # of one record, beside its arrays and maps
_VALUES_A_BYTE: Final = 8  # of an item of an array or a map
_SCALE: Final = 10_000  # digits behind a decimal's point
_LEAST: Final = {
    "null": 0,
    "boolean": 1,
    "int": 1,
    "long": 1,
    "float": 4,
    "double": 8,
    "bytes": 1,
    "string": 1,
}


class _Size(NamedTuple):
    """How many bytes a value takes at least, and how many values it makes at most, arrays' items aside."""

    least: int
    values: int


@dataclass(frozen=True, slots=True)
class _KnownTypes:
    sizes: dict[str, _Size] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)


def check_bounds(schema: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Raise ValueError for a schema whose values have no bound."""
    _size(schema, "", 0, _KnownTypes())


def _size(schema: Any, space: str, depth: int, known: _KnownTypes) -> _Size:  # noqa: ANN401 - whatever JSON holds
    if depth > _DEPTH:
        raise ValueError("nested too deeply")
    if isinstance(schema, dict) and abs(int(schema.get("scale", 0))) > _SCALE:
        raise ValueError("too large a scale")
    match schema:
        case str():
            return _size_by_name(schema, space, known)
        case list():
            branches = [_size(one, space, depth + 1, known) for one in schema]
            least = min((one.least for one in branches), default=0)
            return _limit(1 + least, 1 + max((one.values for one in branches), default=0))
        case {"type": "array" | "map" as kind}:
            item = _size(schema["items" if kind == "array" else "values"], space, depth + 1, known)
            if item.values > _VALUES_A_BYTE * (item.least + (kind == "map")):
                raise ValueError("items of next to no bytes")
            return _Size(1, 1)
        case {"type": "record" | "error" | "enum" | "fixed"}:
            return _size_of_type(schema, space, depth, known)
        case {"type": inner}:
            return _size(inner, space, depth + 1, known)
        case _:
            raise ValueError("no schema")


def _size_by_name(name: str, space: str, known: _KnownTypes) -> _Size:
    if name in _LEAST:
        return _Size(_LEAST[name], 1)
    full = _full(name, space)
    if full in known.open or full not in known.sizes:
        raise ValueError("a type that holds itself, or is not known")
    return known.sizes[full]


def _size_of_type(schema: Mapping[str, Any], space: str, depth: int, known: _KnownTypes) -> _Size:
    name = _full(schema["name"], schema.get("namespace") or space)
    match schema["type"]:
        case "enum":
            size = _Size(1, 1)
        case "fixed":
            size = _Size(int(schema["size"]), 1)
        case _:
            known.open.append(name)
            inner = name.rpartition(".")[0]
            fields = [_size(one["type"], inner, depth + 1, known) for one in schema["fields"]]
            known.open.pop()
            size = _limit(sum(one.least for one in fields), 1 + sum(one.values for one in fields))
    known.sizes[name] = size
    return size


def _limit(least: int, values: int) -> _Size:
    if values > _VALUES:
        raise ValueError("too many values")
    return _Size(least, values)


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"

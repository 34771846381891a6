"""A record's Avro schema as the tree of parts that reads it, with the Arrow type of what is wanted.

In: a schema's text, which any writer to the registry can choose, and which of its fields are wanted.  Out:
the parts, or None where the reader can't take the schema: Spark's own reader is used then.  Types are those
that `from_avro` makes of the same schema.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

import pyarrow as pa

from wrackline.consumers.newest.arrow_parts import KINDS, Part

EVERYTHING = None
Wanted = Mapping[str, "Wanted | None"] | None  # fields by name, and what is wanted of each; None: all of it

_MOST_PARTS: Final = 20_000  # a schema that names a record twice at each level has a power of two of them
_UNFIT = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError, pa.ArrowException)
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}
_PLAIN = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}


def parts_of(text: str, wanted: Wanted = EVERYTHING) -> Part | None:
    """Return the parts of a schema; the fields that are not wanted are skipped."""
    try:
        return _SchemaWalk().part(json.loads(text), wanted, is_wanted=True)
    except _UNFIT:
        return None


def is_envelope(text: str) -> bool:
    """Whether a value has one kind of row and ends with its seq, which the choice by bytes relies on."""
    try:
        fields = {field["name"]: field["type"] for field in json.loads(text)["fields"]}
        null, row = fields["before"]
        names = {row["name"], f"{row['namespace']}.{row['name']}"}
        other_null, other = fields["after"]
    except _UNFIT:
        return False
    return null == other_null == "null" and other in names and list(fields.items())[-1] == ("seq", "string")


class _SchemaWalk:
    """Goes through a schema once: its records by name, and how many parts there are."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}
        self._count = 0

    def part(self, avro: Any, wanted: Wanted, *, is_wanted: bool) -> Part:  # noqa: ANN401 - JSON
        """Return a type's part; raise where the reader does not have the type."""
        self._count += 1
        if self._count > _MOST_PARTS:
            raise ValueError("too many parts")
        null_at = -1
        if isinstance(avro, list):
            null_at = avro.index("null")
            [avro] = [*avro[:null_at], *avro[null_at + 1 :]]
        if isinstance(avro, str):
            avro = {"type": avro} if avro in _PLAIN else self._named[avro]
        its_type, logical = avro["type"], avro.get("logicalType")
        if its_type == "record":
            return self._record(avro, wanted, null_at=null_at, is_wanted=is_wanted)
        if its_type == "array":
            element = self.part(avro["items"], EVERYTHING, is_wanted=is_wanted)
            its_list = pa.list_(pa.field("element", element.arrow, element.null_at >= 0))
            return Part(KINDS["array"], its_list, [element], null_at=null_at, wanted=is_wanted)
        if logical == "decimal" and its_type == "bytes":
            digits = avro["precision"]
            arrow = pa.decimal128(digits, avro.get("scale", 0))
            return Part(KINDS["decimal"], arrow, null_at=null_at, wanted=is_wanted, digits=digits)
        arrow = _PLAIN[its_type] if logical is None else _LOGICAL[its_type, logical]
        return Part(KINDS[its_type], arrow, null_at=null_at, wanted=is_wanted)

    def _record(self, avro: Mapping[str, Any], wanted: Wanted, *, null_at: int, is_wanted: bool) -> Part:
        children, fields = [], []
        for field in avro["fields"]:
            name = field["name"]
            is_taken = is_wanted and (wanted is EVERYTHING or name in wanted)
            below = wanted[name] if wanted is not EVERYTHING and name in wanted else EVERYTHING
            child = self.part(field["type"], below, is_wanted=is_taken)
            children.append(child)
            if is_taken:
                fields.append(pa.field(name, child.arrow, child.null_at >= 0))
        self._name(avro)
        return Part(KINDS["record"], pa.struct(fields), children, null_at=null_at, wanted=is_wanted)

    def _name(self, avro: Mapping[str, Any]) -> None:
        """Know a record by its names, from here on, so that no record is in itself."""
        names = [avro["name"], *([f"{avro['namespace']}.{avro['name']}"] if "namespace" in avro else [])]
        if any(self._named.get(name, avro) is not avro for name in names):
            raise ValueError("one name for two records")
        self._named |= dict.fromkeys(names, avro)


def names_of(part: Part) -> Collection[str]:
    """Return the fields of a record that are wanted."""
    return [field.name for field in part.arrow]

"""Which schema wrote a row: the schema ids in a record's bytes, as the table's shape at that time.

In: schema texts from the registry.  Out: a `WriterSchema`: the table with its columns by identity, and the
Avro name that each column has in this writer's records.  It reverses schemas/events/envelope.py; kinds that
Avro writes alike (plain text of several kinds) come back as one of them, which Spark reads alike.

Any writer to the registry or the topic can choose these texts, and parts of them are put into SQL: the type
and range of each attribute are checked here.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.avro_names import avro_namespace
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.tables.table import Column, KeyKind, TableSchema
from wrackline.schemas.tables.types import FORMS, ColumnType, Kind, digits

NOT_OUR_SCHEMA = define(
    "consume.not_our_schema",
    OperatorNeeded,
    "topic {topic} holds records whose {part} schema is not one of ours",
    hint="look at it with: curl <registry>/subjects/{topic}-{part}/versions/latest; if another program writes"
    " this topic, read it as docs/auto-cdc.md says",
)

Field = Mapping[str, Any]  # an Avro field, just parsed
T = TypeVar("T")

_BROKEN = (AttributeError, IndexError, KeyError, RecursionError, StopIteration, TypeError, ValueError)
_AVRO_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 1024  # letters; no database has names a quarter as long
_IDENTITIES = range(1, 2**31)
_MOST_POSITION_BYTES = 64

_KINDS = {
    (form.avro, form.logical_type, form.connect_name, form.connect_type): kind for kind, form in FORMS.items()
} | {
    ("string", None, None, None): Kind.STRING,
    ("bytes", "decimal", "org.apache.kafka.connect.data.Decimal", None): Kind.DECIMAL,
}


@dataclass(frozen=True, slots=True)
class EnvelopeFacts:
    """What a value's schema says besides the row's columns; None: an older worker did not say it."""

    key: tuple[int, ...] | None  # identities of the key's columns
    position_bytes: int | None  # of a seq


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """One pair of key and value schema; the maps go from a column's identity to its Avro name."""

    table: TableSchema
    key_text: str | None  # a table without a key has none
    value_text: str
    key_fields: Mapping[int, str]
    fields: Mapping[int, str]
    facts: "EnvelopeFacts"


def read_writer_schema(topic: str, key_text: str | None, value_text: str) -> WriterSchema:
    """Read a pair of schemas back into the table's shape."""
    try:
        keys = [] if key_text is None else _columns(_parse_schema(topic, key_text)["fields"])
    except _BROKEN as exc:
        raise NOT_OUR_SCHEMA(topic=topic, part="key") from exc
    try:
        envelope = _parse_schema(topic, value_text)
        columns, beside = _columns(_row_fields(envelope)), _envelope_facts(envelope)
    except _BROKEN as exc:
        raise NOT_OUR_SCHEMA(topic=topic, part="value") from exc
    if None not in (key_text, beside.key) and tuple(column.identity for column, _ in keys) != beside.key:
        raise NOT_OUR_SCHEMA(topic=topic, part="key")
    if not {(key.identity, key.name) for key, _ in keys} <= {(one.identity, one.name) for one, _ in columns}:
        raise NOT_OUR_SCHEMA(topic=topic, part="key")
    return WriterSchema(
        TableSchema(
            table_of(topic),
            tuple(column for column, _ in columns),
            tuple(column.name for column, _ in keys),
            KeyKind.PRIMARY if keys else KeyKind.NONE,
        ),
        key_text,
        value_text,
        {column.identity: field for column, field in keys},
        {column.identity: field for column, field in columns},
        beside,
    )


def position_bytes(value_text: str) -> int | None:
    """Return what a value's schema, one of ours, says of the width of its positions."""
    return _envelope_facts(json.loads(value_text)).position_bytes


def _envelope_facts(envelope: Field) -> EnvelopeFacts:
    key, width = envelope.get("wrackline.key"), envelope["fields"][-1].get("wrackline.position")
    if key is not None and not (isinstance(key, list) and all(type(one) is int for one in key)):
        raise TypeError(key)
    if width is not None and not (type(width) is int and 0 < width <= _MOST_POSITION_BYTES):
        raise ValueError(width)
    return EnvelopeFacts(None if key is None else tuple(key), width)


def _parse_schema(topic: str, text: str) -> Field:
    """Parse a schema; one of another table's topic is not ours, though it looks alike."""
    schema: Field = json.loads(text)
    name: str = schema["name"]
    space = name.rpartition(".")[0] or schema["namespace"]
    if space != avro_namespace(topic):
        raise ValueError(space)
    return schema


def _row_fields(envelope: Field) -> list[Field]:
    before = next(field for field in envelope["fields"] if field["name"] == "before")
    fields: list[Field] = before["type"][1]["fields"]
    return fields


def _columns(fields: list[Field]) -> list[tuple[Column, str]]:
    """Return each field's column, and the field's own name; no two of them may be taken for one."""
    found = [_parse_field(field) for field in fields]
    for told_apart_by in (
        {column.identity for column, _ in found},
        {column.name for column, _ in found},
        {field for _, field in found},
    ):
        if len(told_apart_by) != len(found):
            raise ValueError("two columns that are one")
    return found


def _parse_field(field: Field) -> tuple[Column, str]:
    may_be_null = isinstance(field["type"], list)
    avro = field["type"][1] if may_be_null else field["type"]
    identity, own = _require(int, field["wrackline.column"]), _require(str, field["name"])
    name = _require(str, field.get("wrackline.name", own))
    fits = 0 < len(name) <= _LONGEST_NAME and "\0" not in name and _AVRO_NAME.fullmatch(own)
    if identity not in _IDENTITIES or not fits:
        raise ValueError("a column's identity or name")
    its_type = _column_type(avro, _require(str, field["wrackline.type"]))
    return Column(
        name, identity, its_type, nullable=not _require(bool, field.get("wrackline.not_null", False))
    ), own


def _require(wanted: type[T], value: object) -> T:
    if type(value) is not wanted:  # a bool is an int to isinstance
        raise TypeError(wanted.__name__)
    return value


def _column_type(avro: str | Field, source: str) -> ColumnType:
    if isinstance(avro, str):
        avro = {"type": avro}
    if avro["type"] == "array":
        element = _column_type(avro["items"][1], source)
        if element.kind is Kind.ARRAY:
            raise ValueError("an array of arrays")
        return ColumnType(Kind.ARRAY, source, element=element)
    form = (avro["type"], avro.get("logicalType"), avro.get("connect.name"), avro.get("connect.type"))
    kind = _KINDS[form]
    if kind is not Kind.DECIMAL:
        return ColumnType(kind, source)
    return ColumnType(kind, source, *digits(avro["precision"], avro["scale"]))

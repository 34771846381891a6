"""Who wrote a row: the schema ids in a record's bytes, as the table's shape at that time.

In: schema texts from the registry.  Out: a `Writer`: the table with its columns by identity, and the
Avro name that each column has in this writer's records.  It is the way back of schemas/envelope.py; kinds
that Avro writes alike (plain text of several kinds) come back as one of them, which Spark reads alike.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.names import avro_namespace
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.types import FORMS, ColumnType, Kind

NOT_OUR_SCHEMA = define(
    "consume.not_our_schema",
    OperatorNeeded,
    "topic {topic} holds records whose {part} schema is not one of ours",
    hint="look at it with: curl <registry>/subjects/{topic}-{part}/versions/latest",
)

Field = Mapping[str, Any]  # an Avro field, just parsed

_KINDS = {
    (form.avro, form.logical_type, form.connect_name, form.connect_type): kind for kind, form in FORMS.items()
} | {
    ("string", None, None, None): Kind.STRING,
    ("bytes", "decimal", "org.apache.kafka.connect.data.Decimal", None): Kind.DECIMAL,
}


@dataclass(frozen=True, slots=True)
class Writer:
    """One pair of key and value schema; the maps go from a column's identity to its Avro name."""

    table: TableSchema
    key_text: str | None  # a table without a key has none
    value_text: str
    key_fields: Mapping[int, str]
    fields: Mapping[int, str]


def table_id(topic: str) -> TableId:
    """Return the table that a topic's name tells of."""
    _, database, schema, name = topic.split(".")
    return TableId(database, schema, name)


def writer(topic: str, key_text: str | None, value_text: str) -> Writer:
    """Read a pair of schemas back into the table's shape."""
    try:
        keys = [] if key_text is None else [_parsed(field) for field in _of_topic(topic, key_text)["fields"]]
    except (KeyError, IndexError, TypeError, ValueError) as exc:
        raise NOT_OUR_SCHEMA(topic=topic, part="key") from exc
    try:
        columns = [_parsed(field) for field in _row_fields(_of_topic(topic, value_text))]
    except (KeyError, IndexError, TypeError, ValueError, StopIteration) as exc:
        raise NOT_OUR_SCHEMA(topic=topic, part="value") from exc
    return Writer(
        TableSchema(
            table_id(topic),
            tuple(column for column, _ in columns),
            tuple(column.name for column, _ in keys),
            KeyKind.PRIMARY if keys else KeyKind.NONE,
        ),
        key_text,
        value_text,
        {column.identity: field for column, field in keys},
        {column.identity: field for column, field in columns},
    )


def _of_topic(topic: str, text: str) -> Field:
    """Parse a schema; one of another table's topic is none of ours, though it looks alike."""
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


def _parsed(field: Field) -> tuple[Column, str]:
    """Return a field's column, and the field's own name."""
    may_be_null = isinstance(field["type"], list)
    avro = field["type"][1] if may_be_null else field["type"]
    column = Column(
        field.get("wrackline.name", field["name"]),
        field["wrackline.column"],
        _column_type(avro, field["wrackline.type"]),
        nullable=not field.get("wrackline.not_null", False),
    )
    return column, field["name"]


def _column_type(avro: str | Field, source: str) -> ColumnType:
    if isinstance(avro, str):
        avro = {"type": avro}
    if avro["type"] == "array":
        return ColumnType(Kind.ARRAY, source, element=_column_type(avro["items"][1], source))
    form = (avro["type"], avro.get("logicalType"), avro.get("connect.name"), avro.get("connect.type"))
    return ColumnType(_KINDS[form], source, avro.get("precision"), avro.get("scale"))

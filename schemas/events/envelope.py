"""A table's Avro schemas: the key's and the envelope's.

In: a table's schema, its topic, and what its source reports of itself.  Out: Avro schemas as plain JSON
values, whose text (`dump`) is always the same for the same table, so that registering it again finds the
schema that exists.

The envelope is Debezium's, and `seq`.  The order of its fields is part of the contract: a row first, then
what is the same for a whole chunk or transaction, `seq` last, so that a codec can write the middle once and
copy it.  Every column of a row may be null, because a delete's `before` holds only the replica identity and
the log leaves out what a TOAST column kept: `source.unchanged` names such columns.

What only the source knows of a record is in the value's schema, because a record may lose it on its way:
`wrackline.key` on the envelope has the identities of the key's columns, none for a table without a key;
`wrackline.position` on `seq` has the number of bytes of the source's positions.
"""

import json
from collections.abc import Mapping, Sequence

from wrackline.schemas.events.avro_names import avro_namespace, column_names
from wrackline.schemas.tables.table import Column, TableSchema
from wrackline.schemas.tables.types import FORMS, ColumnType, Kind

Schema = dict[str, object]

_SNAPSHOT: Schema = {  # Debezium's
    "type": "string",
    "connect.version": 1,
    "connect.default": "false",
    "connect.parameters": {
        "allowed": "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
    },
    "connect.name": "io.debezium.data.Enum",
}


def dump(schema: Schema) -> str:
    """Write a schema as its only text: no spaces, attributes sorted."""
    return json.dumps(schema, sort_keys=True, separators=(",", ":"))


def avro_type(column_type: ColumnType) -> Schema | str:
    """Return the Avro type of a value that is not null."""
    kind, form = column_type.kind, FORMS[column_type.kind]
    if kind is Kind.ARRAY:
        if column_type.element is None:
            raise ValueError(f"{column_type.source} is an array without an element type")
        return {"type": "array", "items": ["null", avro_type(column_type.element)]}
    made: Schema = {"type": form.avro}
    if form.logical_type:
        made["logicalType"] = form.logical_type
    if form.connect_type:
        made["connect.type"] = form.connect_type
    if form.connect_name:
        made |= {"connect.name": form.connect_name, "connect.version": 1}
    if kind in {Kind.DECIMAL, Kind.UINT64}:
        made |= _digits(column_type)
    elif kind is Kind.BITS:
        if column_type.length is None:
            raise ValueError(f"{column_type.source} is a string of bits without a length")
        made["connect.parameters"] = {"length": str(column_type.length)}
    elif kind in {Kind.ENUM, Kind.ENUM_SET}:
        made["connect.parameters"] = {"allowed": ",".join(column_type.labels)}
    return made if len(made) > 1 else form.avro


def _digits(column_type: ColumnType) -> Schema:
    """Write a decimal's precision and scale twice: for Avro as numbers, for Kafka Connect as text."""
    precision, scale = column_type.precision, column_type.scale
    if column_type.kind is Kind.UINT64:
        precision, scale = 20, 0
    if precision is None or scale is None:
        raise ValueError(f"{column_type.source} is a decimal without precision and scale")
    return {
        "precision": precision,
        "scale": scale,
        "connect.parameters": {"scale": str(scale), "connect.decimal.precision": str(precision)},
    }


def key_schema(table: TableSchema, *, topic: str) -> Schema | None:
    """Return the schema of a record's key, or None for a table whose rows have no key."""
    if not table.key:
        return None
    names = column_names(str(table.id), (column.name for column in table.columns))
    fields = [_field(column, names[column.name], may_be_null=column.nullable) for column in table.key_columns]
    return _record("Key", avro_namespace(topic), fields)


def value_schema(
    table: TableSchema,
    *,
    topic: str,
    connector: str,
    source_fields: Sequence[Mapping[str, object]],
    position_bytes: int | None = None,
) -> Schema:
    """Return the schema of a record's value: the envelope around the table's row.

    `source_fields` are the Avro fields that this kind of source adds to its `source` record, and
    `position_bytes` is the width of its positions; without it a `seq` may have any width.
    """
    seq: Schema = {"name": "seq", "type": "string"}
    if position_bytes is not None:
        seq["wrackline.position"] = position_bytes
    namespace = avro_namespace(topic)
    names = column_names(str(table.id), (column.name for column in table.columns))
    row = _record(
        "Value",
        namespace,
        [_field(column, names[column.name], may_be_null=True) for column in table.columns],
    )
    block = _record(
        "block",
        "event",
        [
            {"name": "id", "type": "string"},
            {"name": "total_order", "type": "long"},
            {"name": "data_collection_order", "type": "long"},
        ],
    )
    envelope = _record(
        "Envelope",
        namespace,
        [
            _nullable("before", row),
            _nullable("after", f"{namespace}.Value"),
            {"name": "source", "type": _source(connector, source_fields)},
            _nullable("transaction", block),
            {"name": "op", "type": "string"},
            *(_nullable(name, "long") for name in ("ts_ms", "ts_us", "ts_ns")),
            seq,
        ],
    )
    return envelope | {"wrackline.key": [column.identity for column in table.key_columns]}


def _source(connector: str, its_own: Sequence[Mapping[str, object]]) -> Schema:
    """Return the `source` record: Debezium's fields, the source's own, then ours."""
    return _record(
        "Source",
        avro_namespace(f"wrackline.{connector}"),
        [
            {"name": "version", "type": "string"},
            {"name": "connector", "type": "string"},
            {"name": "name", "type": "string"},
            {"name": "ts_ms", "type": "long"},
            {"name": "snapshot", "type": [_SNAPSHOT, "null"], "default": "false"},
            {"name": "db", "type": "string"},
            _nullable("sequence", "string"),
            _nullable("ts_us", "long"),
            _nullable("ts_ns", "long"),
            {"name": "schema", "type": "string"},
            {"name": "table", "type": "string"},
            *(dict(field) for field in its_own),
            _nullable("unchanged", {"type": "array", "items": "string"}),
            _nullable("chunk", "string"),
        ],
    )


def _field(column: Column, name: str, *, may_be_null: bool) -> Schema:
    """Return a column's field, with what outlives its Avro name and type."""
    its_type = avro_type(column.type)
    made: Schema = _nullable(name, its_type) if may_be_null else {"name": name, "type": its_type}
    made |= {"wrackline.column": column.identity, "wrackline.type": column.type.source}
    if not column.nullable:
        made["wrackline.not_null"] = True
    if name != column.name:
        made["wrackline.name"] = column.name
    return made


def _nullable(name: str, avro: Schema | str) -> Schema:
    return {"name": name, "type": ["null", avro], "default": None}


def _record(name: str, namespace: str, fields: list[Schema]) -> Schema:
    return {
        "type": "record",
        "name": name,
        "namespace": namespace,
        "connect.name": f"{namespace}.{name}",
        "fields": fields,
    }

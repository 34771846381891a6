"""The schemas of keys and values: their shape, their one text, and every kind through fastavro."""

import io
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import cast

import fastavro
import pytest

from tests.fixtures.every_kind import SAMPLES, TABLE, event, rows
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.envelope import Schema, avro_type, dump, key_schema, value_schema
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind, exact_number

TOPIC = "shop1.shop.public.every-kind"
OWN_FIELDS: list[Schema] = [{"name": "lsn", "type": ["null", "long"], "default": None}]


def made(table: TableSchema = TABLE, topic: str = TOPIC) -> Schema:
    return value_schema(table, topic=topic, connector="postgresql", source_fields=OWN_FIELDS)


def fields(schema: Schema) -> dict[str, Schema]:
    return {str(field["name"]): field for field in cast("list[Schema]", schema["fields"])}


def row_fields(table: TableSchema) -> dict[str, Schema]:
    before = fields(made(table))["before"]
    return fields(cast("list[Schema]", before["type"])[1])


def table(*columns: Column, key: tuple[str, ...] = ()) -> TableSchema:
    kind = KeyKind.PRIMARY if key else KeyKind.NONE
    return TableSchema(TableId("shop", "public", "t"), columns, key, kind)


def text(name: str, identity: int, *, nullable: bool = True) -> Column:
    return Column(name, identity, ColumnType(Kind.STRING, "text"), nullable)


def test_the_envelope_has_its_fields_in_order() -> None:
    schema = made()
    assert " ".join(fields(schema)) == "before after source transaction op ts_ms ts_us ts_ns seq"
    assert schema["namespace"] == "shop1.shop.public.every_kind"
    assert schema["connect.name"] == "shop1.shop.public.every_kind.Envelope"
    assert fields(schema)["after"]["type"] == ["null", "shop1.shop.public.every_kind.Value"]
    source = cast("Schema", fields(schema)["source"]["type"])
    assert source["namespace"] == "wrackline.postgresql"
    assert " ".join(fields(source)) == (
        "version connector name ts_ms snapshot db sequence ts_us ts_ns schema table lsn unchanged chunk"
    )


def test_a_column_carries_what_outlives_its_name() -> None:
    field = row_fields(table(text("2 rooms \U0001f30a", 7, nullable=False)))["_2_rooms__"]
    assert field == {
        "name": "_2_rooms__",
        "type": ["null", "string"],
        "default": None,
        "wrackline.column": 7,
        "wrackline.type": "text",
        "wrackline.not_null": True,
        "wrackline.name": "2 rooms \U0001f30a",
    }


def test_the_key_is_in_key_order_and_null_only_where_the_column_may_be() -> None:
    schema = key_schema(
        table(text("a", 1), text("b", 2, nullable=False), text("c", 3), key=("b", "a")), topic=TOPIC
    )
    assert schema is not None
    assert schema["connect.name"] == "shop1.shop.public.every_kind.Key"
    assert {name: field["type"] for name, field in fields(schema).items()} == {
        "b": "string",
        "a": ["null", "string"],
    }
    assert list(fields(schema)) == ["b", "a"]


def test_a_table_without_a_key_has_no_key_schema() -> None:
    assert key_schema(table(text("a", 1)), topic=TOPIC) is None


def test_the_same_table_gives_the_same_text() -> None:
    again = replace(TABLE, columns=tuple(replace(column) for column in TABLE.columns))
    shuffled = [dict(reversed(field.items())) for field in OWN_FIELDS]
    other = value_schema(again, topic=TOPIC, connector="postgresql", source_fields=shuffled)
    assert dump(made()) == dump(other)
    assert json.loads(dump(made())) == made()
    assert dump(made()) != dump(made(topic="shop1.shop.public.another"))


def test_columns_that_would_have_one_name_are_escaped_and_the_others_keep_theirs() -> None:
    names = ("id", "na\xefve", "na\xe8ve", "a b", "a_b", "e-mail")
    columns = [text(name, at) for at, name in enumerate(names, 1)]
    row = fields(made(table(*columns))["fields"][0]["type"][1])  # type: ignore[index]  # JSON
    assert {field.get("wrackline.name", name): name for name, field in row.items()} == {
        "id": "id",
        "na\xefve": "na_u00efve",
        "na\xe8ve": "na_u00e8ve",
        "a b": "a_u0020b",
        "a_b": "a_b",
        "e-mail": "e_mail",
    }


def test_names_that_collide_even_if_escaped_are_refused() -> None:
    with pytest.raises(OperatorNeeded, match="'a-b' and 'a_u002db'") as raised:
        made(table(text("a-b", 1), text("a_b", 2), text("a_u002db", 3)))
    assert raised.value.code == "avro.names_collide"
    assert "column.exclude.list = 'shop.public.t.a_u002db'" in raised.value.hint


def test_kafka_connects_own_names_are_beside_date_and_decimal() -> None:
    assert avro_type(exact_number("numeric(10,2)", 10, 2)) == {
        "type": "bytes",
        "logicalType": "decimal",
        "precision": 10,
        "scale": 2,
        "connect.name": "org.apache.kafka.connect.data.Decimal",
        "connect.version": 1,
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
    }
    assert avro_type(ColumnType(Kind.DATE, "date")) == {
        "type": "int",
        "logicalType": "date",
        "connect.name": "org.apache.kafka.connect.data.Date",
        "connect.version": 1,
    }
    assert avro_type(ColumnType(Kind.INT16, "smallint")) == {"type": "int", "connect.type": "int16"}


@pytest.mark.parametrize("kind", [Kind.ARRAY, Kind.DECIMAL, Kind.BITS])
def test_a_type_without_what_its_kind_needs_is_a_fault(kind: Kind) -> None:
    with pytest.raises(ValueError, match="without"):
        avro_type(ColumnType(kind, "broken"))


def through_fastavro(schema: object, value: object) -> object:
    parsed = fastavro.parse_schema(cast("dict[str, object]", schema))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, value)
    out.seek(0)
    read: object = fastavro.schemaless_reader(out, parsed, None)
    assert not out.read()
    return read


def without_logical_types(schema: object) -> object:
    """Return the schema as a reader sees it that knows no logical types: Python's dates end in 9999."""
    if isinstance(schema, dict):
        return {
            name: without_logical_types(part)
            for name, part in schema.items()
            if name != "logicalType" or part == "decimal"
        }
    return [without_logical_types(part) for part in schema] if isinstance(schema, list) else schema


@pytest.mark.parametrize("row", rows(), ids=range(len(rows())))
def test_every_kind_and_its_extremes_go_through_fastavro(row: dict[str, object]) -> None:
    fastavro.parse_schema(made())
    read = cast(
        "dict[str, dict[str, object]]", through_fastavro(without_logical_types(made()), event(row, lsn=3))
    )
    for sample in SAMPLES:
        value, again = row[sample.name], read["after"][sample.name]
        assert repr(again) == repr(value), sample.name  # of NaN and -0.0 too


@pytest.mark.parametrize(
    ("column_type", "value", "read"),
    [
        (ColumnType(Kind.DATE, "date"), 0, date(1970, 1, 1)),
        (ColumnType(Kind.TIME_MICROS, "time"), 86_400_000_000, 86_400_000_000),  # 24:00:00
        (ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"), -1, datetime(1969, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001 - it has no zone, and that is the point
        (ColumnType(Kind.INSTANT_MICROS, "timestamptz"), 1, datetime(1970, 1, 1, 0, 0, 0, 1, UTC)),
        (ColumnType(Kind.UINT64, "bigint unsigned"), Decimal(2**64 - 1), Decimal(2**64 - 1)),
        (exact_number("numeric(5,2)", 5, 2), Decimal("-1.5"), Decimal("-1.50")),
    ],
)
def test_logical_types_mean_what_they_should(column_type: ColumnType, value: object, read: object) -> None:
    assert through_fastavro(avro_type(column_type), value) == read

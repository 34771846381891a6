"""Control events: every payload fits its schema, under the names that Debezium's readers know."""

import io
from typing import Any

import fastavro
import pytest

from wrackline.schemas.events.control_events import (
    HEARTBEAT_KEY,
    HEARTBEAT_VALUE,
    JDBC_TYPES,
    NOTIFICATION_KEY,
    NOTIFICATION_VALUE,
    TRANSACTION_KEY,
    TRANSACTION_VALUE,
    Avro,
    BeginEvent,
    EndEvent,
    HeartbeatEvent,
    MessageEvent,
    NotificationEvent,
    SchemaChangeEvent,
    message_key_schema,
    message_value_schema,
    schema_change_key_schema,
    schema_change_value_schema,
)
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

SOURCE_SCHEMA: Avro = {
    "type": "record",
    "name": "Source",
    "namespace": "wrackline.postgresql",
    "fields": [{"name": "db", "type": "string"}],
}
SOURCE = {"db": "shop"}
ORDERS = TableSchema(
    TableId("shop", "public", "orders"),
    (
        Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
        Column("total", 2, ColumnType(Kind.DECIMAL, "numeric(10,2)", precision=10, scale=2)),
        Column("name", 3, ColumnType(Kind.STRING, "character varying(32)"), generated=True),
        Column("mood", 4, ColumnType(Kind.ENUM, "mood", labels=("good", "bad"))),
    ),
    ("id",),
    KeyKind.PRIMARY,
)
CREATED = SchemaChangeEvent("CREATE", ORDERS, SOURCE, 5, "CREATE TABLE …")


def through_avro(schema: Avro, payload: dict[str, Any]) -> object:
    parsed = fastavro.parse_schema(dict(schema))
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, parsed, payload, strict=True)
    buffer.seek(0)
    return fastavro.schemaless_reader(buffer, parsed, None)


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (TRANSACTION_KEY, BeginEvent("7:100", 5).key()),
        (TRANSACTION_VALUE, BeginEvent("7:100", 5).value()),
        (TRANSACTION_KEY, EndEvent("7:100", 5, {}).key()),
        (TRANSACTION_VALUE, EndEvent("7:100", 5, {"public.a": 2, "public.b": 1}).value()),
        (TRANSACTION_VALUE, EndEvent("7:100", 5, {}).value()),
        (HEARTBEAT_KEY, HeartbeatEvent("srv", 5).key()),
        (HEARTBEAT_VALUE, HeartbeatEvent("srv", 5).value()),
        (NOTIFICATION_KEY, NotificationEvent("r", "Incremental Snapshot", "STARTED", {}, 5).key()),
        (
            NOTIFICATION_VALUE,
            NotificationEvent("r", "Incremental Snapshot", "STARTED", {"a": "b"}, 5).value(),
        ),
        (message_key_schema("postgresql"), MessageEvent("p", b"\x00\xff", SOURCE, 5).key()),
        (
            message_value_schema("postgresql", SOURCE_SCHEMA),
            MessageEvent("p", b"\x00\xff", SOURCE, 5).value(),
        ),
        (
            message_value_schema("postgresql", SOURCE_SCHEMA),
            MessageEvent(
                "p", b"", SOURCE, 5, {"id": "7", "total_order": 1, "data_collection_order": 1}
            ).value(),
        ),
        (schema_change_key_schema("postgresql"), CREATED.key()),
        (schema_change_value_schema("postgresql", SOURCE_SCHEMA), CREATED.value()),
        (
            schema_change_value_schema("postgresql", SOURCE_SCHEMA),
            SchemaChangeEvent("DROP", ORDERS, SOURCE, 5).value(),
        ),
    ],
)
def test_every_payload_fits_its_schema(schema: Avro, payload: dict[str, Any]) -> None:
    assert through_avro(schema, payload) == payload


def test_the_counts_of_a_transaction_add_up() -> None:
    value = EndEvent("7:100", 5, {"public.a": 2, "public.b": 1}).value()
    assert (value["status"], value["event_count"]) == ("END", 3)
    assert value["data_collections"] == [
        {"data_collection": "public.a", "event_count": 2},
        {"data_collection": "public.b", "event_count": 1},
    ]
    assert BeginEvent("7:100", 5).value()["event_count"] is None


def test_a_schema_change_contains_the_whole_table() -> None:
    value = CREATED.value()
    (change,) = value["tableChanges"]
    assert (value["databaseName"], value["schemaName"]) == ("shop", "public")
    assert (change["type"], change["id"]) == ("CREATE", '"shop"."public"."orders"')
    assert change["table"]["primaryKeyColumnNames"] == ["id"]
    number, total, name, mood = change["table"]["columns"]
    assert (number["name"], number["jdbcType"], number["position"], number["optional"]) == (
        "id",
        -5,
        1,
        False,
    )
    assert (total["typeName"], total["typeExpression"]) == ("numeric", "numeric(10,2)")
    assert (total["length"], total["scale"]) == (10, 2)
    assert (name["typeName"], name["length"], name["generated"]) == ("character varying", 32, True)
    assert mood["enumValues"] == ["good", "bad"]


def test_every_kind_has_a_jdbc_type() -> None:
    assert JDBC_TYPES.keys() == set(Kind)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (TRANSACTION_KEY, "io.debezium.connector.common.TransactionMetadataKey"),
        (TRANSACTION_VALUE, "io.debezium.connector.common.TransactionMetadataValue"),
        (HEARTBEAT_KEY, "io.debezium.connector.common.ServerNameKey"),
        (HEARTBEAT_VALUE, "io.debezium.connector.common.Heartbeat"),
        (NOTIFICATION_KEY, "io.debezium.connector.common.NotificationKey"),
        (NOTIFICATION_VALUE, "io.debezium.connector.common.Notification"),
        (schema_change_key_schema("mysql"), "io.debezium.connector.mysql.SchemaChangeKey"),
        (schema_change_value_schema("mysql", SOURCE_SCHEMA), "io.debezium.connector.mysql.SchemaChangeValue"),
        (message_key_schema("postgresql"), "io.debezium.connector.postgresql.MessageKey"),
        (message_value_schema("postgresql", SOURCE_SCHEMA), "io.debezium.connector.postgresql.MessageValue"),
    ],
)
def test_records_are_named_as_debezium_names_them(schema: Avro, name: str) -> None:
    assert schema["connect.name"] == name

"""Schemas from the registry: ours contain a table's shape; others are refused, whatever they are."""

import json

import pytest

from wrackline.consumers.lake.column_types import planned_column
from wrackline.consumers.records.writer_schema import NOT_OUR_SCHEMA, read_writer_schema
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.envelope import dump, key_schema, value_schema
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TOPIC = "server.shop.public.things"
COLUMNS = (
    Column("a b", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
    Column("n", 2, ColumnType(Kind.STRING, "text")),
    Column("d", 3, ColumnType(Kind.DECIMAL, "numeric(10,2)", 10, 2)),
)
TABLE = TableSchema(TableId("shop", "public", "things"), COLUMNS, ("a b",), KeyKind.PRIMARY)
KEY = dump(key_schema(TABLE, topic=TOPIC) or {})
VALUE = dump(value_schema(TABLE, topic=TOPIC, connector="test", source_fields=[]))
PLAIN = {"type": "record", "name": "v", "fields": [{"name": "id", "type": "long"}]}
BEFORE = {"name": "before", "type": ["null", {"type": "record", "name": "v", "fields": PLAIN["fields"]}]}


def test_a_pair_of_schemas_is_a_table() -> None:
    made = read_writer_schema(TOPIC, KEY, VALUE)
    assert made.table == TABLE
    assert (made.key_fields, made.fields) == ({1: "a_b"}, {1: "a_b", 2: "n", 3: "d"})
    keyless = read_writer_schema(TOPIC, None, VALUE)
    assert (keyless.table.key, keyless.table.key_kind, keyless.key_fields) == ((), KeyKind.NONE, {})


@pytest.mark.parametrize(
    "foreign",
    [
        '"string"',
        "[]",
        'syntax = "proto3";',
        json.dumps(PLAIN),
        dump(value_schema(TABLE, topic=f"{TOPIC}2", connector="test", source_fields=[])),
        dump(key_schema(TABLE, topic="server.shop.public.others") or {}),
        json.dumps({**PLAIN, "fields": [BEFORE]}),
        json.dumps({**PLAIN, "fields": [{"name": "before", "type": ["null"]}]}),
    ],
)
def test_what_is_not_ours_is_refused(foreign: str) -> None:
    for key, value, part in ((KEY, foreign, "value"), (foreign, VALUE, "key")):
        with pytest.raises(OperatorNeeded) as refused:
            read_writer_schema(TOPIC, key, value)
        assert refused.value.code == NOT_OUR_SCHEMA.code
        assert f"whose {part} schema" in refused.value.sentence


CALLS_JAVA = (
    "2), name)) || array(length(java_method('java.lang.System','setProperty','pwned',(SELECT concat_ws('|',"
    " collect_list(value)) FROM text.`/etc/hostname`)))) || transform(unsent, name -> element_at(map('z', 3"
)
MAKES_A_TABLE = "10,2)); CREATE TABLE public.pwned AS SELECT pg_read_file('/etc/hostname'); COMMIT; --"


def spoilt(text: str, at: str, attribute: str, value: object) -> str:
    """Return a schema of ours in which a field, or its type, has another attribute."""
    document = json.loads(text)
    before = next((one for one in document["fields"] if one["name"] == "before"), None)
    fields = document["fields"] if before is None else before["type"][1]["fields"]
    field = next(one for one in fields if one["name"] == at)
    its_type = field["type"][1] if isinstance(field["type"], list) else field["type"]
    (its_type if attribute in ("precision", "scale", "items") else field)[attribute] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("at", "attribute", "value"),
    [
        ("n", "wrackline.column", CALLS_JAVA),
        ("n", "wrackline.column", "2"),
        ("n", "wrackline.column", 0),
        ("n", "wrackline.column", -1),
        ("n", "wrackline.column", 2**31),
        ("n", "wrackline.column", True),
        ("n", "wrackline.column", 2.0),
        ("n", "wrackline.column", None),
        ("n", "wrackline.column", 1),
        ("d", "precision", MAKES_A_TABLE),
        ("d", "precision", "10"),
        ("d", "precision", 0),
        ("d", "precision", 39),
        ("d", "precision", True),
        ("d", "precision", None),
        ("d", "scale", -1),
        ("d", "scale", 11),
        ("d", "scale", "2"),
        ("n", "wrackline.name", 7),
        ("n", "wrackline.name", ""),
        ("n", "wrackline.name", "x" * 2000),
        ("n", "wrackline.name", "a\0b"),
        ("n", "wrackline.name", "a b"),
        ("n", "wrackline.type", ["text"]),
        ("n", "wrackline.not_null", "false"),
        ("n", "name", "x y"),
        ("n", "name", "d"),
    ],
)
def test_an_attribute_that_is_none_of_ours_is_refused(at: str, attribute: str, value: object) -> None:
    with pytest.raises(OperatorNeeded) as refused:
        read_writer_schema(TOPIC, KEY, spoilt(VALUE, at, attribute, value))
    assert refused.value.code == NOT_OUR_SCHEMA.code
    assert "whose value schema" in refused.value.sentence


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("wrackline.column", CALLS_JAVA), ("wrackline.column", 9), ("wrackline.name", "n"), ("name", 5)],
)
def test_so_is_one_of_the_key(attribute: str, value: object) -> None:
    with pytest.raises(OperatorNeeded) as refused:
        read_writer_schema(TOPIC, spoilt(KEY, "a_b", attribute, value), VALUE)
    assert refused.value.code == NOT_OUR_SCHEMA.code
    assert "whose key schema" in refused.value.sentence


def test_a_schema_that_is_nested_without_end_is_refused() -> None:
    """A-DATA-03."""
    for deep in (
        "[" * 100_000,
        json.dumps({"name": 5, "fields": []}),
        json.dumps({"name": "v", "fields": 3}),
    ):
        with pytest.raises(OperatorNeeded):
            read_writer_schema(TOPIC, KEY, deep)


@pytest.mark.parametrize(
    "written",
    [
        {"name": 5, "type": {"kind": "string", "source": "text"}},
        {"name": "d", "type": {"kind": "decimal", "source": "x", "precision": MAKES_A_TABLE, "scale": 2}},
        {"name": "d", "type": {"kind": "decimal", "source": "x", "precision": 10, "scale": 11}},
        {"name": "d", "type": {"kind": "decimal", "source": "x"}},
        {"name": "d", "type": {"kind": CALLS_JAVA, "source": "x"}},
    ],
)
def test_so_is_what_a_table_says_of_its_columns(written: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        planned_column(1, "d", written)

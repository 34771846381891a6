"""Schemas from the registry: ours tell a table's shape; others are refused, whatever they are."""

import json

import pytest

from wrackline.consumers.writers import NOT_OUR_SCHEMA, writer
from wrackline.schemas.envelope import dump, key_schema, value_schema
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.types import ColumnType, Kind

TOPIC = "server.shop.public.things"
COLUMNS = (
    Column("a b", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
    Column("n", 2, ColumnType(Kind.STRING, "text")),
)
TABLE = TableSchema(TableId("shop", "public", "things"), COLUMNS, ("a b",), KeyKind.PRIMARY)
KEY = dump(key_schema(TABLE, topic=TOPIC) or {})
VALUE = dump(value_schema(TABLE, topic=TOPIC, connector="test", source_fields=[]))
PLAIN = {"type": "record", "name": "v", "fields": [{"name": "id", "type": "long"}]}
BEFORE = {"name": "before", "type": ["null", {"type": "record", "name": "v", "fields": PLAIN["fields"]}]}


def test_a_pair_of_schemas_is_a_table() -> None:
    made = writer(TOPIC, KEY, VALUE)
    assert made.table == TABLE
    assert (made.key_fields, made.fields) == ({1: "a_b"}, {1: "a_b", 2: "n"})
    keyless = writer(TOPIC, None, VALUE)
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
            writer(TOPIC, key, value)
        assert refused.value.code == NOT_OUR_SCHEMA.code
        assert f"whose {part} schema" in refused.value.sentence

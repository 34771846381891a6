"""Bytes to changes in Spark's own expressions: what is read, what is void, and what is recognized as bad."""

import copy
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import fastavro
import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.batch.key_change import floor_of_keys
from wrackline.consumers.contract.counts import LatestChange
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, NewestChange, plan_merge
from wrackline.consumers.records.decode import (
    BROKEN,
    VALUE_UNFIT,
    decode,
    outlines,
    partial_columns,
    unknown_schema_records,
    unreadable_records,
)
from wrackline.consumers.records.dedupe import dedupe
from wrackline.consumers.records.writer_schema import read_writer_schema
from wrackline.schemas.events.envelope import dump, key_schema, value_schema
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Event, content, halves, latest

TOPIC = "server.shop.public.things"
TEXT = ColumnType(Kind.STRING, "text")
COLUMNS = (
    Column("a b", 1, ColumnType(Kind.FLOAT64, "float8")),  # a_b in Avro
    Column("b", 2, TEXT),
    Column("at", 3, ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")),
    Column("times", 4, ColumnType(Kind.ARRAY, "text[]", element=ColumnType(Kind.ZONED_TIMESTAMP, "x"))),
)
KEYLESS = TableSchema(TableId("shop", "public", "things"), COLUMNS)
KEYED = replace(KEYLESS, key=("a b",), key_kind=KeyKind.UNIQUE)
NOON = "2026-01-02T12:00:00Z"
RECORDS = "key binary, value binary, partition int, offset bigint, timestamp timestamp"
PUBLISHED = datetime(2026, 1, 2, 12, tzinfo=UTC)
NAMES = ("a b", "b", "at", "times")


class Topic:
    """Writes records as the worker does, and reads them as a batch."""

    def __init__(self, table: TableSchema, key_id: int = 1) -> None:
        self._key_id = key_id
        self._key = key_schema(table, topic=TOPIC)
        self.value_schema = value_schema(table, topic=TOPIC, connector="test", source_fields=[])
        self._fields = [field["name"] for field in self.value_schema["fields"][0]["type"][1]["fields"]]  # type: ignore[index]  # JSON
        self.records: list[tuple[bytes | None, bytes | None, int, int]] = []
        self.value_is(self.value_schema, 2)
        self.plan = plan_merge(self.writers[self.pair].table, Identifiers(255), Applied())

    def value_is(self, schema: dict[str, Any], number: int) -> None:
        """Write with this schema from here on."""
        self.value_schema, self._value_id = schema, number
        key = None if self._key is None else dump(self._key)
        self.texts = {number: dump(schema)}
        self.pair = (None if key is None else self._key_id, number)
        self.writers = {self.pair: read_writer_schema(TOPIC, key, self.texts[number])}

    def image(self, row: Sequence[object] | None) -> dict[str, object] | None:
        return None if row is None else dict(zip(self._fields, row, strict=True))

    def tell(
        self,
        op: str,
        number: int,
        after: Sequence[object] | None = None,
        before: Sequence[object] | None = None,
        unsent: Sequence[str] = (),
        key: object = None,
    ) -> None:
        value = {
            "before": self.image(before), "after": self.image(after), "op": op, "seq": f"{number:08x}",
            "source": {
                "version": "1", "connector": "test", "name": "server", "ts_ms": number * 1000, "db": "shop",
                "schema": "public", "table": "things", "unchanged": list(unsent) or None,
            },
        }  # fmt: skip
        some = after or before
        wired = None
        if self._key is not None and some is not None:
            (field,) = (str(field["name"]) for field in self._key["fields"])  # type: ignore[attr-defined]  # JSON
            wired = wire(self._key_id, self._key, {field: some[0] if key is None else key})
        self.raw(wired, wire(self._value_id, self.value_schema, value))

    def raw(self, key: bytes | None, value: bytes | None) -> None:
        self.records.append((key, value, 0, len(self.records)))

    def rows(self) -> list[tuple[object, ...]]:
        return [
            (key and bytearray(key), value and bytearray(value), *at, PUBLISHED)
            for key, value, *at in self.records
        ]

    def frame(self, spark: SparkSession) -> DataFrame:
        return spark.createDataFrame(self.rows(), RECORDS)


def wire(number: int, schema: Mapping[str, Any], value: Mapping[str, object]) -> bytes:
    out = io.BytesIO()
    out.write(b"\0" + number.to_bytes(4, "big"))
    fastavro.schemaless_writer(out, fastavro.parse_schema(dict(schema)), value)
    return out.getvalue()


def rows(frame: DataFrame) -> list[Row]:
    return frame.orderBy("seq").collect()


def test_a_bag_is_what_its_model_says(spark: SparkSession) -> None:
    """The same halves as merge_model makes, each once."""
    topic = Topic(KEYLESS)
    events = []
    x, y = (-0.0, "x", NOON, [NOON, None]), (float("nan"), None, None, None)
    for number, (op, before, after) in enumerate(
        [("c", None, x), ("r", None, y), ("u", x, y), ("d", y, None), ("u", y, y), ("c", None, x)], 1
    ):
        topic.tell(op, number, after, before)
        old, new = (None if one is None else dict(zip(NAMES, one, strict=True)) for one in (before, after))
        events.append(Event(f"{number:08x}", op, old, new, number * 1000))
    topic.tell("t", 99)
    topic.records += topic.records[2:4]
    columns = [column.target for column in topic.plan.columns]
    found = dedupe(decode(topic.frame(spark), topic.writers, topic.plan), columns, topic.plan.key, ())
    model = latest(halves(events, "_wl_row"))
    of_model = {
        key[0]: (one.seq, one.op, one.deleted, content(one.values, NAMES[:2])) for key, one in model.items()
    }
    assert {
        row.row["_wl_row"]: (row.seq, row.op, row.deleted, content(row.row.asDict(), NAMES[:2]))
        for row in rows(found)
    } == of_model
    # every half has all of its row, also of a delete
    assert {str(row.row["times"]) for row in rows(found) if row.row["b"] == "x"} == {
        str(rows(found)[0].row["times"])
    }


def test_outlines_contain_what_is_there_and_what_is_broken(spark: SparkSession) -> None:
    topic = Topic(KEYED)
    topic.tell("c", 1, (1.0, "x", NOON, None))
    topic.tell("u", 3, (1.0, None, NOON, None), unsent=["b"])
    topic.tell("t", 2)
    topic.tell("t", 7)
    good_key, good = topic.records[0][:2]
    assert good is not None
    for value in (good[:-1], good[:20], good + b"\0", good[:5], good[:5] + b"\xff" * 50):
        topic.raw(good_key, value)
    topic.raw(good_key, b"{}")
    topic.raw(b"text", good)
    topic.raw(good_key, b"\0\0\0\0\x63" + good[5:])
    topic.raw(good_key, None)
    found = {
        (row["key_id"], row["value_id"]): row for row in outlines(topic.frame(spark), topic.texts).collect()
    }
    assert found.keys() == {(1, 2), (None, 2), (1, None), (None, None), (1, 99)}
    told = found[1, 2]
    assert (told["newest"], told["floor"], told["changes"], told["broken"]) == (f"{3:08x}", None, 2, 5)
    assert told["unsent"] == ["b"]
    at_noon = int(PUBLISHED.timestamp() * 1000)
    assert LatestChange(*told["latest"]) == LatestChange(f"{3:08x}", 3000, at_noon)
    truncates = found[None, 2]
    assert (truncates["newest"], truncates["floor"], truncates["truncates"]) == ("", f"{7:08x}", 2)
    assert truncates["latest"] is None
    assert [found[pair]["newest"] for pair in ((1, None), (None, None), (1, 99))] == [None] * 3
    assert partial_columns({(1, 2): told["unsent"]}, topic.writers, topic.plan) == {"b"}


def test_every_record_is_a_change_or_refused(spark: SparkSession) -> None:  # INV-4
    topic = Topic(KEYED)
    topic.tell("c", 1, (1.0, "x", NOON, [NOON, None]))
    topic.tell("c", 2, (None, "null is a key too", None, None))
    topic.tell("d", 3, None, (2.0, None, None, None))
    topic.tell("t", 4)
    key, good = topic.records[0][:2]
    assert key is not None
    assert good is not None
    expected = []

    def bad(code: str) -> None:
        expected.append((len(topic.records) - 1, code))

    for value in (good[:-1], good + b"\0", good[:5] + b"\xff" * 50, good[:5]):
        topic.raw(key, value)
        bad(BROKEN)
    for damaged in (key[:-1], key[:5], key[:5] + b"\x09" + key[6:]):
        topic.raw(damaged, good)
        bad(BROKEN)
    topic.tell("c", 5, (3.0, "x", "eternity", None))
    bad(VALUE_UNFIT)
    topic.tell("c", 6, (4.0, "x", None, [NOON, "294276-12-31T23:59:59.999999Z"]))
    bad(VALUE_UNFIT)
    topic.tell("c", 7, (5.0, "last", NOON, None))
    frame = topic.frame(spark).persist()
    found = rows(unreadable_records(frame, topic.writers, topic.plan).withColumnRenamed("offset", "seq"))
    assert [(row["seq"], row["code"]) for row in found] == expected
    assert "eternity" not in " ".join(row["reason"] for row in found), "no reason shows a value"
    assert [bytes(row["value"]) for row in found[:4]] == [record[1] for record in topic.records[4:8]]
    sound = frame.where(~F.col("offset").isin([offset for offset, _ in expected]))
    left = rows(decode(sound, topic.writers, topic.plan))
    assert [row.seq for row in left] == [f"{number:08x}" for number in (1, 2, 3, 7)]
    with pytest.raises((PySparkException, Py4JJavaError)):
        decode(frame, topic.writers, topic.plan).collect()
    odd = unknown_schema_records(frame, (1, 2), "some.code", "some reason")
    assert odd.count() == len(topic.records) - 1, "all but the truncate, whose key is null"
    frame.unpersist()


def as_older_versions_wrote(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the envelope's schema as it was without `ts_us` and `ts_ns`."""
    fields = {field["name"]: field for field in copy.deepcopy(schema)["fields"]}
    finer = {"ts_us", "ts_ns"}
    source = fields["source"]["type"]
    source["fields"] = [field for field in source["fields"] if field["name"] not in finer]
    (snapshot,) = (field for field in source["fields"] if field["name"] == "snapshot")
    snapshot |= {"type": ["null", "string"], "default": None}
    order = ("before", "after", "source", "op", "ts_ms", "transaction", "seq")
    return schema | {"fields": [fields[name] for name in order]}


def test_records_of_older_versions_are_read_beside_new_ones(spark: SparkSession) -> None:
    old, new = Topic(KEYED), Topic(KEYED)
    old.value_is(as_older_versions_wrote(dict(old.value_schema)), 4)
    old.tell("c", 1, (1.0, "x", NOON, None))
    new.tell("u", 2, (1.0, "y", NOON, None))
    both = spark.createDataFrame(old.rows() + new.rows(), RECORDS)
    told = {row["value_id"]: row for row in outlines(both, old.texts | new.texts).collect()}
    seen = [(told[number]["newest"], told[number]["broken"]) for number in (4, 2)]
    assert seen == [("00000001", 0), ("00000002", 0)]
    found = rows(decode(both, old.writers | new.writers, new.plan))
    assert [(row.seq, row.row["b"], row.commit_ts) for row in found] == [
        ("00000001", "x", datetime.fromtimestamp(1)),  # noqa: DTZ006 - as Spark gives it
        ("00000002", "y", datetime.fromtimestamp(2)),  # noqa: DTZ006 - the same
    ]


def test_a_placeholder_is_no_value(spark: SparkSession) -> None:
    """T-T05."""
    topic = Topic(KEYED)
    topic.tell("u", 1, (1.0, "__debezium_unavailable_value", NOON, None), unsent=["b"])
    topic.tell("u", 2, (1.0, "__debezium_unavailable_value", NOON, None))  # a row may hold this text
    found = rows(decode(topic.frame(spark), topic.writers, topic.plan))
    assert [row.row["b"] for row in found] == [None, "__debezium_unavailable_value"]


def test_events_under_an_earlier_key_are_left_out(spark: SparkSession) -> None:
    old, new = Topic(KEYED), Topic(replace(KEYED, key=("b",)), key_id=3)
    old.tell("c", 1, (1.0, "x", NOON, None))
    new.tell("c", 2, (1.0, "x", NOON, None), key="x")
    new.tell("r", 3, (2.0, "y", NOON, None), key="y")
    both = spark.createDataFrame(old.rows() + new.rows(), RECORDS)
    floor = floor_of_keys(
        [NewestChange("00000001", 1, 2), NewestChange("00000003", 3, 2)], lambda one: (one.key_id or 0,)
    )
    plan = replace(new.plan, upto=Applied(floor=floor))
    assert [row.seq for row in rows(decode(both, old.writers | new.writers, plan))] == [
        "00000002",
        "00000003",
    ]


def test_unsent_columns_are_those_of_the_source_whatever_avro_calls_them(spark: SparkSession) -> None:
    keyed = Topic(KEYED)
    renamed = replace(
        keyed.plan,
        columns=tuple(
            replace(column, target={"b": "now", "at": "b"}.get(column.target, column.target))
            for column in keyed.plan.columns
            if column.identity != 4
        ),
    )
    keyed.tell("u", 1, (1.0, None, NOON, None), unsent=["b"])
    keyed.tell("u", 2, (1.0, "x", None, None), unsent=["at", "times"])
    found = rows(decode(keyed.frame(spark), keyed.writers, renamed))
    assert [row.unsent for row in found] == [["now"], ["b"]]

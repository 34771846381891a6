"""Spark's from_avro and Kafka Connect's Avro converter read every kind, and both give the values back.

Events are encoded by fastavro, the reference, from the schemas that the product registers.  Values are
compared as text in Avro's own terms (days, microseconds), so that no reader's calendar stands between.
"""

import io
import json
import subprocess
from pathlib import Path
from typing import cast

import fastavro
import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that every user of Spark knows
from pyspark.sql.avro.functions import from_avro

from tests.fixtures.every_kind import SAMPLES, TABLE, event, rows, same
from wrackline.consumers.spark.casts import cast as cast_to
from wrackline.control.local.stack.servers import SchemaRegistry
from wrackline.control.runtime.spark import jars, java
from wrackline.schemas.events.envelope import dump, value_schema
from wrackline.schemas.tables.types import FORMS, ColumnType, Kind, read_type
from wrackline.schemas.versions import APICURIO_CONVERTER, CONNECT

# PySpark leaves the socket of a collect to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

TOPIC = "shop1.shop.public.every_kind"
PROGRAM = Path(__file__).parent / "java" / "ReadByConnect.java"
SCHEMA = value_schema(TABLE, topic=TOPIC, connector="test", source_fields=[])

Seen = dict[str, dict[str, object]]


def encoded() -> list[bytes]:
    """Return every row as an event, without the wire format's header."""
    parsed = fastavro.parse_schema(SCHEMA)
    events = []
    for row in rows():
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, event(row))
        events.append(out.getvalue())
    return events


def differing(read: list[dict[str, object]]) -> list[str]:
    """Name the cells that a reader did not give back."""
    return [
        f"{name} of row {number}"
        for number, (row, again) in enumerate(zip(rows(), read, strict=True))
        for name, value in row.items()
        if not same(value, again[name])
    ]


@pytest.fixture(scope="module")
def by_connect(registry: SchemaRegistry) -> list[Seen]:
    """What the converter saw of each event, from the registered schema and the record's bytes."""
    with SchemaRegistryClient({"url": registry.url}) as client:
        number = client.register_schema(f"{TOPIC}-value", Schema(dump(SCHEMA), "AVRO"))
    header = b"\0" + number.to_bytes(4, "big")
    classpath = jars.classpath(jars.fetch((APICURIO_CONVERTER, *CONNECT)))
    ended = subprocess.run(
        [
            java.find_java().program,
            "-Xmx256m",
            "-cp",
            classpath,
            str(PROGRAM),
            registry.url.replace("ccompat/v7", "registry/v2"),
        ],
        input="".join(f"{(header + data).hex()}\n" for data in encoded()),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return [json.loads(line)["value"] for line in ended.stdout.splitlines()]


@pytest.mark.full
@pytest.mark.full  # Kafka Connect is started; other readers of the same events are in the gate
def test_kafka_connects_converter_reads_every_kind(by_connect: list[Seen]) -> None:
    after = [cast("Seen", seen["after"]["value"]) for seen in by_connect]
    assert differing([{name: cell["value"] for name, cell in row.items()} for row in after]) == []
    assert [seen["seq"]["value"] for seen in by_connect] == ["0001"] * len(by_connect)


@pytest.mark.full
def test_kafka_connect_sees_the_names_of_the_table(by_connect: list[Seen]) -> None:
    after = cast("Seen", by_connect[0]["after"]["value"])
    for sample in SAMPLES:
        form = FORMS[sample.type.kind]
        assert after[sample.name]["name"] == form.connect_name, sample.name
        if form.connect_type:
            assert after[sample.name]["type"] == form.connect_type
    assert after["decimal"]["parameters"] == {"scale": "2", "connect.decimal.precision": "10"}
    assert after["enum"]["parameters"] == {"allowed": "low,it's, high"}


def as_text(column_type: ColumnType, column: Column) -> Column:
    """Turn a value back into Avro's own terms, as text."""
    if column_type.element is not None:
        element = column_type.element
        return F.transform(column, lambda value: as_text(element, value))
    read = read_type(column_type)
    if read == "binary":
        return F.hex(column)
    if read == "date":
        return F.unix_date(column).cast("string")
    if read.startswith("timestamp"):  # without a zone: as if it were UTC, the session's
        return F.unix_micros(column.cast("timestamp")).cast("string")
    return column.cast("string")


@pytest.mark.spark
def test_spark_reads_every_kind(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(bytearray(data),) for data in encoded()], "event binary").coalesce(1)
    after = frame.select(from_avro("event", dump(SCHEMA), {"mode": "FAILFAST"}).alias("event")).select(
        "event.after.*"
    )
    types = {field.name: field.dataType.simpleString() for field in after.schema.fields}
    assert types == {sample.name: read_type(sample.type) for sample in SAMPLES}
    texts = after.select([as_text(sample.type, F.col(sample.name)).alias(sample.name) for sample in SAMPLES])
    assert differing([row.asDict() for row in texts.collect()]) == []


@pytest.mark.spark
def test_a_zoned_timestamp_becomes_the_type_of_a_table(spark: SparkSession) -> None:
    zoned = ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")
    instants = {
        "2026-01-02T03:04:05.123456Z": 1_767_323_045_123_456,
        "1970-01-01T00:00:00Z": 0,
        "-4712-01-01T00:00:00Z": -210_863_520_000_000_000,  # 4713 BC; the calendar of ISO 8601
        "+10000-01-01T00:00:00Z": 253_402_300_800_000_000,
        "infinity": 9_223_372_036_825_200_000,
        "-infinity": -9_223_372_036_832_400_000,
    }
    several = ColumnType(Kind.ARRAY, "timestamptz[]", element=zoned)
    frame = spark.createDataFrame([(text,) for text in instants], f"at {read_type(zoned)}")
    made = cast_to(F.col("at"), zoned), F.element_at(cast_to(F.array("at"), several), 1)
    read = frame.select("at", *map(F.unix_micros, made)).collect()
    assert {text: (one, element) for text, one, element in read} == {
        text: (micros, micros) for text, micros in instants.items()
    }

"""Bytes of one topic to typed changes: frame in, frame out, nothing run.

    outlines   by pair of schemas: newest seq, newest truncate, how many changes (the driver then knows
               which schemas to ask the registry for)
    decode     -> row (struct of the plan's target columns), seq, op, commit_ts, unsent, offset

A record without a value is Kafka's tombstone, made for compaction; the delete before it has said all,
so it is ignored.  Each row is read with the schema that wrote it and brought to the plan's columns by
identity: an old name lands under the new one, a dropped column is left out.
"""

import json
from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.avro.functions import from_avro

from wrackline.consumers.plan import MergePlan
from wrackline.consumers.writers import Writer
from wrackline.schemas.types import spark_type

TRUNCATE = "t"
_HEAD = 5  # a zero byte, then four bytes of schema id, big-endian
_TO_THE_END = 2**31 - 1


def outlines(records: DataFrame, value_texts: Mapping[int, str]) -> DataFrame:
    """Return for each pair of schemas: key_id, value_id, newest (seq), floor (seq of a truncate), changes.

    `newest` is null for the pairs whose value schema is not among the texts, and value_id is null for
    records that do not begin as they should.
    """
    events = _events(records)
    strange = ~F.coalesce(F.col("value_id").isin(*value_texts), F.lit(False))
    nothing = F.lit(None).cast("string")
    parts = [events.where(strange).select("key_id", "value_id", nothing.alias("op"), nothing.alias("seq"))]
    for value_id, text in value_texts.items():
        short = from_avro(_body("value"), text, {"avroSchema": _outline(text)}).alias("e")
        of_schema = events.where(F.col("value_id") == value_id).select("key_id", "value_id", short)
        parts.append(of_schema.select("key_id", "value_id", "e.op", "e.seq"))
    truncated = F.when(F.col("op") == TRUNCATE, F.col("seq"))
    return (
        reduce(DataFrame.union, parts)
        .groupBy("key_id", "value_id")
        .agg(
            F.max("seq").alias("newest"),
            F.max(truncated).alias("floor"),
            F.count_if(F.col("op") != TRUNCATE).alias("changes"),
        )
    )


def decode(records: DataFrame, writers: Mapping[tuple[int, int], Writer], plan: MergePlan) -> DataFrame:
    """Return the changes of all writers, by pair of key_id and value_id, from the plan's floor on."""
    events = _events(records)
    parts = []
    for (key_id, value_id), writer in writers.items():
        written = events.where((F.col("key_id") == key_id) & (F.col("value_id") == value_id)).select(
            from_avro(_body("key"), writer.key_text).alias("k"),
            from_avro(_body("value"), writer.value_text).alias("e"),
            "offset",
        )
        parts.append(_changes(written, writer, plan))
    changes = reduce(DataFrame.union, parts)
    return changes if plan.floor is None else changes.where(F.col("seq") >= plan.floor)


def _changes(written: DataFrame, writer: Writer, plan: MergePlan) -> DataFrame:
    e = F.col("e")
    return written.where(e["op"] != TRUNCATE).select(
        F.struct(*_values(writer, plan)).alias("row"),
        e["seq"].alias("seq"),
        e["op"].alias("op"),
        F.timestamp_millis(e["source"]["ts_ms"]).alias("commit_ts"),
        _unsent(e["source"]["unchanged"], writer, plan).alias("unsent"),
        "offset",
    )


def _values(writer: Writer, plan: MergePlan) -> list[Column]:
    """Return each of the plan's columns: a key's from the record's key, which a delete has too."""
    values = []
    for column in plan.columns:
        type_name = spark_type(column.type)
        if column.target in plan.key:
            value = F.col("k").getField(writer.key_fields[column.identity])
        elif column.identity in writer.fields:
            value = F.col("e")["after"].getField(writer.fields[column.identity])
        else:  # the column is younger than this row
            value = F.lit(None)
        values.append(value.cast(type_name).alias(column.target))
    return values


def _unsent(unchanged: Column, writer: Writer, plan: MergePlan) -> Column:
    """Return the target names of the columns that the log did not send."""
    targets = {column.identity: column.target for column in plan.columns}
    named = {column.name: column.identity for column in writer.table.columns}
    named |= {field: identity for identity, field in writer.fields.items()}
    renamed = {
        name: targets[identity]
        for name, identity in named.items()
        if identity in targets and targets[identity] != name
    }
    if renamed:
        literals = [F.lit(text) for pair in renamed.items() for text in pair]
        to_target = F.create_map(*literals)
        unchanged = F.transform(unchanged, lambda name: F.coalesce(F.try_element_at(to_target, name), name))
    return F.coalesce(unchanged, F.array().cast("array<string>"))


def _events(records: DataFrame) -> DataFrame:
    return records.where(F.col("value").isNotNull()).select(
        "key", "value", "offset", _schema_id("key").alias("key_id"), _schema_id("value").alias("value_id")
    )


def _schema_id(part: str) -> Column:
    starts_right = (F.substring(part, 1, 1) == F.lit(b"\0")) & (F.length(part) >= _HEAD)
    return F.when(starts_right, F.conv(F.hex(F.substring(part, 2, 4)), 16, 10).cast("int"))


def _body(part: str) -> Column:
    return F.substring(part, _HEAD + 1, _TO_THE_END)


def _outline(value_text: str) -> str:
    """Return the envelope's schema with `op` and `seq` alone, so that Avro skips the rest."""
    envelope = json.loads(value_text)
    envelope["fields"] = [field for field in envelope["fields"] if field["name"] in {"op", "seq"}]
    return json.dumps(envelope)

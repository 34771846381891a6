"""Bytes of one topic to rows of events: for tables in which each event has a row of its own.

In: a batch's records, the schemas that wrote them, and the plan of a history or of an append table.  Out: the
frame that a target stages; one row an event, truncates too, which have neither key nor values.

    `_wl_row`   seq              of what came
                seq -            of what went: a key that changes is a delete and a create of one seq
                seq : hash       of a row that was read: the rows of a chunk have one seq, and different keys

It depends only on the record, so the same event has the same row whatever batch it is read in, and whatever
key the table has by then.  What went has the log's old image in an append table; a history takes its key.
"""

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import MergePlan, TableMode
from wrackline.consumers.records.decode import GONE, LEAD, column_values, unsent_columns
from wrackline.consumers.records.wire import body, is_of_pair, parse_avro, reader_schema, with_heads
from wrackline.consumers.records.writer_schema import WriterSchema


def event_rows(
    records: DataFrame, writers: Mapping[tuple[int | None, int], WriterSchema], plan: MergePlan
) -> DataFrame:
    """Return each event once, as a target's frame has it; for one that is there twice, the later offset."""
    parts = [_events(records, pair, writer, plan) for pair, writer in writers.items()]
    found = reduce(DataFrame.union, parts)
    if plan.floor is not None:
        found = found.where(F.col("seq") >= plan.floor)
    return drop_repeats(found, plan)


def drop_repeats(found: DataFrame, plan: MergePlan) -> DataFrame:
    """Return each event once, from row, seq, op, commit_ts, unsent, offset; none takes another's value."""
    key = F.struct(*(F.col("row").getField(name).alias(name) for name in plan.key))
    newest = F.max_by(F.struct("row", "seq", "op", "commit_ts", "unsent"), F.col("offset")).alias("newest")
    nobody = F.array().cast("array<string>")
    return (
        found.groupBy(key)
        .agg(newest)
        .select("newest.*")
        .select(
            "row",
            "seq",
            "op",
            "commit_ts",
            (F.col("op") == "d").alias("deleted"),
            F.when(F.col("op") != "d", F.col("unsent")).otherwise(nobody).alias("unsent"),
            nobody.alias("missing"),
        )
    )


def row_id(seq: Column, op: Column, key: Column) -> Column:
    """Return what identifies an event's row; `key` is bytes that are the same for the same key."""
    read = F.concat(seq, F.lit(":"), F.sha2(key, 256))
    came = F.when((op == "r") & key.isNotNull(), read).otherwise(seq)
    return F.when(op == "d", F.concat(seq, F.lit(GONE))).otherwise(came)


def _events(
    records: DataFrame, pair: tuple[int | None, int], writer: WriterSchema, plan: MergePlan
) -> DataFrame:
    sides = ("after", "before") if plan.mode is TableMode.APPEND else ("after",)
    key = parse_avro("key", writer.key_text)
    value = parse_avro("value", writer.value_text, reader_schema(writer.value_text, (*LEAD, *sides)))
    of_key = body("key").alias("of_key")
    read = (
        with_heads(records)
        .where(is_of_pair(*pair))
        .select(key.alias("k"), value.alias("e"), of_key, "offset")
    )
    e = F.col("e")
    gone = F.when(e["op"] == "d", e["before"]) if "before" in sides else F.lit(None)
    image = F.coalesce(gone, e["after"])
    return read.select(
        F.struct(*column_values(image, writer, plan, row_id(e["seq"], e["op"], F.col("of_key")))).alias(
            "row"
        ),
        e["seq"].alias("seq"),
        e["op"].alias("op"),
        F.timestamp_millis(e["source"]["ts_ms"]).alias("commit_ts"),
        unsent_columns(e["source"]["unchanged"], writer, plan).alias("unsent"),
        "offset",
    )

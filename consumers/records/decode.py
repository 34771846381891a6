"""Bytes of one topic to typed changes: frame in, frame out, nothing run.

    outlines                by pair of schemas: newest seq, newest truncate, how many changes, what is broken
                            or was not sent (the driver then knows which schemas to ask the registry for)
    decode                  -> row (struct of the plan's target columns), seq, op, commit_ts, unsent, offset
    changes                 the same of records that are parsed already
    unreadable_records      -> the records that make `decode` fail, each with code and reason
    unknown_schema_records  -> those whose schemas can't be had

Each row is read with the schema that wrote it and brought to the plan's columns by identity: an old name
lands under the new one, a dropped column is left out.  Of a table without a key each event becomes a
row of its own, or two: what came, under its seq, and what went, as a delete under its seq and a sign.
"""

from collections.abc import Collection, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.counts import OPERATIONS, TRUNCATE, latest_moments
from wrackline.consumers.contract.plan import ROW, Applied, MergePlan, PlannedColumn, TableMode
from wrackline.consumers.records.seq_form import is_well_formed
from wrackline.consumers.records.wire import (
    body,
    head,
    is_of_pair,
    parse_avro,
    reader_schema,
    schema_id,
    with_heads,
)
from wrackline.consumers.records.writer_schema import WriterSchema, position_bytes
from wrackline.consumers.spark.casts import cast, try_cast
from wrackline.schemas.events.unavailable import can_hold
from wrackline.schemas.tables.types import Kind, spark_type

GONE = "-"  # behind the seq of an event that took a row away
BROKEN = "consume.broken_records"
KEY_MISSING = "consume.key_missing"
VALUE_UNFIT = "consume.value_unfit"

SchemaIds = tuple[int | None, int]
WriterSchemas = Mapping[SchemaIds, WriterSchema]

LEAD = ("op", "seq", "source")
_LEAD_TYPE = "struct<source: struct<ts_ms: bigint, unchanged: array<string>>, op: string, seq: string>"
_LETTER = ("partition", "offset", "key", "value")


def outlines(records: DataFrame, value_texts: Mapping[int, str], greatest: str | None = None) -> DataFrame:
    """Return for each pair of schemas what its records say, without their rows.

    key_id, value_id; newest and oldest (seq of a change, empty if there is none), floor (seq of a truncate),
    how many changes and truncates; broken: how many can't be read; unsent: the columns, as the source names
    them, that some event lacks; latest: as contract/counts.py has it; first: where the first record is.
    `newest` is null for the pairs whose value schema is not among the texts, and value_id is null for
    records that do not begin as they should.  `greatest` is the seq of the table's newest change.
    """
    records, lead, known = with_heads(records), F.lit(None).cast(_LEAD_TYPE), F.lit(False)
    of_width: dict[int | None, Column] = {}
    for value_id, text in value_texts.items():  # one pass, however many schemas there are
        of_schema = F.coalesce(F.col("value_head") == head(value_id), F.lit(False))
        lead = F.when(
            of_schema, parse_avro("value", text, reader_schema(text, LEAD), strict=False)
        ).otherwise(lead)
        known = known | of_schema
        width = position_bytes(text)
        of_width[width] = of_width.get(width, F.lit(False)) | of_schema
    formed = reduce(
        Column.__or__,
        (its & is_well_formed(F.col("e.seq"), width, greatest) for width, its in of_width.items()),
        F.lit(False),
    )
    change = F.col("readable") & (F.col("op") != TRUNCATE)
    truncate = F.col("readable") & (F.col("op") == TRUNCATE)
    newest, oldest = (made(F.when(change, F.col("seq"))) for made in (F.max, F.min))
    return (
        records.select(
            *("key_head", "value_head", "value", "partition", "offset", "timestamp"),
            known.alias("known"),
            lead.alias("e"),
        )
        .select("*", "e.op", "e.seq", F.col("e.source.unchanged").alias("unsent"), formed.alias("formed"))
        .withColumn("readable", is_readable(F.col("op"), F.col("seq")) & F.coalesce("formed", F.lit(False)))
        .groupBy("key_head", "value_head")
        .agg(
            F.when(F.bool_and("known"), F.coalesce(newest, F.lit(""))).alias("newest"),
            F.coalesce(oldest, F.lit("")).alias("oldest"),
            F.max(F.when(truncate, F.col("seq"))).alias("floor"),
            F.count_if(change).alias("changes"),
            F.count_if(truncate).alias("truncates"),
            F.count_if(F.col("known") & ~F.col("readable")).alias("broken"),
            F.array_distinct(F.flatten(F.collect_set("unsent"))).alias("unsent"),
            latest_moments(F.col("readable"), F.col("e.source.ts_ms")),
            F.min(F.struct("partition", "offset")).alias("first"),
        )
        .select(schema_id("key_head").alias("key_id"), schema_id("value_head").alias("value_id"), "*")
        .drop("key_head", "value_head")
    )


def decode(
    records: DataFrame, writers: WriterSchemas, plan: MergePlan, *, truncated: bool = True
) -> DataFrame:
    """Return the changes of all writers, by pair of key_id and value_id, from the plan's floor on.

    A record that can't be read makes the batch fail; `unreadable_records` finds those.  Where no truncate is
    among them, the filter for truncates is left out: Spark would parse a value twice.
    What was written under another key than the plan's is void, as batch/key_change.py says, and left out.
    """
    parts = []
    for pair, writer in writers.items():
        if not _same_key(writer, plan):
            continue
        read = _parse_records(records, pair, writer, plan, strict=True)
        parts.append(changes(read.where(F.col("e.op") != TRUNCATE) if truncated else read, writer, plan))
    every = reduce(DataFrame.union, parts)
    return every if plan.floor is None else every.where(F.col("seq") >= plan.floor)


def unreadable_records(
    records: DataFrame, writers: WriterSchemas, plan: MergePlan, lacking_key: Collection[SchemaIds] = ()
) -> DataFrame:
    """Return the records that make a decode fail: partition, offset, code, reason, key, value.

    The writers are those of all pairs of the batch, also of those that have only truncates.
    """
    parts = []
    for pair, writer in writers.items():
        fault = _fault(writer, plan, lacks_key=pair in lacking_key)
        parts.append(_parse_records(records, pair, writer, plan, strict=False).withColumn("fault", fault))
    read = reduce(DataFrame.union, (part.select(*_LETTER, "fault") for part in parts))
    faulty = read.where(F.col("fault").isNotNull())
    return faulty.select("partition", "offset", "fault.code", "fault.reason", "key", "value")


def unknown_schema_records(
    records: DataFrame, pair: tuple[int | None, int | None], code: str, reason: str
) -> DataFrame:
    """Return all records of a pair of schemas that can't be had, as `unreadable_records` does."""
    literals = (F.lit(code).alias("code"), F.lit(reason).alias("reason"))
    return (
        with_heads(records).where(is_of_pair(*pair)).select("partition", "offset", *literals, "key", "value")
    )


def partial_columns(
    unsent: Mapping[tuple[int | None, int], Collection[str]], writers: WriterSchemas, plan: MergePlan
) -> set[str]:
    """Return the target's columns that some event of a batch lacks; `unsent` is what the outlines say."""
    targets = {column.identity: column.target for column in plan.columns}
    return {
        targets[identity]
        for pair, writer in writers.items()
        for name, identity in _identities(writer).items()
        if name in unsent.get(pair, ()) and identity in targets
    }


def _parse_records(
    records: DataFrame, pair: tuple[int | None, int], writer: WriterSchema, plan: MergePlan, *, strict: bool
) -> DataFrame:
    """Return the records of one pair, parsed to k and e; what is not strict has its letter's parts too."""
    wanted = reader_schema(writer.value_text, (*LEAD, "after", *old_side(plan)))
    key = parse_avro("key", writer.key_text, strict=strict)
    value = parse_avro("value", writer.value_text, wanted, strict=strict)
    found = with_heads(records).where(is_of_pair(*pair))
    if strict:
        return found.select(key.alias("k"), value.alias("e"), "offset")
    return found.select(key.alias("k"), value.alias("e"), *_LETTER)


def changes(read: DataFrame, writer: WriterSchema, plan: MergePlan, also: Collection[str] = ()) -> DataFrame:
    """Return what was parsed to k and e as changes of the plan's columns, with some columns that stay."""
    e = F.col("e")
    common: tuple[Column | str, ...] = (
        e["seq"].alias("seq"),
        e["op"].alias("op"),
        F.timestamp_millis(e["source"]["ts_ms"]).alias("commit_ts"),
        unsent_columns(e["source"]["unchanged"], writer, plan).alias("unsent"),
        "offset",
        *also,
    )
    if not plan.keyless:
        row = F.struct(*column_values(e["after"], writer, plan, lacking=plan.lacking))
        return read.select(row.alias("row"), *common)
    came, went = (
        F.struct(
            F.struct(*column_values(image, writer, plan, row_id, plan.lacking)).alias("row"), op.alias("op")
        )
        for image, row_id, op in (
            (e["after"], e["seq"], e["op"]),
            (e["before"], F.concat(e["seq"], F.lit(GONE)), F.lit("d")),
        )
    )
    halves = F.array_compact(F.array(F.when(e["op"] != "d", came), F.when(e["op"].isin("u", "d"), went)))
    split = read.select(F.explode(halves).alias("half"), *common)
    return split.select("half.row", "seq", "half.op", "commit_ts", "unsent", "offset", *also)


def column_values(
    image: Column,
    writer: WriterSchema,
    plan: MergePlan,
    row_id: Column | None = None,
    lacking: Collection[str] | None = None,
) -> list[Column]:
    """Return each of the plan's columns: a key's from the record's key, which a delete has too."""
    values = []
    for column in plan.columns:
        if column.identity == ROW and row_id is not None:
            value = row_id
        elif column.identity in writer.key_fields:
            value = F.col("k").getField(writer.key_fields[column.identity])
        elif column.identity in writer.fields:
            value = sent_value(image, column, writer, lacking)
        else:  # the column is younger than this row
            value = F.lit(None)
        values.append(cast(value, column.type).alias(column.target))
    return values


def sent_value(
    image: Column, column: PlannedColumn, writer: WriterSchema, lacking: Collection[str] | None = None
) -> Column:
    """Return a column of the event `e`, null where the log did not send it: a placeholder is not a value.

    `lacking` are the columns that some event lacks, where that is known.
    """
    value = image.getField(writer.fields[column.identity])
    written = next(one for one in writer.table.columns if one.identity == column.identity)
    if (lacking is not None and column.target not in lacking) or not can_hold(written.type):
        return value
    unsent = F.array_contains(F.col("e.source.unchanged"), written.name)
    return F.when(~F.coalesce(unsent, F.lit(False)), value)


def _fault(writer: WriterSchema, plan: MergePlan, *, lacks_key: bool) -> Column:
    """Return code and reason of what is wrong with a record that was not parsed strictly, or null."""
    e, k = F.col("e"), F.col("k")
    unreadable = ~is_readable(e["op"], e["seq"])
    found = F.when(unreadable, _reason(BROKEN, "the value is not what its schema says"))
    formed = is_well_formed(e["seq"], writer.facts.position_bytes, newest_seq(plan.since))
    found = found.when(~formed, _reason(BROKEN, "no source of ours writes such a seq"))
    if lacks_key:
        reason = "the record has no key, though the rows of its table have one"
        found = found.when(e["op"] != TRUNCATE, _reason(KEY_MISSING, reason))
    if writer.key_fields:
        # bad bytes become nulls, and a key of nulls has nulls, too, but all its bytes are zero
        nulls = reduce(Column.__and__, [k.getField(field).isNull() for field in writer.key_fields.values()])
        zeros = body("key") == F.lit(bytes(len(writer.key_fields)))
        found = found.when(nulls & ~zeros, _reason(BROKEN, "the key is not what its schema says"))
    for column in plan.columns if _same_key(writer, plan) else ():
        its_type = spark_type(column.type)
        if column.target in plan.key and column.identity in writer.key_fields:
            images = [k.getField(writer.key_fields[column.identity])]
        elif column.identity in writer.fields:
            sides = ("after", *old_side(plan))
            images = [sent_value(e[side], column, writer) for side in sides]
        else:
            continue
        for value in images:
            fits = try_cast(value, column.type)
            lost = value.isNotNull() & fits.isNull()
            if column.type.kind is Kind.ARRAY:  # its elements are cast one by one
                lost = lost | (F.size(F.array_compact(value)) != F.size(F.array_compact(fits)))
            reason = f"a value of column {column.source!r} does not fit {its_type}"
            found = found.when(lost, _reason(VALUE_UNFIT, reason))
    return found


def _reason(code: str, reason: str) -> Column:
    return F.struct(F.lit(code).alias("code"), F.lit(reason).alias("reason"))


def is_readable(op: Column, seq: Column) -> Column:
    """Whether a value was read to its last byte: its seq is at its end."""
    ends = F.endswith("value", seq.cast("binary"))
    return F.coalesce(op.isin(*OPERATIONS) & (seq != "") & ends, F.lit(False))


def newest_seq(applied: Applied) -> str | None:
    """Return the seq of a table's newest change."""
    return None if applied.newest is None else applied.newest.seq


def unsent_columns(unchanged: Column, writer: WriterSchema, plan: MergePlan) -> Column:
    """Return the target names of the columns that the log did not send."""
    targets = {column.identity: column.target for column in plan.columns}
    found = {name: targets.get(identity) for name, identity in _identities(writer).items()}
    if any(name != target for name, target in found.items()):
        literals = [F.lit(text) for name, target in found.items() if target for text in (name, target)]
        known = F.create_map(*literals)  # not a dropped column's, whose name another may have by now
        unchanged = F.array_compact(F.transform(unchanged, lambda name: F.try_element_at(known, name)))
    return F.coalesce(unchanged, F.array().cast("array<string>"))


def _identities(writer: WriterSchema) -> dict[str, int]:
    """Return the columns by the names that `unchanged` has: the source's, which no other column shares."""
    return {column.name: column.identity for column in writer.table.columns}


def old_side(plan: MergePlan) -> tuple[str, ...]:
    """Return what is read of a row besides its new side."""
    return ("before",) if plan.keyless or plan.mode is TableMode.APPEND else ()


def _same_key(writer: WriterSchema, plan: MergePlan) -> bool:
    """Whether the key is the one that this was written with; an event has its own row in an append table."""
    of_source = [column.identity for column in plan.table.key_columns if column.identity != ROW]
    return plan.mode is TableMode.APPEND or of_source == [
        column.identity for column in writer.table.key_columns
    ]

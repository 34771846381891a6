"""A batch in which every record was written as the table's newest change was: decoded in one pass.

In: a batch's records, how that change was written, and the plan that follows from it.  Out: the newest change
of each key, as dedupe.py gives it, and the counts of them.  It is made before it is known whether the batch
is of this kind; every row says whether its record fits, and if one does not, the caller looks at the whole
batch.  What does not fit is a record

    of other schemas, or none          that can't be read, or has no key
    that truncates the table           that lacks a value which an older one of the batch may have

A table whose key may be written in two ways (a float's zeros) has no such batch, because one key to Spark is
two to replaced_records.py.  What a newer record has replaced is never parsed: it may be damaged.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.batch_scope import Outline, SchemaPair
from wrackline.consumers.contract.counts import TRUNCATE, LatestChange, latest_moments
from wrackline.consumers.contract.plan import MergePlan, NewestChange
from wrackline.consumers.records.decode import LEAD, changes, is_readable
from wrackline.consumers.records.dedupe import single_changes
from wrackline.consumers.records.replaced_records import OF_FORM, drop_replaced
from wrackline.consumers.records.seq_form import is_well_formed
from wrackline.consumers.records.wire import parse_avro, reader_schema
from wrackline.consumers.records.writer_schema import WriterSchema
from wrackline.schemas.tables.types import Kind

_AS_KNOWN = "as_known"
_OF_ONE_FORM = frozenset(  # other bytes are another value, for Spark too
    {Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.STRING, Kind.UUID, Kind.DATE}
)


def fits_fast_path(plan: MergePlan) -> bool:
    """Whether keys with different bytes are different keys."""
    return all(column.type.kind in _OF_ONE_FORM for column in plan.columns if column.target in plan.key)


def fast_newest_changes(
    records: DataFrame, known: NewestChange, writer: WriterSchema, plan: MergePlan
) -> DataFrame:
    """Return the newest change of each key from the plan's floor on; what is not as known has no row."""
    wanted = reader_schema(writer.value_text, (*LEAD, "after"))
    ours = F.col(OF_FORM)
    read = drop_replaced(records, known).select(
        F.when(ours, parse_avro("key", writer.key_text, strict=False)).alias("k"),
        F.when(ours, parse_avro("value", writer.value_text, wanted, strict=False)).alias("e"),
        *("value", "offset", "timestamp"),
    )
    sound = F.coalesce(_is_sound(writer, known), F.lit(False)).alias(_AS_KNOWN)
    taken = [F.when(F.col(_AS_KNOWN), F.col(part)).alias(part) for part in ("k", "e")]
    judged = read.select("k", "e", "offset", "timestamp", sound)
    judged = judged.select(*taken, "offset", "timestamp", _AS_KNOWN)
    found = changes(judged, writer, plan, also=("timestamp", _AS_KNOWN))
    if plan.floor is not None:
        found = found.where(~F.col(_AS_KNOWN) | (F.col("seq") >= plan.floor))
    return single_changes(found, also=("timestamp", _AS_KNOWN))


def outline_columns() -> Column:
    """Return what the outline needs from these changes."""
    return F.struct(
        F.count("*").alias("changes"),
        F.count_if(~F.col(_AS_KNOWN)).alias("others"),
        F.coalesce(F.max("seq"), F.lit("")).alias("newest"),
        latest_moments(F.col(_AS_KNOWN), F.unix_millis("commit_ts")),
    )


def read_outline(answer: Row, known: NewestChange) -> Outline | None:
    """Return the batch's outline; None: it is not as known."""
    if answer["others"]:
        return None
    latest = None if answer["latest"] is None else LatestChange(*answer["latest"])
    pair = SchemaPair(known.key_id, known.value_id)
    return Outline(pair, answer["newest"], None, answer["changes"], latest=latest)


def _is_sound(writer: WriterSchema, known: NewestChange) -> Column:
    """Whether a record holds one row's change, whole."""
    e, k = F.col("e"), F.col("k")
    fields = [k.getField(name).isNotNull() for name in writer.key_fields.values()]
    whole = (e["op"] != TRUNCATE) & (F.coalesce(F.size(e["source"]["unchanged"]), F.lit(0)) == 0)
    formed = is_well_formed(e["seq"], writer.facts.position_bytes, known.seq)
    return reduce(Column.__and__, fields, is_readable(e["op"], e["seq"]) & formed & whole)

"""A batch that holds nothing but what was written as the table's newest change was: decoded in one pass.

In: a batch's records, how that change was written, and the plan that follows from it.  Out: the newest change
of each key, as dedupe.py gives it, and what is counted of them.  It is made before anybody knows whether the
batch is such a one; every row says whether it is, and if one is not, whoever sees it looks at the batch
whole.  Not such a one is a record

    of other schemas, or none          that can't be read, or has no key
    that truncates the table           that lacks a value which an older one of the batch may have

A table whose key may be written in two ways (a float's zeros) has no such batch, for what is one key to Spark
are two to superseded.py.  What a newer record has replaced is never parsed: it may be damaged.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.decode import LEAD, changes, readable
from wrackline.consumers.dedupe import single
from wrackline.consumers.plan import MergePlan, Written
from wrackline.consumers.rounds import Outline, Pair
from wrackline.consumers.seq_form import well_formed
from wrackline.consumers.superseded import OF_FORM, without_superseded
from wrackline.consumers.tally import TRUNCATE, Latest, moments
from wrackline.consumers.wire import parsed, told
from wrackline.consumers.writers import Writer
from wrackline.schemas.types import Kind

_AS_KNOWN = "as_known"
_OF_ONE_FORM = frozenset(  # other bytes are another value, for Spark too
    {Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.STRING, Kind.UUID, Kind.DATE}
)


def can_be(plan: MergePlan) -> bool:
    """Whether keys of other bytes are other keys."""
    return all(column.type.kind in _OF_ONE_FORM for column in plan.columns if column.target in plan.key)


def newest_as_known(records: DataFrame, known: Written, writer: Writer, plan: MergePlan) -> DataFrame:
    """Return the newest change of each key from the plan's floor on; what is not as known has no row."""
    wanted = told(writer.value_text, (*LEAD, "after"))
    ours = F.col(OF_FORM)
    read = without_superseded(records, known).select(
        F.when(ours, parsed("key", writer.key_text, strict=False)).alias("k"),
        F.when(ours, parsed("value", writer.value_text, wanted, strict=False)).alias("e"),
        *("value", "offset", "timestamp"),
    )
    sound = F.coalesce(_sound(writer, known), F.lit(False)).alias(_AS_KNOWN)
    taken = [F.when(F.col(_AS_KNOWN), F.col(part)).alias(part) for part in ("k", "e")]
    judged = read.select("k", "e", "offset", "timestamp", sound)
    judged = judged.select(*taken, "offset", "timestamp", _AS_KNOWN)
    found = changes(judged, writer, plan, also=("timestamp", _AS_KNOWN))
    if plan.floor is not None:
        found = found.where(~F.col(_AS_KNOWN) | (F.col("seq") >= plan.floor))
    return single(found, also=("timestamp", _AS_KNOWN))


def counted() -> Column:
    """Return what is to be asked of these changes."""
    return F.struct(
        F.count("*").alias("changes"),
        F.count_if(~F.col(_AS_KNOWN)).alias("others"),
        F.coalesce(F.max("seq"), F.lit("")).alias("newest"),
        moments(F.col(_AS_KNOWN), F.unix_millis("commit_ts")),
    )


def outline(answer: Row, known: Written) -> Outline | None:
    """Return the batch's outline; None: it is not as known."""
    if answer["others"]:
        return None
    latest = None if answer["latest"] is None else Latest(*answer["latest"])
    pair = Pair(known.key_id, known.value_id)
    return Outline(pair, answer["newest"], None, answer["changes"], latest=latest)


def _sound(writer: Writer, known: Written) -> Column:
    """Whether a record holds one row's change, whole."""
    e, k = F.col("e"), F.col("k")
    fields = [k.getField(name).isNotNull() for name in writer.key_fields.values()]
    whole = (e["op"] != TRUNCATE) & (F.coalesce(F.size(e["source"]["unchanged"]), F.lit(0)) == 0)
    formed = well_formed(e["seq"], writer.said.position_bytes, known.seq)
    return reduce(Column.__and__, fields, readable(e["op"], e["seq"]) & formed & whole)

"""Of each key its newest record, told by bytes: what an older one held is never parsed.

In: a batch's records and its outlines.  Out: the records that `decode` has to read, and whether they are one
a key already.  A seq stands last in its value, as the outlines have made sure, and where all have one width
it is the value's last bytes.  The same bytes are the same key.  Where some event lacks a value that an
older one of the batch may have, or a row is no key's, every record is needed.

    one key, other bytes   -0.0 and 0.0, or one value under two schemas: dedupe.py takes the newer
    truncates              have no key; what they say, the outlines have said
"""

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.decode import decode, partial_columns
from wrackline.consumers.dedupe import dedupe, single
from wrackline.consumers.events import event_rows
from wrackline.consumers.plan import MergePlan, Mode
from wrackline.consumers.rounds import Outline
from wrackline.consumers.writers import Writer
from wrackline.schemas.types import Kind

_OF_ONE_FORM = frozenset(  # other bytes are another value, for Spark too
    {Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.STRING, Kind.UUID, Kind.DATE}
)
Writers = Mapping[tuple[int | None, int], Writer]


def latest(records: DataFrame, outlines: Collection[Outline], writers: Writers, plan: MergePlan) -> DataFrame:
    """Return the newest change of each key, as dedupe.py describes it; where events are kept, all of them."""
    if plan.mode is not Mode.UPSERT:
        return event_rows(records, writers, plan)
    partial = partial_columns({one.pair: one.unsent for one in outlines}, writers, plan)
    width = _width(outlines)
    if partial or plan.keyless or width is None:
        changes = decode(records, writers, plan)
    else:
        sifted = not any(one.floor for one in outlines if one.pair in writers)
        changes = decode(newest(records, width, plan.floor), writers, plan, sifted=sifted)
        if _one_form(writers, plan):
            return single(changes)
    return dedupe(changes, [column.target for column in plan.columns], plan.key, partial)


def newest(records: DataFrame, width: int, floor: str | None) -> DataFrame:
    """Return each key's record with the greatest seq; the later one of two that are the same event."""
    kept = [name for name in records.columns if name != "key"]
    seq = F.substring("value", -width, width)
    valid = F.col("key").isNotNull() & F.col("value").isNotNull()
    valid = valid if floor is None else valid & (seq >= F.lit(floor.encode()))
    order = F.struct(seq.alias("seq"), "offset")
    return (
        records.where(valid)
        # sorted by the number first: keys begin alike, and Spark compares their first bytes fastest
        .groupBy(F.xxhash64("key").alias("hash"), "key")
        .agg(F.max_by(F.struct(*kept), order).alias("newest"))
        .select("key", "newest.*")
    )


def _width(outlines: Collection[Outline]) -> int | None:
    """Return the one width that all seqs have."""
    widths = {width for one in outlines for width in one.widths}
    return widths.pop() if len(widths) == 1 else None


def _one_form(writers: Writers, plan: MergePlan) -> bool:
    """Whether each key has been written in one way only, and is planned as it was written."""
    kinds = {column.target: column.type.kind for column in plan.columns}
    planned = tuple(kinds[name] for name in plan.key)
    written = {tuple(column.type.kind for column in one.table.key_columns) for one in writers.values()}
    one_schema = len({key_id for key_id, _ in writers}) == 1
    return one_schema and written == {planned} and _OF_ONE_FORM.issuperset(planned)

"""Of each key its newest record, told by bytes: what an older one held is never parsed.

In: a batch's records, and how the table's newest change was written.  Out: the same records without those
that a newer one of the batch has replaced for certain:

    its value begins with the schema that is known
    it ends with a seq of the width that is known: Avro writes a text's length before it
    another record of this form has the same key's bytes, and a greater seq

Everything else is left in: what was written with another schema, has no key, or is not ours at all.  A record
that is left out may still have sent a column that the newer one lacks; who finds such a newer one reads
the batch whole (newest.py).
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.plan import Written
from wrackline.consumers.wire import head

_ONE_BYTE = 64  # Avro writes lengths below it in one byte


def without_superseded(records: DataFrame, known: Written | None) -> DataFrame:
    """Leave out what is certainly replaced; the later one of two that are the same event stays."""
    if known is None or known.key_id is None or len(known.seq) >= _ONE_BYTE:
        return records
    width = len(known.seq)
    seq = F.substring("value", -width, width)
    length = F.substring("value", -width - 1, 1) == F.lit(bytes([2 * width]))
    of_form = F.col("key").isNotNull() & F.startswith("value", head(known.value_id)) & length
    # by the number first: keys begin alike, and Spark compares what stands first fastest
    number = F.when(of_form, F.xxhash64("key")).otherwise(F.xxhash64("partition", "offset"))
    kept = [name for name in records.columns if name not in {"key", "offset"}]
    newest = F.max(F.struct(seq.alias("seq"), "offset", *kept)).alias("newest")
    return (
        records.where(F.col("value").isNotNull())
        .groupBy(number.alias("number"), "key")
        .agg(newest)
        .select("key", "newest.offset", *(f"newest.{name}" for name in kept))
    )

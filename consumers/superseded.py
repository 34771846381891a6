"""Of each key its newest record, told by bytes: what an older one held is never parsed.

In: a batch's records, and how the table's newest change was written.  Out: the same records without those
that a newer one of the batch has replaced for certain:

    its value begins with the schema that is known
    it ends with a seq of the width that is known: Avro writes a text's length before it
    another record of this form has the same key's bytes, and a greater seq

Everything else is left in: what was written with another schema, has no key, or is not ours at all.  Keys
are told apart by a number of theirs, a quarter cheaper than by their bytes; `mixed` says where two keys have
one number, and whoever sees it takes the batch whole.  `older` counts what is left out.  A record that is may
still have sent a column that the newer one lacks; who finds such a newer one reads the batch whole too
(newest.py).
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.plan import Written
from wrackline.consumers.wire import head

MIXED, OLDER = "mixed", "older"
_ONE_BYTE = 64  # Avro writes lengths below it in one byte
_OF_FORM = -1  # where a record of another form has its partition


def told_by_bytes(newest: Written | None) -> Written | None:
    """Return how the newest change was written, where bytes tell what it is that another has replaced."""
    return newest if newest and newest.key_id is not None and len(newest.seq) < _ONE_BYTE else None


def without_superseded(records: DataFrame, known: Written) -> DataFrame:
    """Leave out what is certainly replaced; the later one of two that are the same event stays."""
    width = len(known.seq)
    seq = F.substring("value", -width, width)
    length = F.substring("value", -width - 1, 1) == F.lit(bytes([2 * width]))
    of_form = F.col("key").isNotNull() & F.startswith("value", head(known.value_id)) & length
    kept = [name for name in records.columns if name != "offset"]
    newest = F.max(F.struct(seq.alias("seq"), "offset", *kept)).alias("newest")
    mixed = F.coalesce(F.min("key") != F.max("key"), F.lit(False))
    return (
        records.where(F.col("value").isNotNull())
        .groupBy(
            F.when(of_form, F.xxhash64("key")).otherwise(F.col("offset")).alias("number"),
            F.when(of_form, F.lit(_OF_FORM)).otherwise(F.col("partition")).alias("place"),
        )
        .agg(newest, mixed.alias(MIXED), (F.count("*") - 1).alias(OLDER))
        .select("newest.offset", *(f"newest.{name}" for name in kept), MIXED, OLDER)
    )

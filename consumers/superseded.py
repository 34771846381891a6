"""Of each key its newest record, told by bytes: what an older one held is never parsed.

In: a batch's records, and how the table's newest change was written.  Out: the same records, each with
whether it is of that form, and of those that are, the newest of each key alone:

    its key and its value begin with the schemas that are known
    it ends with a seq of the width that is known: Avro writes a text's length before it

Everything else is left in: what was written with another schema, has no key, or is not ours at all.  Records
are sorted by a number of their key, and told apart by the key: to sort and to take the first of each costs
less than to aggregate, for Spark copies what it aggregates.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.plan import Written
from wrackline.consumers.wire import head

OF_FORM = "of_form"
_ONE_BYTE = 64  # Avro writes lengths below it in one byte


def told_by_bytes(newest: Written | None) -> Written | None:
    """Return how the newest change was written, where bytes tell what it is that another has replaced."""
    return newest if newest and newest.key_id is not None and len(newest.seq) < _ONE_BYTE else None


def without_superseded(records: DataFrame, known: Written) -> DataFrame:
    """Leave out what is certainly replaced; the later one of two that are the same event stays."""
    width = len(known.seq)
    length = F.substring("value", -width - 1, 1) == F.lit(bytes([2 * width]))
    begins = F.startswith("key", head(known.key_id)) & F.startswith("value", head(known.value_id))
    of_form = F.coalesce(begins & length, F.lit(False))
    itself = F.concat_ws(":", "partition", "offset").cast("binary")  # no key begins so
    apart = F.when(F.col(OF_FORM), F.col("key")).otherwise(itself)
    seq = F.substring("value", -width, width).cast("string")  # texts are compared in place, bytes are copied
    place = Window.partitionBy("number", "apart").orderBy(F.desc("seq"), F.desc("offset"))
    return (
        records.where(F.col("value").isNotNull())
        .withColumn(OF_FORM, of_form)
        .withColumns({"apart": apart, "seq": seq})
        .withColumn("number", F.xxhash64("apart"))
        .withColumn("place", F.row_number().over(place))
        .where("place = 1")
        .drop("number", "apart", "seq", "place")
    )

"""The newest record of each key, recognised by bytes: what an older one held is never parsed.

In: a batch's records, and how the table's newest change was written.  Out: the same records, each with
whether it is of that form; of those that are, only the newest of each key.  A record is of that form if

    its key and its value begin with the schemas that are known
    it ends with a seq of the width that is known: Avro writes a text's length before it

Records without a value are left out.  Everything else stays: what was written with another schema, has no
key, or is not ours at all.  Records are sorted by a number of their key, and distinguished by the key:
sorting and taking the first of each costs less than aggregating, because Spark copies what it aggregates.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import NewestChange
from wrackline.consumers.records.wire import head

OF_FORM = "of_form"
_ONE_BYTE = 64  # Avro writes lengths below it in one byte


def comparable_by_bytes(newest: NewestChange | None) -> NewestChange | None:
    """Return how the newest change was written, if bytes show which records are replaced."""
    return newest if newest and newest.key_id is not None and len(newest.seq) < _ONE_BYTE else None


def drop_replaced(records: DataFrame, known: NewestChange) -> DataFrame:
    """Leave out what is certainly replaced; of two records of the same event the later one stays."""
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

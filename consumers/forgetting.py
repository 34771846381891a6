"""What a table of Spark's may forget: tombstones that no event can be older than any more.

In: a table, and the moment before which a delete may be forgotten.  Out: the same table for every reader.
Without a key it is pairs of what came and what went.  A table that has nothing to forget gets no commit.
"""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.merge_sql import quoted
from wrackline.consumers.plan import OurColumns
from wrackline.consumers.spark_reader import keyless, pairs

_VIEW = "wrackline_forgotten"


def forget(session: SparkSession, name: str, ours: OurColumns, before_ms: int) -> int:
    """Delete them, in one commit; return how many they were."""
    rows = session.table(name)
    if keyless(rows):
        which = pairs(rows, ours, before_ms)
        row = quoted(ours.row)
        # a MERGE, for Delta's DELETE knows no subquery
        statement = f"MERGE INTO {name} t USING {_VIEW} s ON t.{row} = s.{row} WHEN MATCHED THEN DELETE"
    else:
        old = f"{quoted(ours.deleted)} AND {quoted(ours.commit_ts)} < timestamp_millis({before_ms})"
        which = rows.where(F.expr(old))
        statement = f"DELETE FROM {name} WHERE {old}"  # noqa: S608 - names are quoted
    many = which.count()
    if many:
        which.createOrReplaceTempView(_VIEW)
        session.sql(statement)
    return many

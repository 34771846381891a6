"""What a table of Spark's may forget: tombstones that no event can be older than any more.

In: a table, and the moment before which a delete may be forgotten.  Out: the same table for every reader.
Without a key they are pairs of what came and what went.  A table that has nothing to forget gets no commit.
"""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import OurColumns
from wrackline.consumers.lake.merge_sql import quote
from wrackline.consumers.lake.reader_view import cancelled_pairs, is_keyless

_VIEW = "wrackline_forgotten"


def forget_tombstones(session: SparkSession, name: str, ours: OurColumns, before_ms: int) -> int:
    """Delete them, in one commit; return how many there were."""
    rows = session.table(name)
    if is_keyless(rows):
        which = cancelled_pairs(rows, ours, before_ms)
        row = quote(ours.row)
        # a MERGE, because Delta's DELETE supports no subquery
        statement = f"MERGE INTO {name} t USING {_VIEW} s ON t.{row} = s.{row} WHEN MATCHED THEN DELETE"
    else:
        old = f"{quote(ours.deleted)} AND {quote(ours.commit_ts)} < timestamp_millis({before_ms})"
        which = rows.where(F.expr(old))
        statement = f"DELETE FROM {name} WHERE {old}"  # noqa: S608 - names are quoted
    many = which.count()
    if many:
        which.createOrReplaceTempView(_VIEW)
        session.sql(statement)
    return many

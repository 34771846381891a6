"""Typed changes to one change a key: the newest, with what earlier ones of the batch knew.

In: the frame of decode.py.  Out: row, seq, op, commit_ts, deleted, unsent, missing; one row a key.

A column that the newest change did not send takes the value of the last change that did, but never
over the beginning of the row: a create, a snapshot row or a delete (`begin`).

    c a=1 b=1 | u a=2 (b unsent)   -> a=2 b=1
    u a=2 (b unsent)               -> a=2, unsent [b]: the stored value stays
    d | c a=3 (b unsent)           -> a=3, missing [b]: what is stored belongs to another row

Equal seqs are the same event twice; the later offset is taken.  What is read a second time is read
without gaps (INV-3), so an earlier change of the batch never knows less than the stored row.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

_BEGINNINGS = ("c", "r", "d")


def dedupe(changes: DataFrame, columns: Sequence[str], key: Sequence[str]) -> DataFrame:
    """Return the newest change per key; `columns` are the row's, in order, `key` among them."""
    order = F.struct("seq", "offset")
    carried = [column for column in columns if column not in key]
    row = F.col("row")
    folded = changes.groupBy(F.struct(*(row.getField(name).alias(name) for name in key)).alias("key")).agg(
        F.max_by(F.struct("seq", "op", "commit_ts"), order).alias("newest"),
        F.max(F.when(F.col("op").isin(*_BEGINNINGS), F.col("seq"))).alias("begin"),
        *(_last_sent(name, order).alias(f"sent_{at}") for at, name in enumerate(carried)),
    )
    sent = {name: F.col(f"sent_{at}") for at, name in enumerate(carried)}
    deleted = F.col("newest.op") == "d"
    lacking = F.when(deleted, _names([])).otherwise(
        F.array_compact(F.array(*(F.when(~_known(at), F.lit(name)) for name, at in sent.items())))
        if sent
        else _names([])
    )
    whole = F.col("begin").isNotNull()
    key_struct = F.col("key")
    values = [
        (
            key_struct.getField(name)
            if name in key
            else F.when(_known(sent[name]), sent[name].getField("value"))
        ).alias(name)
        for name in columns
    ]
    return folded.select(
        F.struct(*values).alias("row"),
        "newest.seq",
        "newest.op",
        "newest.commit_ts",
        deleted.alias("deleted"),
        F.when(whole, _names([])).otherwise(lacking).alias("unsent"),
        F.when(whole, lacking).otherwise(_names([])).alias("missing"),
    )


def _last_sent(name: str, order: Column) -> Column:
    """Return seq and value of the last change that sent a column; a delete sends none."""
    sent = ~F.array_contains("unsent", name) & (F.col("op") != "d")
    value = F.struct(F.col("seq"), F.col("row").getField(name).alias("value"))
    return F.max_by(F.when(sent, value), F.when(sent, order))


def _known(sent: Column) -> Column:
    """Whether a value was sent at or after the row's beginning."""
    at = sent.getField("seq")
    return at.isNotNull() & (F.col("begin").isNull() | (at >= F.col("begin")))


def _names(names: Sequence[str]) -> Column:
    return F.array(*map(F.lit, names)).cast("array<string>")

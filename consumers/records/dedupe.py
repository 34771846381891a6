"""Typed changes to one change a key: the newest, with what earlier ones of the batch knew.

In: the frame of decode.py.  Out: row, seq, op, commit_ts, deleted, unsent, missing; one row a key.

A column that the newest change did not send takes the value of the last change that did, but never
over the beginning of the row: a create, a snapshot row or a delete (`begin`).

    c a=1 b=1 | u a=2 (b unsent)   -> a=2 b=1
    u a=2 (b unsent)               -> a=2, unsent [b]: the stored value stays
    d | c a=3 (b unsent)           -> a=3, missing [b]: what is stored belongs to another row

Equal seqs are the same event twice; the later offset is taken.  What is read a second time is read
without gaps (INV-3), so an earlier change of the batch never knows less than the stored row.  Where a
key changed to one that Spark considers the same (-0.0 to 0.0), delete and create have one seq: the
create is taken, and the key's value is the newest change's own.
"""

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

_BEGINNINGS = ("c", "r", "d")


def dedupe(
    changes: DataFrame,
    columns: Sequence[str],
    key: Sequence[str],
    partial: Collection[str] | None = None,
    *,
    told_late: bool = False,
) -> DataFrame:
    """Return the newest change per key; `columns` are the row's, in order, `key` among them.

    `partial` are the columns that some change of the batch lacks, where that is known: the others are
    taken from the newest change as they are, which costs much less.  With `told_late` there is also
    `known_at`: by column, the seq of what an older change of the batch said of it, or null.
    """
    order = F.struct(F.col("seq"), F.col("op") != "d", F.col("offset"))
    carried = [name for name in columns if name not in key and (partial is None or name in partial)]
    folded = changes.groupBy(F.struct(*(F.col("row").getField(name).alias(name) for name in key))).agg(
        F.max_by(F.struct("row", "seq", "op", "commit_ts"), order).alias("newest"),
        *([F.max(F.when(F.col("op").isin(*_BEGINNINGS), F.col("seq"))).alias("begin")] if carried else []),
        *(_last_sent(name, order).alias(f"sent_{at}") for at, name in enumerate(carried)),
    )
    newest = F.col("newest")
    deleted = newest["op"] == "d"
    common = (newest["seq"].alias("seq"), newest["op"].alias("op"), newest["commit_ts"].alias("commit_ts"))
    if not carried:
        alone = folded.select("newest.*", *([_when_known(columns, {})] if told_late else []))
        return single_changes(alone, ("known_at",) if told_late else ())
    sent = {name: F.col(f"sent_{at}") for at, name in enumerate(carried)}
    lacking = F.when(deleted, _names([])).otherwise(
        F.array_compact(F.array(*(F.when(~_is_known(at), F.lit(name)) for name, at in sent.items())))
    )
    values = [
        (
            F.when(_is_known(sent[name]), sent[name].getField("value"))
            if name in sent
            else newest["row"].getField(name)
        ).alias(name)
        for name in columns
    ]
    whole = F.col("begin").isNotNull()
    return folded.select(
        F.struct(*values).alias("row"),
        *common,
        deleted.alias("deleted"),
        F.when(whole, _names([])).otherwise(lacking).alias("unsent"),
        F.when(whole, lacking).otherwise(_names([])).alias("missing"),
        *([_when_known(columns, sent)] if told_late else []),
    )


def single_changes(changes: DataFrame, also: Collection[str] = ()) -> DataFrame:
    """Return changes that are one a key and lack nothing, with some columns that stay."""
    empty = _names([])
    deleted = (F.col("op") == "d").alias("deleted")
    lists = (empty.alias("unsent"), empty.alias("missing"))
    return changes.select("row", "seq", "op", "commit_ts", deleted, *lists, *also)


def _last_sent(name: str, order: Column) -> Column:
    """Return seq and value of the last change that sent a column; a delete sends none."""
    sent = ~F.array_contains("unsent", name) & (F.col("op") != "d")
    value = F.struct(F.col("seq"), F.col("row").getField(name).alias("value"))
    return F.max_by(F.when(sent, value), F.when(sent, order))


def _is_known(sent: Column) -> Column:
    """Whether a value was sent at or after the row's beginning."""
    at = sent.getField("seq")
    return at.isNotNull() & (F.col("begin").isNull() | (at >= F.col("begin")))


def _when_known(columns: Sequence[str], sent: Mapping[str, Column]) -> Column:
    """Return when each column's value was known: when it was sent, or when the row began without it."""
    nobody = F.lit(None).cast("string")
    at = (
        F.greatest(sent[name].getField("seq"), F.col("begin")) if name in sent else nobody for name in columns
    )
    return F.array(*at).alias("known_at")


def _names(names: Sequence[str]) -> Column:
    return F.array(*map(F.lit, names)).cast("array<string>")

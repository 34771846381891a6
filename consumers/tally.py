"""What a batch says of itself beside its rows: how many of each operation, and its newest change's moments.

In: the events as decode.py outlines them, with when each was committed at the source and when Kafka took it.
Out: columns that are counted in the same pass, and their sums as plain values.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, Row
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

OPERATIONS = ("c", "u", "d", "r", "t")
_FROM_THE_LOG = ("c", "u", "d")  # a row that was read has no commit to be late for


@dataclass(frozen=True, slots=True, order=True)
class Latest:
    """The newest change that came from the log."""

    seq: str
    committed_ms: int  # at the source
    published_ms: int  # when its record was made


@dataclass(frozen=True, slots=True)
class Tally:
    """What was counted of a batch, or of its part."""

    operations: Mapping[str, int] = field(default_factory=dict)
    latest: Latest | None = None


def counted() -> list[Column]:
    """Return what is to be counted of `op`, `seq`, `committed_ms`, `timestamp` and `readable`."""
    change = F.col("readable") & F.col("op").isin(*_FROM_THE_LOG)
    moments = F.struct("seq", "committed_ms", F.unix_millis("timestamp").alias("published_ms"))
    return [
        *(F.count_if(F.col("readable") & (F.col("op") == op)).alias(f"op_{op}") for op in OPERATIONS),
        F.max(F.when(change, moments)).alias("latest"),
    ]


def tally(row: Row) -> Tally:
    """Read what was counted."""
    latest = row["latest"]
    operations = {op: row[f"op_{op}"] for op in OPERATIONS if row[f"op_{op}"]}
    return Tally(operations, None if latest is None else Latest(*latest))


def total(parts: Iterable[Tally]) -> Tally:
    """Add up the parts of a batch."""
    operations: Counter[str] = Counter()
    latest: Latest | None = None
    for part in parts:
        operations.update(part.operations)
        if part.latest is not None and (latest is None or part.latest > latest):
            latest = part.latest
    return Tally(operations, latest)

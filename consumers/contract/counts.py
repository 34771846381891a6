"""What a batch says of itself besides its rows: what was merged of each operation, and its newest moments.

In: changes as decode.py outlines them, with when each was committed at the source and when Kafka took it, and
the frame that a target merges.  Out: columns that are counted in passes that are made anyway.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import Column, Row
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

OPERATIONS = ("c", "u", "d", "r", "t")
TRUNCATE = OPERATIONS[-1]
FROM_THE_LOG = ("c", "u", "d")  # a row that was read has no commit to be late for


@dataclass(frozen=True, slots=True, order=True)
class LatestChange:
    """The newest change that came from the log."""

    seq: str
    committed_ms: int  # at the source
    published_ms: int  # when its record was made


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """What was merged of a batch; for a key that changed often, its newest change."""

    operations: Mapping[str, int] = field(default_factory=dict)
    latest: LatestChange | None = None
    shape: Mapping[str, int] = field(default_factory=dict)  # alterations of the target's table, by kind


def latest_moments(readable: Column, committed_ms: Column) -> Column:
    """Return the newest change's seq and moments, from `op`, `seq` and `timestamp` as well."""
    change = readable & F.col("op").isin(*FROM_THE_LOG)
    published_ms = F.unix_millis("timestamp").alias("published_ms")
    of_one = F.struct("seq", committed_ms.alias("committed_ms"), published_ms)
    return F.max(F.when(change, of_one)).alias("latest")


def operation_counts() -> list[Column]:
    """Return how many rows of a target's frame each operation has."""
    return [F.count_if(F.col("op") == op).alias(f"op_{op}") for op in OPERATIONS if op != TRUNCATE]


def read_operation_counts(counted: Row, truncates: int, *, halved: bool) -> dict[str, int]:
    """Read what was counted; halved: an update is two rows, one of which is a delete."""
    found = {op: counted[f"op_{op}"] for op in OPERATIONS if op != TRUNCATE} | {TRUNCATE: truncates}
    found["d"] -= found["u"] if halved else 0
    return {op: count for op, count in found.items() if count}

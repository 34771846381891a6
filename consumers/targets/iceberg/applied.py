"""How far a table has come: read from its snapshots, written in the commit that brings its rows.

In: the history of an Iceberg table's current snapshot.  Out: what all of it has applied.  Each commit of
ours says what is applied after it, as far as it knew.  Two drivers may have read the same base before they
committed one after the other, so the later text may know less: the truth is the sum of all of them, and
`Applied.then` makes a sum in which nothing moves back.  Commits of others (a compaction) say nothing, and
a table set back to an earlier snapshot says what that one had, so its topic is read again from there.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.applied_text import parse, text
from wrackline.consumers.contract.plan import Applied
from wrackline.consumers.lake.table_format import LakeTable

APPLIED_PROPERTY = "wrackline.applied"
_SIZE = "total-files-size"
CURRENT, NO_SNAPSHOT = "current-snapshot-id", "none"  # a property that Iceberg shows, and its value


@dataclass(frozen=True, slots=True)
class IcebergSnapshot:
    """One commit: what it came after, when, and what it says is applied."""

    parent: int | None
    committed_ms: int
    text: str | None
    size: int | None = None  # bytes of the table's files


@dataclass(frozen=True, slots=True)
class IcebergApplied:
    """What a table's history says."""

    applied: Applied
    ages: tuple[int, ...]  # when each snapshot was committed, from the current one back
    depth: int | None  # how far back the newest one is that knows all of `applied`
    floor: str | None  # what the newest text says of it: rows were voided up to here
    size: int = 0  # bytes of the table's files


def walk_snapshots(snapshots: Mapping[int, IcebergSnapshot], head: int | None, target: str) -> IcebergApplied:
    """Go back from the current snapshot as far as there are any."""
    applied = Applied()
    size = snapshots[head].size if head is not None and head in snapshots else None
    ages: list[int] = []
    texts: list[tuple[int, Applied]] = []
    while head is not None and head in snapshots:
        one = snapshots[head]
        if one.text is not None:
            texts.append((len(ages), parse(one.text, target, f"DROP TABLE {target}")))
        ages.append(one.committed_ms)
        head = one.parent
    for _, older in texts:
        applied = older.then(applied)
    depth = next((at for at, said in texts if said == applied), None)
    return IcebergApplied(applied, tuple(ages), depth, texts[0][1].floor if texts else None, size or 0)


def read_applied(session: SparkSession, table: LakeTable) -> IcebergApplied:
    """Read what the table says, from its current snapshot back."""
    current = table.properties.get(CURRENT, NO_SNAPSHOT)
    if current == NO_SNAPSHOT:
        return IcebergApplied(Applied(), (), None, None)
    rows = session.table(f"{table.name}.snapshots").select(
        "snapshot_id",
        "parent_id",
        F.unix_millis("committed_at"),
        F.col("summary").getItem(APPLIED_PROPERTY),
        F.col("summary").getItem(_SIZE).cast("bigint"),
    )
    snapshots = {row[0]: IcebergSnapshot(*row[1:]) for row in rows.collect()}
    return walk_snapshots(snapshots, int(current), table.name)


@contextmanager
def commit_with_applied(session: SparkSession, applied: Applied) -> Iterator[None]:
    """Let the session's commits say what is applied after them; Iceberg looks when it commits."""
    name = f"spark.sql.iceberg.snapshot-property.{APPLIED_PROPERTY}"
    session.conf.set(name, text(applied))
    try:
        yield
    finally:
        session.conf.unset(name)

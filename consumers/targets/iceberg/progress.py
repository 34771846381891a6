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

from wrackline.consumers.applied_text import parse, text
from wrackline.consumers.plan import Applied

PROPERTY = "wrackline.applied"
_SIZE = "total-files-size"
CURRENT, NO_SNAPSHOT = "current-snapshot-id", "none"  # a property that Iceberg shows, and its value


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One commit: what it came after, when, and what it says is applied."""

    parent: int | None
    committed_ms: int
    text: str | None
    size: int | None = None  # bytes of the table's files


@dataclass(frozen=True, slots=True)
class Progress:
    """What a table's history says."""

    applied: Applied
    ages: tuple[int, ...]  # when each snapshot was committed, from the current one back
    depth: int | None  # how far back the newest one stands that knows all of `applied`
    floor: str | None  # what the newest text says of it: rows were voided up to here
    size: int = 0  # bytes of the table's files


def walk(snapshots: Mapping[int, Snapshot], head: int | None, target: str) -> Progress:
    """Go back from the current snapshot as far as there are any."""
    applied = Applied()
    size = snapshots[head].size if head is not None and head in snapshots else None
    ages: list[int] = []
    texts: list[tuple[int, Applied]] = []
    while head is not None and head in snapshots:
        one = snapshots[head]
        if one.text is not None:
            texts.append((len(ages), parse(one.text, target)))
        ages.append(one.committed_ms)
        head = one.parent
    for _, older in texts:
        applied = older.then(applied)
    depth = next((at for at, said in texts if said == applied), None)
    return Progress(applied, tuple(ages), depth, texts[0][1].floor if texts else None, size or 0)


def read(session: SparkSession, target: str, properties: Mapping[str, str]) -> Progress:
    """Ask the table; `properties` are those that it had just now."""
    current = properties.get(CURRENT, NO_SNAPSHOT)
    if current == NO_SNAPSHOT:
        return Progress(Applied(), (), None, None)
    rows = session.table(f"{target}.snapshots").select(
        "snapshot_id",
        "parent_id",
        F.unix_millis("committed_at"),
        F.col("summary").getItem(PROPERTY),
        F.col("summary").getItem(_SIZE).cast("bigint"),
    )
    snapshots = {row[0]: Snapshot(*row[1:]) for row in rows.collect()}
    return walk(snapshots, int(current), target)


@contextmanager
def saying(session: SparkSession, applied: Applied) -> Iterator[None]:
    """Let the session's commits say what is applied after them; Iceberg looks when it commits."""
    name = f"spark.sql.iceberg.snapshot-property.{PROPERTY}"
    session.conf.set(name, text(applied))
    try:
        yield
    finally:
        session.conf.unset(name)

"""What the history of an Iceberg table says is applied: pure.

In: the snapshots from the current one back.  Out: what all of them have applied.  Each commit of ours says
what is applied after it, as far as it knew.  Two drivers may have read the same base before they committed
one after the other, so the later text may know less: the truth is the sum of all of them, and
`Applied.then` makes a sum in which nothing moves back.  Commits of others (a compaction) say nothing, and
a table set back to an earlier snapshot says what that one had, so its topic is read again from there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from wrackline.consumers.contract.applied_text import parse
from wrackline.consumers.contract.plan import Applied

APPLIED_PROPERTY = "wrackline.applied"
SIZE = "total-files-size"


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

"""Tables that are not captured: why, and how they are named if there are many.  Pure."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from wrackline.schemas.tables.table import TableId

MOST_NAMED: Final = 10  # tables in one line


class UncapturedReason(Enum):
    """Why a table is not captured."""

    FILTERS = "left out by the filters"
    NO_GRANT = "not granted"
    UNLOGGED = "unlogged"
    NO_CAPTURE = "without change data capture"


def name_some(names: Sequence[str]) -> str:
    """Name some of many tables, and count the others."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def group_by_reason(
    left_out: Mapping[TableId, UncapturedReason],
) -> Mapping[UncapturedReason, Sequence[TableId]]:
    """Return the tables by their reason; a reason that no table has is not in it."""
    return {
        why: found
        for why in UncapturedReason
        if (found := [one for one, its in left_out.items() if its is why])
    }


def uncaptured_text(left_out: Mapping[TableId, UncapturedReason]) -> str:
    """Say how many tables are not captured, and name those that no filter leaves out."""
    said = []
    for why, tables in group_by_reason(left_out).items():
        names = [f"{table.schema}.{table.name}" for table in tables]
        named = "" if why is UncapturedReason.FILTERS else f" ({name_some(names)})"
        said.append(f"{len(tables):,} {why.value}{named}")
    return "; ".join(said)

"""Which rows of a table a few changes replace, and which they add: the merge of merge_sql.py, pure.

In: changes, one of each key, which lack no value; and the rows that are stored under these keys.  Out:
stored rows that go, and changes that become rows, with the identity of the row that each of them
replaces.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from wrackline.consumers.contract.direct import DirectRow
from wrackline.consumers.contract.plan import Deletes

Key = tuple[object, ...]


class StoredRow(NamedTuple):
    """A row of the table, and where it is."""

    key: Key
    seq: str | None  # None: somebody has changed the row by hand
    deleted: bool | None
    file: str
    position: int
    row_id: int | None  # Iceberg's own, which stays with a row that is updated


class RowChoice(NamedTuple):
    """What a merge does."""

    gone: list[StoredRow]
    added: list[tuple[DirectRow, int | None]]

    def positions(self) -> dict[str, list[int]]:
        """Return where the rows are that go, by file."""
        found = defaultdict[str, list[int]](list)
        for row in self.gone:
            found[row.file].append(row.position)
        return dict(found)


def choose(
    changes: Iterable[tuple[Key, DirectRow]],
    stored: Iterable[StoredRow],
    floor: str | None,
    deletes: Deletes,
) -> RowChoice | None:
    """Choose as MERGE does, from changes with their keys.  None: MERGE has to.

    That is where a key is stored twice, or a stored row says nothing of its change.
    """
    by_key: dict[Key, StoredRow] = {}
    for row in stored:
        if row.seq is None or row.deleted is None:
            return None
        if floor is not None and row.seq < floor:
            continue
        if row.key in by_key:
            return None
        by_key[row.key] = row
    gone: list[StoredRow] = []
    added: list[tuple[DirectRow, int | None]] = []
    for key, change in changes:
        if floor is not None and change.seq < floor:
            continue
        held = by_key.get(key)
        if held is not None:
            if (change.seq, not change.deleted) <= (held.seq or "", not held.deleted):
                continue
            gone.append(held)
        if not change.deleted or deletes is Deletes.SOFT:
            added.append((change, None if held is None else held.row_id))
    return RowChoice(gone, added)

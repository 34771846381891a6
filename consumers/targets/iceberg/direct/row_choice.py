"""Which rows of a table changes replace, and which they add: the merge of merge_sql.py, pure.

In: changes, one of each key; and the rows that are stored under these keys.  Out: stored rows that go, and
changes that become rows, with the stored row that each of them replaces.
"""

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyarrow import compute

from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import Deletes


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows of the table that have keys of the batch, and where they are: one entry a row."""

    change: pa.Int64Array  # the place of the change that has the key
    seq: pa.StringArray  # null: somebody has changed the row by hand
    deleted: pa.BooleanArray
    file: pa.Int32Array  # its place in the list of files that was looked at
    position: pa.Int64Array
    row_id: pa.Int64Array  # Iceberg's own, which stays with a row that is updated

    def take(self, places: pa.Array) -> "StoredRows":
        """Return some of them; null where there is none."""
        return StoredRows(
            *(
                one.take(places)
                for one in (self.change, self.seq, self.deleted, self.file, self.position, self.row_id)
            )
        )

    def __len__(self) -> int:
        return len(self.change)


class RowChoice(NamedTuple):
    """What a merge does."""

    gone: StoredRows
    added: pa.Array  # places of changes
    replaced: StoredRows  # for each of them; null where its key is new


def choose(
    changes: DirectChanges, stored: StoredRows, floor: str | None, deletes: Deletes
) -> RowChoice | None:
    """Choose as MERGE does.  None: MERGE has to.

    That is where a key is stored twice, or a stored row says nothing of its change.
    """
    if stored.seq.null_count or stored.deleted.null_count:
        return None
    if floor is not None:
        stored = stored.take(compute.indices_nonzero(compute.greater_equal(stored.seq, floor)))
    if compute.count_distinct(stored.change).as_py() < len(stored):
        return None
    every = pa.array(range(len(changes)), pa.int64())
    held = stored.take(compute.index_in(every, value_set=stored.change))  # one entry a change
    is_new = compute.is_null(held.seq)
    lives_again = compute.and_(held.deleted, compute.invert(changes.deleted))
    later = compute.or_(
        compute.greater(changes.seq, held.seq),
        compute.and_(compute.equal(changes.seq, held.seq), lives_again),
    )
    applies = compute.or_kleene(is_new, later)
    if floor is not None:
        applies = compute.and_(applies, compute.greater_equal(changes.seq, floor))
    gone = held.take(compute.indices_nonzero(compute.and_(applies, compute.invert(is_new))))
    stays = applies
    if deletes is not Deletes.SOFT:
        stays = compute.and_(applies, compute.invert(changes.deleted))
    added = compute.indices_nonzero(stays)
    return RowChoice(gone, added, held.take(added))

"""What the driver remembers of the tables that it merges into directly: where the row of each key is.

    TableMemory   one table, at one snapshot: its data files, and of those that were needed the rows' keys
    Memories      the tables of one target, within a bound of bytes; the least used goes first

It is a copy of what files and snapshots say, and files never change.  It is used only where its snapshot is
the one that is merged into, and its keys are of the same columns.  Otherwise the list of files is read
again, and of new files their keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute

from wrackline.consumers.targets.iceberg.direct.file_rows import FileRows
from wrackline.consumers.targets.iceberg.direct.java_values import JavaObject
from wrackline.consumers.targets.iceberg.direct.row_choice import StoredRows
from wrackline.consumers.targets.iceberg.direct.snapshot_history import IcebergSnapshot
from wrackline.schemas.tables.table import TableId

_MOST_BYTES: Final = 256 << 20
_REST: Final = 50


@dataclass(slots=True)
class RememberedFile:
    """One data file, and what is marked as gone in it."""

    location: str
    size: int
    count: int
    first_row_id: int | None
    least: Any  # of the first column of the key; None: it is not known
    greatest: Any
    vector: JavaObject | None = None
    vector_name: str = ""
    rows: FileRows | None = None
    gone: bytearray = field(default_factory=bytearray)  # a bit for each row; empty: nothing is gone
    marks: JavaObject | None = None  # the same for Java

    def may_have(self, least: Any, greatest: Any) -> bool:  # noqa: ANN401 - of the key's type
        """Whether a key of this range may be in it."""
        if self.least is None or self.greatest is None:
            return True
        return bool(self.least <= greatest and least <= self.greatest)

    def are_gone(self, positions: pa.Array) -> pa.Array:
        """Whether rows are marked."""
        if not self.gone:
            return pa.repeat(False, len(positions))
        bits = pa.Array.from_buffers(pa.bool_(), self.count, [None, pa.py_buffer(bytes(self.gone))])
        return bits.take(positions)

    def mark(self, positions: Sequence[int]) -> None:
        """Mark rows as gone."""
        if not self.gone:
            self.gone = bytearray((self.count >> 3) + 1)
        for position in positions:
            self.gone[position >> 3] |= 1 << (position & 7)

    def row_ids(self, positions: pa.Array) -> pa.Array:
        """Return Iceberg's identities of rows."""
        nobody = pa.nulls(len(positions), pa.int64())
        own = nobody if self.rows is None or self.rows.row_ids is None else self.rows.row_ids.take(positions)
        given = nobody if self.first_row_id is None else compute.add(positions, self.first_row_id)
        return compute.coalesce(own, given)


@dataclass(slots=True)
class TableMemory:
    """One table."""

    snapshot_id: int | None = None  # None: the list of files is not known
    form: str = ""  # of the table's columns and its key
    rest: int = 0  # batches that are left to MERGE, because the table was too large
    files: dict[str, RememberedFile] = field(default_factory=dict)
    snapshots: dict[int, IcebergSnapshot] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many bytes of memory it takes."""
        return sum(
            len(one.gone) + (0 if one.rows is None else one.rows.size) for one in list(self.files.values())
        )

    def is_at(self, snapshot_id: int, form: str) -> bool:
        """Whether it is what is known of this snapshot."""
        return (self.snapshot_id, self.form) == (snapshot_id, form)

    def replace_files(self, found: Mapping[str, RememberedFile], snapshot_id: int, form: str) -> None:
        """Take a new list of files, and keep the rows that are known."""
        for location, one in found.items():
            known = self.files.get(location)
            if known is not None and self.form == form:
                one.rows = known.rows
                if known.vector_name == one.vector_name:
                    one.gone, one.marks = known.gone, known.marks
        self.files, self.snapshot_id, self.form = dict(found), snapshot_id, form

    @staticmethod
    def stored(wanted: pa.Array, files: Sequence[RememberedFile]) -> StoredRows:
        """Return the rows that have these keys."""
        found = [_stored_in(one, number, wanted) for number, one in enumerate(files)]
        names = ("change", "seq", "deleted", "file", "position", "row_id")
        return StoredRows(
            *(pa.concat_arrays([getattr(one, name) for one in (_NO_ROWS, *found)]) for name in names)
        )

    def let_go(self) -> None:
        """Forget the table for some batches: its keys take too much memory."""
        self.snapshot_id, self.files, self.rest = None, {}, _REST


_NO_ROWS: Final = StoredRows(
    *(pa.nulls(0, its) for its in (pa.int64(), pa.string(), pa.bool_(), pa.int32(), pa.int64(), pa.int64()))
)


def _stored_in(one: RememberedFile, number: int, wanted: pa.Array) -> StoredRows:
    if one.rows is None:
        raise ValueError("its rows are not read")
    positions, changes = one.rows.places(wanted)
    there = compute.indices_nonzero(compute.invert(one.are_gone(positions)))
    positions, changes = positions.take(there), changes.take(there)
    return StoredRows(
        changes,
        one.rows.seqs.take(positions).cast(pa.string()),
        one.rows.deleted.take(positions),
        pa.repeat(pa.scalar(number, pa.int32()), len(positions)),
        positions,
        one.row_ids(positions),
    )


class Memories:
    """The tables of one target."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most, self._lock = most_bytes, Lock()
        self.reading = Lock()  # one table at a time reads its files, so that the bound holds
        self._tables: dict[TableId, TableMemory] = {}  # the one that was used last is the last

    def of(self, table: TableId) -> TableMemory:
        """Return what is known of a table."""
        with self._lock:
            found = self._tables.pop(table, None) or TableMemory()
            self._tables[table] = found
            return found

    def forget(self, table: TableId) -> None:
        """Forget a table that is dropped."""
        with self._lock:
            self._tables.pop(table, None)

    def has_room(self, table: TableMemory, more: int) -> bool:
        """Whether so many bytes more may be remembered; other tables are forgotten for them."""
        with self._lock:
            needed = table.size + more
            if needed > self._most:
                return False
            others = {name: one.size for name, one in self._tables.items() if one is not table}
            for name in list(others):
                if needed + sum(others.values()) <= self._most:
                    break
                del self._tables[name], others[name]
            return True

"""A batch's rows as mutations: which of them are newer than what is stored, and what they write.

    staged row, what is stored under its key  ->  columns and values, a delete, or nothing

A change is used only where its seq is newer than its row's, so a repeated batch, or an older change after a
newer one, changes nothing.  At one seq a row that lives is newer than a tombstone, because there a key was
deleted and made again.  A column that was not sent is left out of the mutation, and keeps what it has.  Pure.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from wrackline.consumers.contract.plan import ROW, Deletes, MergePlan
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.targets.spanner.types import cell, legal, moment

_NUMBER_BYTES: Final = 8
_MARKS: Final = 6  # our own columns: key, seq, op, deleted, missing, moment


class StoredMarks(NamedTuple):
    """What a stored row says of the change that made it."""

    seq: str
    deleted: bool
    missing: str | None


class ChangedRow(NamedTuple):
    """One row of a batch; `cells` are those of the plan's columns, in their order."""

    key: str
    seq: str
    op: str
    committed: str
    deleted: bool
    unsent: frozenset[int]  # identities
    missing: frozenset[int]
    known: tuple[str | None, ...]  # when a value was known, where the plan has that
    cells: tuple[Any, ...]
    bytes: int


class WrittenRow(NamedTuple):
    """What a row writes; no columns: its row is deleted."""

    key: str
    columns: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()


class RowMerge:
    """The rules of one batch."""

    def __init__(self, plan: MergePlan, shape: StagedShape, floor: str | None) -> None:
        self._plan, self._floor = plan, floor
        self._columns = [(at, one) for at, one in enumerate(plan.columns) if one.identity != ROW]
        places = shape.places()
        self._places = {at: places[one.target] for at, one in self._columns}
        keys, lacking = set(plan.key), plan.lacking
        self._lacking = {
            one.identity
            for _, one in self._columns
            if one.target not in keys and (lacking is None or one.target in lacking)
        }
        ours = shape.ours
        names = (shape.key_place, ours.seq, ours.op, ours.deleted, ours.missing, ours.commit_ts)
        self._ours = tuple(map(legal, names))

    @property
    def mutations(self) -> int:
        """How many mutations a row counts as, at most: one a column."""
        return len(self._columns) + _MARKS

    def read(self, staged: Iterable[Mapping[str, Any]]) -> Iterator[ChangedRow]:
        """Read a stage's rows, without what a truncate has voided since they were read."""
        for row in staged:
            if self._floor is None or row["seq"] >= self._floor:
                yield self._changed(row)

    def write(self, row: ChangedRow, stored: StoredMarks | None) -> WrittenRow | None:
        """Return what a row writes; None: nothing."""
        if stored is not None and (self._plan.only_adds or not _is_newer(row, stored)):
            return None
        if row.deleted and self._plan.deletes is Deletes.HARD:
            return None if stored is None else WrittenRow(row.key)
        written = {
            self._places[at]: row.cells[at]
            for at, one in self._columns
            if one.identity not in self._lacking or not self._is_kept(row, at, one.identity, stored)
        }
        if stored is not None and self._plan.told_late:
            self._forget_late(written, row, stored)
        marks = (row.key, row.seq, row.op, row.deleted, self._missing(row, stored), row.committed)
        return WrittenRow(row.key, (*self._ours, *written), (*marks, *written.values()))

    def _changed(self, row: Mapping[str, Any]) -> ChangedRow:
        cells: list[Any] = [None] * len(self._plan.columns)
        size = len(row["k"]) + len(row["seq"])
        for at, one in self._columns:
            value = row[f"c{at}"]
            if value is None:
                continue
            cells[at] = made = cell(value, one.type)
            size += len(made.encode()) if isinstance(made, str) else _NUMBER_BYTES
        known = tuple(row.get(f"w{at}") for at in range(len(cells))) if self._plan.told_late else ()
        return ChangedRow(
            row["k"], row["seq"], row["op"], moment(row["commit_us"]), row["deleted"],
            read_list(row["unsent"]), read_list(row["missing"]), known, tuple(cells), size,
        )  # fmt: skip

    def _is_kept(self, row: ChangedRow, at: int, identity: int, stored: StoredMarks | None) -> bool:
        """Whether the stored value stays: it was not sent, or it was known before the stored row."""
        if stored is None or stored.deleted:
            return False
        return identity in row.unsent or self._is_late(row, at, stored)

    def _forget_late(self, written: dict[str, Any], row: ChangedRow, stored: StoredMarks) -> None:
        """Write null for a value that was known before the stored row was deleted."""
        for at, one in self._columns:
            if one.identity in self._lacking and stored.deleted and self._is_late(row, at, stored):
                written[self._places[at]] = None

    def _is_late(self, row: ChangedRow, at: int, stored: StoredMarks) -> bool:
        known = row.known[at] if row.known else None
        return known is not None and known < stored.seq

    def _missing(self, row: ChangedRow, stored: StoredMarks | None) -> str | None:
        """List the columns whose value nobody has."""
        if self._plan.lacking_is_null:
            return None
        lives = stored is not None and not stored.deleted
        were = read_list(stored.missing) if stored is not None and lives else row.unsent
        found = self._lacking & (row.missing | (row.unsent & were))
        return f",{','.join(map(str, sorted(found)))}," if found else None


def read_list(listed: str | None) -> frozenset[int]:
    """Read a list of identities."""
    return frozenset(int(one) for one in listed.split(",") if one) if listed else frozenset()


def _is_newer(row: ChangedRow, stored: StoredMarks) -> bool:
    return (row.seq, not row.deleted) > (stored.seq, not stored.deleted)

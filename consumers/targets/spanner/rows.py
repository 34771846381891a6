"""A batch's rows as mutations: which of them are newer than what is stored, and what they write.

    staged row, what is stored under its key  ->  columns and values, a delete, or nothing

A change is used only where its seq is newer than its row's, so a repeated batch, or an older change after a
newer one, changes nothing.  At one seq a row that lives is newer than a tombstone, because there a key was
deleted and made again.  A column that was not sent is left out of the mutation, and keeps what it has.

Rows of a history are written by other rules: versions.py.  Pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from google.cloud.spanner_v1 import KeySet

from wrackline.consumers.contract.plan import ROW, Deletes, MergePlan, PlannedColumn
from wrackline.consumers.staged.shape import StagedShape
from wrackline.consumers.targets.spanner.types import cell, legal, moment

StoredCells = tuple[Any, ...]

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
    event: str = ""  # in a history, what distinguishes it beside its key


class WrittenRow(NamedTuple):
    """What a row writes; no columns: its row is deleted."""

    key: str
    columns: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    bytes: int = 0


class RowMerge:
    """The rules of one batch."""

    def __init__(self, plan: MergePlan, shape: StagedShape) -> None:
        self._plan = plan
        self._columns = plan_cells(plan)
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
        self.reads = tuple(map(legal, (shape.key_place, ours.seq, ours.deleted, ours.missing)))

    @property
    def mutations(self) -> int:
        """How many mutations a row counts as, at most: one a column."""
        return len(self._columns) + _MARKS

    def keys(self, rows: Iterable[ChangedRow]) -> KeySet:
        """Return where what is stored under their keys is found."""
        return KeySet(keys=[[row.key] for row in rows])

    def writes(self, rows: Iterable[ChangedRow], stored: Iterable[StoredCells]) -> Iterator[WrittenRow]:
        """Yield what they write, where `stored` is what was found under their keys."""
        there = {key: StoredMarks(*marks) for key, *marks in stored}
        for row in rows:
            written = self._write(row, there.get(row.key))
            if written is not None:
                yield written

    def _write(self, row: ChangedRow, stored: StoredMarks | None) -> WrittenRow | None:
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
        return WrittenRow(row.key, (*self._ours, *written), (*marks, *written.values()), row.bytes)

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
        return write_list(found)


def read_rows(
    staged: Iterable[Mapping[str, Any]], plan: MergePlan, floor: str | None
) -> Iterator[ChangedRow]:
    """Read a stage's rows, without what a truncate has voided since they were read."""
    columns = plan_cells(plan)
    for row in staged:
        if floor is None or row["seq"] >= floor:
            yield _changed(row, plan, columns)


def plan_cells(plan: MergePlan) -> list[tuple[int, PlannedColumn]]:
    """Number the source's columns as a stage does."""
    return [(at, one) for at, one in enumerate(plan.columns) if one.identity != ROW]


def cell_bytes(carried: Any) -> int:  # noqa: ANN401 - a cell is of any type
    """Return how large a cell is, without its frame."""
    return len(carried.encode()) if isinstance(carried, str) else _NUMBER_BYTES


def read_list(listed: str | None) -> frozenset[int]:
    """Read a list of identities."""
    return frozenset(int(one) for one in listed.split(",") if one) if listed else frozenset()


def write_list(identities: Iterable[int]) -> str | None:
    """Write a list of identities; an empty one is null."""
    listed = ",".join(map(str, sorted(identities)))
    return f",{listed}," if listed else None


def _changed(
    row: Mapping[str, Any], plan: MergePlan, columns: Sequence[tuple[int, PlannedColumn]]
) -> ChangedRow:
    cells: list[Any] = [None] * len(plan.columns)
    size = len(row["k"]) + len(row["seq"])
    for at, one in columns:
        value = row[f"c{at}"]
        if value is None:
            continue
        cells[at] = made = cell(value, one.type)
        size += cell_bytes(made)
    known = tuple(row.get(f"w{at}") for at in range(len(cells))) if plan.told_late else ()
    return ChangedRow(
        row["k"], row["seq"], row["op"], moment(row["commit_us"]), row["deleted"],
        read_list(row["unsent"]), read_list(row["missing"]), known, tuple(cells), size, row.get("e", ""),
    )  # fmt: skip


def _is_newer(row: ChangedRow, stored: StoredMarks) -> bool:
    return (row.seq, not row.deleted) > (stored.seq, not stored.deleted)

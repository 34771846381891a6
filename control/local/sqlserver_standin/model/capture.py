"""The capture job reads the log and writes change tables as documented; decision 42 lists the rules.

`scan` is one scan cycle, and the only thing that writes what a reader of changes sees; so a test decides
how far the change tables are behind the log.  `late` breaks the promise that a transaction's rows come
together, on purpose.
"""

import datetime as dt
from bisect import insort
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from wrackline.control.local.sqlserver_standin.model.log_numbers import ZERO
from wrackline.control.local.sqlserver_standin.model.tables import Cells, ModelColumn, ModelTable
from wrackline.control.local.sqlserver_standin.model.transactions import ChangeKind, RowRecord
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted
from wrackline.control.local.sqlserver_standin.wire.sql_types import CLR, LONG, MAX, SqlType
from wrackline.control.local.sqlserver_standin.wire.values import Cell

DELETE, INSERT, BEFORE, AFTER = 1, 2, 3, 4
QUIET = dt.timedelta(minutes=5)
"""After so long without a change the job writes a row all the same."""
DUMMY = b"\x00"


class CapturedRow(NamedTuple):
    """A row of a change table; the first four fields are its clustered index."""

    start_lsn: bytes
    command: int
    seqval: bytes
    operation: int
    mask: bytes
    cells: Cells


class MappingRow(NamedTuple):
    """A row of `cdc.lsn_time_mapping`; the times are UTC here."""

    start_lsn: bytes
    began: dt.datetime
    ended: dt.datetime
    transaction: bytes


class DdlRow(NamedTuple):
    """A row of `cdc.ddl_history`."""

    source_object_id: int
    object_id: int
    required_column_update: bool
    command: str
    number: bytes
    at: dt.datetime


@dataclass(slots=True, eq=False)
class CaptureInstance:
    """A capture instance with its change table."""

    name: str
    object_id: int
    table: ModelTable
    columns: list[ModelColumn]
    role: str | None
    net_changes: bool
    index_name: str | None
    filegroup: str | None
    created: dt.datetime
    has_command: bool
    start_lsn: bytes | None = None
    has_drop_pending: bool = False
    rows: list[CapturedRow] = field(default_factory=list)
    held_back: list[CapturedRow] = field(default_factory=list)

    @property
    def change_table(self) -> str:
        """Return the change table's name."""
        return f"{self.name}_CT"

    def images(self, record: RowRecord, commit: bytes) -> list[CapturedRow]:
        """Return what a log record becomes: one row, or two for an update."""
        before, after = self._cells(record, record.before), self._cells(record, record.after)
        if record.kind is ChangeKind.UPDATE:
            changed = [one != other for one, other in zip(before, after, strict=True)]
            if not any(changed):
                return []  # only columns that are not captured
            bits = mask(changed)
            old = self._blank(before, changed, "before")
            new = self._blank(after, changed, "after")
            rows = [(BEFORE, bits, old), (AFTER, bits, new)]
        else:
            bits = mask([True] * len(self.columns))
            gone = record.kind is ChangeKind.DELETE
            cells = self._blank(
                before if gone else after, [True] * len(self.columns), "gone" if gone else "new"
            )
            rows = [(DELETE if gone else INSERT, bits, cells)]
        return [
            CapturedRow(commit, record.command, record.number, kind, bits, cells)
            for kind, bits, cells in rows
        ]

    def _cells(self, record: RowRecord, row: Cells | None) -> Cells:
        """Return the captured columns of a row; a column that the table lost is NULL."""
        places = {column.number: at for at, column in enumerate(record.columns)}
        if row is None:
            return (None,) * len(self.columns)
        return tuple(
            fitted(one.of, row[places[one.number]]) if one.number in places else None for one in self.columns
        )

    def _blank(self, cells: Cells, changed: Sequence[bool], image: str) -> Cells:
        """Take away what a change table does not have in this image."""

        def cell(column: ModelColumn, value: Cell, *, changes: bool) -> Cell:
            if column.computed:
                return None
            if column.of.name in LONG:
                return None if image in {"before", "gone"} else value
            large = column.of.size == MAX or column.of.name in {"xml", *CLR}
            return None if large and image == "before" and not changes else value

        triples = zip(self.columns, cells, changed, strict=True)
        return tuple(cell(column, value, changes=changes) for column, value, changes in triples)

    def retype(self, number: int, of: SqlType) -> bool:
        """Give a captured column another type, and its values too; False if it is not captured."""
        found = [at for at, column in enumerate(self.columns) if column.number == number]
        for at in found:
            self.columns[at] = replace(self.columns[at], of=of)
            self.rows = [
                row._replace(cells=(*row.cells[:at], fitted(of, row.cells[at]), *row.cells[at + 1 :]))
                for row in self.rows
            ]
        return bool(found)


def mask(changed: Sequence[bool]) -> bytes:
    """Make an update mask: a bit for each captured column, the first in the lowest bit of the last byte."""
    bits = sum(1 << at for at, one in enumerate(changed) if one)
    return bits.to_bytes((len(changed) + 7) // 8, "big")


@dataclass(frozen=True, slots=True)
class LoggedTransaction:
    """A committed transaction in the log."""

    number: int
    began: dt.datetime
    ended: dt.datetime
    commit: bytes
    records: Sequence[RowRecord]


@dataclass(frozen=True, slots=True)
class LoggedEnabling:
    """That a capture instance was made."""

    commit: bytes
    instance: CaptureInstance


@dataclass(frozen=True, slots=True)
class LoggedDdl:
    """A change of a table; `retyped` is the number of a column with its new type."""

    commit: bytes
    at: dt.datetime
    table: ModelTable
    command: str
    retyped: tuple[int, SqlType] | None = None
    drops: bool = False


class JobLimits(NamedTuple):
    """How much the capture job does between two waits."""

    max_transactions: int = 500
    max_scans: int = 10
    polling_s: int = 5


_DEFAULTS = JobLimits()


@dataclass(slots=True)
class CaptureJob:
    """What the capture job and the clean-up job know and have written."""

    log: list[LoggedTransaction | LoggedEnabling | LoggedDdl] = field(default_factory=list)
    instances: dict[str, CaptureInstance] = field(default_factory=dict)
    mapping: list[MappingRow] = field(default_factory=list)
    ddl: list[DdlRow] = field(default_factory=list)
    runs: bool = True
    """Whether the job is started; a scan of a job that is not does nothing."""
    behind: int = 0
    """How many of the newest transactions a scan leaves in the log."""
    limits: JobLimits = _DEFAULTS
    """What the capture job runs with."""
    configured: JobLimits = _DEFAULTS
    """What it will run with when it is started again."""
    retention: dt.timedelta = dt.timedelta(minutes=4320)
    scanned: bytes = ZERO
    empty_scans: int = 0

    def start(self) -> None:
        """Start the job, with what it is configured to."""
        self.runs, self.limits = True, self.configured

    def stop(self) -> None:
        """Stop the job; what it has not read stays in the log."""
        self.runs = False

    def scan(self, most: int | None = None, late: Collection[str] = ()) -> int:
        """Read the log's next transactions, return how many had rows; rows of `late` come a scan later."""
        if not self.runs:
            return 0
        for instance in self.instances.values():
            for row in instance.held_back:
                insort(instance.rows, row)
            instance.held_back.clear()
        left = sum(isinstance(one, LoggedTransaction) for one in self.log) - self.behind
        left = min(left, self.limits.max_transactions if most is None else most)
        read = captured = 0
        for item in self.log:
            if isinstance(item, LoggedTransaction):
                if left <= 0:
                    break
                left -= 1
                captured += self._capture(item, late)
            elif left <= 0 and self.behind:
                break
            elif isinstance(item, LoggedEnabling):
                item.instance.start_lsn = item.commit
            else:
                self._note(item)
            self.scanned = item.commit
            read += 1
        del self.log[:read]
        self.empty_scans = 0 if captured else self.empty_scans + 1
        return captured

    def _capture(self, one: LoggedTransaction, late: Collection[str]) -> bool:
        """Write the rows of a transaction into each change table that takes them, and its time."""
        some = False
        for instance in self.instances.values():
            if instance.start_lsn is None:  # the log has not yet come to its beginning
                continue
            records = [record for record in one.records if record.table is instance.table]
            rows = sorted(row for record in records for row in instance.images(record, one.commit))
            (instance.held_back if instance.name in late else instance.rows).extend(rows)
            some |= bool(rows)
        if some:
            number = one.number.to_bytes(6, "big")
            self.mapping.append(MappingRow(one.commit, one.began, one.ended, number))
        return some

    def _note(self, one: LoggedDdl) -> None:
        """Write the history of DDL, a row for each instance of the table."""
        for instance in self.instances.values():
            if instance.table is not one.table or instance.start_lsn is None:
                continue
            updated = one.retyped is not None and instance.retype(*one.retyped)
            instance.has_drop_pending |= one.drops
            row = DdlRow(one.table.object_id, instance.object_id, updated, one.command, one.commit, one.at)
            self.ddl.append(row)

    def write_dummy(self, number: bytes, now: dt.datetime) -> None:
        """Write the row that says that a quiet log was read; not while transactions wait in the log."""
        if self.runs and not self.log:
            self.scanned = number
            self.mapping.append(MappingRow(number, now, now, DUMMY))

    def low_water(self, retention: dt.timedelta | None = None) -> bytes | None:
        """Return the mark that a retention gives: counted back from the newest commit, not from now."""
        if not self.mapping:
            return None
        until = max(row.ended for row in self.mapping) - (self.retention if retention is None else retention)
        old = [row.ended for row in self.mapping if row.ended <= until]
        return min(row.start_lsn for row in self.mapping if row.ended == max(old)) if old else None

    def raise_low_water(self, mark: bytes) -> None:
        """Raise the start of each instance that lies below; the first half of a clean-up."""
        for instance in self.instances.values():
            if instance.start_lsn is not None and instance.start_lsn < mark:
                instance.start_lsn = mark

    def delete_expired(self) -> int:
        """Delete what lies below; the second half.  A reader may come between the two."""
        deleted = 0
        for instance in self.instances.values():
            start = instance.start_lsn or ZERO
            left = [row for row in instance.rows if row.start_lsn >= start]
            deleted += len(instance.rows) - len(left)
            instance.rows = left
        starts = [instance.start_lsn or ZERO for instance in self.instances.values()]
        if starts:
            self.mapping = [row for row in self.mapping if row.start_lsn >= min(starts)]
        return deleted

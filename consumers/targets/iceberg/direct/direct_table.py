"""One Iceberg table, as it was when a direct merge began, and the merge itself.

    begin   the table, if it is such that files that are written here are as Spark would write them
    merge   its rows under the batch's keys -> what goes and what comes -> files -> one commit

It is right because the commit is Iceberg's own row delta with MERGE's checks: if anybody else has committed
rows or deletes since `begin`, or has replaced a file with a row that goes, it is refused, and the batch is
merged as any other.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from json import loads
from typing import Final, NamedTuple

import pyarrow as pa
from pyarrow import compute
from pyspark.sql import SparkSession

from wrackline.consumers.contract.applied_text import text
from wrackline.consumers.contract.direct import DirectChanges
from wrackline.consumers.contract.plan import MergePlan, PlannedColumn
from wrackline.consumers.lake import table_shape
from wrackline.consumers.lake.table_format import FAILED
from wrackline.consumers.lake.table_shape import TableAddress, TableOrigin
from wrackline.consumers.targets.iceberg.direct.arrow_columns import UNFIT, arrow_column
from wrackline.consumers.targets.iceberg.direct.data_file import (
    MISSING,
    NewRows,
    fits,
    new_rows,
    parquet_bytes,
)
from wrackline.consumers.targets.iceberg.direct.file_rows import (
    FileNumbers,
    FileRows,
    can_compare,
    key_array,
    numbers_of,
    read_rows,
)
from wrackline.consumers.targets.iceberg.direct.java_table import JavaTable, PreparedCommit, vector_name
from wrackline.consumers.targets.iceberg.direct.java_values import JavaValues
from wrackline.consumers.targets.iceberg.direct.row_choice import RowChoice, choose
from wrackline.consumers.targets.iceberg.direct.snapshot_history import APPLIED_PROPERTY, IcebergApplied
from wrackline.consumers.targets.iceberg.direct.stored_cells import (
    CellNumbers,
    Cells,
    fill,
    lacks_values,
    read_cells,
)
from wrackline.consumers.targets.iceberg.direct.table_memory import Memories, RememberedFile, TableMemory
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId

_LOG: Final = logging.getLogger("wrackline.direct")
_MOST_REMEMBERED: Final = 20_000  # rows of a new file whose keys are kept at once


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table of ours that is there, as Iceberg has it now."""

    address: TableAddress
    java: JavaTable
    properties: Mapping[str, str]
    schema_text: str
    origin: TableOrigin
    before: IcebergApplied


class DirectTables:
    """The tables of one target; any thread may ask."""

    def __init__(self, session: SparkSession, is_conflict: Callable[[Exception], bool]) -> None:
        """Take a session whose Java is at hand, and how a refused commit is recognized."""
        self._session, self._is_conflict = session, is_conflict
        self._values, self._memories = JavaValues(session), Memories()

    def load(self, address: TableAddress, table_id: TableId) -> LoadedTable | None:
        """Load a table; None: it is not there, or Iceberg has not what is asked of it."""
        memory = self._memories.of(table_id)
        try:
            java = JavaTable(self._values, self._session, address.name)
            properties, schema_text = table_shape.decode_properties(java.properties), java.schema_text
            origin = table_shape.check_own(properties, table_id, address)
            before = java.progress(address.name, memory.snapshots)
        except WracklineError:
            raise
        except FAILED:
            return None
        except Exception as exc:  # noqa: BLE001 - a jar that has not what is asked of it
            _LOG.warning("%s can't be loaded directly: %s", address.name, type(exc).__name__)
            return None
        return LoadedTable(address, java, properties, schema_text, origin, before)

    def begin(self, table: LoadedTable, plan: MergePlan) -> "DirectTable | None":
        """Return a table that is where the plan begins; None: it is not as this room expects it."""
        memory = self._memories.of(plan.table.id)
        if memory.rest:
            memory.rest -= 1
            return None
        if plan.lacking_is_null or plan.told_late:
            return None
        if not can_compare(key_columns(plan)) or not table.java.fits(table.properties):
            return None
        if not fits(table.schema_text, plan):
            return None
        table_shape.check_matches_plan(table.origin, plan, table.address)
        plan.check_follows(table.before.applied, table.address.name)
        return DirectTable(table, memory, self._memories, self._is_conflict)

    def forget(self, table_id: TableId) -> None:
        """Forget a table that is dropped."""
        self._memories.forget(table_id)


class DirectTable:
    """A table that a few rows can be merged into."""

    def __init__(
        self,
        table: LoadedTable,
        memory: TableMemory,
        memories: Memories,
        is_conflict: Callable[[Exception], bool],
    ) -> None:
        self._table, self._memory, self._memories = table, memory, memories
        self._is_conflict = is_conflict

    def merge(self, changes: DirectChanges, plan: MergePlan) -> bool:
        """Merge and commit; False: nothing is changed, and MERGE has to do it."""
        java, memory = self._table.java, self._memory
        form = f"{plan.key} {self._table.schema_text}"
        try:
            prepared = self._prepare(changes, plan, form)
        except UNFIT:
            return False
        except Exception as exc:  # noqa: BLE001 - nothing is changed yet, and MERGE says what it is
            _LOG.warning("%s is left to MERGE: %s", self._table.address.name, type(exc).__name__)
            return False
        if prepared is None:
            return False
        if not java.commit(prepared.commit, self._is_conflict):
            return False
        if memory.is_at(java.snapshot_id, form) and prepared.commit.snapshot is not None:
            self._remember(prepared)
        return True

    def _prepare(self, changes: DirectChanges, plan: MergePlan, form: str) -> "_Prepared | None":
        """Write the files of a commit; None: MERGE has to do it."""
        after = self._table.before.applied.then(plan.upto)
        if after.floor != self._table.before.floor:
            return None  # older rows have to go
        key = key_columns(plan)
        keys = [arrow_column(changes.columns[plan.columns.index(column)], column.type) for column in key]
        wanted = key_array(key, keys)
        files = self._files(keys[0], plan, form) if len(changes) else []
        if files is None:
            return None
        chosen = choose(changes, self._memory.stored(wanted, files), after.floor, plan.deletes)
        if chosen is None:
            return None
        rows = self._new_rows(changes, chosen, files, plan) if len(chosen.added) else None
        if rows is None and len(chosen.added):
            return None
        gone = defaultdict[str, list[int]](list)
        for file, position in zip(
            chosen.gone.file.to_pylist(), chosen.gone.position.to_pylist(), strict=True
        ):
            gone[files[file].location].append(position)
        content = None if rows is None else parquet_bytes(self._table.schema_text, plan, rows)
        commit = self._table.java.prepare(content, gone, self._memory.files, {APPLIED_PROPERTY: text(after)})
        return _Prepared(commit, gone, rows, keys[0].take(chosen.added), wanted.take(chosen.added))

    def _new_rows(
        self, changes: DirectChanges, chosen: RowChoice, files: Sequence[RememberedFile], plan: MergePlan
    ) -> NewRows | None:
        """Return the rows that come; None: it would take too much memory to know what is stored."""
        those = changes if len(chosen.added) == len(changes) else changes.take(chosen.added)
        rows = new_rows(plan, those, pa.nulls(len(those), MISSING), chosen.replaced.row_id)
        if not lacks_values(those):
            return rows
        named = self._numbers()
        numbers = CellNumbers(
            [named[column.target] for column in plan.columns],
            named[plan.ours.missing],
            [column.identity for column in plan.columns],
        )

        def read(file: int, types: Mapping[int, pa.DataType], positions: pa.Array) -> Cells | None:
            with self._table.java.opened(files[file]) as opened:
                return read_cells(opened, types, positions)

        return fill(rows, chosen.replaced, numbers, read)

    def _files(self, firsts: pa.Array, plan: MergePlan, form: str) -> list[RememberedFile] | None:
        """Return the files that may have these keys, with their rows; None: it would take too much memory."""
        java, memory, key, named = self._table.java, self._memory, key_columns(plan), self._numbers()
        numbers = FileNumbers(
            [named[column.target] for column in key], named[plan.ours.seq], named[plan.ours.deleted]
        )
        if not memory.is_at(java.snapshot_id, form):
            found = java.files(numbers.key[0])
            if found is None:
                memory.let_go()
                return None
            memory.replace_files(found, java.snapshot_id, form)
        least, greatest = compute.min(firsts).as_py(), compute.max(firsts).as_py()
        files = [one for one in memory.files.values() if one.may_have(least, greatest)]
        with self._memories.reading:
            for one in files:
                if one.rows is None:
                    with java.opened(one) as file:
                        one.rows = read_rows(file, key, numbers, partial(self._memories.has_room, memory))
                    if one.rows is None:
                        memory.let_go()
                        return None
                java.read_marks(one)
        return files

    def _numbers(self) -> Mapping[str, int]:
        return numbers_of(loads(self._table.schema_text)["fields"])

    def _remember(self, done: "_Prepared") -> None:
        """Bring what is known of the table to the snapshot that was made."""
        memory, commit = self._memory, done.commit
        for location, positions in done.gone.items():
            one = memory.files[location]
            one.mark(positions)
            one.marks, one.vector = commit.marks[location], commit.vectors[location]
            one.vector_name = vector_name(one.vector)
        if commit.data_file is not None and done.rows is not None:
            location, changes = commit.data_file.location(), done.rows.changes
            memory.files[location] = RememberedFile(
                *(location, commit.data_file.fileSizeInBytes(), len(changes), commit.first_row_id),
                *(compute.min(done.firsts).as_py(), compute.max(done.firsts).as_py()),
                rows=self._remembered_rows(done.rows, done.keys),
            )
        if commit.snapshot is not None:
            memory.snapshot_id, snapshot = commit.snapshot
            memory.snapshots[memory.snapshot_id] = snapshot

    def _remembered_rows(self, rows: NewRows, keys: pa.Array) -> FileRows | None:
        """Return the rows of a new file, if there is room; otherwise they are read when they are needed."""
        if len(rows) > _MOST_REMEMBERED:
            return None
        changes = rows.changes
        made = FileRows(keys, changes.seq.dictionary_encode(), changes.deleted, rows.row_ids)
        return made if self._memories.has_room(self._memory, made.size) else None


class _Prepared(NamedTuple):
    """A commit, and what is known of the table once it is made."""

    commit: PreparedCommit
    gone: Mapping[str, list[int]]
    rows: NewRows | None
    firsts: pa.Array  # the first column of the keys of these rows
    keys: pa.Array


def key_columns(plan: MergePlan) -> list[PlannedColumn]:
    """Return the columns of the key, in its order."""
    by_name = {column.target: column for column in plan.columns}
    return [by_name[name] for name in plan.key]

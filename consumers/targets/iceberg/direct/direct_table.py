"""One Iceberg table, as it was when a direct merge began, and the merge itself.

    begin   the table, if it is such that files that are written here are as Spark would write them
    merge   its rows under the batch's keys -> what goes and what comes -> files -> one commit

It is right because the commit is Iceberg's own row delta with MERGE's checks: if anybody else has committed
rows or deletes since `begin`, or has replaced a file with a row that goes, it is refused, and the batch is
merged as any other.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from json import loads
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession

from wrackline.consumers.contract.applied_text import text
from wrackline.consumers.contract.direct import DirectRow
from wrackline.consumers.contract.plan import MergePlan, PlannedColumn
from wrackline.consumers.lake import table_shape
from wrackline.consumers.lake.table_format import FAILED
from wrackline.consumers.lake.table_shape import TableAddress, TableOrigin
from wrackline.consumers.targets.iceberg.direct.arrow_columns import UNFIT, arrow_column
from wrackline.consumers.targets.iceberg.direct.data_file import fits, parquet_bytes
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
from wrackline.consumers.targets.iceberg.direct.row_choice import Key, RowChoice, StoredRow, choose
from wrackline.consumers.targets.iceberg.direct.snapshot_history import APPLIED_PROPERTY, IcebergApplied
from wrackline.consumers.targets.iceberg.direct.table_memory import Memories, RememberedFile, TableMemory
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId

_LOG: Final = logging.getLogger("wrackline.direct")


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

    def merge(self, rows: Sequence[DirectRow], plan: MergePlan) -> bool:
        """Merge and commit; False: nothing is changed, and MERGE has to do it."""
        java, memory = self._table.java, self._memory
        form = f"{plan.key} {self._table.schema_text}"
        try:
            prepared = self._prepare(rows, plan, form)
        except UNFIT:
            return False
        except Exception as exc:  # noqa: BLE001 - nothing is changed yet, and MERGE says what it is
            _LOG.warning("%s is left to MERGE: %s", self._table.address.name, type(exc).__name__)
            return False
        if prepared is None:
            return False
        done, chosen = prepared
        if not java.commit(done, self._is_conflict):
            return False
        if memory.is_at(java.snapshot_id, form) and done.snapshot is not None:
            self._remember(done, chosen, plan)
        return True

    def _prepare(
        self, rows: Sequence[DirectRow], plan: MergePlan, form: str
    ) -> tuple[PreparedCommit, RowChoice] | None:
        """Write the files of a commit; None: MERGE has to do it."""
        after = self._table.before.applied.then(plan.upto)
        if after.floor != self._table.before.floor:
            return None  # older rows have to go
        keys = _keys(rows, plan)
        stored = self._stored(keys, plan, form) if keys else []
        chosen = (
            None
            if stored is None
            else choose(zip(keys, rows, strict=True), stored, after.floor, plan.deletes)
        )
        if chosen is None:
            return None
        content = parquet_bytes(self._table.schema_text, plan, chosen.added) if chosen.added else None
        applied = {APPLIED_PROPERTY: text(after)}
        return self._table.java.prepare(content, chosen.positions(), self._memory.files, applied), chosen

    def _stored(self, keys: Sequence[Key], plan: MergePlan, form: str) -> list[StoredRow] | None:
        """Return the rows with these keys; None: it would take too much memory to know."""
        java, memory, key = self._table.java, self._memory, key_columns(plan)
        named = numbers_of(loads(self._table.schema_text)["fields"])
        numbers = FileNumbers(
            [named[column.target] for column in key], named[plan.ours.seq], named[plan.ours.deleted]
        )
        if not memory.is_at(java.snapshot_id, form):
            found = java.files(numbers.key[0])
            if found is None:
                memory.let_go()
                return None
            memory.replace_files(found, java.snapshot_id, form)
        firsts: list[Any] = [one[0] for one in keys]
        files = [one for one in memory.files.values() if one.may_have(min(firsts), max(firsts))]
        with self._memories.reading:
            for one in files:
                if one.rows is None:
                    with java.opened(one) as file:
                        one.rows = read_rows(file, key, numbers, partial(self._memories.has_room, memory))
                    if one.rows is None:
                        memory.let_go()
                        return None
                java.read_marks(one)
        return memory.stored(_key_arrays(keys, key), keys, files)

    def _remember(self, done: PreparedCommit, chosen: RowChoice, plan: MergePlan) -> None:
        """Bring what is known of the table to the snapshot that was made."""
        memory = self._memory
        for location, positions in chosen.positions().items():
            one = memory.files[location]
            one.mark(positions)
            one.marks, one.vector = done.marks[location], done.vectors[location]
            one.vector_name = vector_name(one.vector)
        if done.data_file is not None:
            keys = _keys([change for change, _ in chosen.added], plan)
            firsts: list[Any] = [one[0] for one in keys]
            location = done.data_file.location()
            memory.files[location] = RememberedFile(
                *(location, done.data_file.fileSizeInBytes(), len(keys), done.first_row_id),
                *(min(firsts), max(firsts)),
                rows=FileRows(
                    _key_arrays(keys, key_columns(plan)),
                    pa.array([change.seq for change, _ in chosen.added], pa.string()).dictionary_encode(),
                    pa.array([change.deleted for change, _ in chosen.added], pa.bool_()),
                    pa.array([row_id for _, row_id in chosen.added], pa.int64()),
                ),
            )
        if done.snapshot is not None:
            memory.snapshot_id, snapshot = done.snapshot
            memory.snapshots[memory.snapshot_id] = snapshot


def key_columns(plan: MergePlan) -> list[PlannedColumn]:
    """Return the columns of the key, in its order."""
    by_name = {column.target: column for column in plan.columns}
    return [by_name[name] for name in plan.key]


def _keys(rows: Sequence[DirectRow], plan: MergePlan) -> list[Key]:
    places = [plan.columns.index(column) for column in key_columns(plan)]
    return [tuple(row.values[place] for place in places) for row in rows]


def _key_arrays(keys: Sequence[Key], key: Sequence[PlannedColumn]) -> pa.Array:
    columns = [arrow_column([one[place] for one in keys], column.type) for place, column in enumerate(key)]
    return key_array(key, columns)

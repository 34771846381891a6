"""The target's plug-in: a table is one file, written anew with each batch, so it is for small tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.letters import LetterBox
from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, PlannedColumn
from wrackline.consumers.contract.target import (
    Alteration,
    Capabilities,
    MergeStyle,
    SparkNeeds,
    UpkeepRemoval,
    UpkeepResult,
)
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.settings.setting import Declared, Importance, Setting
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.settings.value_kinds import SettingKind
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind
from wrackline_jsonl.files import Folder, TableFile
from wrackline_jsonl.merge import Key, NewestChange, StoredRow, merge

NO_KEY = define(
    "jsonl.no_key",
    OperatorNeeded,
    "{table} has no key, and files of JSON lines hold only tables with one",
    hint="give it a key, or leave it out: table.exclude.list = '{table}'",
)
NO_REPLAY = define(
    "jsonl.no_replay",
    OperatorNeeded,
    "dead letters of {table} can't be replayed into a file of JSON lines",
    hint="have its rows read again: wrackline snapshot start <pipeline.toml> '{table}'",
)
FOLDER = Setting(
    "target.jsonl.folder",
    SettingKind.STRING,
    "Where the files are.",
    importance=Importance.HIGH,
    group="JSON lines",
    required=True,
    located=True,
)
COLUMNS = ("row", "seq", "op", "deleted", "unix_millis(commit_ts) AS committed_ms", "unsent", "missing")


class Frame(Protocol):
    """What is asked of a DataFrame of Spark."""

    def selectExpr(self, *columns: str) -> "Frame":  # noqa: N802 - Spark's name
        """Choose columns."""
        ...

    def toLocalIterator(self) -> Any:  # noqa: N802 - rows of Spark, read by name
        """Return the rows."""
        ...


@dataclass(frozen=True, slots=True)
class StagedBatch:
    """A batch in memory."""

    changes: tuple[tuple[Key, NewestChange], ...]


class JsonLines:
    """A folder of files."""

    can = Capabilities(
        identifiers=Identifiers(most_characters=200),
        native=frozenset({Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.STRING}),
        most_decimal_digits=38,
        merge=MergeStyle.MERGE,
        deletes=frozenset({Deletes.SOFT}),
        transactional_ddl=True,
        renames=True,
        drops=True,
        widens=frozenset({(Kind.INT32, Kind.INT64)}),
    )

    def __init__(self, folder: Folder) -> None:
        """Take the files."""
        self._folder = folder
        self.letters: LetterBox = folder

    def held(self, table: TableId) -> tuple[PlannedColumn, ...] | None:
        """Return a table's columns."""
        found = self._folder.read(table)
        return None if found is None else found.columns

    def ensure_table(self, plan: MergePlan) -> None:
        """Make an empty file where there is none."""
        if plan.keyless:
            raise NO_KEY(table=plan.table.id)
        with self._folder.locked(plan.table.id):
            if self._folder.read(plan.table.id) is None:
                self._folder.write(plan.table.id, TableFile(plan.columns, plan.key))

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        """Exchange columns by identity; values stay with them."""
        table = plan.table.id
        with self._folder.locked(table):
            held = self._read(table)
            wanted = {column.identity: column for column in plan.columns}
            columns = {column.identity: column for column in held.columns}
            for change in changes:
                match change:
                    case AddColumn(column):
                        columns.setdefault(column.identity, wanted[column.identity])
                    case DropColumn(column):
                        columns.pop(column.identity, None)
                    case RenameColumn(identity) | ChangeType(identity):
                        columns[identity] = wanted[identity]
            names = {
                one.target: columns[one.identity].target for one in held.columns if one.identity in columns
            }
            empty = {column.target: None for column in columns.values()}
            rows = {key: _renamed(row, names, empty) for key, row in held.rows.items()}
            self._folder.write(table, replace(held, columns=tuple(columns.values()), key=plan.key, rows=rows))

    def stage(self, frame: Frame, plan: MergePlan) -> StagedBatch:
        """Hold the frame's rows."""
        if plan.told_late:
            raise NO_REPLAY(table=plan.table.id)
        found = frame.selectExpr(*COLUMNS).toLocalIterator()
        return StagedBatch(tuple(_change(plan, record) for record in found))

    def apply(self, staged: StagedBatch, plan: MergePlan) -> None:
        """Merge, and exchange the file."""
        table = plan.table.id
        with self._folder.locked(table):
            held = self._read(table)
            plan.check_follows(held.applied, str(table))
            applied = held.applied.then(plan.upto)
            rows = merge(held.rows, staged.changes, applied.floor)
            if plan.lacking_is_null:
                rows = {key: replace(row, missing=frozenset()) for key, row in rows.items()}
            self._folder.write(table, replace(held, rows=rows, applied=applied))

    def applied(self, table: TableId) -> Applied:
        """Return how far the file is."""
        found = self._folder.read(table)
        return Applied() if found is None else found.applied

    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        """Forget old tombstones."""
        with self._folder.locked(table):
            held = self._read(table)
            rows = {
                key: row
                for key, row in held.rows.items()
                if not (row.deleted and row.committed_ms < forget_before_ms)
            }
            self._folder.write(table, replace(held, rows=rows))
        gone = len(held.rows) - len(rows)
        return UpkeepResult({UpkeepRemoval.TOMBSTONES: gone}, sum(bool(row.missing) for row in rows.values()))

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Find nothing: `open` has made the folder, or has failed."""
        del tables
        return ()

    def close(self) -> None:
        """Nothing is open."""

    def _read(self, table: TableId) -> TableFile:
        found = self._folder.read(table)
        if found is None:
            raise LookupError("the table is not there")
        return found


def _renamed(row: StoredRow, names: Mapping[str, str], empty: Mapping[str, None]) -> StoredRow:
    values = {names[name]: value for name, value in row.values.items() if name in names}
    missing = frozenset(names[name] for name in row.missing if name in names)
    return replace(row, values={**empty, **values}, missing=missing)


def _change(plan: MergePlan, record: Mapping[str, Any]) -> tuple[Key, NewestChange]:
    values = {column.target: record["row"][column.target] for column in plan.columns}
    missing, unsent = (frozenset(record[name] or ()) for name in ("missing", "unsent"))
    row = StoredRow(values, record["seq"], record["op"], record["deleted"], missing, record["committed_ms"])
    return tuple(values[name] for name in plan.key), NewestChange(row, unsent)


class JsonLinesPlugin:
    """What the entry point offers."""

    kind = "jsonl"
    contract = 1
    settings = Declared((FOLDER,))

    def needs(self, settings: Values) -> SparkNeeds:
        """Ask for no jar."""
        del settings
        return SparkNeeds()

    def open(self, settings: Values, spark: object) -> JsonLines:
        """Make the folder."""
        del spark
        return JsonLines(Folder(Path(settings.text(FOLDER.name))))


PLUGIN: Final = JsonLinesPlugin()

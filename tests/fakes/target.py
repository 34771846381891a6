"""A target in plain Python: the verified fake of the target contract.

It keeps each table as one value, exchanged in one assignment, which is its commit.  The storage outlives
the target, so a test can end one anywhere and open the next on what it left.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wrackline.consumers.contract.identifiers import Identifiers, suffixed_names
from wrackline.consumers.contract.letters import DeadLetter, RecordPosition
from wrackline.consumers.contract.modes import OTHER_MODE
from wrackline.consumers.contract.plan import ROW, Applied, Deletes, MergePlan, PlannedColumn, TableMode
from wrackline.consumers.contract.target import (
    Alteration,
    Capabilities,
    MergeStyle,
    UpkeepRemoval,
    UpkeepResult,
)
from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind
from wrackline.testing.targets.merge_model import Key, Latest, Rows, Stored, forget, merge, settle, visible
from wrackline.testing.targets.target_suite import Crash

Frame = Mapping[Key, Latest]


@dataclass(frozen=True)
class Table:
    """All that one commit exchanges."""

    columns: tuple[PlannedColumn, ...]
    rows: Rows = field(default_factory=dict)
    applied: Applied = field(default_factory=Applied)
    key: tuple[str, ...] = ()
    mode: TableMode = TableMode.UPSERT
    tracked: frozenset[str] | None = None

    @property
    def of_source(self) -> list[str]:
        """The columns that are the source's."""
        return [column.target for column in self.columns if column.identity != ROW]


@dataclass
class Storage:
    """What is left when a target's process ends."""

    tables: dict[TableId, Table] = field(default_factory=dict)
    aside: dict[TableId, Table] = field(default_factory=dict)  # what was ours
    staged: dict[int, Frame] = field(default_factory=dict)
    letters: dict[TableId, dict[RecordPosition, DeadLetter]] = field(default_factory=dict)
    crash: str | None = None  # the point at which the next apply ends its process

    def reach(self, point: str) -> None:
        if self.crash == point:
            self.crash = None
            raise Crash(point)


class FakeLetters:
    """Holds letters in memory."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def keep(self, table: TableId, letters: Iterable[DeadLetter]) -> None:
        held = self._storage.letters.setdefault(table, {})
        for letter in letters:
            held.setdefault(letter.spot, letter)

    def spots(self, table: TableId) -> frozenset[RecordPosition]:
        return frozenset(self._storage.letters.get(table, {}))

    def kept(self, table: TableId) -> Iterator[DeadLetter]:
        held = self._storage.letters.get(table, {})
        return iter([held[spot] for spot in sorted(held)])

    def remove(self, table: TableId, spots: Collection[RecordPosition]) -> None:
        for spot in spots:
            self._storage.letters.get(table, {}).pop(spot, None)


class FakeTarget:
    """Holds tables in memory."""

    can = Capabilities(
        identifiers=Identifiers(most_characters=24, refused="[^A-Za-z0-9_é]", case_sensitive=False),
        native=frozenset(Kind),
        most_decimal_digits=38,
        merge=MergeStyle.MERGE,
        deletes=frozenset(Deletes),
        transactional_ddl=True,
        renames=True,
        drops=True,
        widens=frozenset({(Kind.INT32, Kind.INT64)}),
        modes=frozenset(TableMode),
        sets_aside=True,
    )

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.letters = FakeLetters(storage)

    def held(self, table: TableId) -> tuple[PlannedColumn, ...] | None:
        found = self._storage.tables.get(table)
        return None if found is None else found.columns

    def ensure_table(self, plan: MergePlan) -> None:
        made = Table(plan.columns, key=plan.key, mode=plan.mode)
        table = self._storage.tables.setdefault(plan.table.id, made)
        if table.mode is not plan.mode:
            name, modes = plan.table.id, {"made": table.mode.value, "wanted": plan.mode.value}
            raise OTHER_MODE(target=name, drop=f"drop {name}", table=name, **modes)

    def alter(self, plan: MergePlan, changes: Sequence[Alteration]) -> None:
        table = self._storage.tables[plan.table.id]
        wanted = {column.identity: column for column in plan.columns}
        held = {column.identity: column for column in table.columns}
        for change in changes:
            match change:
                case AddColumn(column):
                    held.setdefault(column.identity, wanted[column.identity])
                case DropColumn(column):
                    held.pop(column.identity, None)
                case RenameColumn(identity):
                    new = wanted[identity]
                    held[identity] = replace(held[identity], source=new.source, target=new.target)
                case ChangeType(identity):
                    held[identity] = replace(held[identity], type=change.new)
        columns = tuple(held.values())
        names = {c.target: held[c.identity].target for c in table.columns if c.identity in held}
        rows = {key: _reshaped(row, columns, names) for key, row in table.rows.items()}
        self._storage.tables[plan.table.id] = replace(table, columns=columns, rows=rows)

    def stage(self, frame: Frame, plan: MergePlan) -> int:
        del plan
        number = len(self._storage.staged)
        self._storage.staged[number] = frame
        return number

    def apply(self, staged: int, plan: MergePlan) -> None:
        table = self._storage.tables[plan.table.id]
        plan.check_follows(table.applied, str(plan.table.id))
        applied = table.applied.then(plan.upto)
        rows = merge(table.rows, self._storage.staged[staged], applied.floor)
        if plan.deletes is Deletes.HARD:
            rows = {key: row for key, row in rows.items() if not row.deleted}
        if plan.lacking_is_null:
            rows = {key: replace(row, missing=frozenset()) for key, row in rows.items()}
        blank = {column.target: None for column in table.columns}
        rows = {key: replace(row, values={**blank, **row.values}) for key, row in rows.items()}
        made = replace(table, rows=rows, applied=applied, tracked=plan.tracked)
        self._storage.reach("before the commit")
        self._storage.tables[plan.table.id] = made
        self._storage.reach("after the commit")
        del self._storage.staged[staged]

    def applied(self, table: TableId) -> Applied:
        found = self._storage.tables.get(table)
        return Applied() if found is None else found.applied

    def upkeep(self, table: TableId, *, forget_before_ms: int) -> UpkeepResult:
        found = self._storage.tables[table]
        if found.mode is not TableMode.UPSERT:
            return UpkeepResult()
        if any(column.identity == ROW for column in found.columns):
            rows = settle(found.rows, forget_before_ms, found.of_source)
        else:
            rows = forget(found.rows, forget_before_ms)
        self._storage.tables[table] = replace(found, rows=rows)
        gone = len(found.rows) - len(rows)
        return UpkeepResult({UpkeepRemoval.TOMBSTONES: gone}, sum(bool(row.missing) for row in rows.values()))

    def drop(self, table: TableId) -> bool:
        self._storage.letters.pop(table, None)
        return self._storage.tables.pop(table, None) is not None

    def set_aside(self, table: TableId, suffix: str) -> str | None:
        found = self._storage.tables.pop(table, None)
        if found is None:
            return None
        taken = {one.name for one in (*self._storage.tables, *self._storage.aside)}
        names = suffixed_names(table.name, suffix, replace(self.can.identifiers, most_characters=60))
        name = next(one for one in names if one not in taken)
        self._storage.aside[table._replace(name=name)] = found
        return name

    def read(self, table: TableId) -> Sequence[Sequence[object]]:
        found = self._storage.tables.get(table)
        rows = {} if found is None else visible(found.rows)
        return [[row[one.target] for one in self.held(table) or ()] for row in rows.values()]

    def check(self, tables: Sequence[TableId]) -> Sequence[Finding]:
        return [
            Finding(
                id="test.fake_not_created",
                name="table not created yet",
                description=f"{table} is not there",
                suggestion="nothing to do: it is created with its first batch",
                impact="none",
                severity=Severity.INFO,
                table=table,
            )
            for table in tables
            if self.held(table) is None
        ]

    def close(self) -> None:
        pass


def _reshaped(row: Stored, columns: tuple[PlannedColumn, ...], names: Mapping[str, str]) -> Stored:
    """Give a stored row the table's columns; `names` maps the old name of each that stays to its new one."""
    values = {names[name]: value for name, value in row.values.items() if name in names}
    missing = frozenset(names[name] for name in row.missing if name in names)
    return replace(
        row, values={column.target: values.get(column.target) for column in columns}, missing=missing
    )

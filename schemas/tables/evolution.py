"""What changed between two shapes of a table, by the identity of its columns.

Comes in: the table before and after.  Goes out: a list of changes that, applied in order to the first,
give the second.  A column with the same identity is the same column, whatever its name; a column that was
dropped and made again under the same name is another one.

Each change says what is known here of the values already stored in a target.  Only the source knows the rest
(a default, a USING clause, a guessed rename), and it reads the rows again if it must.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from wrackline.schemas.errors import Definite, define
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

DUPLICATE_IDENTITY = define(
    "evolution.duplicate_identity",
    Definite,
    "two columns of table {table} have the same identity, so their changes can't be distinguished",
    hint="read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)


class Stored(Enum):
    """What a change means for the values that a target already holds."""

    SAME = "same"  # they stay true as they are
    GONE = "gone"  # they no longer have a place
    SOURCE_KNOWS = "source-knows"  # the source may have rewritten them without a row event
    REKEYED = "rekeyed"  # they stay true, but other columns identify rows: the table restarts


class Widening(Enum):
    """The relation of a new type to the old one."""

    SAME_CARRIER = "same-carrier"  # only the server's own name for it changed: varchar(20) to varchar(40)
    WIDER = "wider"  # every old value is a value of the new type
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A column that did not exist; `position` is its place among the columns of that moment."""

    column: Column
    position: int

    @property
    def stored(self) -> Stored:
        """A default, a generated or identity column gives old rows values that only the source knows."""
        return Stored.SOURCE_KNOWS


@dataclass(frozen=True, slots=True)
class DropColumn:
    """A column that no longer exists."""

    column: Column

    @property
    def stored(self) -> Stored:
        """Its values are gone."""
        return Stored.GONE


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """The same column under another name; not `proven` if the source only guesses that."""

    identity: int
    old: str
    new: str
    proven: bool

    @property
    def stored(self) -> Stored:
        """A proven rename touches nothing; a guessed one may be a drop and an add."""
        return Stored.SAME if self.proven else Stored.SOURCE_KNOWS


@dataclass(frozen=True, slots=True)
class ChangeType:
    """The same column with another type."""

    identity: int
    name: str
    old: ColumnType
    new: ColumnType

    @property
    def widening(self) -> Widening:
        """Whether the old values fit the new type."""
        return widening(self.old, self.new)

    @property
    def stored(self) -> Stored:
        """Even a wider type may come with an expression that changed every value."""
        return Stored.SOURCE_KNOWS


@dataclass(frozen=True, slots=True)
class ChangeNullability:
    """The same column, now with or without NOT NULL."""

    identity: int
    name: str
    nullable: bool

    @property
    def stored(self) -> Stored:
        """Rows were checked, not changed."""
        return Stored.SAME


@dataclass(frozen=True, slots=True)
class ChangeGenerated:
    """The same column, now computed by the database, or no longer."""

    identity: int
    name: str
    generated: bool

    @property
    def stored(self) -> Stored:
        """A column that becomes generated is computed for old rows too."""
        return Stored.SOURCE_KNOWS if self.generated else Stored.SAME


@dataclass(frozen=True, slots=True)
class ChangeKey:
    """Other columns identify rows, or the key comes from elsewhere; the names are those after the change."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    old_kind: KeyKind
    new_kind: KeyKind

    @property
    def stored(self) -> Stored:
        """The same columns from another constraint change nothing for the rows."""
        return Stored.SAME if self.old == self.new else Stored.REKEYED


@dataclass(frozen=True, slots=True)
class RenameTable:
    """The same table under another name, and so with another topic."""

    old: TableId
    new: TableId

    @property
    def stored(self) -> Stored:
        """Rows are where they were."""
        return Stored.SAME


@dataclass(frozen=True, slots=True)
class Reorder:
    """The same columns in another order, by identity."""

    identities: tuple[int, ...]

    @property
    def stored(self) -> Stored:
        """Columns are found by identity, not by place."""
        return Stored.SAME


Change = (
    RenameTable
    | DropColumn
    | RenameColumn
    | ChangeType
    | ChangeNullability
    | ChangeGenerated
    | AddColumn
    | Reorder
    | ChangeKey
)


def changes(
    old: TableSchema, new: TableSchema, *, guessed_renames: Collection[int] = ()
) -> tuple[Change, ...]:
    """The changes from `old` to `new`; `guessed_renames` are identities that the source can't prove."""
    was, now = _by_identity(old), _by_identity(new)
    found: list[Change] = []
    if old.id != new.id:
        found.append(RenameTable(old.id, new.id))
    found += [DropColumn(column) for identity, column in was.items() if identity not in now]
    for identity, column in now.items():
        if identity in was:
            found += _column_changes(was[identity], column, proven=identity not in guessed_renames)
    left = [identity for identity in was if identity in now]
    for position, (identity, column) in enumerate(now.items()):
        if identity not in was:
            found.append(AddColumn(column, min(position, len(left))))
            left.insert(position, identity)
    if left != list(now):
        found.append(Reorder(tuple(now)))
    key = _renamed_key(old, now)
    if (key, old.key_kind) != (new.key, new.key_kind):
        found.append(ChangeKey(key, new.key, old.key_kind, new.key_kind))
    return tuple(found)


def apply(table: TableSchema, steps: Sequence[Change]) -> TableSchema:
    """The table after the changes; a change of a missing column is a fault of the caller's code."""
    for step in steps:
        table = _apply_one(table, step)
    return table


def widening(old: ColumnType, new: ColumnType) -> Widening:
    """Whether every value of the old type is a value of the new type."""
    if replace(old, source="") == replace(new, source=""):
        return Widening.SAME_CARRIER
    if old.kind is not new.kind:
        wider = (old.kind, new.kind) in _WIDER or (
            new.kind is Kind.DECIMAL and old.kind in _DIGITS and _digits_fit(old, new)
        )
        return Widening.WIDER if wider else Widening.OTHER
    match old.kind:
        case Kind.DECIMAL:
            fits = _digits_fit(old, new)
        case Kind.ENUM | Kind.ENUM_SET:
            fits = set(old.labels) <= set(new.labels)
        case Kind.ARRAY if old.element and new.element:
            fits = widening(old.element, new.element) is not Widening.OTHER
        case _:
            fits = False
    return Widening.WIDER if fits else Widening.OTHER


# a float takes no integer that it could round, and a text takes nothing that it would write differently
_WIDER = frozenset(
    {
        (Kind.INT16, Kind.INT32),
        (Kind.INT16, Kind.INT64),
        (Kind.INT32, Kind.INT64),
        (Kind.INT16, Kind.FLOAT32),
        (Kind.INT16, Kind.FLOAT64),
        (Kind.INT32, Kind.FLOAT64),
        (Kind.FLOAT32, Kind.FLOAT64),
        (Kind.DECIMAL, Kind.NUMERIC_TEXT),
        (Kind.ENUM, Kind.STRING),
    }
)
_DIGITS = {Kind.INT16: 5, Kind.INT32: 10, Kind.INT64: 19, Kind.UINT64: 20}


def _digits_fit(old: ColumnType, new: ColumnType) -> bool:
    old_scale, new_scale = old.scale or 0, new.scale or 0
    old_digits = _DIGITS.get(old.kind) or (old.precision or 0) - old_scale
    return new_scale >= old_scale and (new.precision or 0) - new_scale >= old_digits


def _by_identity(table: TableSchema) -> dict[int, Column]:
    columns = {column.identity: column for column in table.columns}
    if len(columns) != len(table.columns):
        raise DUPLICATE_IDENTITY(table=table.id)
    return columns


def _column_changes(was: Column, now: Column, *, proven: bool) -> Iterator[Change]:
    if was.name != now.name:
        yield RenameColumn(now.identity, was.name, now.name, proven)
    if was.type != now.type:
        yield ChangeType(now.identity, now.name, was.type, now.type)
    if was.nullable != now.nullable:
        yield ChangeNullability(now.identity, now.name, now.nullable)
    if was.generated != now.generated:
        yield ChangeGenerated(now.identity, now.name, now.generated)


def _renamed_key(old: TableSchema, now: dict[int, Column]) -> tuple[str, ...]:
    """The old key under the new names: renaming a key column does not change the key."""
    return tuple(
        now[column.identity].name if column.identity in now else column.name for column in old.key_columns
    )


def _apply_one(table: TableSchema, step: Change) -> TableSchema:
    match step:
        case RenameTable():
            return replace(table, id=step.new)
        case ChangeKey():
            return replace(table, key=step.new, key_kind=step.new_kind)
        case Reorder():
            columns = _by_identity(table)
            return replace(table, columns=tuple(columns[identity] for identity in step.identities))
        case AddColumn():
            before, after = table.columns[: step.position], table.columns[step.position :]
            return replace(table, columns=(*before, step.column, *after))
        case DropColumn():
            left = tuple(c for c in table.columns if c.identity != step.column.identity)
            return replace(table, columns=left)
    changed = tuple(
        _change_column(column, step) if column.identity == step.identity else column
        for column in table.columns
    )
    key = table.key
    if isinstance(step, RenameColumn):
        key = tuple(step.new if name == step.old else name for name in key)
    return replace(table, columns=changed, key=key)


def _change_column(
    column: Column, step: RenameColumn | ChangeType | ChangeNullability | ChangeGenerated
) -> Column:
    match step:
        case RenameColumn():
            return replace(column, name=step.new)
        case ChangeType():
            return replace(column, type=step.new)
        case ChangeNullability():
            return replace(column, nullable=step.nullable)
        case ChangeGenerated():
            return replace(column, generated=step.generated)

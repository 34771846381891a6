"""Which columns a table has, and where their values lie.

A column's place is given once, and kept: in the table behind the view it has the name that it had when the
table was made, or its name with the number of the state from which it was added.  So a rename, a swap or
a drop is another view, and a place that was dropped, or whose addition did not end, is not used again.  A
column that needs another type gets a second place, which one UPDATE fills, and leaves the first.

In: a plan, the changes, and the shape before them.  Out: the shape after, and which places it adds and fills.
Columns of the table that no shape names are the user's, and no statement of ours names them either.  Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from wrackline.consumers.contract.identifiers import Identifiers, suffixed_names, target_name
from wrackline.consumers.contract.plan import ROW, MergePlan, OurColumns, PlannedColumn, TableMode
from wrackline.consumers.contract.target import Alteration, altered_columns
from wrackline.consumers.staged.dialect import Primitive, StagedDialect
from wrackline.schemas.tables.types import ColumnType


@dataclass(frozen=True, slots=True)
class StagedColumn:
    """A column, and the name that its values have in the table."""

    column: PlannedColumn
    place: str

    @property
    def type(self) -> ColumnType:
        """Its type."""
        return self.column.type


@dataclass(frozen=True, slots=True)
class StagedShape:
    """A table's columns, and which of them are its key."""

    columns: tuple[StagedColumn, ...]
    key: tuple[int, ...]  # identities
    ours: OurColumns
    mode: TableMode = TableMode.UPSERT
    leaving: tuple[str, ...] = ()  # places that are to be dropped
    husks: tuple[str, ...] = ()  # places that can't be dropped, and hold nothing
    shown: bool = False  # whether the view shows this shape, and nothing is leaving

    @property
    def keyless(self) -> bool:
        """Whether rows have no key, and are there as often as they came more than they went."""
        return self.mode is TableMode.UPSERT and self.key == (ROW,)

    @property
    def of_source(self) -> tuple[StagedColumn, ...]:
        """The columns that readers see."""
        return tuple(one for one in self.columns if one.column.identity != ROW)

    @property
    def key_place(self) -> str:
        """The column by which rows are found; where each row is of an event of its own, it says of which."""
        return key_place(self.ours)

    def places(self) -> dict[str, str]:
        """Map each column, by its name for readers, to its place."""
        return {one.column.target: one.place for one in self.columns}


@dataclass(frozen=True, slots=True)
class StagedReshaping:
    """What changes a table's shape: columns that are added, some of which are filled from other places."""

    shape: StagedShape
    added: tuple[StagedColumn, ...] = ()
    filled: tuple[tuple[StagedColumn, StagedColumn], ...] = ()  # the new one, and where its values are

    def announced(self, before: StagedShape) -> StagedShape:
        """Return the shape before it, for which what is about to be added is to be dropped."""
        added = (one.place for one in self.added)
        return replace(before, leaving=(*before.leaving, *added), shown=False)

    def additions(self, table: str, dialect: StagedDialect) -> Iterator[str]:
        """Write the columns that are added; repeated, a statement changes nothing, or it is undone."""
        unless_there = "" if dialect.transactional_ddl else "IF NOT EXISTS "
        for one in self.added:
            column = f"{dialect.quoted(one.place)} {dialect.physical(one.type)}"
            yield f"ALTER TABLE {table} ADD COLUMN {unless_there}{column}"

    def fillings(self, table: str, dialect: StagedDialect) -> list[str]:
        """Write how second places get their values."""
        return [
            f"UPDATE {table} SET {dialect.quoted(new.place)}"  # noqa: S608 - names are quoted
            f" = {dialect.converted(dialect.quoted(old.place), old.type, new.type)}"
            f" WHERE {dialect.quoted(old.place)} IS NOT NULL"
            for new, old in self.filled
        ]


def key_place(ours: OurColumns) -> str:
    """Name the column of a row's key, beside our others."""
    return ours.seq.removesuffix("seq") + "key"


def first_shape(plan: MergePlan, dialect: StagedDialect) -> StagedShape:
    """Return the shape of a table that is made for a plan."""
    empty = StagedShape((), _key(plan), plan.ours, plan.mode)
    return replace(empty, columns=tuple(_placed(plan.columns, empty, dialect.identifiers)))


def reshape_columns(
    shape: StagedShape, plan: MergePlan, changes: Sequence[Alteration], dialect: StagedDialect, number: int
) -> StagedReshaping:
    """Follow the changes, by identity; one that is done already changes nothing.

    The number is the state's, so no two attempts name one place.
    """
    before = {one.column.identity: one for one in shape.columns}
    made = altered_columns({one.column.identity: one.column for one in shape.columns}, plan, changes)
    stays = {
        identity: StagedColumn(column, before[identity].place)
        for identity, column in made.items()
        if identity in before and dialect.physical(before[identity].type) == dialect.physical(column.type)
    }
    fresh = [column for identity, column in made.items() if identity not in stays]
    placed = {one.column.identity: one for one in _placed(fresh, shape, dialect.identifiers, f"__{number}")}
    order = [column.identity for column in plan.columns if column.identity in made]
    order += [identity for identity in made if identity not in order]
    columns = tuple((stays | placed)[identity] for identity in order)
    left = [one.place for identity, one in before.items() if identity not in stays and identity != ROW]
    after = replace(shape, columns=columns, key=_key(plan), leaving=(*shape.leaving, *left))
    if after != shape:
        after = replace(after, shown=False)
    return StagedReshaping(
        after,
        tuple(one for identity, one in placed.items() if identity != ROW),
        tuple((one, before[identity]) for identity, one in placed.items() if identity in before),
    )


def columns_text(shape: StagedShape, dialect: StagedDialect) -> str:
    """Write a table's columns as CREATE TABLE has them; a tombstone has only a key, so all may be null."""
    ours, text = shape.ours, dialect.types[Primitive.TEXT]
    columns = {
        shape.key_place: text,
        **{one.place: dialect.physical(one.type) for one in shape.of_source},
        ours.seq: text,
        ours.op: text,
        ours.deleted: dialect.types[Primitive.BOOLEAN],
        ours.missing: text,
        ours.commit_ts: dialect.moment_type,
    }
    if shape.mode is TableMode.HISTORY:
        columns |= dict.fromkeys((ours.row, ours.unsent, ours.start, ours.end), text)
    return ", ".join(f"{dialect.quoted(name)} {of}" for name, of in columns.items())


def drop_column(table: str, place: str, dialect: StagedDialect) -> str:
    """Write that a place goes with its values."""
    if_there = "" if dialect.transactional_ddl else "IF EXISTS "
    return f"ALTER TABLE {table} DROP COLUMN {if_there}{dialect.quoted(place)}"


def empty_column(table: str, place: str, dialect: StagedDialect) -> str:
    """Write that the values of a place go, which itself can't."""
    name = dialect.quoted(place)
    return f"UPDATE {table} SET {name} = NULL WHERE {name} IS NOT NULL"  # noqa: S608 - names are quoted


def _placed(
    columns: Iterable[PlannedColumn], shape: StagedShape, identifiers: Identifiers, mark: str = ""
) -> Iterator[StagedColumn]:
    """Give columns places that no other one has, nor one that is leaving or can't."""
    places = (*(one.place for one in shape.columns), *shape.leaving, *shape.husks)
    used = {_compared(name, identifiers) for name in places}
    for column in columns:
        if column.identity == ROW:
            of_history = shape.mode is TableMode.HISTORY
            yield StagedColumn(column, shape.ours.row if of_history else shape.key_place)
            continue
        names = suffixed_names(column.target, mark or f"__{column.identity}", identifiers)
        place = next(names) if mark else target_name(column.target, identifiers)
        while _compared(place, identifiers) in used:
            place = next(names)
        used.add(_compared(place, identifiers))
        yield StagedColumn(column, place)


def _compared(name: str, identifiers: Identifiers) -> str:
    return name if identifiers.case_sensitive else name.casefold()


def _key(plan: MergePlan) -> tuple[int, ...]:
    identities = {column.target: column.identity for column in plan.columns}
    return tuple(identities[name] for name in plan.key)

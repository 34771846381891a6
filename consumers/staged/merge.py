"""A batch as the statements of one transaction, behind the one that moves the table's state.

    void      rows that are older than a newer truncate
    merge     rows that are there, where the change is newer; and keys that are not there

The same expressions stand in one MERGE, or, where MERGE has no conditions, in DELETE (of hard deletes),
UPDATE … FROM and INSERT … WHERE NOT EXISTS.  It is right because a change is used only when its seq is newer
than its row's: a repeated batch, or an older change after a newer one, changes nothing.  At one seq a row
that lives is newer than a tombstone, because there a key was deleted and made again.

Rows are found by a hash of their key, which is never null and has one form.  The key's own whole numbers
and days stand beside it, with the batch's range, because that is what a service skips by.  Pure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from wrackline.consumers.contract.limits import Limit, LimitBreach
from wrackline.consumers.contract.plan import (
    ROW,
    Deletes,
    KeyColumnRange,
    MergePlan,
    PlannedColumn,
    TableMode,
)
from wrackline.consumers.contract.target import CHARACTER_REFUSED, ROW_REFUSED, VALUE_REFUSED
from wrackline.consumers.staged.dialect import (
    Primitive,
    StagedDialect,
    bound,
    carried_as,
    list_holds,
    make_list,
)
from wrackline.consumers.staged.shape import StagedShape
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.types import Kind

_OF_TWO_FORMS = frozenset({Kind.FLOAT32, Kind.FLOAT64})  # -0.0 and 0.0 are one key, and two values


@dataclass(frozen=True, slots=True)
class StageColumn:
    """One column of a stage."""

    name: str  # needs no quotes
    of: Primitive
    limit: Limit | None = None


def staged_columns(plan: MergePlan, dialect: StagedDialect | None = None) -> tuple[StageColumn, ...]:
    """Return what a batch is staged as, and what of it the dialect's service can't hold.

    `k` is the key's hash, or the event's own row, which in a history is `e`; `c` and a number is the plan's
    column of that place; `w` and a number says when it was known, where the plan has that; `unsent` and
    `missing` are lists of identities.  The limit of a whole row is that of `k`.
    """
    ours = {
        "seq": Primitive.TEXT,
        "op": Primitive.TEXT,
        "commit_us": Primitive.BIGINT,
        "deleted": Primitive.BOOLEAN,
        "unsent": Primitive.TEXT,
        "missing": Primitive.TEXT,
    }
    numbered = [(at, one) for at, one in enumerate(plan.columns) if one.identity != ROW]
    limits = {at: None if dialect is None else dialect.limit(one.type) for at, one in numbered}
    values = [StageColumn(f"c{at}", carried_as(one.type), limits[at]) for at, one in numbered]
    late = [
        StageColumn(f"w{at}", Primitive.TEXT) for at, one in numbered if plan.told_late and _lacks(one, plan)
    ]
    marks = [StageColumn(name, of) for name, of in ours.items()]
    row = None if dialect is None else dialect.row_limit(limits.values())
    found_by = [StageColumn("k", Primitive.TEXT, row)]
    if plan.mode is TableMode.HISTORY:
        found_by.append(StageColumn("e", Primitive.TEXT))
    return (*found_by, *values, *marks, *late)


def breach_error(
    name: str, breach: LimitBreach, plan: MergePlan, columns: Sequence[StageColumn], place: str
) -> WracklineError:
    """Say which column of a stage holds what the service can't, and in which way."""
    if breach is LimitBreach.CHARACTER:
        return CHARACTER_REFUSED(place=place)
    limit = next((one.limit for one in columns if one.name == name), None) or Limit()
    if breach is LimitBreach.ROW:
        return ROW_REFUSED(place=place, why=limit.words(breach))
    column = plan.columns[int(name.removeprefix("c"))]
    return VALUE_REFUSED(place=place, column=repr(column.source), why=limit.words(breach))


@dataclass(frozen=True, slots=True)
class StagedMerge:
    """One batch, and where it goes."""

    plan: MergePlan
    shape: StagedShape
    dialect: StagedDialect
    table: str  # as a statement names it
    stage: str
    floor: str | None  # seq of the newest truncate that is known
    _places: Mapping[str, str] = field(init=False, repr=False)  # by the names for readers, made once

    def __post_init__(self) -> None:
        """Look where the columns' values lie."""
        object.__setattr__(self, "_places", self.shape.places())

    def void(self) -> str:
        """Delete the rows that are older than the floor."""
        return f"DELETE FROM {self.table} WHERE {self._seq} < {self.dialect.literal(self.floor or '')}"  # noqa: S608 - names and texts are quoted, here and below

    def asks_for_rows(self) -> str | None:
        """Ask for a row within the range of the keys of a load; None: that says nothing about the keys."""
        ranges = self._ranges()
        if not self.plan.loads or not ranges:
            return None
        return f"SELECT 1 FROM {self.table} t WHERE {' AND '.join(self._within())} LIMIT 1"  # noqa: S608

    def steps(self, *, all_new: bool) -> list[str]:
        """Write the merge; `all_new` says that the table has none of the keys."""
        if all_new:
            return [self._insert("")]
        if self.plan.only_adds:
            return [self._insert(self._unless_there())]
        return [self._merge()] if self.dialect.conditional_merge else list(self._in_parts())

    def _merge(self) -> str:
        update = ", ".join(f"{name} = {value}" for name, value in self._updated().items())
        values = self._inserted()
        lives = " AND NOT s.deleted" if self._hard else ""
        clauses = [
            f"MERGE INTO {self.table} t USING {self._source()} s ON {self._same()}",
            *([f"WHEN MATCHED AND {self._newer()} AND s.deleted THEN DELETE"] if self._hard else []),
            f"WHEN MATCHED AND {self._newer()} THEN UPDATE SET {update}",
            f"WHEN NOT MATCHED{lives} THEN INSERT ({', '.join(values)})",
            f"VALUES ({', '.join(values.values())})",
        ]
        return "\n".join(clauses)

    def _in_parts(self) -> Iterator[str]:
        source, met = self._source(), f"{self._same()} AND {self._newer()}"
        if self._hard:
            # DELETE has no alias and no derived table in USING, wherever MERGE has no conditions
            yield (
                f"DELETE FROM {self.table} WHERE {self._key} IN\n"  # noqa: S608
                f"(SELECT t.{self._key} FROM {self.table} t JOIN {source} s ON {met} WHERE s.deleted)"
            )
        update = ", ".join(f"{name} = {value}" for name, value in self._updated().items())
        yield f"UPDATE {self.table} t SET {update}\nFROM {source} s WHERE {met}"  # noqa: S608
        lives = "NOT s.deleted AND " if self._hard else ""
        yield self._insert(lives + self._unless_there())

    def _insert(self, condition: str) -> str:
        values = self._inserted()
        where = f"\nWHERE {condition}" if condition else ""
        return (
            f"INSERT INTO {self.table} ({', '.join(values)})\n"
            f"SELECT {', '.join(values.values())} FROM {self._source()} s{where}"
        )

    def _unless_there(self) -> str:
        return f"NOT EXISTS (SELECT 1 FROM {self.table} t WHERE {self._same()})"  # noqa: S608

    def _source(self) -> str:
        """The batch without what a truncate has voided since it was read."""
        if self.floor is None:
            return self.stage
        return f"(SELECT * FROM {self.stage} WHERE seq >= {self.dialect.literal(self.floor)})"  # noqa: S608

    def _same(self) -> str:
        key = f"t.{self._key} = s.k"
        numbers = {one.target: at for at, one in enumerate(self.plan.columns)}
        columns = [
            f"t.{self._place(name)} = {self._staged(numbers[name])}" for name in self._ranges()
        ]  # no key of the batch is null where its range is known
        return " AND ".join([key, *columns, *self._within()])

    def _within(self) -> list[str]:
        return [
            f"t.{self._place(name)} BETWEEN {bound(least)} AND {bound(greatest)}"
            for name, (least, greatest) in self._ranges().items()
        ]

    def _ranges(self) -> dict[str, tuple[int | date, int | date]]:
        """Where the batch's keys lie; a text has another order in each service."""
        return {name: ends for name, one in self.plan.within.items() if (ends := _ends(one)) is not None}

    def _newer(self) -> str:
        seq, deleted = self._seq, self._deleted
        return f"(s.seq > t.{seq} OR (s.seq = t.{seq} AND t.{deleted} AND NOT s.deleted))"

    def _updated(self) -> dict[str, str]:
        """Return what a newer change writes: its values, and what is stored where it sent none."""
        values = {
            self._place(one.target): self._new_value(at, one)
            for at, one in enumerate(self.plan.columns)
            if one.target not in self.plan.key or one.type.kind in _OF_TWO_FORMS
        }
        return values | self._marks() | {self._missing: self._list_missing(self._still_missing)}

    def _inserted(self) -> dict[str, str]:
        key = {self._key: "s.k"}
        values = {
            self._place(one.target): self._staged(at)
            for at, one in enumerate(self.plan.columns)
            if one.identity != ROW
        }
        return key | values | self._marks() | {self._missing: self._list_missing(self._never_sent)}

    def _marks(self) -> dict[str, str]:
        """Return what a row says of the change that made it."""
        quoted, ours = self.dialect.quoted, self.plan.ours
        return {
            self._seq: "s.seq",
            quoted(ours.op): "s.op",
            self._deleted: "s.deleted",
            quoted(ours.commit_ts): self.dialect.moment("s.commit_us"),
        }

    def _new_value(self, at: int, column: PlannedColumn) -> str:
        """Take what is stored for what was not sent, if that row lives.

        What an older change of the batch said before the stored row was written is late, and has no part in
        it.
        """
        staged = self._staged(at)
        if column.target in self.plan.key or not _lacks(column, self.plan):
            return staged
        stored, lives = f"t.{self._place(column.target)}", f"NOT t.{self._deleted}"
        late = (
            f" WHEN s.w{at} < t.{self._seq} THEN CASE WHEN {lives} THEN {stored} END"
            if self.plan.told_late
            else ""
        )
        unsent = list_holds("s.unsent", column.identity)
        return f"CASE WHEN {unsent} AND {lives} THEN {stored}{late} ELSE {staged} END"

    def _list_missing(self, is_missing: Callable[[PlannedColumn], str]) -> str:
        """List the columns whose value nobody has; null, if there is none."""
        values = [one for one in self.plan.columns if one.target not in self.plan.key]
        lacking = [one for one in values if _lacks(one, self.plan)]
        if self.plan.lacking_is_null or not lacking:
            return self.dialect.cast("NULL", Primitive.TEXT)
        return make_list((is_missing(one), f"'{one.identity},'") for one in lacking)

    def _never_sent(self, column: PlannedColumn) -> str:
        return f"{list_holds('s.unsent', column.identity)} OR {list_holds('s.missing', column.identity)}"

    def _still_missing(self, column: PlannedColumn) -> str:
        stored = f"(t.{self._deleted} OR {list_holds(f't.{self._missing}', column.identity)})"
        unsent = list_holds("s.unsent", column.identity)
        return f"{list_holds('s.missing', column.identity)} OR {unsent} AND {stored}"

    def _staged(self, at: int) -> str:
        """Return a staged value in its column's type."""
        return self.dialect.restored(f"s.c{at}", self.plan.columns[at].type)

    def _place(self, target: str) -> str:
        return self.dialect.quoted(self._places[target])

    @property
    def _key(self) -> str:
        return self.dialect.quoted(self.shape.key_place)

    @property
    def _hard(self) -> bool:
        return self.plan.deletes is Deletes.HARD

    @property
    def _seq(self) -> str:
        return self.dialect.quoted(self.plan.ours.seq)

    @property
    def _deleted(self) -> str:
        return self.dialect.quoted(self.plan.ours.deleted)

    @property
    def _missing(self) -> str:
        return self.dialect.quoted(self.plan.ours.missing)


def _lacks(column: PlannedColumn, plan: MergePlan) -> bool:
    """Whether some change of the batch may not have sent a column."""
    return plan.lacking is None or column.target in plan.lacking


def _ends(one: KeyColumnRange) -> tuple[int | date, int | date] | None:
    if isinstance(one.least, str) or isinstance(one.greatest, str):
        return None
    return one.least, one.greatest

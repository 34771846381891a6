"""How a target's table changes when its source has changed shape.

In: the plan in the source's newest shape, the columns that the target holds, what the target can do, and
`target.schema.change.behavior`.  Out: the plan that will be merged, and the alterations that come first.
Columns are compared by identity, so it does not matter which changes were seen and which were not: what
the target holds and what the source has now are enough, also after a crash between the two.

    exception    no change: the table stops
    evolve       every change; one that the target can't take stops the table
    try_evolve   what the target can take; the rest is left as it is in the target
    lenient      columns are added and widened; none is dropped, none renamed
    ignore       no change

A change that is left undone loses no value: a dropped column keeps what it holds, a renamed one its name,
and a changed type stays only where the old one holds every value of the new one; else the table stops.
A kind of change that `target.schema.change.exclude` names is left undone whatever the behaviour.
In a history and in an append table a dropped column is always left, and events from before the drop still
fill it: what it held is a part of what was.
A TRUNCATE is not a change of shape; `skipped.operations=t` keeps it from being published.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from enum import Enum

from wrackline.consumers.contract.plan import MergePlan, PlannedColumn, TableMode
from wrackline.consumers.contract.target import Alteration, Capabilities
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.evolution import (
    AddColumn,
    ChangeType,
    DropColumn,
    RenameColumn,
    Widening,
    changes,
    widening,
)
from wrackline.schemas.tables.table import Column, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

SHAPE_CHANGED = define(
    "consume.shape_changed",
    OperatorNeeded,
    '{table} has changed ({changes}), and target.schema.change.behavior = "exception"',
    hint='set target.schema.change.behavior = "evolve", and start it again: wrackline'
    " consume <pipeline.toml>",
)
CANT_TAKE = define(
    "consume.cant_take",
    OperatorNeeded,
    "the target can't take a change of {table}: {change}",
    hint="drop the table in the target, then read its rows again: wrackline snapshot start <pipeline.toml>"
    " '{table}'; and start it again: wrackline consume <pipeline.toml>",
)
NAME_TAKEN = define(
    "consume.name_taken",
    OperatorNeeded,
    "column {column} of {table} can't have the name {name}: another column in the target keeps it",
    hint='rename that column in the target, or set target.schema.change.behavior = "evolve"; and start it'
    " again: wrackline consume <pipeline.toml>",
)


class SchemaChangeBehaviour(Enum):
    """What a changed table does to its target: `target.schema.change.behavior`."""

    EXCEPTION = "exception"
    EVOLVE = "evolve"
    TRY_EVOLVE = "try_evolve"
    LENIENT = "lenient"
    IGNORE = "ignore"


class ShapeChange(Enum):
    """The kinds of alterations, as `target.schema.change.exclude` names them."""

    ADD_COLUMN = "ADD_COLUMN"
    DROP_COLUMN = "DROP_COLUMN"
    RENAME_COLUMN = "RENAME_COLUMN"
    ALTER_TYPE = "ALTER_TYPE"


def kind_of_change(change: Alteration) -> ShapeChange:
    """Return the kind of an alteration."""
    match change:
        case AddColumn():
            return ShapeChange.ADD_COLUMN
        case DropColumn():
            return ShapeChange.DROP_COLUMN
        case RenameColumn():
            return ShapeChange.RENAME_COLUMN
        case ChangeType():
            return ShapeChange.ALTER_TYPE


def reshape(
    plan: MergePlan,
    held: Sequence[PlannedColumn] | None,
    can: Capabilities,
    behaviour: SchemaChangeBehaviour,
    excluded: Collection[ShapeChange] = (),
) -> tuple[MergePlan, tuple[Alteration, ...]]:
    """Return the plan as it will be merged, and the alterations that come before; `excluded` are left."""
    if held is None:
        return plan, ()
    found = _differences(plan, held, can)
    asked = [change for change in found if kind_of_change(change) not in excluded]
    if behaviour is SchemaChangeBehaviour.EXCEPTION and asked:
        raise SHAPE_CHANGED(table=plan.table.id, changes=", ".join(map(_describe, asked)))
    if plan.mode is not TableMode.UPSERT:
        asked = [change for change in asked if not isinstance(change, DropColumn)]
    match behaviour:
        case SchemaChangeBehaviour.EVOLVE:
            refused = [change for change in asked if not _can_take(change, can)]
            if refused:
                raise CANT_TAKE(table=plan.table.id, change=_describe(refused[0]))
            made = asked
        case SchemaChangeBehaviour.TRY_EVOLVE:
            made = [change for change in asked if _can_take(change, can)]
        case SchemaChangeBehaviour.LENIENT:
            only = AddColumn | ChangeType
            made = [change for change in asked if isinstance(change, only) and _can_take(change, can)]
        case _:
            made = []
    left = [change for change in found if change not in made]
    return _fit_plan(plan, held, left, case_sensitive=can.identifiers.case_sensitive), tuple(made)


def _differences(plan: MergePlan, held: Sequence[PlannedColumn], can: Capabilities) -> list[Alteration]:
    """Return what differs, by identity; a type that the target keeps alike is the same type.

    Nullability, order and key are not part of a target's columns.
    """
    before = TableSchema(plan.table.id, tuple(Column(one.source, one.identity, one.type) for one in held))
    found: list[Alteration] = []
    for change in changes(before, plan.table):
        match change:
            case ChangeType(old=old, new=new) if _is_same_type(old, new, can):
                continue
            case AddColumn() | DropColumn() | RenameColumn() | ChangeType():
                found.append(change)
            case _:
                continue  # nullability, order and the like are not part of the target's table
    return found


def _can_take(change: Alteration, can: Capabilities) -> bool:
    match change:
        case AddColumn():
            return True
        case DropColumn():
            return can.drops
        case RenameColumn():
            return can.renames
        case ChangeType(old=old, new=new):
            kept = _native(old, can) and _native(new, can)
            return kept and change.widening is Widening.WIDER and (old.kind, new.kind) in can.widens


def _fit_plan(
    plan: MergePlan, held: Sequence[PlannedColumn], left: Iterable[Alteration], *, case_sensitive: bool
) -> MergePlan:
    """Return the plan for a table in which these changes are left undone."""
    stored = {column.identity: column for column in held}
    columns = {column.identity: column for column in plan.columns}
    names = {column.identity: column.target for column in plan.columns}
    for change in left:
        match change:
            case AddColumn(column):
                del columns[column.identity], names[column.identity]
            case DropColumn(column):
                names[column.identity] = stored[column.identity].target
                if plan.mode is not TableMode.UPSERT:  # events from before the drop still bring its values
                    columns[column.identity] = stored[column.identity]
            case RenameColumn(identity):
                names[identity] = stored[identity].target
                columns[identity] = replace(columns[identity], target=names[identity])
            case ChangeType(identity, old=old, new=new):
                if widening(new, old) is Widening.OTHER:
                    raise CANT_TAKE(table=plan.table.id, change=_describe(change))
                columns[identity] = replace(columns[identity], type=old)
    _check_names(plan, names, case_sensitive=case_sensitive)
    renamed = {
        column.target: columns[column.identity].target
        for column in plan.columns
        if column.identity in columns
    }
    key = tuple(renamed[name] for name in plan.key)
    lacking = plan.lacking
    if lacking is not None:
        lacking = frozenset(renamed[name] for name in lacking if name in renamed)
    return replace(plan, columns=tuple(columns.values()), key=key, lacking=lacking)


def _check_names(plan: MergePlan, names: dict[int, str], *, case_sensitive: bool) -> None:
    sources = {column.identity: column.source for column in plan.columns}
    taken: dict[str, int] = {}
    for identity, name in names.items():
        other = taken.setdefault(name if case_sensitive else name.casefold(), identity)
        if other != identity:
            column = sources.get(identity) or sources.get(other)
            raise NAME_TAKEN(column=repr(column), table=plan.table.id, name=name)


def _is_same_type(old: ColumnType, new: ColumnType, can: Capabilities) -> bool:
    if widening(old, new) is Widening.SAME_CARRIER:
        return True
    return not _native(old, can) and not _native(new, can)  # text before and after


def _native(its_type: ColumnType, can: Capabilities) -> bool:
    if its_type.kind is Kind.DECIMAL and (its_type.precision or 0) > can.most_decimal_digits:
        return False
    return its_type.kind in can.native


def _describe(change: Alteration) -> str:
    match change:
        case AddColumn(column):
            return f"column {column.name!r} is added"
        case DropColumn(column):
            return f"column {column.name!r} is dropped"
        case RenameColumn(old=old, new=new):
            return f"column {old!r} is now {new!r}"
        case ChangeType(name=name):
            return f"column {name!r} was {change.old.source} and is {change.new.source}"

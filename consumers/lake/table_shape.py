"""The shape of a table that Spark's ALTER TABLE changes, and what the table says of itself.

In: a plan, and the changes that lead to it.  Out: a table that has the plan's columns.  Columns are found by
identity (column_types.py).  Each statement is a commit of its own, so a crash can leave an alteration half
done; the property with the columns' names and types at the source is written last, so `held` shows the
change as still to be made, and the same call finishes it.  Columns that carry no identity are the user's,
and stay.

Whose table it is and the names of our columns are written when it is created, and never again; which
columns distinguish rows is the plan's business.  Every column except ours may be null, whatever the source
says: a tombstone has only a key.

    _wl_missing   identities of columns whose value nobody has, or null; by identity, so that a rename
                  touches no row
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from wrackline.consumers.contract.modes import MADE_OTHERWISE, OTHER_MODE
from wrackline.consumers.contract.plan import END, START, MergePlan, OurColumns, PlannedColumn, TableMode
from wrackline.consumers.contract.target import Alteration
from wrackline.consumers.lake import column_types
from wrackline.consumers.lake.merge_sql import literal, quote
from wrackline.consumers.lake.sequence_sql import type_sql
from wrackline.schemas import untrusted
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import TableId

NOT_OURS = define(
    "target.not_ours",
    OperatorNeeded,
    "{target} is there already, and is not the copy of {table}",
    hint="set another target.namespace; or, if it is not needed: {drop}",
)
CANT_WIDEN = define(
    "target.cant_widen",
    OperatorNeeded,
    "column {column} of {target} is {old} and can't become {new} without rewriting the table",
    hint="read it again into a new table: {drop}; then: wrackline snapshot start <pipeline.toml> '{table}'",
)
IN_THE_WAY = define(
    "target.column_in_the_way",
    OperatorNeeded,
    "{target} has a column {column} that does not come from {table}, which has one of that name now",
    hint="give it another name: ALTER TABLE {target} RENAME COLUMN {column} TO <another>",
)

BROKEN = define(
    "target.property_broken",
    OperatorNeeded,
    "the property {property} of {target} can't be read: Wrackline did not write it in this form",
    hint="restore a version of the table from before the change; or drop it, and read its rows again:"
    " wrackline snapshot start <pipeline.toml> <table>",
)

_OURS = "wrackline."
_OF_ITSELF = "wrackline.table"
COLUMNS = "wrackline.columns"
_BETWEEN = "_wl_moving_"  # names that change places need a third one


@dataclass(frozen=True, slots=True)
class TableAddress:
    """A table's name in Spark SQL, and the command that takes the table away."""

    name: str
    drop: str


@dataclass(frozen=True, slots=True)
class FormatRules:
    """How a format treats types and names."""

    widens: Callable[[DataType, DataType], bool]  # in place
    compared: Callable[[str], str] = str  # names that are one come out equal


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """What a table says of itself, unchanged since it was created."""

    table: TableId
    ours: OurColumns
    mode: TableMode = TableMode.UPSERT

    @classmethod
    def planned(cls, plan: MergePlan) -> "TableOrigin":
        """Return what the plan's table will say."""
        return cls(plan.table.id, plan.ours, plan.mode)

    def text(self) -> str:
        """Write it as a property."""
        return json.dumps({"table": self.table, "ours": asdict(self.ours), "mode": self.mode.value})


def properties(session: SparkSession, name: str) -> Mapping[str, str]:
    """Return the properties of a table that is there."""
    shown = session.sql(f"SHOW TBLPROPERTIES {name}").collect()
    return decode_properties({row["key"]: row["value"] for row in shown})


def decode_properties(stored: Mapping[str, str]) -> Mapping[str, str]:
    """Return properties as they were before they were stored."""
    return {name: _decode(name, value) for name, value in stored.items()}


def set_properties(session: SparkSession, name: str, said: Mapping[str, str]) -> None:
    """Set properties of the table."""
    session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({_property_list(said)})")


def table_origin(found: Mapping[str, str], name: str) -> TableOrigin | None:
    """Return what a table says of itself; None: it is not a table that we made."""
    if _OF_ITSELF not in found:
        return None
    try:
        said = json.loads(found[_OF_ITSELF])
        mode = TableMode(said.get("mode", TableMode.UPSERT.value))
        ours = {name: untrusted.text(column) for name, column in said["ours"].items()}
        return TableOrigin(TableId(*map(untrusted.text, said["table"])), OurColumns(**ours), mode)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        refused = BROKEN(property=_OF_ITSELF, target=name)
        raise refused from None  # the first error shows the text


def check_own(found: Mapping[str, str], table: TableId, target: TableAddress) -> TableOrigin:
    """Refuse a table that is not the copy of this one."""
    said = table_origin(found, target.name)
    if said is None or said.table != table:
        raise NOT_OURS(target=target.name, table=table, drop=target.drop)
    return said


def check_matches_plan(said: TableOrigin, plan: MergePlan, target: TableAddress) -> None:
    """Refuse a table that the plan can't be merged into, by what it says of itself."""
    if said.mode is not plan.mode:
        made, wanted = said.mode.value, plan.mode.value
        raise OTHER_MODE(table=plan.table.id, target=target.name, drop=target.drop, made=made, wanted=wanted)
    if said.ours != plan.ours:
        raise MADE_OTHERWISE(table=plan.table.id, target=target.name, drop=target.drop)


def definition(plan: MergePlan, using: str, settings: Mapping[str, str]) -> str:
    """Write what follows the name in CREATE TABLE."""
    ours = plan.ours
    columns = [_definition(column) for column in plan.columns]
    columns += [f"{quote(ours.seq)} string", f"{quote(ours.op)} string", f"{quote(ours.deleted)} boolean"]
    columns += [f"{quote(ours.missing)} array<int>", f"{quote(ours.commit_ts)} timestamp"]
    if plan.mode is TableMode.HISTORY:
        columns += [f"{quote(ours.start)} string", f"{quote(ours.end)} string"]
        columns.append(f"{quote(ours.unsent)} array<int>")
        if ours.shown is not None:
            columns += [f"{quote(name)} {type_sql(ours.shown)}" for name in (START, END)]
    said = {
        _OF_ITSELF: TableOrigin.planned(plan).text(),
        COLUMNS: column_types.describe_columns(plan.columns),
    }
    return f"({', '.join(columns)}) USING {using} TBLPROPERTIES ({_property_list({**settings, **said})})"


def held_columns(session: SparkSession, name: str, found: Mapping[str, str]) -> tuple[PlannedColumn, ...]:
    """Return the columns that are ours, in the table's order, as far as their alterations are done."""
    stored = _stored_columns(session, name)
    try:  # a writer to the table may have changed what it says, and that becomes SQL
        described: Mapping[str, Any] = json.loads(found[COLUMNS])
        return tuple(
            column_types.planned_column(identity, column, described[str(identity)])
            for identity, (column, _) in stored.items()
            if str(identity) in described
        )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as exc:
        raise BROKEN(property=COLUMNS, target=name) from exc


def alter(
    session: SparkSession,
    plan: MergePlan,
    changes: Sequence[Alteration],
    target: TableAddress,
    ways: FormatRules,
) -> None:
    """Make these changes, or what a crash has left of them."""
    before = held_columns(session, target.name, properties(session, target.name))
    stored = _stored_columns(session, target.name)
    names = session.table(target.name).columns
    for statement in _statements(plan, changes, stored, names, target, ways):
        session.sql(f"ALTER TABLE {target.name} {statement}")
    planned = {column.identity for column in plan.columns}
    gone = {change.column.identity for change in changes if isinstance(change, DropColumn)}
    left = (one for one in before if one.identity not in planned | gone)  # the source has dropped them
    set_properties(session, target.name, {COLUMNS: column_types.describe_columns([*plan.columns, *left])})


def _statements(
    plan: MergePlan,
    changes: Sequence[Alteration],
    stored: Mapping[int, tuple[str, DataType]],
    names: Sequence[str],
    target: TableAddress,
    ways: FormatRules,
) -> list[str]:
    """Return the clauses of ALTER TABLE: room is made before a name is taken."""
    wanted = {column.identity: column for column in plan.columns}
    dropped = [
        c.column.identity for c in changes if isinstance(c, DropColumn) and c.column.identity in stored
    ]
    renames = {
        c.identity: stored[c.identity][0]
        for c in changes
        if isinstance(c, RenameColumn) and stored[c.identity][0] != wanted[c.identity].target
    }
    added = [
        wanted[c.column.identity]
        for c in changes
        if isinstance(c, AddColumn) and c.column.identity not in stored
    ]
    leaving = {stored[identity][0] for identity in dropped} | set(renames.values())
    staying = {ways.compared(name) for name in names if name not in leaving}
    for name in [wanted[i].target for i in renames] + [column.target for column in added]:
        if ways.compared(name) in staying:
            raise IN_THE_WAY(target=target.name, column=quote(name), table=plan.table.id)
    clauses = [f"DROP COLUMN {quote(stored[identity][0])}" for identity in dropped]
    clauses += _rename_clauses(renames, {identity: wanted[identity].target for identity in renames}, ways)
    for change in changes:
        if isinstance(change, ChangeType):
            old = stored[change.identity][1]
            clauses += _retype_clauses(wanted[change.identity], old, plan.table.id, target, ways)
    if added:
        clauses.append(f"ADD COLUMNS ({', '.join(map(_definition, added))})")
    return clauses


def _rename_clauses(old: Mapping[int, str], new: Mapping[int, str], ways: FormatRules) -> list[str]:
    """Rename, through a third name where the new one is still another column's; some may be done already."""
    first, now = [], dict(old)
    for identity, name in old.items():
        taken = map(ways.compared, now.values())
        if ways.compared(new[identity]) in taken and not name.startswith(_BETWEEN):
            now[identity] = f"{_BETWEEN}{identity}"
            first.append(f"RENAME COLUMN {quote(name)} TO {quote(now[identity])}")
    moved = sorted(now, key=lambda identity: now[identity].startswith(_BETWEEN))
    return first + [f"RENAME COLUMN {quote(now[i])} TO {quote(new[i])}" for i in moved]


def _retype_clauses(
    column: PlannedColumn, old: DataType, table: TableId, target: TableAddress, ways: FormatRules
) -> list[str]:
    new = column_types.spark_data_type(column.type)
    if old != new and not ways.widens(old, new):
        raise CANT_WIDEN(
            column=quote(column.target),
            target=target.name,
            old=old.simpleString(),
            new=new.simpleString(),
            table=table,
            drop=target.drop,
        )
    if old == new:
        return []
    path, element = column_types.element_path(quote(column.target), new)
    return [f"ALTER COLUMN {path} TYPE {element.simpleString()}"]


def _definition(column: PlannedColumn) -> str:
    its_type = column_types.spark_data_type(column.type).simpleString()
    return f"{quote(column.target)} {its_type} COMMENT {literal(column_types.comment(column.identity))}"


def _property_list(of: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(name)} = {literal(_encode(name, value))}" for name, value in of.items())


def _encode(name: str, value: str) -> str:
    """Write what is ours as digits: Spark shows no value with `token`, `url` or the like in it."""
    return value.encode().hex() if name.startswith(_OURS) else value


def _decode(name: str, value: str) -> str:
    return bytes.fromhex(value).decode() if name.startswith(_OURS) else value


def _stored_columns(session: SparkSession, name: str) -> dict[int, tuple[str, DataType]]:
    """Return the columns that are ours to change, by identity."""
    return {
        identity: (field.name, field.dataType)
        for field in session.table(name).schema.fields
        if (identity := column_types.identity_of(field)) is not None
    }

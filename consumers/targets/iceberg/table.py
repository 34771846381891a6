"""The shape of an Iceberg table, and what it says of itself.

In: a plan, and the changes that lead to it.  Out: a table that has the plan's columns.  Columns are found by
identity (types.py).  Each statement is a commit of its own, so a crash can leave an alteration half done;
the property with the columns' names and types at the source is written last, so `held` shows the change as
still to be made, and the same call finishes it.  Columns that carry no identity are the user's, and stay.

Whose table it is and the names of our columns are written when it is created, and never again; by which
columns rows are told apart is the plan's business.  Every column but ours may be null whatever the source
says: a tombstone has a key alone.

    _wl_missing   identities of columns whose value nobody has, or null; by identity, so that a rename
                  touches no row
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from wrackline.consumers.merge_sql import literal, quoted
from wrackline.consumers.plan import MergePlan, OurColumns, PlannedColumn
from wrackline.consumers.plugin import Alteration
from wrackline.consumers.targets.iceberg import types
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.table import TableId

NOT_OURS = define(
    "iceberg.not_ours",
    OperatorNeeded,
    "{target} is there already, and is not the copy of {table}",
    hint="set another target.namespace; or, if nobody needs it: DROP TABLE {target}",
)
MADE_OTHERWISE = define(
    "iceberg.made_otherwise",
    OperatorNeeded,
    "{target} was made with another target.column.prefix",
    hint="set it back; or read the table again into a new one: DROP TABLE {target};"
    " then: wrackline snapshot start <pipeline.toml> '{table}'",
)
CANT_WIDEN = define(
    "iceberg.cant_widen",
    OperatorNeeded,
    "column {column} of {target} is {old} and can't become {new} without rewriting the table",
    hint="read it again into a new table: DROP TABLE {target};"
    " then: wrackline snapshot start <pipeline.toml> '{table}'",
)
IN_THE_WAY = define(
    "iceberg.column_in_the_way",
    OperatorNeeded,
    "{target} has a column {column} that does not come from {table}, which has one of that name now",
    hint="give it another name: ALTER TABLE {target} RENAME COLUMN {column} TO <another>",
)

_OURS = "wrackline."
_OF_ITSELF = "wrackline.table"
_COLUMNS = "wrackline.columns"
_BETWEEN = "_wl_moving_"  # names that change places need a third one
_PROPERTIES = {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # Who reads the table to write it must fail when somebody else wrote meanwhile.
    "write.delete.isolation-level": "serializable",
    "write.merge.isolation-level": "serializable",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    # What is applied stands in the snapshots: an expiry by somebody else leaves the last few.
    "history.expire.min-snapshots-to-keep": "20",
}


@dataclass(frozen=True, slots=True)
class OfItself:
    """What a table says of itself, unchanged since it was created."""

    table: TableId
    ours: OurColumns

    @classmethod
    def planned(cls, plan: MergePlan) -> "OfItself":
        """Return what the plan's table will say."""
        return cls(plan.table.id, plan.ours)

    def text(self) -> str:
        """Write it as a property."""
        return json.dumps({"table": self.table, "ours": asdict(self.ours)})


def properties(session: SparkSession, target: str) -> Mapping[str, str] | None:
    """Return the table's properties, its current snapshot among them; None: there is no such table."""
    if not session.catalog.tableExists(target):
        return None
    shown = session.sql(f"SHOW TBLPROPERTIES {target}").collect()
    return {row["key"]: _plain(row["key"], row["value"]) for row in shown}


def say(session: SparkSession, target: str, said: Mapping[str, str]) -> None:
    """Set properties of the table."""
    session.sql(f"ALTER TABLE {target} SET TBLPROPERTIES ({_listed(said)})")


def of_itself(found: Mapping[str, str]) -> OfItself | None:
    """Return what a table says of itself; None: no such table is of our making."""
    if _OF_ITSELF not in found:
        return None
    said = json.loads(found[_OF_ITSELF])
    return OfItself(TableId(*said["table"]), OurColumns(**said["ours"]))


def check_own(found: Mapping[str, str], table: TableId, target: str) -> OfItself:
    """Refuse a table that is not the copy of this one."""
    said = of_itself(found)
    if said is None or said.table != table:
        raise NOT_OURS(target=target, table=table)
    return said


def check_made(found: Mapping[str, str], plan: MergePlan, target: str) -> None:
    """Refuse a table that the plan can't be merged into."""
    if check_own(found, plan.table.id, target).ours != plan.ours:
        raise MADE_OTHERWISE(table=plan.table.id, target=target)


def create(session: SparkSession, plan: MergePlan, target: str, namespace: str, version: int) -> None:
    """Create the table; one that somebody else has created just now stays as it is."""
    ours = plan.ours
    columns = [_definition(column) for column in plan.columns]
    columns += [f"{quoted(ours.seq)} string", f"{quoted(ours.op)} string", f"{quoted(ours.deleted)} boolean"]
    columns += [f"{quoted(ours.missing)} array<int>", f"{quoted(ours.commit_ts)} timestamp"]
    said = {
        "format-version": str(version),
        _OF_ITSELF: OfItself.planned(plan).text(),
        _COLUMNS: types.described(plan.columns),
    }
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    session.sql(
        f"CREATE TABLE IF NOT EXISTS {target} ({', '.join(columns)}) USING iceberg"
        f" TBLPROPERTIES ({_listed(_PROPERTIES | said)})"
    )


def held(session: SparkSession, target: str, found: Mapping[str, str]) -> tuple[PlannedColumn, ...]:
    """Return the columns that are ours, in the table's order, as far as their alterations are done."""
    described: Mapping[str, Any] = json.loads(found[_COLUMNS])
    return tuple(
        types.planned(identity, name, described[str(identity)])
        for identity, (name, _) in _stored(session, target).items()
        if str(identity) in described
    )


def alter(session: SparkSession, plan: MergePlan, changes: Sequence[Alteration], target: str) -> None:
    """Make these changes, or what a crash has left of them."""
    stored = _stored(session, target)
    names = session.table(target).columns
    for statement in _statements(plan, changes, stored, names, target):
        session.sql(f"ALTER TABLE {target} {statement}")
    say(session, target, {_COLUMNS: types.described(plan.columns)})


def _statements(
    plan: MergePlan,
    changes: Sequence[Alteration],
    stored: Mapping[int, tuple[str, DataType]],
    names: Sequence[str],
    target: str,
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
    taken = [wanted[i].target for i in renames] + [column.target for column in added]
    for name in taken:
        if name in names and name not in leaving:
            raise IN_THE_WAY(target=target, column=quoted(name), table=plan.table.id)
    clauses = [f"DROP COLUMN {quoted(stored[identity][0])}" for identity in dropped]
    clauses += _renamed(renames, {identity: wanted[identity].target for identity in renames})
    for change in changes:
        if isinstance(change, ChangeType):
            clauses += _retyped(wanted[change.identity], stored[change.identity][1], plan.table.id, target)
    if added:
        clauses.append(f"ADD COLUMNS ({', '.join(map(_definition, added))})")
    return clauses


def _renamed(old: Mapping[int, str], new: Mapping[int, str]) -> list[str]:
    """Rename, by way of a third name where the new one is still another's; some may be there already."""
    first, now = [], dict(old)
    for identity, name in old.items():
        if new[identity] in now.values() and not name.startswith(_BETWEEN):
            now[identity] = f"{_BETWEEN}{identity}"
            first.append(f"RENAME COLUMN {quoted(name)} TO {quoted(now[identity])}")
    moved = sorted(now, key=lambda identity: now[identity].startswith(_BETWEEN))
    return first + [f"RENAME COLUMN {quoted(now[i])} TO {quoted(new[i])}" for i in moved]


def _retyped(column: PlannedColumn, old: DataType, table: TableId, target: str) -> list[str]:
    new = types.data_type(column.type)
    if not types.widens(old, new):
        raise CANT_WIDEN(
            column=quoted(column.target),
            target=target,
            old=old.simpleString(),
            new=new.simpleString(),
            table=table,
        )
    if old == new:
        return []
    path, element = types.element_path(quoted(column.target), new)
    return [f"ALTER COLUMN {path} TYPE {element.simpleString()}"]


def _definition(column: PlannedColumn) -> str:
    its_type = types.data_type(column.type).simpleString()
    return f"{quoted(column.target)} {its_type} COMMENT {literal(types.comment(column.identity))}"


def _listed(of: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(name)} = {literal(_veiled(name, value))}" for name, value in of.items())


def _veiled(name: str, value: str) -> str:
    """Write what is ours as digits: Spark shows no value with `token`, `url` or the like in it."""
    return value.encode().hex() if name.startswith(_OURS) else value


def _plain(name: str, value: str) -> str:
    return bytes.fromhex(value).decode() if name.startswith(_OURS) else value


def _stored(session: SparkSession, target: str) -> dict[int, tuple[str, DataType]]:
    """Return the columns that are ours to change, by identity."""
    return {
        identity: (field.name, field.dataType)
        for field in session.table(target).schema.fields
        if (identity := types.identity_of(field)) is not None
    }

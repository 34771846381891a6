"""The shape of an Iceberg table, kept by column identity.

In: a plan.  Out: a table that has the plan's columns.  A column's identity stands in its comment, so it
is added with the column in one commit and goes with it through every rename; a change cut short by a crash
is seen as half done and is finished by the next round.  Columns that carry no identity are the user's.

Every column but ours may be null whatever the source says: a tombstone has a key alone.
"""

import json
import re

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegerType, LongType

from wrackline.consumers.plan import MergePlan, OurColumns
from wrackline.consumers.spark import CATALOG
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.table import TableId
from wrackline.schemas.types import spark_type

KEY_CHANGED = define(
    "iceberg.key_changed",
    OperatorNeeded,
    "the primary key of {table} has changed; its rows in {target} are told apart by the old one",
    hint="read it again into a new table: DROP TABLE {target};"
    " then: wrackline snapshot start <pipeline.toml> '{table}'",
)
TYPE_CHANGED = define(
    "iceberg.type_changed",
    OperatorNeeded,
    "column {column} of {target} is {old} and can't become {new} without rewriting the table",
    hint="read it again into a new table: DROP TABLE {target};"
    " then: wrackline snapshot start <pipeline.toml> '{table}'",
)

_KEY = "wrackline.key"
_IDENTITY = re.compile(r"wrackline\.column=(\d+)")
_PROPERTIES = {
    "format-version": "3",
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
}


def quoted(name: str) -> str:
    """Quote a name for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """Write a text as a Spark SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def target_table(table: TableId) -> str:
    """Return the quoted name: the warehouse is the pipeline's own, so the database's name is left out."""
    return ".".join(map(quoted, (CATALOG, table.schema, table.name)))


def exists(session: SparkSession, table: TableId) -> bool:
    """Whether the table is there."""
    return session.catalog.tableExists(target_table(table))


def ensure(session: SparkSession, plan: MergePlan) -> None:
    """Create the table, or bring the one that is there to the plan's columns."""
    if not exists(session, plan.table.id):
        _create(session, plan)
        return
    target = target_table(plan.table.id)
    key = session.sql(f"SHOW TBLPROPERTIES {target}").where(F.col("key") == _KEY).collect()
    if [json.loads(row["value"]) for row in key] != [_key_identities(plan)]:
        raise KEY_CHANGED(table=plan.table.id, target=target)
    for statement in evolution(target, _held(session, target), plan):
        session.sql(f"ALTER TABLE {target} {statement}")


def evolution(target: str, held: dict[int, tuple[str, DataType]], plan: MergePlan) -> list[str]:
    """Return the clauses of ALTER TABLE that lead from the columns held to the plan's."""
    wanted = {column.identity: column for column in plan.columns}
    types = {identity: DataType.fromDDL(spark_type(column.type)) for identity, column in wanted.items()}
    kept = {identity: found for identity, found in held.items() if identity in wanted}
    for identity, (name, old) in kept.items():
        if old != types[identity] and not _widens(old, types[identity]):
            raise TYPE_CHANGED(
                column=quoted(name),
                target=target,
                old=old.simpleString(),
                new=types[identity].simpleString(),
                table=plan.table.id,
            )
    clauses = [f"DROP COLUMN {quoted(held[gone][0])}" for gone in held if gone not in kept]
    renames = {i: name for i, (name, _) in kept.items() if name != wanted[i].target}
    taken = {name for name, _ in kept.values()}
    for identity, name in renames.items():
        if wanted[identity].target in taken:  # names that change places need a third one between
            between = f"_wl_moving_{identity}"
            clauses.append(f"RENAME COLUMN {quoted(name)} TO {quoted(between)}")
            renames[identity] = between
    clauses += [
        f"RENAME COLUMN {quoted(n)} TO {quoted(wanted[i].target)}"
        for i, n in sorted(renames.items(), key=lambda rename: not rename[1].startswith("_wl_moving_"))
    ]
    clauses += [
        f"ALTER COLUMN {quoted(wanted[i].target)} TYPE {types[i].simpleString()}"
        for i, (_, old) in kept.items()
        if old != types[i]
    ]
    added = [column for column in plan.columns if column.identity not in held]
    return clauses + [f"ADD COLUMN {_definition(c.target, types[c.identity], c.identity)}" for c in added]


def live_rows(session: SparkSession, table: TableId, ours: OurColumns) -> DataFrame:
    """Return the table as a reader should see it: without tombstones, incomplete rows and our columns."""
    rows = session.table(target_table(table))
    alive = ~F.col(quoted(ours.deleted)) & F.col(quoted(ours.missing)).isNull()
    return rows.where(alive).drop(ours.seq, ours.op, ours.deleted, ours.missing, ours.commit_ts)


def _create(session: SparkSession, plan: MergePlan) -> None:
    types = [DataType.fromDDL(spark_type(column.type)) for column in plan.columns]
    columns = [
        _definition(column.target, its_type, column.identity)
        for column, its_type in zip(plan.columns, types, strict=True)
    ]
    ours = plan.ours
    columns += [f"{quoted(ours.seq)} string", f"{quoted(ours.op)} string", f"{quoted(ours.deleted)} boolean"]
    columns += [f"{quoted(ours.missing)} array<string>", f"{quoted(ours.commit_ts)} timestamp"]
    properties = _PROPERTIES | {_KEY: json.dumps(_key_identities(plan))}
    listed = ", ".join(f"{literal(name)} = {literal(value)}" for name, value in properties.items())
    table = plan.table.id
    session.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted(CATALOG)}.{quoted(table.schema)}")
    session.sql(
        f"CREATE TABLE {target_table(table)} ({', '.join(columns)}) USING iceberg TBLPROPERTIES ({listed})"
    )


def _definition(name: str, its_type: DataType, identity: int) -> str:
    return f"{quoted(name)} {its_type.simpleString()} COMMENT 'wrackline.column={identity}'"


def _key_identities(plan: MergePlan) -> list[int]:
    return [column.identity for column in plan.table.key_columns]


def _held(session: SparkSession, target: str) -> dict[int, tuple[str, DataType]]:
    """Return the columns that are ours to change, by identity."""
    held = {}
    for field in session.table(target).schema.fields:
        if found := _IDENTITY.match(field.metadata.get("comment", "")):
            held[int(found[1])] = (field.name, field.dataType)
    return held


def _widens(old: DataType, new: DataType) -> bool:
    """Whether Iceberg can make this change in place."""
    if isinstance(old, DecimalType) and isinstance(new, DecimalType):
        return old.scale == new.scale and old.precision <= new.precision
    return (type(old), type(new)) in {(IntegerType, LongType), (FloatType, DoubleType)}

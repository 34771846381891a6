"""The table and its view: created once, and reshaped by column identity in one transaction.

A table with its rows' key as primary key (or an index, where a key may be null), and one small index of
the rows that readers do not see.  Every column except the key may be null, whatever the source says: a
tombstone has only a key.  Columns that we did not make are the user's and stay as they are.

A view that only gains or renames columns is changed in place, so views of others over it stay.  Where a
column goes or takes another type, the server wants the view dropped first: its grants are given again.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import LiteralString

from psycopg import sql
from psycopg.types.json import Jsonb

from wrackline.consumers.contract.identifiers import suffixed_names
from wrackline.consumers.contract.plan import MergePlan, OurColumns, PlannedColumn, TableMode
from wrackline.consumers.contract.target import Alteration, altered_columns
from wrackline.consumers.targets.postgres.catalog import columns as columns_of
from wrackline.consumers.targets.postgres.catalog import has_schema, relation
from wrackline.consumers.targets.postgres.connect import Connection
from wrackline.consumers.targets.postgres.sql.merge import may_be_null
from wrackline.consumers.targets.postgres.sql.place import IDENTIFIERS, PgTargetPlace
from wrackline.consumers.targets.postgres.sql.shape import PgTargetShape
from wrackline.consumers.targets.postgres.sql.types import column_type
from wrackline.consumers.targets.postgres.sql.view import view

_MOVING = "moving {}"  # behind our own prefix, with which no user's column begins
_GRANTS = """
SELECT CASE a.grantee WHEN 0 THEN NULL ELSE a.grantee::regrole::text END, a.privilege_type, a.is_grantable
FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = %s AND a.grantee <> c.relowner"""
_PRIMARY = """
SELECT FROM pg_constraint k
JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND k.conname = %s"""
_OVER_OURS = """
SELECT FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
WHERE r.ev_class = %s AND d.refobjid = %s"""
_MISSING_RENAMED = """
UPDATE {table} SET {missing} = ARRAY(SELECT coalesce(%s::jsonb ->> name, name) FROM unnest({missing}) name)
WHERE {missing} IS NOT NULL"""
_MISSING_GONE = """
UPDATE {table} SET {missing} = nullif(array_remove({missing}, %s), '{{}}') WHERE %s = ANY({missing})"""


def create_table(connection: Connection, plan: MergePlan, place: PgTargetPlace) -> PgTargetShape:
    """Create schemas, table and view; the caller holds the lock against other creations."""
    for schema in (place.storage_schema, place.schema):
        if not has_schema(connection, schema):
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    ours = {name: sql.SQL(of) for name, of in our_types(plan).items()}
    types = {column.target: _type(column) for column in plan.columns} | ours
    columns = [sql.SQL("{} {}").format(sql.Identifier(name), of) for name, of in types.items()]
    loose = any(may_be_null(plan, name) for name in plan.key)
    if not loose:
        primary = sql.SQL("CONSTRAINT {} PRIMARY KEY ({})").format(sql.Identifier(place.key), _key(plan))
        columns.append(primary)
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(place.table, sql.SQL(", ").join(columns)))
    if loose:
        _index_key(connection, plan, place)
    _index_few(connection, plan, place)
    shape = _shape(connection, plan, place, plan.columns)
    connection.execute(view(place, shape))
    return shape


def is_own_view(connection: Connection, place: PgTargetPlace) -> bool:
    """Whether what has the readers' name is a view over our table."""
    seen = relation(connection, place.schema, place.name)
    table = relation(connection, place.storage_schema, place.storage)
    if seen is None or table is None:
        return False
    return connection.execute(_OVER_OURS, [seen, table]).fetchone() is not None


def reshape_table(
    connection: Connection,
    plan: MergePlan,
    place: PgTargetPlace,
    shape: PgTargetShape,
    changes: Sequence[Alteration],
) -> PgTargetShape:
    """Bring table and view to the plan's columns, as far as the changes name them."""
    held = {column.identity: column for column in shape.columns}
    made = altered_columns(held, plan, changes)
    gone = [column for identity, column in held.items() if identity not in made]
    retyped = [c for i, c in made.items() if i in held and _differs(held[i], c)]
    renamed = {held[i].target: c.target for i, c in made.items() if i in held and held[i].target != c.target}
    added = [column for identity, column in made.items() if identity not in held]
    order = [column.identity for column in plan.columns if column.identity in made]
    columns = tuple(made[identity] for identity in [*order, *(i for i in made if i not in order)])
    rekeyed = shape.key != _identities(plan)

    seen = relation(connection, place.schema, place.name)
    if seen is not None:  # readers lock the view and then the table: in the other order both would wait
        connection.execute(sql.SQL("LOCK TABLE {}").format(place.view))
    anew = bool(gone or retyped or seen is None)
    grants = _grants(connection, place, seen) if anew and seen is not None else []
    if anew:
        connection.execute(sql.SQL("DROP VIEW IF EXISTS {}").format(place.view))
    if rekeyed:
        _forget_key(connection, place, [held[identity] for identity in shape.key])
    _alter_table(connection, place, shape.ours, gone, renamed, retyped, added)
    if rekeyed:
        _index_key(connection, plan, place)
    made_shape = _shape(connection, plan, place, columns)
    order_seen: Sequence[str] = ()
    if not anew and seen is not None:
        shown = [name for name, _, _ in columns_of(connection, seen)]
        _rename(connection, "VIEW", place.view, {o: n for o, n in renamed.items() if o in shown}, shape.ours)
        order_seen = [renamed.get(name, name) for name in shown]
    connection.execute(view(place, made_shape, order_seen))
    for grant in grants:
        connection.execute(grant)
    return made_shape


def rename_table(connection: Connection, place: PgTargetPlace, table: str, suffix: str) -> PgTargetPlace:
    """Rename table, view and the key's index, which would be in the way of the next table of this name."""
    new = _free_place(connection, place, table, suffix)
    if is_own_view(connection, place):
        connection.execute(_to_name("VIEW", place.view, new.name))
    if relation(connection, place.storage_schema, place.key) is not None:
        key = sql.Identifier(place.storage_schema, place.key)
        connection.execute(_to_name("INDEX", key, new.key))
    connection.execute(_to_name("TABLE", place.table, new.storage))
    return new


def loosen_key(connection: Connection, plan: MergePlan, place: PgTargetPlace) -> bool:
    """Allow null in a key that could not be null when its table was made; return whether it was so."""
    if not any(may_be_null(plan, name) for name in plan.key):
        return False
    if connection.execute(_PRIMARY, [place.storage_schema, place.storage, place.key]).fetchone() is None:
        return False
    _forget_key(connection, place, [one for one in plan.columns if one.target in plan.key])
    _index_key(connection, plan, place)
    return True


def _free_place(connection: Connection, place: PgTargetPlace, table: str, suffix: str) -> PgTargetPlace:
    names = suffixed_names(table, suffix, IDENTIFIERS)
    stored = suffixed_names(f"{place.schema}.{table}", suffix, IDENTIFIERS)
    while True:
        new = replace(place, name=next(names), storage=next(stored))
        taken = [(new.schema, new.name), (new.storage_schema, new.storage), (new.storage_schema, new.key)]
        if not any(relation(connection, *one) for one in taken):
            return new


def _to_name(what: LiteralString, old: sql.Identifier, name: str) -> sql.Composed:
    return sql.SQL("ALTER {} {} RENAME TO {}").format(sql.SQL(what), old, sql.Identifier(name))


def our_types(plan: MergePlan) -> dict[str, str]:
    """Map our own columns to their types; seqs are compared byte by byte."""
    ours = plan.ours
    versions = {ours.start: 'text COLLATE "C"', ours.end: 'text COLLATE "C"', ours.unsent: "integer[]"}
    return {
        ours.seq: 'text COLLATE "C" NOT NULL',
        ours.op: "text NOT NULL",
        ours.deleted: "boolean NOT NULL",
        ours.missing: "text[]",
        ours.commit_ts: "timestamp with time zone",
        **(versions if plan.mode is TableMode.HISTORY else {}),
    }


def _alter_table(
    connection: Connection,
    place: PgTargetPlace,
    ours: OurColumns,
    gone: Sequence[PlannedColumn],
    renamed: dict[str, str],
    retyped: Sequence[PlannedColumn],
    added: Sequence[PlannedColumn],
) -> None:
    names = {"table": place.table, "missing": sql.Identifier(ours.missing)}
    for column in gone:
        drop = sql.SQL("ALTER TABLE {} DROP COLUMN {}")
        connection.execute(drop.format(place.table, sql.Identifier(column.target)))
        connection.execute(sql.SQL(_MISSING_GONE).format(**names), [column.target, column.target])
    _rename(connection, "TABLE", place.table, renamed, ours)
    if renamed:
        connection.execute(sql.SQL(_MISSING_RENAMED).format(**names), [Jsonb(renamed)])
    for column in retyped:
        retype = sql.SQL("ALTER TABLE {} ALTER COLUMN {name} TYPE {of} USING {name}::{of}")
        connection.execute(retype.format(place.table, name=sql.Identifier(column.target), of=_type(column)))
    for column in added:
        add = sql.SQL("ALTER TABLE {} ADD COLUMN {} {}")
        connection.execute(add.format(place.table, sql.Identifier(column.target), _type(column)))


def _rename(
    connection: Connection, what: str, relation: sql.Identifier, renamed: dict[str, str], ours: OurColumns
) -> None:
    """Rename through names that no column has, so that two columns can exchange theirs."""
    moving = {old: ours.seq + _MOVING.format(at) for at, old in enumerate(renamed)}
    steps = [*moving.items(), *((moving[old], new) for old, new in renamed.items())]
    for old, new in steps:
        connection.execute(
            sql.SQL("ALTER {} {} RENAME COLUMN {} TO {}").format(
                sql.SQL(what),
                relation,
                sql.Identifier(old),
                sql.Identifier(new),
            )
        )


def _grants(connection: Connection, place: PgTargetPlace, view_oid: int) -> list[sql.Composed]:
    """Return the grants of the view as statements."""
    found = connection.execute(_GRANTS, [view_oid]).fetchall()
    return [
        sql.SQL("GRANT {} ON {} TO {}{}").format(
            sql.SQL(privilege),
            place.view,
            sql.SQL(role or "PUBLIC"),  # regrole has quoted it
            sql.SQL(" WITH GRANT OPTION" if may_grant else ""),
        )
        for role, privilege, may_grant in found
    ]


def _index_key(connection: Connection, plan: MergePlan, place: PgTargetPlace) -> None:
    """Index the key without calling it unique: the rows of an old key stay until a batch voids them."""
    connection.execute(
        sql.SQL("CREATE INDEX {} ON {} ({})").format(sql.Identifier(place.key), place.table, _key(plan))
    )


def _index_few(connection: Connection, plan: MergePlan, place: PgTargetPlace) -> None:
    """Index the few rows that are looked for by what they are: hidden ones, and a history's truncates."""
    ours = plan.ours
    names = {name: sql.Identifier(getattr(ours, name)) for name in ("deleted", "missing", "seq", "op")}
    few = {
        TableMode.UPSERT: ["({deleted}) WHERE {deleted} OR {missing} IS NOT NULL"],
        TableMode.HISTORY: ["({seq}) WHERE {op} = 't'", "({seq}) WHERE {missing} IS NOT NULL"],
        TableMode.APPEND: [],
    }
    for text in few[plan.mode]:
        index = sql.SQL("CREATE INDEX ON {} " + text)
        connection.execute(index.format(place.table, **names))


def _forget_key(connection: Connection, place: PgTargetPlace, columns: Sequence[PlannedColumn]) -> None:
    """Take away what made columns the key; under another key they may be null."""
    key = sql.Identifier(place.key)
    connection.execute(sql.SQL("ALTER TABLE {} DROP CONSTRAINT IF EXISTS {}").format(place.table, key))
    index = sql.Identifier(place.storage_schema, place.key)
    connection.execute(sql.SQL("DROP INDEX IF EXISTS {}").format(index))
    for column in columns:
        nullable = sql.SQL("ALTER TABLE {} ALTER COLUMN {} DROP NOT NULL")
        connection.execute(nullable.format(place.table, sql.Identifier(column.target)))


def _key(plan: MergePlan) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, plan.key))


def _shape(
    connection: Connection, plan: MergePlan, place: PgTargetPlace, columns: tuple[PlannedColumn, ...]
) -> PgTargetShape:
    oid = relation(connection, place.storage_schema, place.storage)
    numbers = {} if oid is None else {name: number for name, number, _ in columns_of(connection, oid)}
    by_identity = {column.identity: numbers[column.target] for column in columns}
    return PgTargetShape(columns, _identities(plan), plan.ours, by_identity, plan.mode)


def _identities(plan: MergePlan) -> tuple[int, ...]:
    """Return the key's columns by identity, in key order."""
    identities = {column.target: column.identity for column in plan.columns}
    return tuple(identities[name] for name in plan.key)


def _differs(old: PlannedColumn, new: PlannedColumn) -> bool:
    return column_type(old.type) != column_type(new.type)


def _type(column: PlannedColumn) -> sql.SQL:
    return sql.SQL(column_type(column.type))

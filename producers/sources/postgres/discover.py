"""The catalogue: which tables there are, and what a table is to the rest of Wrackline.

    pg_class, pg_attribute, pg_type, pg_index  ->  TableId, Projection
    a relation message and the catalogue       ->  Projection in the log's shape

The log names a relation's columns and types but not which columns are its key, nor the number
(attnum) that a column keeps when it is renamed: those are the catalogue's.  The rules about columns are
applied here, once a shape, so that log and chunks publish the same.

The log tells of a change before the catalogue shows it, for a commit is written first and becomes visible
afterwards; whoever changes a table keeps it locked until then, so a lock that waits for theirs waits
long enough.
"""

import contextlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import psycopg
from psycopg import sql

from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.identity import Numbered, numbers_of
from wrackline.producers.sources.postgres.messages import Relation
from wrackline.producers.sources.postgres.types import PgType, column_type
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.projection import Projection, project
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.types import Kind

TABLE_MISSING = define(
    "pg.table_missing",
    OperatorNeeded,
    "there is no table {table} that this role can see",
    hint="grant it: GRANT USAGE ON SCHEMA {schema} TO {role}; GRANT SELECT ON {table} TO {role}",
)
COLUMNS_UNKNOWN = define(
    "pg.columns_unknown",
    OperatorNeeded,
    "{table} was altered so often since this part of the log that its columns of then can't be told apart",
    hint="read the table anew: wrackline snapshot start '{table}'",
)
TYPE_GONE = define(
    "pg.type_gone",
    OperatorNeeded,
    "column {column} of {table} had a type in this part of the log that was dropped since",
    hint="read the table anew: wrackline snapshot start '{table}'",
)
KEY_NOT_LOGGED = define(
    "pg.key_not_logged",
    OperatorNeeded,
    "{table} has the key {columns}, and the log does not carry the old row's {missing}",
    hint='as its owner: ALTER TABLE "{schema}"."{name}" REPLICA IDENTITY FULL',
)

_LOCK_LIMIT = "SET LOCAL lock_timeout = '10s'"
_TABLES = """
SELECT n.nspname::text, c.relname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2"""
_OID = """
SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')"""
_COLUMNS = """
SELECT attnum, CASE WHEN NOT attisdropped THEN attname::text END, atttypid, atttypmod, attnotnull,
       attgenerated <> ''
FROM pg_attribute WHERE attrelid = %s AND attnum > 0 ORDER BY attnum"""
# The primary key, else the replica identity, else the unique index over not-null columns that has the fewest.
_KEYS = """
SELECT i.indisprimary,
       array(SELECT a.attname::text FROM unnest(i.indkey::int2[]) WITH ORDINALITY k (attnum, place)
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE k.place <= i.indnkeyatts ORDER BY k.place)
FROM pg_index i
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND i.indimmediate
  AND i.indpred IS NULL AND i.indexprs IS NULL
  AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid
                  AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) AND NOT a.attnotnull)
ORDER BY i.indisprimary DESC, i.indisreplident DESC, i.indnkeyatts, i.indexrelid LIMIT 1"""
_TYPES = """
SELECT t.oid, t.typname::text, n.nspname::text, t.typtype::text, t.typcategory::text, t.typdelim::text,
       t.typelem, t.typbasetype, t.typtypmod,
       array(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = ANY (%s)"""


class _Attribute(NamedTuple):
    attnum: int
    name: str | None  # None: dropped
    type_oid: int
    typmod: int
    not_null: bool
    generated: bool


class Catalogue:
    """Reads the catalogue over a connection of the caller's; types are kept, tables are not."""

    def __init__(self, connection: Connection, database: str, rules: ColumnRules, instants: Kind) -> None:
        """Take what is done to columns, and the kind that timestamptz becomes."""
        self._connection = connection
        self._database = database
        self._rules, self._instants = rules, instants
        self._types: dict[int, PgType] = {}

    def tables(self) -> list[TableId]:
        """List the tables that this role can read, partitions as their root."""
        return [
            TableId(self._database, str(schema), str(name))
            for schema, name in self._connection.execute(_TABLES)
        ]

    def describe(self, table: TableId) -> Projection:
        """Return a table's shape now, and what of it goes out."""
        oid = self._oid(table)
        attributes = [one for _, one in self._live(oid)]
        self._learn(attribute.type_oid for attribute in attributes)
        columns = [
            self._column(table, attribute, attribute.type_oid, attribute.typmod) for attribute in attributes
        ]
        return project(self._schema(table, oid, columns), self._rules)

    def shape_of(self, relation: Relation) -> Projection:
        """Return a relation's shape as the log announced it, and what of it goes out."""
        table = TableId(self._database, relation.schema, relation.name)
        self._await_change(table)
        oid = relation.oid  # not the name's: the table may be called otherwise by now
        attributes = {attribute.attnum: attribute for attribute in self._attributes(oid)}
        if not attributes:
            raise self._missing(table)
        numbers = numbers_of(
            [column.name for column in relation.columns],
            [Numbered(one.attnum, one.name, not one.generated) for one in attributes.values()],
        )
        if numbers is None:
            raise COLUMNS_UNKNOWN(table=table)
        self._learn(column.type_oid for column in relation.columns)
        columns = [
            self._column(table, attributes[number]._replace(name=column.name), column.type_oid, column.typmod)
            for number, column in zip(numbers, relation.columns, strict=True)
        ]
        shape = project(self._schema(table, oid, columns), self._rules)
        _check_key_logged(shape.source, relation)
        return shape

    @property
    def server_version(self) -> int:
        """The server's version as one number: 170004."""
        return self._connection.info.server_version

    def types(self, table: TableId) -> list[tuple[str, PgType, int, bool]]:
        """Return each column's name, type, typmod and whether it is generated; also of unknown types."""
        attributes = self._live(self._oid(table))
        self._learn(one.type_oid for _, one in attributes)
        return [(name, self._types[one.type_oid], one.typmod, one.generated) for name, one in attributes]

    def key(self, table: TableId) -> tuple[str, ...]:
        """Return the columns of the primary key, else of the unique index that stands in for it."""
        for _, key in self._connection.execute(_KEYS, [self._oid(table)]):
            if isinstance(key, list):
                return tuple(key)
        return ()

    def _await_change(self, table: TableId) -> None:
        """Return when the change of a table that the log told of is visible, or has gone on for long."""
        lock = sql.SQL("LOCK TABLE ONLY {} IN ACCESS SHARE MODE").format(
            sql.Identifier(table.schema, table.name)
        )
        impossible = (
            psycopg.errors.LockNotAvailable,
            psycopg.errors.InsufficientPrivilege,
            psycopg.errors.UndefinedTable,
            psycopg.errors.InvalidSchemaName,
            psycopg.errors.WrongObjectType,
        )
        with contextlib.suppress(*impossible), self._connection.transaction():
            self._connection.execute(_LOCK_LIMIT)
            self._connection.execute(lock)

    def _oid(self, table: TableId) -> int:
        found = self._connection.execute(_OID, [table.schema, table.name]).fetchone()
        if found is None:
            raise self._missing(table)
        return int(str(found[0]))

    def _missing(self, table: TableId) -> Exception:
        return TABLE_MISSING(table=table, schema=table.schema, role=self._connection.info.user)

    def _attributes(self, oid: int) -> list[_Attribute]:
        """Return a table's columns; a dropped one has its number only."""
        return [_Attribute._make(row) for row in self._connection.execute(_COLUMNS, [oid])]

    def _live(self, oid: int) -> list[tuple[str, _Attribute]]:
        return [(one.name, one) for one in self._attributes(oid) if one.name is not None]

    def _column(self, table: TableId, attribute: _Attribute, type_oid: int, typmod: int) -> Column:
        name = attribute.name or ""
        if type_oid not in self._types:
            raise TYPE_GONE(table=table, column=name)
        return Column(
            name,
            attribute.attnum,
            column_type(
                self._types[type_oid],
                typmod,
                column=f"{table}.{name}",
                as_text=self._rules.as_text(table, name),
                instants=self._instants,
            ),
            nullable=not attribute.not_null,
            generated=attribute.generated,
        )

    def _schema(self, table: TableId, oid: int, columns: Sequence[Column]) -> TableSchema:
        names = {column.name for column in columns}
        for primary, key in self._connection.execute(_KEYS, [oid]):
            if isinstance(key, list) and set(key) <= names:
                kind = KeyKind.PRIMARY if primary else KeyKind.UNIQUE
                return TableSchema(table, tuple(columns), tuple(key), kind)
        return TableSchema(table, tuple(columns))

    def _learn(self, oids: Iterable[int]) -> None:
        """Read types that are not known yet, and what they are made of."""
        wanted = [oid for oid in set(oids) if oid not in self._types]
        if not wanted:
            return
        rows = self._connection.execute(_TYPES, [wanted]).fetchall()
        self._learn(int(str(part)) for row in rows for part in (row[6], row[7]) if part)
        for oid, name, schema, kind, category, delimiter, element, base, typmod, labels in rows:
            self._types[int(str(oid))] = PgType(
                int(str(oid)),
                str(name),
                str(schema),
                str(kind),
                str(category),
                str(delimiter),
                self._types.get(int(str(element))),
                self._types.get(int(str(base))),
                int(str(typmod)),
                tuple(labels) if isinstance(labels, list) else (),
            )


def _check_key_logged(table: TableSchema, relation: Relation) -> None:
    """Refuse a key that an old row comes without: its deletes would name another row, or none.

    A table that logs nothing of its old rows needs no check: the server refuses to change such rows.
    """
    logged = {column.name for column in relation.columns if column.identity}
    missing = [name for name in table.key if name not in logged]
    if missing and (logged or table.key_kind is KeyKind.CUSTOM):
        raise KEY_NOT_LOGGED(
            table=table.id,
            columns=", ".join(table.key),
            missing=", ".join(missing),
            schema=table.id.schema,
            name=table.id.name,
        )

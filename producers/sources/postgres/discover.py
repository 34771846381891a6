"""The catalogue: which tables there are, and what a table is to the rest of Wrackline.

    pg_class, pg_attribute, pg_type, pg_index  ->  TableId, Projection
    a relation message and the catalogue       ->  Projection in the log's shape

The log names a relation's columns and types but not which columns are its key, nor the number
(attnum) that a column keeps when it is renamed: those are the catalogue's.  The rules about columns are
applied here, once a shape, so that log and chunks publish the same.

The log tells of a change before the catalogue shows it, for a commit is written first and becomes visible
afterwards.  Whoever changes a table keeps it locked until then: so the locks are looked at first, and a
table that is locked is not settled.  Nothing here waits; `NotVisible` says to ask again.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from wrackline.producers.sources.postgres import ddl, generated
from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.facts import ColumnFacts, TableFacts, fits, logged, unchanged
from wrackline.producers.sources.postgres.identity import Named, Numbered, likely_numbers, numbers_of
from wrackline.producers.sources.postgres.messages import Relation
from wrackline.producers.sources.postgres.names import psql, table_name
from wrackline.producers.sources.postgres.types import PgType, column_type
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.projection import Projection, project
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.types import Kind

TABLE_MISSING = define(
    "pg.table_missing",
    OperatorNeeded,
    "there is no table {table}, or not any more",
    hint="see whether it has another name now ({psql} -c '\\dt *.*'), and correct table.include.list",
)
COLUMNS_UNKNOWN = define(
    "pg.columns_unknown",
    OperatorNeeded,
    "{table} was altered so often since this part of the log that the columns of its key can't be told apart",
    hint="read the table anew: wrackline snapshot start <pipeline.toml> '{table}'",
)
TYPE_GONE = define(
    "pg.type_gone",
    OperatorNeeded,
    "column {column} of {table} had a type in this part of the log that was dropped since",
    hint="read the table anew: wrackline snapshot start <pipeline.toml> '{table}'",
)
KEY_NOT_LOGGED = define(
    "pg.key_not_logged",
    OperatorNeeded,
    "{table} has the key {columns}, and the log does not carry the old row's {missing}",
    hint="as its owner: ALTER TABLE {quoted} REPLICA IDENTITY FULL",
)

# Who changes a table holds this lock until everybody sees the change; also of tables nobody sees yet.
_ALTERING = """
SELECT relation FROM pg_locks
WHERE locktype = 'relation' AND granted AND mode = 'AccessExclusiveLock'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
_TABLES = """
SELECT n.nspname::text, c.relname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY 1, 2"""
_OIDS = """
SELECT c.oid, n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p')"""
_OID = """
SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')"""
# All of it in one statement, so that it is of one moment.  The key: the primary key, else the replica
# identity, else the unique index over not-null columns that has the fewest.
_FACTS = """
SELECT c.oid, c.relfilenode::bigint,
  (SELECT jsonb_agg(jsonb_build_array(a.attnum, CASE WHEN NOT a.attisdropped THEN a.attname::text END,
                                      a.atttypid::bigint, a.atttypmod, a.attnotnull, a.attidentity::text,
                                      a.attgenerated::text, md5(d.adbin::text), a.atthasmissing)
                    ORDER BY a.attnum)
   FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE a.attrelid = c.oid AND a.attnum > 0),
  (SELECT jsonb_build_array((i.indkey::int2[])[0:i.indnkeyatts - 1], i.indisprimary)
   FROM pg_index i
   WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
     AND i.indpred IS NULL AND i.indexprs IS NULL
     AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = i.indrelid
                     AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) AND NOT a.attnotnull)
   ORDER BY i.indisprimary DESC, i.indisreplident DESC, i.indnkeyatts, i.indexrelid LIMIT 1)
FROM pg_class c WHERE c.oid = ANY (%s)"""
_TRIGGER = "SELECT FROM pg_event_trigger WHERE evtname = %s AND evtenabled <> 'D'"
_STANDING = """
SELECT has_schema_privilege(relnamespace, 'USAGE') AND has_table_privilege(oid, 'SELECT'),
       EXISTS (SELECT FROM pg_partition_ancestors(oid) a WHERE a.relid = %s AND a.relid <> oid)
FROM pg_class WHERE oid = %s"""
_TYPES = """
SELECT t.oid, t.typname::text, n.nspname::text, t.typtype::text, t.typcategory::text, t.typdelim::text,
       t.typelem, t.typbasetype, t.typtypmod,
       array(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = ANY (%s)"""

AT_ONCE = 200  # tables that are described by one statement


class NotVisible(Exception):  # noqa: N818 - no error: it says to ask again
    """The log is ahead of the catalogue here."""


class NotOurs(Exception):  # noqa: N818 - no error: such a table is left alone
    """The role may not read this table, or it is a partition, whose rows come as its root's."""


class Catalogue:
    """Reads the catalogue over a connection of the caller's; types are kept, tables only if asked for."""

    def __init__(
        self,
        connection: Connection,
        database: str,
        rules: ColumnRules,
        instants: Kind,
        publication: str | None = None,
    ) -> None:
        """Take what is done to columns, the kind that timestamptz becomes, and what fills the log.

        Without a publication a table has all its columns, as if the log carried them.
        """
        self._connection = connection
        self._database = database
        self._rules, self._instants, self._publication = rules, instants, publication
        self._types: dict[int, PgType] = {}
        self._kept: dict[TableId, TableFacts] = {}

    def keep(self, tables: Collection[TableId]) -> None:
        """Look many tables up together; from here on these are as they are now."""
        wanted, named = frozenset(tables), {}
        for oid, schema, name in self._connection.execute(_OIDS):
            table = TableId(self._database, str(schema), str(name))
            if table in wanted:
                named[int(str(oid))] = table
        oids = list(named)
        for first in range(0, len(oids), AT_ONCE):
            some = {oid: named[oid] for oid in oids[first : first + AT_ONCE]}
            self._kept |= {facts.table: facts for facts in self._stored(some).values()}

    def tables(self) -> list[TableId]:
        """List the tables that this role can read, partitions as their root."""
        return [
            TableId(self._database, str(schema), str(name))
            for schema, name in self._connection.execute(_TABLES)
        ]

    def describe(self, table: TableId) -> Projection:
        """Return a table's shape now, and what of it goes out."""
        return self.projected(self.carried(self._found(table)))

    def projected(self, facts: TableFacts) -> Projection:
        """Return the shape that these facts describe, and what of it goes out."""
        columns = tuple(column for column in facts.columns if column.name is not None)
        self._learn(column.type_oid for column in columns)
        named = {column.number: self._column(facts.table, column) for column in columns}
        key = tuple(named[number].name for number in facts.key if number in named)
        shape = TableSchema(facts.table, tuple(named.values()))
        if key and len(key) == len(facts.key):
            kind = KeyKind.PRIMARY if facts.primary else KeyKind.UNIQUE
            shape = replace(shape, key=key, key_kind=kind)
        return project(shape, self._rules)

    def facts(self, oid: int, table: TableId) -> TableFacts:
        """Read what the catalogue says of a table; no columns where there is none."""
        return self.facts_of({oid: table})[oid]

    def facts_of(self, tables: Mapping[int, TableId]) -> dict[int, TableFacts]:
        """The same of many at once."""
        return self._carried(self._stored(tables))

    def carried(self, facts: TableFacts) -> TableFacts:
        """Leave out of a table's facts what the log does not carry."""
        return self._carried({facts.oid: facts})[facts.oid]

    def _carried(self, tables: dict[int, TableFacts]) -> dict[int, TableFacts]:
        if self._publication is None:
            return tables
        return generated.left_out(self._connection, self._publication, tables)

    def _stored(self, tables: Mapping[int, TableId]) -> dict[int, TableFacts]:
        """Read them as they are, with one statement."""
        found: dict[int, TableFacts] = {}
        rows: Iterable[Any] = self._connection.execute(_FACTS, [list(tables)])
        for oid, file, columns, key in rows:
            told = tuple(ColumnFacts(*column) for column in columns or ())
            numbers, primary = key or ((), False)
            found[oid] = TableFacts(oid, tables[oid], told, tuple(numbers), primary, file)
        return {oid: found.get(oid) or TableFacts(oid, table, ()) for oid, table in tables.items()}

    def shape_of(
        self,
        relation: Relation,
        said: TableFacts | None = None,
        *,
        exact: bool = False,
        long: bool = False,
        behind: int | None = None,
    ) -> tuple[Projection, TableFacts]:
        """Return a relation's shape as the log announced it, what of it goes out, and what is behind it.

        `said` is what we heard of the table before; `exact`: by the log itself, so the catalogue is not
        needed.  `long`: we have waited for long, so somebody's lock that explains nothing is no obstacle.
        `behind`: the relation that the log announced directly before.
        """
        table = TableId(self._database, relation.schema, relation.name)
        unsettled = relation.oid in self.altering()  # before the catalogue is read
        self._check_ours(relation.oid, behind)
        if said is not None and exact and fits(relation, said.columns):
            return self._logged(relation, said._replace(table=table))
        # by the number, not the name: the table may be called otherwise by now
        stored = self._stored({relation.oid: table})[relation.oid]
        now = generated.as_logged(relation, stored, self.carried(stored))
        if not now.columns:
            if unsettled:
                raise NotVisible
            if said is None or not fits(relation, said.columns):
                raise self._missing(table)
            return self._logged(relation, said._replace(table=table))  # dropped since
        if not unsettled:
            return self._logged(relation, now, said)
        if not (long and fits(relation, now.columns)):
            raise NotVisible
        try:
            return self._logged(relation, now, said)
        except OperatorNeeded:
            raise NotVisible from None  # it may be what is not visible that makes it right

    def altering(self) -> frozenset[int]:
        """Return the tables that somebody is changing, or has changed without everybody seeing it yet."""
        return frozenset(int(str(oid)) for (oid,) in self._connection.execute(_ALTERING))

    def triggered(self) -> bool:
        """Whether our event trigger is there and on."""
        return self._connection.execute(_TRIGGER, [ddl.NAME]).rowcount > 0

    @property
    def server_version(self) -> int:
        """The server's version as one number: 170004."""
        return self._connection.info.server_version

    def types(self, table: TableId) -> list[tuple[str, PgType, int, bool]]:
        """Return each column's name, type, typmod and whether the log carries it; also of unknown types."""
        stored = self._found(table)
        carried = {column.number for column in self.carried(stored).columns if column.name is not None}
        live = [(column.name, column) for column in stored.columns if column.name is not None]
        self._learn(column.type_oid for _, column in live)
        return [
            (name, self._types[column.type_oid], column.typmod, column.number in carried)
            for name, column in live
        ]

    def key(self, table: TableId) -> tuple[str, ...]:
        """Return the columns of the primary key, else of the unique index that stands in for it."""
        facts = self.carried(self._found(table))
        names = {column.number: column.name for column in facts.columns}
        key = tuple(name for number in facts.key if (name := names[number]) is not None)
        return key if len(key) == len(facts.key) else ()

    def _logged(
        self, relation: Relation, now: TableFacts, said: TableFacts | None = None
    ) -> tuple[Projection, TableFacts]:
        numbers = None if said is None else unchanged(relation, said, now)
        if numbers is None:
            numbers = _numbers(relation, now)
        facts = logged(relation, tuple(numbers), now)
        of_the_log = frozenset(numbers)
        sent = facts._replace(columns=tuple(one for one in facts.columns if one.number in of_the_log))
        shape = self.projected(sent)
        _check_key_logged(shape.source, relation)
        return shape, facts

    def _check_ours(self, oid: int, behind: int | None) -> None:
        """See that a relation is one of our tables.

        The server announces a partition directly behind the root that its rows come as.  A relation that it
        announces otherwise was a table of its own at the time, also if it was attached since.
        """
        found = self._connection.execute(_STANDING, [behind, oid]).fetchone()
        if found is None:  # dropped since, or not visible yet
            return
        readable, partition = found
        if not readable or partition:
            raise NotOurs

    def _found(self, table: TableId) -> TableFacts:
        if table in self._kept:
            return self._kept[table]
        found = self._connection.execute(_OID, [table.schema, table.name]).fetchone()
        if found is None:
            raise self._missing(table)
        oid = int(str(found[0]))
        return self._stored({oid: table})[oid]

    def _missing(self, table: TableId) -> Exception:
        return TABLE_MISSING(table=table, psql=psql(dbname=table.database))

    def _column(self, table: TableId, column: ColumnFacts) -> Column:
        name = column.name or ""
        if column.type_oid not in self._types:
            raise TYPE_GONE(table=table, column=name)
        return Column(
            name,
            column.number,
            column_type(
                self._types[column.type_oid],
                column.typmod,
                column=f"{table}.{name}",
                as_text=self._rules.as_text(table, name),
                instants=self._instants,
            ),
            nullable=not column.not_null,
            generated=bool(column.generated),
        )

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


def _numbers(relation: Relation, now: TableFacts) -> list[int]:
    there = [
        Numbered(one.number, one.name, one.name is not None or not one.generated, one.type_oid)
        for one in now.columns
    ]
    numbers = numbers_of([column.name for column in relation.columns], there)
    if numbers is None:
        named = [Named(column.name, column.type_oid) for column in relation.columns]
        numbers = likely_numbers(named, there, now.key)
    if numbers is None:
        raise COLUMNS_UNKNOWN(table=now.table)
    return numbers


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
            quoted=table_name(table.id),
        )

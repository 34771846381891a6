"""The catalogue: which tables there are, and what a table means to the rest of Wrackline.

    pg_class, pg_attribute, pg_type, pg_index  ->  TableId, Projection
    a relation message and the catalogue       ->  Projection in the log's shape

The log names a relation's columns and types, but neither the columns of its key nor the number (attnum)
that a column keeps when it is renamed: only the catalogue has these.  The rules about columns are applied
here, once for each shape, so that log and chunks publish the same.

The log shows a change before the catalogue does, because a commit is written first and becomes visible
afterwards.  A session that changes a table keeps it locked until then: so the locks are read first, and a
locked table is not settled.  Nothing here waits; `NotVisible` says to ask again.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import psql
from wrackline.producers.sources.postgres.discover import ddl_trigger, generated_columns
from wrackline.producers.sources.postgres.discover.column_identity import (
    CatalogueColumn,
    LoggedColumn,
    likely_numbers,
    numbers_of,
)
from wrackline.producers.sources.postgres.discover.facts import (
    PgColumnFacts,
    PgTableFacts,
    fits,
    logged_facts,
    unchanged_numbers,
)
from wrackline.producers.sources.postgres.discover.partitions import identity_full
from wrackline.producers.sources.postgres.discover.types import PgType, column_type
from wrackline.producers.sources.postgres.rows.messages import Relation
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Projection, project
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

TABLE_MISSING = define(
    "pg.table_missing",
    OperatorNeeded,
    "table {table} does not exist, or no longer exists",
    hint="check whether it has another name now ({psql} -c '\\dt *.*'), and correct table.include.list",
)
COLUMNS_UNKNOWN = define(
    "pg.columns_unknown",
    OperatorNeeded,
    "{table} was altered so often since this part of the log that the columns of its key can't be"
    " distinguished",
    hint="read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)
TYPE_GONE = define(
    "pg.type_gone",
    OperatorNeeded,
    "column {column} of {table} had a type in this part of the log that has since been dropped",
    hint="read the table again: wrackline snapshot start <pipeline.toml> '{table}'",
)
KEY_NOT_LOGGED = define(
    "pg.key_not_logged",
    OperatorNeeded,
    "{table} has the key {columns}, but the log does not contain {missing} of the old row",
    hint="as its owner: {alter}; then read the table again:"
    " wrackline snapshot start <pipeline.toml> '{table}'",
)
# A session that changes a table holds this lock until all sessions see the change; also on invisible tables.
_ALTERING = """
SELECT relation FROM pg_locks
WHERE locktype = 'relation' AND granted AND mode = 'AccessExclusiveLock'
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
# For a table `c` in a schema `n`: the conditions for a copy, if the filters include the table.
LOGGED = "c.relpersistence = 'p'"
READABLE = "has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')"
_TABLES = f"""
SELECT n.nspname::text, c.relname::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND {LOGGED}
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
  AND {READABLE}
ORDER BY 1, 2"""  # noqa: S608 texts of our own
_OIDS = """
SELECT c.oid, n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p')"""
_OID = """
SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')"""
# All in one statement, so that it shows one moment.  The key: the primary key, else the replica identity,
# else the unique index over the fewest not-null columns.
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
_STANDING = """
SELECT has_schema_privilege(relnamespace, 'USAGE') AND has_table_privilege(oid, 'SELECT'), relkind = 'p',
       EXISTS (SELECT FROM pg_partition_ancestors(oid) a WHERE a.relid = %s AND a.relid <> oid)
FROM pg_class WHERE oid = %s"""
_TYPES = """
SELECT t.oid, t.typname::text, n.nspname::text, t.typtype::text, t.typcategory::text, t.typdelim::text,
       t.typelem, t.typbasetype, t.typtypmod,
       array(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid = ANY (%s)"""

AT_ONCE = 200  # tables that are described by one statement


class NotVisible(Exception):  # noqa: N818 - not an error: it says to ask again
    """The log is ahead of the catalogue here."""


class NotOurs(Exception):  # noqa: N818 - not an error: such a table is ignored
    """The role may not read this table, or it is a partition, whose rows arrive as rows of its root."""


class PgCatalogue:
    """Reads the catalogue over the caller's connection; types are kept, tables only after `keep`."""

    def __init__(
        self,
        connection: Connection,
        database: str,
        rules: ColumnRules,
        instants: Kind,
        publication: str | None = None,
    ) -> None:
        """Take the rules about columns, the kind that timestamptz becomes, and the log's publication.

        Without a publication a table has all its columns, as if the log carried them.
        """
        self._connection = connection
        self._database = database
        self._rules, self._instants, self._publication = rules, instants, publication
        self._types: dict[int, PgType] = {}
        self._cache: dict[TableId, PgTableFacts] = {}

    def keep(self, tables: Collection[TableId]) -> None:
        """Look up many tables together; from here on their facts do not change."""
        wanted, named = frozenset(tables), {}
        for oid, schema, name in self._connection.execute(_OIDS):
            table = TableId(self._database, str(schema), str(name))
            if table in wanted:
                named[int(str(oid))] = table
        oids = list(named)
        for first in range(0, len(oids), AT_ONCE):
            some = {oid: named[oid] for oid in oids[first : first + AT_ONCE]}
            self._cache |= {facts.table: facts for facts in self._stored(some).values()}

    def tables(self) -> list[TableId]:
        """List the tables that this role can read, partitions as their root."""
        return [
            TableId(self._database, str(schema), str(name))
            for schema, name in self._connection.execute(_TABLES)
        ]

    def absent(self, tables: Collection[TableId]) -> frozenset[TableId]:
        """Return those of whose name there is no table, readable or not."""
        rows = self._connection.execute(_OIDS)
        return frozenset(tables) - {
            TableId(self._database, str(schema), str(name)) for _, schema, name in rows
        }

    def describe(self, table: TableId) -> Projection:
        """Return a table's current shape, and the part of it that is published."""
        return self.projected(self.carried(self._facts(table)))

    def projected(self, facts: PgTableFacts) -> Projection:
        """Return the shape that these facts describe, and the part of it that is published."""
        columns = tuple(column for column in facts.columns if column.name is not None)
        self._learn(column.type_oid for column in columns)
        named = {column.number: self._column(facts.table, column) for column in columns}
        key = tuple(named[number].name for number in facts.key if number in named)
        shape = TableSchema(facts.table, tuple(named.values()))
        if key and len(key) == len(facts.key):
            kind = KeyKind.PRIMARY if facts.primary else KeyKind.UNIQUE
            shape = replace(shape, key=key, key_kind=kind)
        return project(shape, self._rules)

    def facts(self, oid: int, table: TableId) -> PgTableFacts:
        """Read the catalogue's facts of a table; no columns where there is no table."""
        return self.facts_of({oid: table})[oid]

    def facts_of(self, tables: Mapping[int, TableId]) -> dict[int, PgTableFacts]:
        """Read the facts of many tables at once."""
        return self._carried(self._stored(tables))

    def carried(self, facts: PgTableFacts) -> PgTableFacts:
        """Return a table's facts without the columns that the log does not carry."""
        return self._carried({facts.oid: facts})[facts.oid]

    def _carried(self, tables: dict[int, PgTableFacts]) -> dict[int, PgTableFacts]:
        if self._publication is None:
            return tables
        return generated_columns.without_uncarried(self._connection, self._publication, tables)

    def _stored(self, tables: Mapping[int, TableId]) -> dict[int, PgTableFacts]:
        """Read the tables as they are stored, with one statement."""
        found: dict[int, PgTableFacts] = {}
        rows: Iterable[Any] = self._connection.execute(_FACTS, [list(tables)])
        for oid, file, columns, key in rows:
            told = tuple(PgColumnFacts(*column) for column in columns or ())
            numbers, primary = key or ((), False)
            found[oid] = PgTableFacts(oid, tables[oid], told, tuple(numbers), primary, file)
        return {oid: found.get(oid) or PgTableFacts(oid, table, ()) for oid, table in tables.items()}

    def shape_of(
        self,
        relation: Relation,
        said: PgTableFacts | None = None,
        *,
        exact: bool = False,
        long: bool = False,
        behind: int | None = None,
    ) -> tuple[Projection, PgTableFacts]:
        """Return a relation's shape as the log announced it, the part that is published, and its facts.

        `said` is what we know of the table from before; `exact`: from the log itself, so the catalogue is
        not needed.  `long`: we have waited for long, so a lock that explains nothing no longer matters.
        `behind`: the relation that the log announced directly before.
        """
        table = TableId(self._database, relation.schema, relation.name)
        unsettled = relation.oid in self.altering()  # before the catalogue is read
        partitioned = self._check_ours(relation.oid, behind)
        if said is not None and exact and fits(relation, said.columns):
            return self._logged(relation, said._replace(table=table), partitioned=partitioned)
        # by the number, not the name: the table may have another name by now
        stored = self._stored({relation.oid: table})[relation.oid]
        now = generated_columns.with_logged_columns(relation, stored, self.carried(stored))
        if not now.columns:
            if unsettled:
                raise NotVisible
            if said is None or not fits(relation, said.columns):
                raise self._missing(table)
            return self._logged(
                relation, said._replace(table=table), partitioned=partitioned
            )  # dropped since
        if not unsettled:
            return self._logged(relation, now, said, partitioned=partitioned)
        if not (long and fits(relation, now.columns)):
            raise NotVisible
        try:
            return self._logged(relation, now, said, partitioned=partitioned)
        except OperatorNeeded:
            raise NotVisible from None  # the change that is not visible yet may make it right

    def altering(self) -> frozenset[int]:
        """Return the tables that are being changed, or whose change is not visible to all sessions yet."""
        return frozenset(int(str(oid)) for (oid,) in self._connection.execute(_ALTERING))

    def secret(self) -> bytes | None:
        """Return the secret of our event trigger's messages; None where no message counts as genuine."""
        found = ddl_trigger.find_trigger(self._connection)
        return None if found is None else found.secret

    @property
    def server_version(self) -> int:
        """The server's version as one number: 170004."""
        return self._connection.info.server_version

    def types(self, table: TableId) -> list[tuple[str, PgType, int, bool]]:
        """Return each column's name, type, typmod and whether the log carries it; also of unknown types."""
        stored = self._facts(table)
        carried = {column.number for column in self.carried(stored).columns if column.name is not None}
        live = [(column.name, column) for column in stored.columns if column.name is not None]
        self._learn(column.type_oid for _, column in live)
        return [
            (name, self._types[column.type_oid], column.typmod, column.number in carried)
            for name, column in live
        ]

    def key(self, table: TableId) -> tuple[str, ...]:
        """Return the columns of the primary key, else of the unique index that replaces it."""
        facts = self.carried(self._facts(table))
        names = {column.number: column.name for column in facts.columns}
        key = tuple(name for number in facts.key if (name := names[number]) is not None)
        return key if len(key) == len(facts.key) else ()

    def _logged(
        self, relation: Relation, now: PgTableFacts, said: PgTableFacts | None = None, *, partitioned: bool
    ) -> tuple[Projection, PgTableFacts]:
        numbers = None if said is None else unchanged_numbers(relation, said, now)
        if numbers is None:
            numbers = _numbers(relation, now)
        facts = logged_facts(relation, tuple(numbers), now)
        of_the_log = frozenset(numbers)
        sent = facts._replace(columns=tuple(one for one in facts.columns if one.number in of_the_log))
        shape = self.projected(sent)
        _check_key_logged(shape.source, relation, partitioned=partitioned)
        return shape, facts

    def _check_ours(self, oid: int, behind: int | None) -> bool:
        """Check that a relation is one of our tables; return whether it has partitions.

        The server announces a partition directly behind the root whose rows its rows appear as.  A relation
        that it announces in another way was a table of its own then, even if it was attached since.
        """
        found = self._connection.execute(_STANDING, [behind, oid]).fetchone()
        if found is None:  # dropped since, or not visible yet
            return False
        readable, partitioned, partition = found
        if not readable or partition:
            raise NotOurs
        return bool(partitioned)

    def _facts(self, table: TableId) -> PgTableFacts:
        if table in self._cache:
            return self._cache[table]
        found = self._connection.execute(_OID, [table.schema, table.name]).fetchone()
        if found is None:
            raise self._missing(table)
        oid = int(str(found[0]))
        return self._stored({oid: table})[oid]

    def _missing(self, table: TableId) -> Exception:
        return TABLE_MISSING(table=table, psql=psql(dbname=table.database))

    def _column(self, table: TableId, column: PgColumnFacts) -> Column:
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
        """Read types that are not known yet, and the types that they consist of."""
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


def _numbers(relation: Relation, now: PgTableFacts) -> list[int]:
    there = [
        CatalogueColumn(one.number, one.name, one.name is not None or not one.generated, one.type_oid)
        for one in now.columns
    ]
    numbers = numbers_of([column.name for column in relation.columns], there)
    if numbers is None:
        named = [LoggedColumn(column.name, column.type_oid) for column in relation.columns]
        numbers = likely_numbers(named, there, now.key)
    if numbers is None:
        raise COLUMNS_UNKNOWN(table=now.table)
    return numbers


def _check_key_logged(table: TableSchema, relation: Relation, *, partitioned: bool) -> None:
    """Refuse a key that old rows in the log lack: deletes would name another row, or none.

    A table that logs nothing of its old rows needs no check: the server refuses to change such rows.
    """
    logged = {column.name for column in relation.columns if column.identity}
    missing = [name for name in table.key if name not in logged]
    if missing and (logged or table.key_kind is KeyKind.CUSTOM):
        raise KEY_NOT_LOGGED(
            table=table.id,
            columns=", ".join(table.key),
            missing=", ".join(missing),
            alter=identity_full(table.id, partitioned=partitioned),
        )

"""What a publication carries, compared with what is to be copied: at each start and in a check.

    pg_publication, pg_publication_tables  ->  what it leaves out, as errors with the SQL that solves it

A publication can leave out operations, columns, rows, and the table that partitions belong to, and the log
then does not show it.  A gap that would silently make the copy wrong is refused, or its table is set aside
where the copy has begun: a column that is added later is in no list.  A row filter may be intended, and only
a check says what it means.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import identifier, table_name, table_names
from wrackline.producers.sources.postgres.discover.discover import PgCatalogue
from wrackline.producers.sources.postgres.discover.facts import PgPublicationScope
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId

PUBLICATION_SKIPS = define(
    "pg.publication_skips",
    OperatorNeeded,
    "publication {publication} does not publish {missing}: these changes would never reach the copy",
    hint="as the publication's owner: ALTER PUBLICATION {publication} SET (publish = 'insert, update,"
    ' delete, truncate\'); or, if that is intended, declare it: skipped.operations = "{skipped}"',
)
PUBLICATION_LEAVES = define(
    "pg.publication_leaves",
    OperatorNeeded,
    "{table} is partitioned, and publication {publication} publishes each partition by itself, so its"
    " changes do not arrive under its own name",
    hint="as the publication's owner: ALTER PUBLICATION {publication} SET"
    " (publish_via_partition_root = true)",
)
PUBLICATION_KEY = define(
    "pg.publication_key",
    OperatorNeeded,
    "publication {publication} has a column list on {table} without {columns}, which belong to its key",
    hint="as the table's owner: ALTER PUBLICATION {publication} DROP TABLE {table}; ALTER PUBLICATION"
    " {publication} ADD TABLE {table}; with a list that names the key: ADD TABLE {table} (<columns>)",
)
PUBLICATION_COLUMN = define(
    "pg.publication_column",
    OperatorNeeded,
    "publication {publication} has a column list on {table} without {columns}: a snapshot reads them, but"
    " the log never contains them",
    hint="leave them out of the copy too: column.exclude.list = '{paths}'; or publish the whole row, as the"
    " table's owner: ALTER PUBLICATION {publication} DROP TABLE {table}; ALTER PUBLICATION {publication} ADD"
    " TABLE {table}",
)
PUBLICATION_LACKS = define(
    "pg.publication_lacks",
    OperatorNeeded,
    "publication {publication} does not publish {tables}",
    hint="as the tables' owner: ALTER PUBLICATION {publication} ADD TABLE {tables};"
    " then read each of them: wrackline snapshot start <pipeline.toml> <schema>.<table>",
)

_OPERATIONS = {"c": "insert", "u": "update", "d": "delete", "t": "truncate"}
# Columns that 14 does not have are read through JSON: a missing column is null.
_PUBLICATION = """
SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot, puballtables
FROM pg_publication p WHERE pubname = %s"""
_PUBLISHED = """
SELECT t.schemaname::text, t.tablename::text, to_jsonb(t) ->> 'rowfilter',
       ARRAY(SELECT jsonb_array_elements_text(nullif(to_jsonb(t) -> 'attnames', 'null'))),
       ARRAY(SELECT a.attname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                                AND a.attgenerated = ''
             WHERE n.nspname = t.schemaname AND c.relname = t.tablename)
FROM pg_publication_tables t WHERE pubname = %s"""
_NAMES = "SELECT schemaname::text, tablename::text FROM pg_publication_tables WHERE pubname = %s"
_SCHEMAS_SINCE = 150_000
_SCHEMAS = """
SELECT n.nspname::text FROM pg_publication p JOIN pg_publication_namespace s ON s.pnpubid = p.oid
JOIN pg_namespace n ON n.oid = s.pnnspid WHERE p.pubname = %s"""
_PARTITIONED = """
SELECT n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'p' AND NOT c.relispartition"""


class PgPublication(NamedTuple):
    """What the publication carries for every table."""

    insert: bool
    update: bool
    delete: bool
    truncate: bool
    via_root: bool
    everything: bool  # it is for all tables


class PgPublishedTable(NamedTuple):
    """What it carries for one table."""

    row_filter: str | None
    lacking: Sequence[str]  # columns that its list leaves out, except generated columns


def find(connection: Connection, name: str) -> PgPublication | None:
    """Look up the publication."""
    row = connection.execute(_PUBLICATION, [name]).fetchone()
    return None if row is None else PgPublication._make(row)


def publication_scope(connection: Connection, name: str) -> PgPublicationScope:
    """Look up which tables it carries, and whether new tables are included."""
    found = find(connection, name)
    schemas: frozenset[str] = frozenset()
    if connection.info.server_version >= _SCHEMAS_SINCE:
        schemas = frozenset(str(schema) for (schema,) in connection.execute(_SCHEMAS, [name]))
    database = connection.info.dbname
    tables = (TableId(database, str(one), str(table)) for one, table in connection.execute(_NAMES, [name]))
    return PgPublicationScope(found is not None and found.everything, schemas, frozenset(tables))


def published_tables(connection: Connection, name: str) -> dict[TableId, PgPublishedTable]:
    """Look up how it carries each table; partitions have the names that the publication uses."""
    found, database = {}, connection.info.dbname
    for schema, table, row_filter, listed, every in connection.execute(_PUBLISHED, [name]):
        columns = _texts(listed)
        lacking = [column for column in _texts(every) if column not in columns] if columns else []
        shown = None if row_filter is None else str(row_filter)
        found[TableId(database, str(schema), str(table))] = PgPublishedTable(shown, lacking)
    return found


def skips(found: PgPublication, name: str, skipped: Collection[str]) -> WracklineError | None:
    """Return an error that names the operations that it leaves out and that are not skipped anyway."""
    does = dict(zip(_OPERATIONS, found, strict=False))  # insert, update, delete, truncate
    missing = [letter for letter in _OPERATIONS if not does[letter] and letter not in skipped]
    if not missing:
        return None
    return PUBLICATION_SKIPS(
        publication=identifier(name),
        missing=", ".join(_OPERATIONS[letter] for letter in missing),
        skipped=",".join(sorted({*skipped, *missing} - {"none"})),
    )


def leaves(name: str, table: TableId) -> WracklineError:
    """Return the error that it names partitions instead of their table."""
    return PUBLICATION_LEAVES(publication=identifier(name), table=table_name(table))


def lacks(name: str, tables: Collection[TableId]) -> WracklineError:
    """Return the error that names unpublished tables, with the statement that publishes them."""
    return PUBLICATION_LACKS(publication=identifier(name), tables=table_names(sorted(tables)))


def columns_left_out(
    name: str, table: TableId, key: Sequence[str], rules: ColumnRules, has: PgPublishedTable
) -> Iterator[WracklineError]:
    """Report the columns that its column list leaves out: of the key, and of the other copied columns."""
    names = {"publication": identifier(name), "table": table_name(table)}
    of_key = [column for column in key if column in has.lacking]
    if of_key:
        yield PUBLICATION_KEY(**names, columns=", ".join(map(identifier, of_key)))
    others = [one for one in has.lacking if one not in key and not rules.drops(table, one)]
    if others:
        paths = ",".join(exact_pattern(table.schema, table.name, column) for column in others)
        yield PUBLICATION_COLUMN(**names, columns=", ".join(map(identifier, others)), paths=paths)


def unfit(
    connection: Connection,
    name: str,
    tables: Sequence[TableId],
    skipped: Collection[str],
    rules: ColumnRules,
    catalogue: PgCatalogue,
) -> dict[TableId, WracklineError]:
    """Return the tables whose columns it silently leaves out; raise a fault that is not of only one table."""
    found = find(connection, name)
    if found is None:
        return {}
    error = skips(found, name, skipped)
    if error is not None:
        raise error
    has = published_tables(connection, name)
    if not found.via_root:  # the partitions' changes would be published as tables of their own
        partitioned = {(str(schema), str(table)) for schema, table in connection.execute(_PARTITIONED)}
        for table in tables:
            if table not in has and (table.schema, table.name) in partitioned:
                raise leaves(name, table)
    faults = {}
    for table in tables:
        if table in has and has[table].lacking:
            key = rules.key(table) or catalogue.key(table)
            if (error := next(columns_left_out(name, table, key, rules, has[table]), None)) is not None:
                faults[table] = error
    return faults


def _texts(found: object) -> list[str]:
    return [str(one) for one in found] if isinstance(found, list) else []

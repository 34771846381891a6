"""Whether a publication that others made carries what is to be copied: asked at each start and by a check.

    pg_publication, pg_publication_tables  ->  what it leaves out, as errors with the SQL that mends it

A publication can leave out operations, columns, rows, and the table that partitions belong to, and the log
then says nothing of it.  What would make the copy wrong in silence is refused; a row filter is a wish that
somebody may have, and a check alone says what it means.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.names import identifier, table_name
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.table import TableId

PUBLICATION_SKIPS = define(
    "pg.publication_skips",
    OperatorNeeded,
    "publication {publication} does not publish {missing}: these changes would never reach the copy",
    hint="as the publication's owner: ALTER PUBLICATION {publication} SET (publish = 'insert, update, delete,"
    " truncate'); or, where that is meant, say so: skipped.operations={skipped}",
)
PUBLICATION_LEAVES = define(
    "pg.publication_leaves",
    OperatorNeeded,
    "{table} is partitioned, and publication {publication} publishes each partition by itself: its changes do"
    " not arrive as its own",
    hint="as the publication's owner: ALTER PUBLICATION {publication} SET"
    " (publish_via_partition_root = true)",
)
PUBLICATION_KEY = define(
    "pg.publication_key",
    OperatorNeeded,
    "publication {publication} has a column list on {table} without {columns}, which is of its key",
    hint="as the table's owner: ALTER PUBLICATION {publication} DROP TABLE {table}; ALTER PUBLICATION"
    " {publication} ADD TABLE {table}; with a list that names the key: ADD TABLE {table} (<columns>)",
)

_OPERATIONS = {"c": "insert", "u": "update", "d": "delete", "t": "truncate"}
# What 14 does not have is asked for through JSON: a column that is not there is null.
_PUBLICATION = """
SELECT pubinsert, pubupdate, pubdelete, pubtruncate, pubviaroot,
       coalesce(to_jsonb(p) ->> 'pubgencols', 'n')
FROM pg_publication p WHERE pubname = %s"""
_PUBLISHED = """
SELECT t.schemaname::text, t.tablename::text, to_jsonb(t) ->> 'rowfilter',
       ARRAY(SELECT jsonb_array_elements_text(nullif(to_jsonb(t) -> 'attnames', 'null'))),
       ARRAY(SELECT a.attname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                                AND a.attgenerated = ''
             WHERE n.nspname = t.schemaname AND c.relname = t.tablename)
FROM pg_publication_tables t WHERE pubname = %s"""
_PARTITIONED = """
SELECT n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'p' AND NOT c.relispartition"""


class Publication(NamedTuple):
    """What the publication carries of every table."""

    insert: bool
    update: bool
    delete: bool
    truncate: bool
    via_root: bool
    generated: str


class Carried(NamedTuple):
    """What it carries of one table."""

    row_filter: str | None
    lacking: Sequence[str]  # columns that its list leaves out, generated ones aside


def find(connection: Connection, name: str) -> Publication | None:
    """Look the publication up."""
    row = connection.execute(_PUBLICATION, [name]).fetchone()
    return None if row is None else Publication._make(row)


def carried(connection: Connection, name: str, database: str) -> dict[TableId, Carried]:
    """Return the tables that it carries, partitions as it names them."""
    found = {}
    for schema, table, row_filter, listed, every in connection.execute(_PUBLISHED, [name]):
        columns = _texts(listed)
        lacking = [column for column in _texts(every) if column not in columns] if columns else []
        shown = None if row_filter is None else str(row_filter)
        found[TableId(database, str(schema), str(table))] = Carried(shown, lacking)
    return found


def skips(found: Publication, name: str, skipped: Collection[str]) -> WracklineError | None:
    """Say which operations it leaves out that are not skipped anyway."""
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
    """Say that it names partitions instead of their table."""
    return PUBLICATION_LEAVES(publication=identifier(name), table=table_name(table))


def keyless(name: str, table: TableId, key: Sequence[str], has: Carried) -> WracklineError | None:
    """Say which columns of the key its column list leaves out."""
    missing = [column for column in key if column in has.lacking]
    if not missing:
        return None
    return PUBLICATION_KEY(
        publication=identifier(name), table=table_name(table), columns=", ".join(map(identifier, missing))
    )


def see_that_it_fits(
    connection: Connection,
    name: str,
    tables: Sequence[TableId],
    skipped: Collection[str],
    key_of: Callable[[TableId], Sequence[str]],
) -> None:
    """Refuse to start with a publication that would leave out, in silence, what is to be copied."""
    found = find(connection, name)
    if found is None:
        return
    for error in _unfit(connection, found, name, tables, skipped, key_of):
        if error is not None:
            raise error


def _unfit(
    connection: Connection,
    found: Publication,
    name: str,
    tables: Sequence[TableId],
    skipped: Collection[str],
    key_of: Callable[[TableId], Sequence[str]],
) -> Iterator[WracklineError | None]:
    yield skips(found, name, skipped)
    has = carried(connection, name, connection.info.dbname)
    if not found.via_root:
        partitioned = {(str(schema), str(table)) for schema, table in connection.execute(_PARTITIONED)}
        for table in tables:
            if table not in has and (table.schema, table.name) in partitioned:
                yield leaves(name, table)
    for table in tables:
        if table in has and has[table].lacking:
            yield keyless(name, table, key_of(table), has[table])


def _texts(found: object) -> list[str]:
    return [str(one) for one in found] if isinstance(found, list) else []

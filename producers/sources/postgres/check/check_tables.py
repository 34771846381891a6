"""The findings about single tables: grants, identity, keys, types.

    catalogue of the server + rules about columns  ->  findings, and how far each column is carried

Tables are looked up without any rights on them, so that a table that lacks a grant is reported, not
overlooked.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from psycopg import sql

from wrackline.producers.contract.uncaptured import MOST_NAMED, UncapturedReason, name_some
from wrackline.producers.kit.preflight.column_findings import (
    TypedColumn,
    chosen_key_findings,
    column_support,
    unknown_type_findings,
)
from wrackline.producers.kit.preflight.probes import error_finding
from wrackline.producers.sources.postgres.check import check_table_rules as rules
from wrackline.producers.sources.postgres.chunks import key_uniqueness
from wrackline.producers.sources.postgres.chunks.chunks import KEY_HIDDEN
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import identifier
from wrackline.producers.sources.postgres.discover import generated_columns
from wrackline.producers.sources.postgres.discover.discover import LOGGED, READABLE, PgCatalogue
from wrackline.producers.sources.postgres.discover.types import PgType, column_type, type_text
from wrackline.schemas.language.findings import ColumnSupport, Finding, Severity
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import Kind

MONEY_DIGITS = 2  # of the session in which we read

_TABLES = f"""
SELECT n.nspname::text, c.relname::text, c.oid::bigint, format('%I.%I', n.nspname, c.relname),
       quote_ident(n.nspname), c.relpersistence::text, c.relkind = 'p',
       has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT'),
       c.relrowsecurity AND row_security_active(c.oid), pg_has_role(c.relowner, 'USAGE'),
       {LOGGED} AND {READABLE}
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
ORDER BY 1, 2"""  # noqa: S608 texts of our own
# The table, and every relation that stores its rows: the columns of its primary key, of the index of its
# identity, and of each index that could be its identity.
_LEAVES = """
WITH RECURSIVE parts (root, oid) AS (
    SELECT oid, oid FROM unnest(%s::oid[]) asked (oid)
    UNION ALL
    SELECT p.root, i.inhrelid FROM parts p JOIN pg_inherits i ON i.inhparent = p.oid
    JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition),
unique_index AS NOT MATERIALIZED (
    SELECT i.*, array(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.indrelid
                      AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])) AS columns
    FROM pg_index i WHERE i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL)
SELECT p.root::bigint, format('%%I.%%I', n.nspname, c.relname), c.relreplident::text,
       coalesce((SELECT u.columns FROM unique_index u WHERE u.indrelid = c.oid AND u.indisprimary), '{}'),
       coalesce((SELECT u.columns FROM unique_index u WHERE u.indrelid = c.oid AND u.indisreplident), '{}'),
       coalesce((SELECT jsonb_object_agg(quote_ident(k.relname), to_jsonb(u.columns))
        FROM unique_index u JOIN pg_class k ON k.oid = u.indexrelid
        WHERE u.indrelid = c.oid AND NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = ANY (u.columns)
            AND NOT a.attnotnull)), '{}'),
       c.relkind = 'p', pg_table_size(c.oid), pg_relation_size(c.oid)
FROM parts p JOIN pg_class c ON c.oid = p.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' OR c.oid = p.root ORDER BY 1, 2"""


class PgCheckedTable(NamedTuple):
    """A table as the catalogue shows it to every role; `quoted` and `schema` are ready for SQL."""

    id: TableId
    oid: int
    quoted: str
    schema: str
    persistence: str
    partitioned: bool
    usage: bool
    select: bool
    row_security: bool
    owned: bool
    listed: bool  # as the source lists the tables that it may copy

    @property
    def hidden(self) -> bool:
        """Whether the source does not list it, because it can't be read or has no log."""
        return not (self.usage and self.select and self.persistence == "p")


class Leaf(NamedTuple):
    """A table or a relation that stores its rows, and which part of an old row the log carries."""

    quoted: str
    identity: str  # relreplident: default, nothing, index, full
    primary: Sequence[str]
    index_columns: Sequence[str]
    unique: Mapping[str, Sequence[str]]  # the indexes that could be the identity, and their columns
    partitioned: bool  # it stores no rows itself: its identity is only what the server announces
    size: int  # bytes
    rows_size: int  # bytes of only its rows: 0 says that it never had any

    @property
    def logged(self) -> Sequence[str] | None:
        """The columns of an old row that the log carries; None: all."""
        return {"d": self.primary, "i": self.index_columns, "n": ()}.get(self.identity)

    @property
    def nameless(self) -> bool:
        """Whether the server refuses its updates and deletes once it is published."""
        return not self.partitioned and self.logged is not None and not self.logged

    def wanted(self, key: Sequence[str]) -> str:
        """Write the smallest identity that carries these columns: the primary key where it is enough."""
        if not key:
            return "FULL"
        if self.primary and set(key) <= set(self.primary):
            return "DEFAULT"
        fitting = [
            (len(columns), index) for index, columns in self.unique.items() if set(key) <= set(columns)
        ]
        return f"USING INDEX {min(fitting)[1]}" if fitting else "FULL"


def all_tables(connection: Connection, database: str) -> list[PgCheckedTable]:
    """List the database's tables, granted or not."""
    found = []
    for schema, name, *facts in connection.execute(_TABLES):
        table = TableId(database, str(schema), str(name))
        found.append(PgCheckedTable(table, *facts))  # type: ignore[arg-type]  # the query names each of them
    return found


def leaves(connection: Connection, tables: Sequence[PgCheckedTable]) -> Mapping[int, Sequence[Leaf]]:
    """Return by oid the relations that store a table's rows: itself, or its partitions."""
    found: dict[int, list[Leaf]] = defaultdict(list)
    for root, *leaf in connection.execute(_LEAVES, [[table.oid for table in tables]]):
        found[int(str(root))].append(Leaf._make(leaf))
    return found


def empty(tables: Sequence[PgCheckedTable], stored: Mapping[int, Sequence[Leaf]]) -> Iterator[Finding]:
    """Name the tables that have no rows, as far as their size shows it."""
    found = [table for table in tables if not any(leaf.rows_size for leaf in stored.get(table.oid, ()))]
    if found:
        yield rules.EMPTY(shown=name_some([str(table.id) for table in found]))


def why_hidden(table: PgCheckedTable) -> UncapturedReason | None:
    """Say why the source does not list a table; None: it lists it."""
    if table.listed:
        return None
    return UncapturedReason.UNLOGGED if table.persistence == "u" else UncapturedReason.NO_GRANT


def uncopied_findings(tables: Sequence[PgCheckedTable], role: str) -> Iterator[Finding]:
    """Name the tables that no filter leaves out and that are still not copied."""
    for why, made in (
        (UncapturedReason.NO_GRANT, rules.NOT_GRANTED),
        (UncapturedReason.UNLOGGED, rules.NOT_LOGGED),
    ):
        found = [table for table in tables if why_hidden(table) is why]
        if found:
            schemas = list(dict.fromkeys(table.schema for table in found if not table.usage))[:MOST_NAMED]
            usage = f"GRANT USAGE ON SCHEMA {', '.join(schemas)} TO {role}; " if schemas else ""
            every = ", ".join(table.quoted for table in found)
            if len(found) > MOST_NAMED:
                holding = list(dict.fromkeys(table.schema for table in found))[:MOST_NAMED]
                every = f"ALL TABLES IN SCHEMA {', '.join(holding)}"
            shown = name_some([str(table.id) for table in found])
            yield made(shown=shown, every=every, usage=usage, role=role)


def access(table: PgCheckedTable, role: str) -> Iterator[Finding]:
    """Say what prevents a read of the table."""
    names = {"table_name": table.quoted, "schema_name": table.schema, "role": role}
    if not table.usage:
        yield rules.USAGE_MISSING(table.id, **names)
    if not table.select:
        yield rules.SELECT_MISSING(table.id, **names)
    if table.row_security:
        yield rules.ROW_SECURITY(table.id, **names)
    if table.persistence == "u":
        yield rules.UNLOGGED(table.id, **names)


def identity(
    table: PgCheckedTable, stored: Sequence[Leaf], key: Sequence[str], *, chosen: bool, changes: bool
) -> Iterator[Finding]:
    """Report where an update or a delete would not identify its row; `key` is the key that we use.

    `chosen`: message.key.columns names it.  A publication that carries neither needs no identity; then only
    a missing key is reported.
    """
    if not key:
        size = sum(leaf.size for leaf in stored) / (1 << 20)
        yield rules.KEY_MISSING(table.id, table_name=table.quoted, size=f"{size:,.0f}")
    for leaf in stored if changes else ():
        logged, wanted = leaf.logged, leaf.wanted(key)
        names = {"leaf": leaf.quoted, "wanted": wanted}
        lacking = [] if logged is None else [name for name in key if name not in logged]
        if leaf.partitioned and not logged and not chosen:
            continue  # its partitions say what their old rows carry
        if leaf.nameless:
            missing = rules.IDENTITY_MISSING if leaf.identity == "d" else rules.IDENTITY_NOTHING
            yield missing(table.id, **names)
        elif table.partitioned and logged and not key and not leaf.partitioned:
            yield rules.IDENTITY_OTHER(table.id, columns="all columns", **names)
        elif lacking:
            yield rules.IDENTITY_OTHER(table.id, columns=", ".join(lacking), **names)


def before_publishing(stored: Sequence[Leaf], key: Sequence[str]) -> Iterator[str]:
    """Write the SQL without which a publication of these relations would break the application."""
    for leaf in stored:
        if leaf.nameless:
            yield f"ALTER TABLE {leaf.quoted} REPLICA IDENTITY {leaf.wanted(key)}; "


def chosen_key(
    connection: Connection, table: PgCheckedTable, key: Sequence[str], there: Sequence[str]
) -> Iterator[Finding]:
    """Report where the columns that message.key.columns names may not distinguish rows, or do not."""
    rows = sql.SQL("{}" if table.partitioned else "ONLY {}").format(sql.Identifier(*table.id[1:]))
    return chosen_key_findings(
        rules.KEY_UNPROVEN,
        table.id,
        key,
        there if table.select else (),
        partial(key_uniqueness.is_proven_unique, connection, table.id, key),
        partial(key_uniqueness.count_duplicates, connection, rows, key),
        key_uniqueness.MOST_S,
        table_name=table.quoted,
        columns=", ".join(map(identifier, key)),
    )


def support(table: TableId, catalogue: PgCatalogue, about: ColumnRules) -> Iterator[ColumnSupport]:
    """Say for each copied column how far it is carried."""
    columns = [
        _typed(table, name, pg_type, typmod)
        for name, pg_type, typmod, carried in catalogue.types(table)
        if carried
    ]
    return column_support(table, columns, about, {Kind.TEXT_OF: "it is carried as the server's text"})


def column_findings(
    table: PgCheckedTable,
    catalogue: PgCatalogue,
    about: ColumnRules,
    *,
    digits: int | None,
    publication: str,
) -> Iterator[Finding]:
    """Name the columns whose values do not arrive, or arrive changed."""
    for name, pg_type, typmod, carried in catalogue.types(table.id):
        if about.drops(table.id, name):
            continue
        column = _typed(table.id, name, pg_type, typmod)
        yield from unknown_type_findings(table.id, column, about, "the table is set aside")
        path = exact_pattern(table.id.schema, table.id.name, name)
        if not carried:
            fix = f"compute it in the target; to exclude it explicitly: column.exclude.list = '{path}'"
            if catalogue.server_version >= generated_columns.SINCE:
                publish = f"ALTER PUBLICATION {publication} SET (publish_generated_columns = stored)"
                fix = f"if it is STORED: {publish}; otherwise {fix}"
            yield rules.COLUMN_GENERATED(table.id, name, path=path, fix=fix)
        if _is_money(pg_type) and digits not in {None, MONEY_DIGITS}:
            yield rules.MONEY_DIGITS(
                table.id,
                name,
                path=path,
                digits=digits,
                table_name=table.quoted,
                column_name=identifier(name),
            )


def has_money(table: TableId, catalogue: PgCatalogue) -> bool:
    """Whether a column is of the type money, whose digits each session chooses."""
    return any(_is_money(pg_type) for _, pg_type, _, _ in catalogue.types(table))


def snapshot_findings(table: PgCheckedTable, about: ColumnRules, key: Sequence[str]) -> Iterator[Finding]:
    """Report which of the table's rows a snapshot can't read, or the log does not contain."""
    if table.partitioned:
        yield rules.PARTITIONS_SILENT(table.id, table_name=table.quoted, request=table.id)
    for name in key:
        if about.mask(table.id, name) is not None and not about.drops(table.id, name):
            hidden = KEY_HIDDEN(table=table.id, column=name)
            impact = "changes are copied, but snapshots of the table are refused"
            yield error_finding(hidden, table.id, name, severity=Severity.WARNING, impact=impact)


def _typed(table: TableId, name: str, pg_type: PgType, typmod: int) -> TypedColumn:
    type_of = partial(column_type, pg_type, typmod, column=f"{table}.{name}")
    return TypedColumn(name, type_text(pg_type, typmod), type_of)


def _is_money(pg_type: PgType | None) -> bool:
    if pg_type is None:
        return False
    if pg_type.kind == "d":
        return _is_money(pg_type.base)
    return pg_type.schema == "pg_catalog" and pg_type.name in {"money", "_money"}

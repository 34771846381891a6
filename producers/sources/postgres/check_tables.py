"""What stands in the way of single tables: grants, identity, keys, types.

    catalogue of the server + rules about columns  ->  findings, and how far each column is carried

Tables are looked up without asking for rights on them, so that one which lacks a grant is named rather
than overlooked.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from wrackline.producers.sources.postgres import check_rules as rules
from wrackline.producers.sources.postgres import generated
from wrackline.producers.sources.postgres.chunks import KEY_HIDDEN
from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.discover import Catalogue
from wrackline.producers.sources.postgres.names import identifier
from wrackline.producers.sources.postgres.types import PgType, column_type, written
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.findings import ColumnSupport, Finding, Severity, Support
from wrackline.schemas.patterns import only
from wrackline.schemas.table import TableId
from wrackline.schemas.types import ColumnType, Kind

MONEY_DIGITS = 2  # of the session that we read in

_TABLES = """
SELECT n.nspname::text, c.relname::text, c.oid::bigint, format('%I.%I', n.nspname, c.relname),
       quote_ident(n.nspname), c.relpersistence::text, c.relkind = 'p',
       has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT'),
       c.relrowsecurity AND row_security_active(c.oid), pg_has_role(c.relowner, 'USAGE')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'
ORDER BY 1, 2"""
# Every relation that stores rows of the table; the unique index that could be its identity; the identity
# index's columns; the columns of the key.
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
       EXISTS (SELECT FROM unique_index u WHERE u.indrelid = c.oid AND u.indisprimary),
       coalesce((SELECT u.columns FROM unique_index u WHERE u.indrelid = c.oid AND u.indisreplident), '{}'),
       (SELECT quote_ident(k.relname) FROM unique_index u JOIN pg_class k ON k.oid = u.indexrelid
        WHERE u.indrelid = c.oid AND NOT EXISTS (
            SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = ANY (u.columns)
            AND NOT a.attnotnull)
        ORDER BY u.indnkeyatts, u.indexrelid LIMIT 1),
       pg_table_size(c.oid)
FROM parts p JOIN pg_class c ON c.oid = p.oid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' ORDER BY 1, 2"""


class Table(NamedTuple):
    """A table as the catalogue shows it to anybody; `quoted` and `schema` are ready for SQL."""

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


class Leaf(NamedTuple):
    """A relation that stores rows, and what of an old row its log carries."""

    quoted: str
    identity: str  # relreplident: default, nothing, index, full
    primary: bool
    index_columns: Sequence[str]
    unique_index: str | None  # one that could be the identity
    size: int  # bytes


def all_tables(connection: Connection, database: str) -> list[Table]:
    """List the database's tables, granted or not."""
    found = []
    for schema, name, *facts in connection.execute(_TABLES):
        table = TableId(database, str(schema), str(name))
        found.append(Table(table, *facts))  # type: ignore[arg-type]  # the query names each of them
    return found


def leaves(connection: Connection, tables: Sequence[Table]) -> Mapping[int, Sequence[Leaf]]:
    """Return by oid what stores a table's rows: itself, or its partitions."""
    found: dict[int, list[Leaf]] = defaultdict(list)
    for root, *leaf in connection.execute(_LEAVES, [[table.oid for table in tables]]):
        found[int(str(root))].append(Leaf._make(leaf))
    return found


def access(table: Table, role: str) -> Iterator[Finding]:
    """Say what keeps the table from being read."""
    names = {"table_name": table.quoted, "schema_name": table.schema, "role": role}
    if not table.usage:
        yield rules.USAGE_MISSING(table.id, **names)
    if not table.select:
        yield rules.SELECT_MISSING(table.id, **names)
    if table.row_security:
        yield rules.ROW_SECURITY(table.id, **names)
    if table.persistence == "u":
        yield rules.UNLOGGED(table.id, **names)


def identity(table: Table, stored: Sequence[Leaf], key: Sequence[str], *, changes: bool) -> Iterator[Finding]:
    """Say where an update or a delete would not tell which row it means; `key` is the one we use.

    A publication that carries neither asks for no identity, and the key is then all there is to say.
    """
    if not key:
        size = sum(leaf.size for leaf in stored) / (1 << 20)
        yield rules.KEY_MISSING(table.id, table_name=table.quoted, size=f"{size:,.0f}")
    for leaf in stored if changes else ():
        wanted = f"USING INDEX {leaf.unique_index}" if leaf.unique_index else "FULL"
        if leaf.primary:
            wanted = "DEFAULT"
        names = {"leaf": leaf.quoted, "wanted": wanted}
        if leaf.identity == "n" or (leaf.identity == "i" and not leaf.index_columns):
            yield rules.IDENTITY_NOTHING(table.id, **names)
        elif leaf.identity == "d" and not leaf.primary:
            yield rules.IDENTITY_MISSING(table.id, **names)
        elif leaf.identity == "i" and (lacking := [name for name in key if name not in leaf.index_columns]):
            yield rules.IDENTITY_OTHER(table.id, columns=", ".join(lacking), **names)


def columns(table: TableId, catalogue: Catalogue, about: ColumnRules) -> Iterator[ColumnSupport]:
    """Say of each column that is copied how far it is carried."""
    for name, pg_type, typmod, carried in catalogue.types(table):
        if about.drops(table, name) or not carried:
            continue
        made = _known(table, name, pg_type, typmod, as_text=about.as_text(table, name))
        text = written(pg_type, typmod)
        match made:
            case OperatorNeeded():
                yield ColumnSupport(table, name, text, Support.NO, made.hint)
            case ColumnType(kind=Kind.TEXT_OF):
                yield ColumnSupport(table, name, text, Support.PARTIAL, "it is carried as the server's text")
            case _:
                yield ColumnSupport(table, name, text, Support.YES)


def column_findings(
    table: Table,
    catalogue: Catalogue,
    about: ColumnRules,
    *,
    digits: int | None,
    publication: str,
) -> Iterator[Finding]:
    """Name the columns whose values do not arrive, or not as they are."""
    for name, pg_type, typmod, carried in catalogue.types(table.id):
        if about.drops(table.id, name):
            continue
        made = _known(table.id, name, pg_type, typmod, as_text=about.as_text(table.id, name))
        if isinstance(made, OperatorNeeded):
            yield rules.of_error(made, table.id, name, impact="the table is set aside")
        path = only(table.id.schema, table.id.name, name)
        if not carried:
            mend = f"compute it in the target; to have it left out by name: column.exclude.list={path}"
            if catalogue.server_version >= generated.SINCE:
                publish = f"ALTER PUBLICATION {publication} SET (publish_generated_columns = stored)"
                mend = f"where it is STORED: {publish}; else {mend}"
            yield rules.COLUMN_GENERATED(table.id, name, path=path, mend=mend)
        if _is_money(pg_type) and digits not in {None, MONEY_DIGITS}:
            yield rules.MONEY_DIGITS(
                table.id,
                name,
                path=path,
                digits=digits,
                table_name=table.quoted,
                column_name=identifier(name),
            )


def has_money(table: TableId, catalogue: Catalogue) -> bool:
    """Whether a column is of the type money, whose digits each session chooses."""
    return any(_is_money(pg_type) for _, pg_type, _, _ in catalogue.types(table))


def snapshot_findings(table: Table, about: ColumnRules, key: Sequence[str]) -> Iterator[Finding]:
    """Say what of the table's existing rows a snapshot can't read, or the log does not tell."""
    if table.partitioned:
        yield rules.PARTITIONS_SILENT(table.id, table_name=table.quoted, request=table.id)
    for name in key:
        if about.mask(table.id, name) is not None and not about.drops(table.id, name):
            hidden = KEY_HIDDEN(table=table.id, column=name)
            impact = "changes are copied, a snapshot of the table is refused"
            yield rules.of_error(hidden, table.id, name, severity=Severity.WARNING, impact=impact)


def _known(
    table: TableId, name: str, pg_type: PgType, typmod: int, *, as_text: bool
) -> ColumnType | OperatorNeeded:
    try:
        return column_type(pg_type, typmod, column=f"{table}.{name}", as_text=as_text)
    except OperatorNeeded as unknown:
        return unknown


def _is_money(pg_type: PgType | None) -> bool:
    if pg_type is None:
        return False
    if pg_type.kind == "d":
        return _is_money(pg_type.base)
    return pg_type.schema == "pg_catalog" and pg_type.name in {"money", "_money"}

"""How the values of a key are compared: with the operators of their own order, in any schema.

    key columns of a table  ->  KeyOrder  ->  conditions of a chunk's SELECT

ORDER BY follows a type's default order under any search path; `a > b` does not.  Where an extension's
schema is not in the path, citext would be compared as text, and rows would be lost between two chunks;
hstore has no operator of that name at all.  So the operators are read from the catalogue and written with
their schema.  Types without operators of their own (varchar, enums, arrays, ranges, composites) use the
server's.

Where one operator fits all columns of a key, the server compares rows, `(a, b) > (x, y)`, by the index;
otherwise a condition on the first column bounds the scan.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from wrackline.producers.contract.row_chunks import KEY_GONE
from wrackline.producers.kit.reads.dialect import Dialect, KeyValueError
from wrackline.producers.kit.reads.key_order import KeyOrder
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.connect.quoting import identifier, table_name
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.tables.table import TableId

KEY_UNFIT = define(
    "pg.key_unfit",
    OperatorNeeded,
    "a requested key does not fit {table}, whose rows are read in the order of {columns}",
    hint="give each key a value for each of these columns, in this order and without NUL, in a request with a"
    " new id",
)

# A typmod of -1: without it format_type says "character" and "bit", and a cast to these cuts the value.
_KEY_TYPES = """
WITH RECURSIVE made_of AS (
    SELECT attname, atttypid AS given, atttypid AS base, NOT attnotnull AS nullable FROM pg_attribute
    WHERE attrelid = %s::regclass AND attname = ANY (%s) AND NOT attisdropped
    UNION ALL
    SELECT m.attname, m.given, t.typbasetype, m.nullable FROM made_of m JOIN pg_type t ON t.oid = m.base
    WHERE t.typtype = 'd')
SELECT m.attname::text, format_type(m.given, -1),
       array(SELECT 'OPERATOR(' || quote_ident(n.nspname) || '.' || o.oprname || ')'
             FROM pg_opclass c JOIN pg_am ON pg_am.oid = c.opcmethod AND amname = 'btree'
             JOIN pg_amop s ON s.amopfamily = c.opcfamily
                           AND s.amoplefttype = c.opcintype AND s.amoprighttype = c.opcintype
             JOIN pg_operator o ON o.oid = s.amopopr JOIN pg_namespace n ON n.oid = o.oprnamespace
             WHERE c.opcintype = m.base AND c.opcdefault ORDER BY s.amopstrategy), m.nullable
FROM made_of m JOIN pg_type t ON t.oid = m.base WHERE t.typtype <> 'd'"""
_SIGNS = ("<", "<=", "=", ">=", ">")  # B-tree's strategies
_SERVERS_OWN = tuple(f"OPERATOR(pg_catalog.{sign})" for sign in _SIGNS)


def text_literal(text: str) -> str:
    """Quote a text for SQL; the session's rules for a backslash do not matter."""
    if "\0" in text:
        raise KeyValueError  # it would end the statement
    quoted = text.replace("'", "''")
    if "\\" in text:
        return "E'" + quoted.replace("\\", "\\\\") + "'"
    return f"'{quoted}'"


@dataclass(frozen=True, slots=True)
class PgKeyColumn:
    """A column of a key: its type as the server writes it, and the five operators of its order."""

    name: str
    type: str
    operators: tuple[str, ...]
    nullable: bool

    def operator(self, sign: str) -> str:
        """Return the operator for a sign."""
        return self.operators[_SIGNS.index(sign)]

    def literal(self, text: str) -> str:
        """Quote a value's text and cast it to the column's type, whose name is the server's own."""
        return f"{text_literal(text)}::{self.type}"

    def compare(self, sign: str, text: str) -> str:
        """Write `column sign value`."""
        return f"{identifier(self.name)} {self.operator(sign)} {self.literal(text)}"


def _compare_rows(columns: Sequence[PgKeyColumn], sign: str, values: Sequence[str]) -> str | None:
    """Compare as rows, if one operator fits all columns."""
    operators = {column.operators for column in columns}
    if len(operators) > 1:
        return None
    literals = ", ".join(column.literal(value) for column, value in zip(columns, values, strict=True))
    names = ", ".join(identifier(column.name) for column in columns)
    return f"({names}) {columns[0].operator(sign)} ({literals})"


DIALECT: Dialect[PgKeyColumn] = Dialect(
    quote=identifier,
    text=text_literal,
    nulls_first=False,
    # Not IS NULL: for a composite value it says whether its fields are null.
    null="{} IS NOT DISTINCT FROM NULL",
    not_null="{} IS DISTINCT FROM NULL",
    like="{}::text LIKE {}",
    booleans=("false", "true"),
    row_values=_compare_rows,
    first_bounds_scan=True,
)


def key_order(connection: Connection, table: TableId, key: Sequence[str]) -> KeyOrder[PgKeyColumn]:
    """Read the order of these columns."""
    found = columns_of(connection, table, key)
    for name in key:
        if name not in found:
            raise KEY_GONE(table=table, column=name)
    return KeyOrder(DIALECT, table, [found[name] for name in key], KEY_UNFIT)


def columns_of(connection: Connection, table: TableId, names: Sequence[str]) -> dict[str, PgKeyColumn]:
    """Read the columns that exist; leave out the others."""
    return {
        str(name): PgKeyColumn(str(name), str(kind), tuple(operators) or _SERVERS_OWN, bool(nullable))
        for name, kind, operators, nullable in connection.execute(
            _KEY_TYPES, [table_name(table), list(names)]
        )
        if isinstance(operators, list)
    }

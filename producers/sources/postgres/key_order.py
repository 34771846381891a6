"""How the values of a key are compared: with the operators of their own order, wherever those live.

    key columns of a table  ->  KeyOrder  ->  conditions of a chunk's SELECT

ORDER BY follows a type's default order, whatever the session's search path; `a > b` does not: where an
extension's schema is not in the path, citext would be compared as text and rows be lost between two
chunks, and hstore has no operator of that name at all.  So the operators are read from the catalogue
and written with their schema.  Types without operators of their own (varchar, enums, arrays, ranges,
composites) use the server's.

A key that somebody chose may be null, and ORDER BY puts nulls last; a comparison with null is never true.
So for columns that may be null, null is written out as what comes after every value.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from wrackline.producers.chunks import KEY_GONE, Bound
from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.names import table_name
from wrackline.schemas.table import TableId

# A typmod of -1, for without one format_type says "character" and "bit": a cast to those cuts the value.
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
_SERVERS_OWN = tuple(f"OPERATOR(pg_catalog.{sign})" for sign in ("<", "<=", "=", ">=", ">"))
_BEFORE, _UPTO, _SAME, _FROM, _AFTER = range(5)  # B-tree's strategies, from 0
# Not IS NULL, which says of a composite value whether its fields are.
_NULL, _NOT_NULL = "{} IS NOT DISTINCT FROM NULL", "{} IS DISTINCT FROM NULL"
_WITH_NULL = (_NOT_NULL, "true", _NULL, _NULL, "false")  # by strategy


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of a key: its type as the server writes it, and the five operators of its order."""

    name: str
    type: str
    operators: tuple[str, ...]
    nullable: bool


class KeyOrder:
    """Writes comparisons of a table's key with bounds."""

    def __init__(self, columns: Sequence[KeyColumn]) -> None:
        self._columns = columns

    def after(self, bound: Bound) -> sql.Composable:
        """Key > bound."""
        return self._beyond(bound, _AFTER, _AFTER)

    def upto(self, bound: Bound) -> sql.Composable:
        """Key <= bound."""
        return self._beyond(bound, _BEFORE, _UPTO)

    def one_of(self, bounds: Sequence[Bound]) -> sql.Composable:
        """Key is one of these."""
        return sql.SQL("({})").format(sql.SQL(" OR ").join(self._all_same(bound) for bound in bounds))

    @property
    def _nullable(self) -> bool:
        return any(column.nullable for column in self._columns)

    def _beyond(self, bound: Bound, strictly: int, at_last: int) -> sql.Composable:
        """Compare as tuples; where one operator serves all columns the server does it, by the index."""
        if len({column.operators for column in self._columns}) == 1 and not self._nullable:
            names = sql.SQL(", ").join(sql.Identifier(column.name) for column in self._columns)
            values = sql.SQL(", ").join(map(_literal, self._columns, bound))
            operator = sql.SQL(self._columns[0].operators[at_last])
            return sql.SQL("({}) {} ({})").format(names, operator, values)
        last = len(self._columns) - 1
        ways = [
            sql.SQL(" AND ").join(
                [
                    *self._same(bound, place),
                    _compared(self._columns[place], at_last if place == last else strictly, bound[place]),
                ]
            )
            for place in range(last + 1)
        ]
        first = _compared(self._columns[0], _FROM if strictly == _AFTER else _UPTO, bound[0])
        return sql.SQL("{} AND ({})").format(first, sql.SQL(" OR ").join(ways))  # the first bounds the scan

    def _all_same(self, bound: Bound) -> sql.Composable:
        return sql.SQL("({})").format(sql.SQL(" AND ").join(self._same(bound, len(bound))))

    def _same(self, bound: Bound, count: int) -> list[sql.Composable]:
        return [_compared(self._columns[place], _SAME, bound[place]) for place in range(count)]


def key_order(connection: Connection, table: TableId, key: Sequence[str]) -> KeyOrder:
    """Read the order of these columns."""
    found = columns_of(connection, table, key)
    for name in key:
        if name not in found:
            raise KEY_GONE(table=table, column=name)
    return KeyOrder([found[name] for name in key])


def columns_of(connection: Connection, table: TableId, names: Sequence[str]) -> dict[str, KeyColumn]:
    """Read those of the columns that are there."""
    return {
        str(name): KeyColumn(str(name), str(kind), tuple(operators) or _SERVERS_OWN, bool(nullable))
        for name, kind, operators, nullable in connection.execute(
            _KEY_TYPES, [table_name(table), list(names)]
        )
        if isinstance(operators, list)
    }


def _compared(column: KeyColumn, strategy: int, text: str | None) -> sql.Composable:
    """Compare a column with a value, where null comes after every value."""
    name = sql.Identifier(column.name)
    if text is None:
        return sql.SQL(_WITH_NULL[strategy]).format(name)
    plain = sql.SQL("{} {} {}").format(name, sql.SQL(column.operators[strategy]), _literal(column, text))
    if column.nullable and strategy in {_FROM, _AFTER}:
        return sql.SQL("({} OR {})").format(plain, sql.SQL(_NULL).format(name))
    return plain


def _literal(column: KeyColumn, text: str | None) -> sql.Composable:
    """Quote a bound's text and cast it to its column's type, whose name is the server's own."""
    return sql.SQL("{}::{}").format(sql.Literal(text), sql.SQL(column.type))

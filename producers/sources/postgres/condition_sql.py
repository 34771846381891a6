"""The filter of a snapshot request as PostgreSQL's SQL.

    text in the grammar of schemas/conditions.py, the table's columns  ->  what stands behind WHERE

The text is parsed again here, so nothing but its names and values gets this far: names are looked up in the
table and quoted, values are quoted literals with a cast to their column's type, operators are those of
the column's own order (`key_order.py`).  A column whose values may not leave the process is refused: whoever
can write a request could ask for them bit by bit.
"""

from collections.abc import Collection, Mapping, Sequence

from psycopg import sql

from wrackline.producers.sources.postgres.connect import Connection
from wrackline.producers.sources.postgres.key_order import KeyColumn, columns_of
from wrackline.schemas import conditions
from wrackline.schemas.conditions import And, Between, ColumnName, Comparison, Condition, In, Like, Null, Or
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.table import TableId

NO_COLUMN = define(
    "pg.condition_column",
    OperatorNeeded,
    "the condition on {table} names {column}, which is no column that leaves it",
    hint="name one of its columns as it is published; one with capitals in double quotes",
)

_SIGNS = ("<", "<=", "=", ">=", ">")  # as the operators of an order stand


def where(connection: Connection, table: TableId, text: str, published: Collection[str]) -> sql.Composable:
    """Write a condition; `published` are the columns whose values leave as they are."""
    condition = conditions.parse(text)
    names = {column: _folded(column) for column in conditions.columns(condition)}
    for name in names.values():
        if name not in published:
            raise NO_COLUMN(table=table, column=name)
    found = columns_of(connection, table, sorted(set(names.values())))
    for name in names.values():
        if name not in found:
            raise NO_COLUMN(table=table, column=name)
    return _written(condition, {column: found[name] for column, name in names.items()})


def _folded(column: ColumnName) -> str:
    """Name a column as the server's parser does."""
    return column.name if column.quoted else column.name.lower()


def _written(condition: Condition, columns: Mapping[ColumnName, KeyColumn]) -> sql.Composable:
    made: sql.Composable
    match condition:
        case And(parts):
            made = _joined(" AND ", [_written(part, columns) for part in parts])
        case Or(parts):
            made = _joined(" OR ", [_written(part, columns) for part in parts])
        case Null(column, negated):
            test = "{} IS NOT NULL" if negated else "{} IS NULL"
            made = sql.SQL(test).format(sql.Identifier(columns[column].name))
        case Like(column, pattern):
            name = sql.Identifier(columns[column].name)
            made = sql.SQL("{}::text LIKE {}").format(name, sql.Literal(pattern))
        case Between(column, low, high):
            one = columns[column]
            made = _joined(" AND ", [_compared(one, ">=", low), _compared(one, "<=", high)])
        case In(column, literals):
            made = _joined(" OR ", [_compared(columns[column], "=", literal) for literal in literals])
        case Comparison(column, "<>", literal):
            made = sql.SQL("(NOT {})").format(_compared(columns[column], "=", literal))
        case Comparison(column, operator, literal):
            made = _compared(columns[column], operator, literal)
    return made


def _joined(word: str, parts: Sequence[sql.Composable]) -> sql.Composable:
    return sql.SQL("({})").format(sql.SQL(word).join(parts))


def _compared(column: KeyColumn, sign: str, literal: conditions.Literal) -> sql.Composable:
    return sql.SQL("{} {} {}::{}").format(
        sql.Identifier(column.name),
        sql.SQL(column.operators[_SIGNS.index(sign)]),
        sql.Literal(None if literal is None else _text(literal)),
        sql.SQL(column.type),
    )


def _text(literal: conditions.Literal) -> str:
    match literal:
        case bool():
            return "true" if literal else "false"
        case _:
            return str(literal)

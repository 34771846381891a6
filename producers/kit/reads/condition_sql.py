"""The filter of a snapshot request as a server's SQL.  Pure.

    text in the grammar of schemas/language/conditions.py, the table's columns  ->  a condition behind WHERE

The text is parsed again here, so only its names and values get this far.  The source looks the names up in
the table and refuses those whose values may not leave the process, because a user who can write requests
could find them out bit by bit.  Names are quoted, and values are written by their column.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Generic

from wrackline.producers.kit.reads.dialect import C, Dialect, KeyValueError
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language import conditions
from wrackline.schemas.language.conditions import (
    And,
    Between,
    ColumnName,
    Comparison,
    Condition,
    In,
    Like,
    Null,
    Or,
)


def condition_sql(
    dialect: Dialect[C],
    text: str,
    find: Callable[[Collection[ColumnName]], Mapping[ColumnName, C]],
    no_value: Callable[[C], WracklineError],
) -> str:
    """Write a condition; `no_value` is raised if it compares a column with what is not a value of it."""
    condition = conditions.parse(text)
    return _ConditionWriter(dialect, find(conditions.columns(condition)), no_value).write(condition)


@dataclass(frozen=True, slots=True)
class _ConditionWriter(Generic[C]):
    dialect: Dialect[C]
    columns: Mapping[ColumnName, C]
    no_value: Callable[[C], WracklineError]

    def write(self, condition: Condition) -> str:
        match condition:
            case And(parts):
                made = self.dialect.both([self.write(part) for part in parts])
            case Or(parts):
                made = self.dialect.either([self.write(part) for part in parts])
            case Null(column, negated):
                made = f"{self._named(column)} IS {'NOT ' if negated else ''}NULL"
            case Like(column, pattern):
                made = self.dialect.like.format(self._named(column), self.dialect.text(pattern))
            case Between(column, low, high):
                made = self.dialect.both(
                    [self._compare(column, ">=", low), self._compare(column, "<=", high)]
                )
            case In(column, literals):
                made = self.dialect.either([self._compare(column, "=", literal) for literal in literals])
            case Comparison(column, "<>", literal):
                made = f"(NOT {self._compare(column, '=', literal)})"
            case Comparison(column, operator, literal):
                made = self._compare(column, operator, literal)
        return made

    def _named(self, name: ColumnName) -> str:
        return self.dialect.quote(self.columns[name].name)

    def _compare(self, name: ColumnName, sign: str, literal: conditions.Literal) -> str:
        if literal is None:
            return self.dialect.never  # nothing is equal to null, also in a list
        try:
            return self.columns[name].compare(sign, _literal_text(self.dialect, literal))
        except KeyValueError:
            raise self.no_value(self.columns[name]) from None


def _literal_text(dialect: Dialect[C], literal: conditions.Literal) -> str:
    """Write a value as its column reads it, a number without an exponent."""
    match literal:
        case bool():
            return dialect.booleans[literal]
        case str():
            return literal
        case _:
            return f"{literal:f}"

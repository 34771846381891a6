"""Makes functions of expressions.  NULL makes a comparison unknown, and unknown is no hit."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from wrackline.control.local.sqlserver_standin.model.ordering import order_key
from wrackline.control.local.sqlserver_standin.model.tables import Cells
from wrackline.control.local.sqlserver_standin.tsql.conversions import (
    COLLATED,
    collated,
    conversion,
    replaced,
    ruling,
)
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import (
    Choice,
    Collated,
    Constant,
    Conversion,
    Expression,
    FunctionCall,
    Membership,
    NamedColumn,
    Operation,
    RowNumber,
    Subquery,
    Variable,
)
from wrackline.control.local.sqlserver_standin.tsql.scope import UNTYPED, Compiled, NameScope, RunningQuery
from wrackline.control.local.sqlserver_standin.wire.fitting import fitted, shown, type_of
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import MAX, TEXTS, SqlType
from wrackline.control.local.sqlserver_standin.wire.values import Cell

AGGREGATES = frozenset({"MAX", "MIN", "COUNT", "COUNT_BIG", "SUM", "CHECKSUM_AGG"})
BIT = SqlType("bit")
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "=": operator.eq,
        "<>": operator.ne,
        "<": operator.lt,
        ">": operator.gt,
        "<=": operator.le,
        ">=": operator.ge,
    }
)
_AS_PRECISE = {"AT TIME ZONE", "TODATETIMEOFFSET"}
_PIECE = re.compile(r"\[\^?[^\]]*\]|.", re.DOTALL)
_WILD = MappingProxyType({"%": ".*", "_": "."})
WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})
_NUMBERS = ("bit", "tinyint", "smallint", "int", "bigint", "smallmoney", "money", "decimal", "real", "float")


class Compiler:
    """Compiles expressions over a scope; aggregates that are known already are handed in as values."""

    def __init__(
        self,
        scope: NameScope,
        running: RunningQuery,
        aggregates: Mapping[FunctionCall, tuple[SqlType, Cell]] = MappingProxyType({}),
        numbers: Mapping[RowNumber, int] = MappingProxyType({}),
    ) -> None:
        self._scope = scope
        self._running = running
        self._aggregates = aggregates
        self._numbers = numbers
        """At which place of a row its number is."""

    def compile(self, one: Expression) -> Compiled:
        """Compile an expression."""
        match one:
            case Constant():
                return _constant(one)
            case Variable():
                of, value = self._running.variable(one.name)
                return Compiled(of, lambda _row: value, constant=True)
            case NamedColumn():
                at = self._scope.find(one)
                column = self._scope.columns[at][1]
                return Compiled(column.of, operator.itemgetter(at), column.nullable, at)
            case RowNumber():
                return Compiled(SqlType("bigint"), operator.itemgetter(self._numbers[one]), nullable=False)
            case Conversion():
                return conversion(self.compile(one.value), one.of)
            case Collated():
                return collated(self.compile(one.value), one.collation)
            case Membership():
                return self._membership(one)
            case Choice():
                return self._choice(one)
            case Subquery():
                return self._subquery(one)
            case FunctionCall():
                return self._call(one)
        return self._operation(one)

    def condition(self, one: Expression) -> Callable[[Cells], bool]:
        """Compile a condition; unknown counts as False."""
        value = self.compile(one).value
        return lambda row: value(row) is True

    def _operation(self, one: Operation) -> Compiled:
        sides = [self.compile(side) for side in one.sides]
        constant = all(side.constant for side in sides)
        if one.sign in _COMPARE:
            return Compiled(BIT, compared(one.sign, *sides), constant=constant)
        values = [side.value for side in sides]
        match one.sign:
            case "AND" | "OR":
                return Compiled(BIT, _joined(one.sign, *values), constant=constant)
            case "NOT":
                return Compiled(BIT, lambda row: None if (found := values[0](row)) is None else not found)
            case "IS NULL":
                return Compiled(BIT, lambda row: values[0](row) is None)
            case "LIKE":
                return Compiled(BIT, like(*sides))
            case "NEG":
                return Compiled(sides[0].of, _or_null(operator.neg, values), constant=constant)
        of = _arithmetic_type(one.sign, sides[0].of, sides[1].of)
        return Compiled(of, _arithmetic(one.sign, of, sides), constant=constant)

    def _membership(self, one: Membership) -> Compiled:
        tested = self.compile(one.value)
        if one.query is None:
            items = [self.compile(item) for item in one.items]
        else:
            columns, rows = self._running.rows_of(one.query)
            items = [_known(columns[0].of, row[0]) for row in rows]
        if found := _whole_numbers(tested, items):
            return Compiled(BIT, lambda row: None if (cell := tested.value(row)) is None else cell in found)
        hits = [compared("=", tested, item) for item in items]

        def value(row: Cells) -> Cell:
            found = [hit(row) for hit in hits]
            return True if True in found else None if None in found else False

        return Compiled(BIT, value)

    def _choice(self, one: Choice) -> Compiled:
        branches = [(self.condition(when), self.compile(then)) for when, then in one.branches]
        otherwise = self.compile(one.otherwise)
        of = common_type([*(then.of for _, then in branches), otherwise.of])

        def value(row: Cells) -> Cell:
            for when, then in branches:
                if when(row):
                    return fitted(of, then.value(row))
            return fitted(of, otherwise.value(row))

        return Compiled(of, value)

    def _subquery(self, one: Subquery) -> Compiled:
        columns, rows = self._running.rows_of(one.query)
        if one.exists:
            return Compiled(BIT, lambda _row: bool(rows), constant=True)
        if len(rows) > 1:
            raise ServerError(512, "Subquery returned more than 1 value.")
        found = rows[0][0] if rows else None
        return Compiled(columns[0].of, lambda _row: found, constant=True)

    def _call(self, one: FunctionCall) -> Compiled:
        if one in self._aggregates:
            of, found = self._aggregates[one]
            return Compiled(of, lambda _row: found, nullable=one.name not in {"COUNT", "COUNT_BIG"})
        if one.name in AGGREGATES:
            raise ServerError(147, "An aggregate may not appear here.")
        arguments = [self.compile(argument) for argument in one.arguments]
        if one.name in {"ISNULL", "COALESCE"}:
            of = arguments[0].of if one.name == "ISNULL" else common_type([one.of for one in arguments])
            values = [argument.value for argument in arguments]

            def first(row: Cells) -> Cell:
                return next((fitted(of, cell) for value in values if (cell := value(row)) is not None), None)

            return Compiled(of, first)
        if one.name == "REPLACE":
            return replaced(arguments)
        if all(argument.constant for argument in arguments):
            of, found = self._running.call(one.name, [(each.of, each.value(())) for each in arguments])
            return Compiled(_as_precise(one.name, of, arguments), lambda _row: found, constant=True)
        of, _ = self._running.call(one.name, [(each.of, None) for each in arguments])

        def value(row: Cells) -> Cell:
            return self._running.call(one.name, [(each.of, each.value(row)) for each in arguments])[1]

        return Compiled(_as_precise(one.name, of, arguments), value)


def _as_precise(name: str, of: SqlType, arguments: Sequence[Compiled]) -> SqlType:
    """Give a time as many places as the time has that it is made of."""
    if name not in _AS_PRECISE:
        return of
    source = arguments[0].of
    return replace(of, scale={"datetime": 3, "null": 7}.get(source.name, source.scale))


def _known(of: SqlType, cell: Cell) -> Compiled:
    return Compiled(of, lambda _row: cell, constant=True)


def _whole_numbers(tested: Compiled, items: Sequence[Compiled]) -> frozenset[Cell]:
    """Return the items of a list if all are whole numbers, as the tested value is; else nothing."""
    if tested.of.name not in WHOLE or not all(item.constant and item.of.name in WHOLE for item in items):
        return frozenset()
    found = frozenset(item.value(()) for item in items)
    return frozenset() if None in found else found


def _constant(one: Constant) -> Compiled:
    value = one.value
    if value is None:
        return Compiled(UNTYPED, lambda _row: None, constant=True)
    of = type_of(value)
    if isinstance(value, str) and one.narrow:
        of = SqlType("varchar", of.size)
    return Compiled(of, lambda _row: value, nullable=False, constant=True)


def common_type(types: Sequence[SqlType]) -> SqlType:
    """Return the type that values of several types are shown in: the wider of numbers, or of texts."""
    known = [of for of in types if of.name != "null"]
    if not known:
        return SqlType("int")
    if all(of.name in _NUMBERS for of in known):
        return max(known, key=lambda of: _NUMBERS.index(of.name))
    if all(of.name in TEXTS for of in known):
        wide = [of for of in known if of.name.startswith("n")] or known
        size = MAX if any(of.size == MAX for of in known) else max(of.size for of in known)
        return SqlType(
            wide[0].name.replace("char", "varchar").replace("varvar", "var"),
            size,
            collation=wide[0].collation,
        )
    return next((of for of in known if of.name not in TEXTS), known[0])


def compared(sign: str, left: Compiled, right: Compiled) -> Callable[[Cells], bool | None]:
    """Compare two sides in the order of their common type; a column's collation wins over a value's."""
    test = _COMPARE[sign]
    collation = ruling((left, right), "comparison")
    sides = sorted((left, right), key=lambda side: side.of.name in TEXTS)
    of = next((side.of for side in sides if side.of.name != "null"), left.of)
    if of.name in COLLATED and collation is not None:
        of = replace(of, collation=collation)
    texts = of.name in TEXTS

    def keyed(side: Compiled) -> Callable[[Cells], object]:
        value, converts = side.value, side.of.name in TEXTS and not texts

        def key(row: Cells) -> object:
            cell = value(row)
            if cell is None:
                return None
            return order_key(of, fitted(of, cell) if converts else cell)

        if side.constant:
            known = key(())
            return lambda _row: known
        return key

    one, other = keyed(left), keyed(right)

    def compare(row: Cells) -> bool | None:
        a, b = one(row), other(row)
        return None if a is None or b is None else test(a, b)

    return compare


def _joined(
    sign: str, left: Callable[[Cells], Cell], right: Callable[[Cells], Cell]
) -> Callable[[Cells], Cell]:
    decides = sign == "OR"

    def value(row: Cells) -> Cell:
        one = left(row)
        if one is decides:
            return decides
        other = right(row)
        return decides if other is decides else None if one is None or other is None else not decides

    return value


def like(text: Compiled, pattern: Compiled) -> Callable[[Cells], bool | None]:
    """Match a pattern: `%`, `_`, and one of the characters, or of none of them, in brackets."""
    collation = ruling((text, pattern), "like")
    flags = re.IGNORECASE if collation is not None and collation.ignores_case else 0

    def value(row: Cells) -> bool | None:
        one, wanted = text.value(row), pattern.value(row)
        if not isinstance(one, str) or not isinstance(wanted, str):
            return None
        return matches(wanted, one, flags)

    return value


def matches(pattern: str, text: str, flags: int) -> bool:
    """Say whether a text has the form of a pattern."""
    return re.fullmatch("".join(map(_piece, _PIECE.findall(pattern))), text, flags | re.DOTALL) is not None


def _piece(one: str) -> str:
    if one in _WILD:
        return _WILD[one]
    if not one.startswith("["):
        return re.escape(one)
    negated = one.startswith("[^")
    inside = one[2 if negated else 1 : -1]
    if len(one) == 1 or not inside:  # brackets without an end, or with nothing inside
        return "(?!)"
    return f"[{'^' if negated else ''}{re.escape(inside).replace(chr(92) + '-', '-')}]"


def _or_null(call: Callable[..., Any], values: Sequence[Callable[[Cells], Cell]]) -> Callable[[Cells], Cell]:
    def value(row: Cells) -> Cell:
        found = [one(row) for one in values]
        return None if None in found else call(*found)

    return value


def _arithmetic_type(sign: str, left: SqlType, right: SqlType) -> SqlType:
    known = [of for of in (left, right) if of.name != "null"] or [SqlType("int")]
    if sign == "+" and any(of.name in TEXTS for of in known):
        return common_type([SqlType(of.name, MAX) for of in known if of.name in TEXTS])
    if all(of.name in {"binary", "varbinary"} for of in known):
        return SqlType("varbinary", MAX)
    if not all(of.name in _NUMBERS for of in known):
        raise ServerError(402, f"The data types {left} and {right} are incompatible in the operator.")
    of = common_type(known)
    return (
        SqlType("decimal", precision=38, scale=max(one.scale for one in known))
        if of.name == "decimal"
        else of
    )


def _arithmetic(sign: str, of: SqlType, sides: Sequence[Compiled]) -> Callable[[Cells], Cell]:
    def divided(left: Any, right: Any) -> object:  # noqa: ANN401 - numbers of any type
        if right == 0:
            raise ServerError(8134, "Divide by zero error encountered.")
        if isinstance(left, int) and isinstance(right, int):
            whole = abs(left) // abs(right)
            return whole if (left < 0) == (right < 0) else -whole
        return Decimal(left) / Decimal(right) if of.name == "decimal" else left / right

    calls: Mapping[str, Callable[[Any, Any], Any]] = {
        "+": (lambda a, b: shown(a) + shown(b)) if of.name in TEXTS else operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "/": divided,
        "%": lambda a, b: a - b * divided(a, b),
        "&": operator.and_,
        "|": operator.or_,
    }
    combined = _or_null(calls[sign], [side.value for side in sides])
    return lambda row: fitted(of, combined(row))

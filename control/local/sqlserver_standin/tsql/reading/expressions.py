"""Reads expressions: what binds weakest first, OR, AND, NOT, comparisons, sums, products, signs, operands."""

from collections.abc import Callable
from typing import TYPE_CHECKING

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
from wrackline.control.local.sqlserver_standin.tsql.reading.word_reader import WordReader
from wrackline.control.local.sqlserver_standin.tsql.reading.words import Word, WordKind

if TYPE_CHECKING:
    from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import Query

_CAST_LENGTH = 30
"""The length of a text or of bytes that CAST names without one."""
_COMPARISONS = {"=", "<>", "!=", "<", ">", "<=", ">="}


def _literal(word: Word) -> Constant:
    return Constant(word.value, narrow=word.text.startswith("'"))


class ExpressionReader:
    """Reads expressions at a place; who reads queries says how one inside an expression is read."""

    def __init__(self, words: WordReader, subquery: Callable[[], "Query"]) -> None:
        self._words = words
        self._subquery = subquery

    def listed(self, one: Callable[[], Expression]) -> tuple[Expression, ...]:
        """Take what is listed with commas."""
        found = [one()]
        while self._words.skip(","):
            found.append(one())
        return tuple(found)

    def expression(self) -> Expression:
        """Take an expression; most of those in a long batch are literals."""
        word = self._words.word
        if word.kind is WordKind.VALUE and self._words.peek().text in {",", ")"}:
            self._words.step()
            return _literal(word)
        left = self._conjunction()
        while self._words.skip("OR"):
            left = Operation("OR", (left, self._conjunction()))
        return left

    def _conjunction(self) -> Expression:
        left = self._negation()
        while self._words.skip("AND"):
            left = Operation("AND", (left, self._negation()))
        return left

    def _negation(self) -> Expression:
        return Operation("NOT", (self._negation(),)) if self._words.skip("NOT") else self._comparison()

    def _comparison(self) -> Expression:
        left = self._sum()
        if self._words.word.kind is WordKind.SIGN and self._words.word.text in _COMPARISONS:
            sign = self._words.step().text
            return Operation("<>" if sign == "!=" else sign, (left, self._sum()))
        if self._words.skip("IS", "NULL"):
            return Operation("IS NULL", (left,))
        if self._words.skip("IS", "NOT", "NULL"):
            return Operation("NOT", (Operation("IS NULL", (left,)),))
        negated = (
            self._words.is_next("NOT")
            and self._words.peek().text.upper() in {"IN", "LIKE", "BETWEEN"}
            and self._words.skip("NOT")
        )
        found = self._of_set(left)
        if found is None:
            return left
        return Operation("NOT", (found,)) if negated else found

    def _of_set(self, left: Expression) -> Expression | None:
        if self._words.skip("IN"):
            self._words.need("(")
            query = self._subquery() if self._words.is_next("SELECT") else None
            items = self.listed(self.expression) if query is None else ()
            self._words.need(")")
            return Membership(left, items, query)
        if self._words.skip("LIKE"):
            return Operation("LIKE", (left, self._sum()))
        if self._words.skip("BETWEEN"):
            low = self._sum()
            self._words.need("AND")
            high = self._sum()
            return Operation("AND", (Operation(">=", (left, low)), Operation("<=", (left, high))))
        return None

    def _sum(self) -> Expression:
        left = self._product()
        while self._words.word.kind is WordKind.SIGN and self._words.word.text in {"+", "-", "&", "|"}:
            sign = self._words.step().text
            left = Operation(sign, (left, self._product()))
        return left

    def _product(self) -> Expression:
        left = self._signed()
        while self._words.word.kind is WordKind.SIGN and self._words.word.text in {"*", "/", "%"}:
            sign = self._words.step().text
            left = Operation(sign, (left, self._signed()))
        return left

    def _signed(self) -> Expression:
        if self._words.skip("-"):
            return Operation("NEG", (self._signed(),))
        return self._signed() if self._words.skip("+") else self._suffixed()

    def _suffixed(self) -> Expression:
        """Take an operand with what may stand behind it: COLLATE, AT TIME ZONE."""
        found = self._operand()
        while True:
            if self._words.skip("COLLATE"):
                found = Collated(found, self._words.name())
            elif self._words.skip("AT", "TIME", "ZONE"):
                found = FunctionCall("AT TIME ZONE", (found, self._operand()))
            else:
                return found

    def _operand(self) -> Expression:
        word = self._words.word
        if word.kind is WordKind.VALUE:
            self._words.step()
            return _literal(word)
        if word.kind is WordKind.VARIABLE:
            return Variable(self._words.step().text)
        if self._words.skip("("):
            found = Subquery(self._subquery()) if self._words.is_next("SELECT") else self.expression()
            self._words.need(")")
            return found
        if self._words.skip("NULL"):
            return Constant(None)
        if self._words.skip("EXISTS"):
            self._words.need("(")
            query = self._subquery()
            self._words.need(")")
            return Subquery(query, exists=True)
        if self._words.skip("CASE"):
            return self._choice()
        if self._words.is_next("CAST", "(") or self._words.is_next("TRY_CAST", "("):
            return self._cast()
        if self._words.is_next("CONVERT", "("):
            return self._convert()
        return self._named()

    def _cast(self) -> Expression:
        self._words.step()
        self._words.need("(")
        value = self.expression()
        self._words.need("AS")
        of = self._words.type(length=_CAST_LENGTH)
        self._words.need(")")
        return Conversion(value, of)

    def _convert(self) -> Expression:
        self._words.step()
        self._words.need("(")
        of = self._words.type(length=_CAST_LENGTH)
        self._words.need(",")
        value = self.expression()
        self._words.need(")")
        return Conversion(value, of)

    def _choice(self) -> Expression:
        tested = None if self._words.is_next("WHEN") else self.expression()
        branches = []
        while self._words.skip("WHEN"):
            condition = self.expression()
            self._words.need("THEN")
            if tested is not None:
                condition = Operation("=", (tested, condition))
            branches.append((condition, self.expression()))
        otherwise = self.expression() if self._words.skip("ELSE") else Constant(None)
        self._words.need("END")
        return Choice(tuple(branches), otherwise)

    def _row_number(self) -> RowNumber:
        self._words.need("OVER", "(")
        partition = self.listed(self.expression) if self._words.skip("PARTITION", "BY") else ()
        self._words.need("ORDER", "BY")
        order = self.ordered()
        self._words.need(")")
        return RowNumber(partition, order)

    def ordered(self) -> tuple[tuple[Expression, bool], ...]:
        """Take what stands behind ORDER BY: expressions, and whether each descends."""
        found = []
        while True:
            value, descends = self.expression(), self._words.skip("DESC")
            self._words.skip("ASC")
            found.append((value, descends))
            if not self._words.skip(","):
                return tuple(found)

    def _named(self) -> Expression:
        parts = self._words.parts()
        if not self._words.skip("("):
            return NamedColumn(parts)
        name = ".".join(parts).upper()
        if self._words.skip("*"):
            self._words.need(")")
            return FunctionCall(name, (), star=True)
        if self._words.skip(")"):
            return self._row_number() if name == "ROW_NUMBER" else FunctionCall(name, ())
        if name in {"DATEPART", "DATEADD", "DATEDIFF", "DATEDIFF_BIG"}:  # the first argument is a keyword
            first: tuple[Expression, ...] = (Constant(self._words.name().lower()),)
            arguments = first + (self.listed(self.expression) if self._words.skip(",") else ())
        else:
            arguments = self.listed(self.expression)
        self._words.need(")")
        return FunctionCall(name, arguments)

"""Reads expressions: what binds weakest first, OR, AND, NOT, comparisons, sums, products, signs, operands."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from wrackline.control.local.sqlserver_standin.tsql.syntax import (
    Choice,
    Constant,
    Conversion,
    Expression,
    FunctionCall,
    Membership,
    NamedColumn,
    Operation,
    Subquery,
    Variable,
)
from wrackline.control.local.sqlserver_standin.tsql.words import Word, WordKind, words
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType, sql_type

if TYPE_CHECKING:
    from wrackline.control.local.sqlserver_standin.tsql.syntax import Query

_COMPARISONS = {"=", "<>", "!=", "<", ">", "<=", ">="}
_RESERVED = frozenset(
    {
        *("SELECT", "FROM", "WHERE", "ORDER", "BY", "UNION", "ALL", "AND", "OR", "NOT", "IN", "IS"),
        *("NULL", "LIKE", "BETWEEN", "AS", "ON", "JOIN", "LEFT", "INNER", "CROSS", "OUTER", "TOP"),
        *("INSERT", "INTO", "VALUES", "UPDATE", "SET", "DELETE", "EXEC", "EXECUTE", "BEGIN", "COMMIT"),
        *("ROLLBACK", "SAVE", "TRAN", "TRANSACTION", "USE", "IF", "ELSE", "END", "CASE", "WHEN", "THEN"),
        *("EXISTS", "DECLARE", "WITH", "GROUP", "HAVING", "DISTINCT", "DESC", "ASC", "CAST", "CONVERT"),
        *("CREATE", "ALTER", "DROP", "TRUNCATE", "MERGE", "OPTION", "RIGHT", "FULL", "WHILE", "RETURN"),
        *("PRINT", "WAITFOR", "FOR"),
    }
)


class ExpressionReader:
    """A place in the words of a batch.  A sub-class reads queries, which an expression may hold."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = words(text)
        self._at = 0

    @property
    def word(self) -> Word:
        """The next word."""
        return self._words[self._at]

    def at_end(self) -> bool:
        """Say whether nothing is left."""
        return self.word.kind is WordKind.END

    def peek(self) -> Word:
        """The word behind the next."""
        return self._words[min(self._at + 1, len(self._words) - 1)]

    def step(self) -> Word:
        """Take the next word."""
        word = self.word
        self._at = min(self._at + 1, len(self._words) - 1)
        return word

    def is_next(self, *texts: str) -> bool:
        """Say whether the next words are these keywords or signs."""
        for ahead, text in enumerate(texts):
            word = self._words[min(self._at + ahead, len(self._words) - 1)]
            if word.kind not in {WordKind.NAME, WordKind.SIGN} or word.text.upper() != text:
                return False
        return True

    def skip(self, *texts: str) -> bool:
        """Take these words if they come next."""
        if not self.is_next(*texts):
            return False
        self._at += len(texts)
        return True

    def need(self, *texts: str) -> None:
        """Take these words, or say that the syntax is wrong."""
        if not self.skip(*texts):
            raise self.wrong()

    def wrong(self) -> ServerError:
        """Return the server's error about the next word."""
        return ServerError(102, f"Incorrect syntax near '{self.word.text or 'end of text'}'.", severity=15)

    def name(self) -> str:
        """Take a name."""
        if self.word.kind is WordKind.QUOTED or (
            self.word.kind is WordKind.NAME and self.word.text.upper() not in _RESERVED
        ):
            return self.step().text
        raise self.wrong()

    def has_name(self) -> bool:
        """Say whether a name comes next."""
        quoted = self.word.kind is WordKind.QUOTED
        return quoted or (self.word.kind is WordKind.NAME and self.word.text.upper() not in _RESERVED)

    def parts(self) -> tuple[str, ...]:
        """Take a name of several parts; two dots name the schema that is understood."""
        found = [self.name()]
        while self.skip("."):
            found.append("dbo" if self.is_next(".") else self.name())
        return tuple(found)

    def type(self) -> SqlType:
        """Take a type."""
        text = self.name()
        if self.skip("("):
            sizes = [self.step().text]
            while self.skip(","):
                sizes.append(self.step().text)
            self.need(")")
            text += f"({','.join(sizes)})"
        return sql_type(text)

    def listed(self, one: Callable[[], Expression]) -> tuple[Expression, ...]:
        """Take what is listed with commas."""
        found = [one()]
        while self.skip(","):
            found.append(one())
        return tuple(found)

    def subquery(self) -> "Query":
        """Take a query; the sub-class does."""
        raise NotImplementedError

    def expression(self) -> Expression:
        """Take an expression."""
        left = self._conjunction()
        while self.skip("OR"):
            left = Operation("OR", (left, self._conjunction()))
        return left

    def _conjunction(self) -> Expression:
        left = self._negation()
        while self.skip("AND"):
            left = Operation("AND", (left, self._negation()))
        return left

    def _negation(self) -> Expression:
        return Operation("NOT", (self._negation(),)) if self.skip("NOT") else self._comparison()

    def _comparison(self) -> Expression:
        left = self._sum()
        if self.word.kind is WordKind.SIGN and self.word.text in _COMPARISONS:
            sign = self.step().text
            return Operation("<>" if sign == "!=" else sign, (left, self._sum()))
        if self.skip("IS", "NULL"):
            return Operation("IS NULL", (left,))
        if self.skip("IS", "NOT", "NULL"):
            return Operation("NOT", (Operation("IS NULL", (left,)),))
        negated = (
            self.is_next("NOT") and self.peek().text.upper() in {"IN", "LIKE", "BETWEEN"} and self.skip("NOT")
        )
        found = self._of_set(left)
        if found is None:
            return left
        return Operation("NOT", (found,)) if negated else found

    def _of_set(self, left: Expression) -> Expression | None:
        if self.skip("IN"):
            self.need("(")
            items = self.listed(self.expression)
            self.need(")")
            return Membership(left, items)
        if self.skip("LIKE"):
            return Operation("LIKE", (left, self._sum()))
        if self.skip("BETWEEN"):
            low = self._sum()
            self.need("AND")
            high = self._sum()
            return Operation("AND", (Operation(">=", (left, low)), Operation("<=", (left, high))))
        return None

    def _sum(self) -> Expression:
        left = self._product()
        while self.word.kind is WordKind.SIGN and self.word.text in {"+", "-", "&", "|"}:
            sign = self.step().text
            left = Operation(sign, (left, self._product()))
        return left

    def _product(self) -> Expression:
        left = self._signed()
        while self.word.kind is WordKind.SIGN and self.word.text in {"*", "/", "%"}:
            sign = self.step().text
            left = Operation(sign, (left, self._signed()))
        return left

    def _signed(self) -> Expression:
        if self.skip("-"):
            return Operation("NEG", (self._signed(),))
        return self._signed() if self.skip("+") else self._operand()

    def _operand(self) -> Expression:
        word = self.word
        if word.kind is WordKind.VALUE:
            self.step()
            return Constant(word.value, narrow=word.text.startswith("'"))
        if word.kind is WordKind.VARIABLE:
            return Variable(self.step().text)
        if self.skip("("):
            found = Subquery(self.subquery()) if self.is_next("SELECT") else self.expression()
            self.need(")")
            return found
        if self.skip("NULL"):
            return Constant(None)
        if self.skip("EXISTS"):
            self.need("(")
            query = self.subquery()
            self.need(")")
            return Subquery(query, exists=True)
        if self.skip("CASE"):
            return self._choice()
        if self.is_next("CAST", "(") or self.is_next("TRY_CAST", "("):
            return self._cast()
        if self.is_next("CONVERT", "("):
            return self._convert()
        return self._named()

    def _cast(self) -> Expression:
        self.step()
        self.need("(")
        value = self.expression()
        self.need("AS")
        of = self.type()
        self.need(")")
        return Conversion(value, of)

    def _convert(self) -> Expression:
        self.step()
        self.need("(")
        of = self.type()
        self.need(",")
        value = self.expression()
        self.need(")")
        return Conversion(value, of)

    def _choice(self) -> Expression:
        tested = None if self.is_next("WHEN") else self.expression()
        branches = []
        while self.skip("WHEN"):
            condition = self.expression()
            self.need("THEN")
            if tested is not None:
                condition = Operation("=", (tested, condition))
            branches.append((condition, self.expression()))
        otherwise = self.expression() if self.skip("ELSE") else Constant(None)
        self.need("END")
        return Choice(tuple(branches), otherwise)

    def _named(self) -> Expression:
        parts = self.parts()
        if not self.skip("("):
            return NamedColumn(parts)
        name = ".".join(parts).upper()
        if self.skip("*"):
            self.need(")")
            return FunctionCall(name, (), star=True)
        if self.skip(")"):
            return FunctionCall(name, ())
        if name in {"DATEPART", "DATEADD", "DATEDIFF", "DATEDIFF_BIG"}:  # the first argument is a keyword
            first: tuple[Expression, ...] = (Constant(self.name().lower()),)
            arguments = first + (self.listed(self.expression) if self.skip(",") else ())
        else:
            arguments = self.listed(self.expression)
        self.need(")")
        return FunctionCall(name, arguments)

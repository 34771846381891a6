"""Reads a batch: the statements that the stand-in knows.  Anything else is refused, and named.

SELECT   TOP, lists, FROM with INNER, LEFT and CROSS JOIN, derived tables and functions, hints, WHERE, ORDER
BY, UNION ALL INSERT … VALUES, UPDATE … SET … WHERE, DELETE … WHERE BEGIN, SAVE, COMMIT and ROLLBACK TRAN;
SET of options and variables;  DECLARE;  USE;  EXEC;  IF
"""

from collections.abc import Callable, Iterator

from wrackline.control.local.sqlserver_standin.tsql.expressions import ExpressionReader
from wrackline.control.local.sqlserver_standin.tsql.syntax import (
    Bound,
    Change,
    Conditional,
    Constant,
    Derived,
    Expression,
    From,
    Insertion,
    Join,
    OptionSetting,
    ProcedureCall,
    Query,
    RelationName,
    ResultItem,
    Statement,
    Using,
    VariableValue,
)
from wrackline.control.local.sqlserver_standin.tsql.words import WordKind
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError, unknown_statement
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType

_HINTS = frozenset(
    {"READCOMMITTEDLOCK", "TABLOCK", "HOLDLOCK", "FORCESEEK", "READPAST", "ROWLOCK", "READCOMMITTED"}
)
_REFUSED_HINT = "a hint that the model does not follow"


def statements(text: str) -> Iterator[tuple[Statement, str]]:
    """Read a batch, statement by statement, each with its own text; the first that is unknown is an error."""
    return _BatchReader(text).batch()


def declarations(text: str) -> dict[str, SqlType]:
    """Read the parameters that `sp_executesql` declares: `@a int, @b nvarchar(50) OUTPUT`."""
    return _BatchReader(text).declared() if text.strip() else {}


class _BatchReader(ExpressionReader):
    def batch(self) -> Iterator[tuple[Statement, str]]:
        while self.skip(";"):
            pass
        while not self.at_end():
            start = self.word.at
            try:
                found = self._statement()
            except ServerError as error:
                if error.number == 102 and "stand-in" not in error.text:
                    raise unknown_statement(self.text[start:].strip(), error.text) from None
                raise
            yield found, self.text[start : self.word.at].strip().rstrip(";")
            while self.skip(";"):
                pass

    def declared(self) -> dict[str, SqlType]:
        found = {}
        while not self.at_end():
            name = self.step().text
            self.skip("AS")
            found[name.lower()] = self.type()
            _ = self.skip("OUTPUT") or self.skip("OUT")
            if not self.at_end():
                self.need(",")
        return found

    def subquery(self) -> Query:
        return self._query()

    def _statement(self) -> Statement:
        known: dict[str, Callable[[], Statement]] = {
            "SELECT": self._query,
            "INSERT": self._insertion,
            "UPDATE": self._update,
            "DELETE": self._deletion,
            "BEGIN": self._bound,
            "SAVE": self._bound,
            "COMMIT": self._bound,
            "ROLLBACK": self._bound,
            "SET": self._set,
            "DECLARE": self._declaration,
            "USE": self._using,
            "EXEC": self._procedure,
            "EXECUTE": self._procedure,
            "IF": self._conditional,
        }
        read = known.get(self.word.text.upper()) if self.word.kind is WordKind.NAME else None
        if read is None:
            raise self.wrong()
        return read()

    def _query(self) -> Query:
        first = self._select()
        more = []
        while self.skip("UNION", "ALL"):
            more.append(self._select())
        order = []
        if self.skip("ORDER", "BY"):
            order.append(self._sorted())
            while self.skip(","):
                order.append(self._sorted())
        if self.skip("OPTION"):
            self.need("(", "RECOMPILE", ")")
        return Query(first.items, first.source, first.where, tuple(order), first.top, tuple(more))

    def _sorted(self) -> tuple[Expression, bool]:
        value = self.expression()
        descends = self.skip("DESC")
        self.skip("ASC")
        return value, descends

    def _select(self) -> Query:
        if self.skip("("):
            inner = self._query()
            if inner.order or inner.more:
                raise self.wrong()
            self.need(")")
            return inner
        self.need("SELECT")
        top = None
        if self.skip("TOP"):
            brackets = self.skip("(")
            top = self.expression() if brackets else Constant(self.step().value)
            if brackets:
                self.need(")")
        items = [self._item()]
        while self.skip(","):
            items.append(self._item())
        source = self._from() if self.skip("FROM") else None
        where = self.expression() if self.skip("WHERE") else None
        return Query(tuple(items), source, where, (), top)

    def _item(self) -> ResultItem:
        if self.skip("*"):
            return ResultItem(None)
        if self.word.kind is WordKind.VARIABLE and self.peek().text == "=":
            raise self.wrong()
        start = self._at
        if self.has_name() and self.peek().text == ".":
            qualifier = self.name()
            self.step()
            if self.skip("*"):
                return ResultItem(None, qualifier)
            self._at = start
        value = self.expression()
        if self.skip("AS"):
            alias = str(self.step().value) if self.word.kind is WordKind.VALUE else self.name()
        else:
            alias = self.name() if self.has_name() else ""
        return ResultItem(value, alias)

    def _from(self) -> From:
        left = self._table()
        while True:
            if self.skip("INNER", "JOIN") or self.skip("JOIN"):
                kind = "INNER"
            elif self.skip("LEFT", "JOIN") or self.skip("LEFT", "OUTER", "JOIN"):
                kind = "LEFT"
            elif self.skip("CROSS", "JOIN") or self.skip(","):
                left = Join("CROSS", left, self._table(), None)
                continue
            else:
                return left
            right = self._table()
            self.need("ON")
            left = Join(kind, left, right, self.expression())

    def _table(self) -> From:
        if self.skip("("):
            query = self._query()
            self.need(")")
            return Derived(query, self._alias(""))
        parts = self.parts()
        arguments = None
        if self.skip("("):
            arguments = () if self.is_next(")") else self.listed(self.expression)
            self.need(")")
        alias = self._alias(parts[-1])
        hints: frozenset[str] = frozenset()
        if self.skip("WITH"):
            hints = self._hints()
        return RelationName(parts, alias, hints, arguments)

    def _alias(self, otherwise: str) -> str:
        if self.skip("AS"):
            return self.name()
        return self.name() if self.has_name() else otherwise

    def _hints(self) -> frozenset[str]:
        self.need("(")
        found = {self.name().upper()}
        while self.skip(","):
            found.add(self.name().upper())
        self.need(")")
        if not found <= _HINTS:
            raise unknown_statement(self.text, f"{_REFUSED_HINT}: {', '.join(sorted(found - _HINTS))}")
        return frozenset(found)

    def _named_table(self) -> RelationName:
        parts = self.parts()
        hints = self._hints() if self.skip("WITH") else frozenset()
        return RelationName(parts, parts[-1], hints)

    def _insertion(self) -> Insertion:
        self.need("INSERT")
        self.skip("INTO")
        table = self._named_table()
        columns = []
        if self.skip("("):
            columns.append(self.name())
            while self.skip(","):
                columns.append(self.name())
            self.need(")")
        self.need("VALUES")
        rows = []
        while True:
            self.need("(")
            rows.append(self.listed(self.expression))
            self.need(")")
            if not self.skip(","):
                return Insertion(table, tuple(columns), tuple(rows))

    def _update(self) -> Change:
        self.need("UPDATE")
        table = self._named_table()
        self.need("SET")
        assignments = []
        while True:
            name = self.name()
            self.need("=")
            assignments.append((name, self.expression()))
            if not self.skip(","):
                break
        where = self.expression() if self.skip("WHERE") else None
        return Change(table, tuple(assignments), where)

    def _deletion(self) -> Change:
        self.need("DELETE")
        self.skip("FROM")
        table = self._named_table()
        return Change(table, None, self.expression() if self.skip("WHERE") else None)

    def _bound(self) -> Statement:
        kind = self.step().text.upper()
        if not (self.skip("TRAN") or self.skip("TRANSACTION")):
            if kind in {"BEGIN", "SAVE"}:
                raise self.wrong()
            self.skip("WORK")
        return Bound(kind, self.name() if self.has_name() else "")

    def _set(self) -> Statement:
        self.need("SET")
        if self.word.kind is WordKind.VARIABLE:
            name = self.step().text.lower()
            self.need("=")
            return VariableValue(name, None, self.expression())
        found = [self.step().text.upper()]
        while self.skip(","):  # SET QUOTED_IDENTIFIER, ANSI_NULLS ON
            found.append(self.step().text.upper())
        while self.word.kind in {WordKind.NAME, WordKind.VALUE, WordKind.SIGN} and not self.is_next(";"):
            if self.word.text.upper() in {"SET", "SELECT", "EXEC", "BEGIN", "IF", "USE", "DECLARE", "INSERT"}:
                break
            if found[-1] in {"ON", "OFF"}:
                break
            found.append(self.step().text.upper())
        return OptionSetting(tuple(found))

    def _declaration(self) -> Statement:
        self.need("DECLARE")
        name = self.step().text.lower()
        self.skip("AS")
        of = self.type()
        return VariableValue(name, of, self.expression() if self.skip("=") else None)

    def _using(self) -> Using:
        self.need("USE")
        return Using(self.name())

    def _procedure(self) -> ProcedureCall:
        self.step()
        parts, arguments = self.parts(), []
        while (
            self.word.kind in {WordKind.VARIABLE, WordKind.VALUE} or self.is_next("NULL") or self.is_next("-")
        ):
            name = ""
            if self.word.kind is WordKind.VARIABLE and self.peek().text == "=":
                name = self.step().text.lower()
                self.step()
            arguments.append((name, self.expression()))
            if not self.skip(","):
                break
        return ProcedureCall(parts, tuple(arguments))

    def _conditional(self) -> Conditional:
        self.need("IF")
        condition = self.expression()
        if not self.is_next("BEGIN") or self.is_next("BEGIN", "TRAN") or self.is_next("BEGIN", "TRANSACTION"):
            return Conditional(condition, (self._statement(),))
        self.step()
        found = []
        while not self.skip("END"):
            found.append(self._statement())
            while self.skip(";"):
                pass
        return Conditional(condition, tuple(found))

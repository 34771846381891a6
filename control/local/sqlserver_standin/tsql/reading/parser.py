"""Reads a batch: the statements that the stand-in knows.  Anything else is refused, and named.

SELECT   TOP, lists, FROM with INNER, LEFT and CROSS JOIN, derived tables and functions, hints, WHERE, ORDER
BY, UNION ALL INSERT … VALUES, UPDATE … SET … WHERE, DELETE … WHERE BEGIN, SAVE, COMMIT and ROLLBACK TRAN;
SET of options and variables;  DECLARE;  USE;  EXEC;  IF
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from wrackline.control.local.sqlserver_standin.tsql.reading.definitions import DefinitionReader
from wrackline.control.local.sqlserver_standin.tsql.reading.expressions import ExpressionReader
from wrackline.control.local.sqlserver_standin.tsql.reading.rights import RightReader
from wrackline.control.local.sqlserver_standin.tsql.reading.syntax import (
    Bound,
    Change,
    Conditional,
    Constant,
    Derived,
    Filling,
    From,
    Insertion,
    Join,
    OptionSetting,
    ProcedureCall,
    Query,
    RelationName,
    ResultItem,
    Statement,
    TableVariable,
    Using,
    VariableValue,
)
from wrackline.control.local.sqlserver_standin.tsql.reading.word_reader import WordReader
from wrackline.control.local.sqlserver_standin.tsql.reading.words import WordKind
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError, unknown_statement
from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType

_HINTS = frozenset(
    {"READCOMMITTEDLOCK", "TABLOCK", "HOLDLOCK", "FORCESEEK", "READPAST", "ROWLOCK", "READCOMMITTED"}
)
_REFUSED_HINT = "a hint that the model does not follow"


@lru_cache(maxsize=256)
def statements(text: str) -> Sequence[tuple[Statement, str]]:
    """Read a batch, statement by statement, each with its own text; the first that is unknown is an error.

    Clients ask the same for each database, and at each poll: what was read lately is kept, as a server does.
    """
    return tuple(_BatchReader(text).batch())


def declarations(text: str) -> dict[str, SqlType]:
    """Read the parameters that `sp_executesql` declares: `@a int, @b nvarchar(50) OUTPUT`."""
    return _BatchReader(text).declared() if text.strip() else {}


class _BatchReader:
    def __init__(self, text: str) -> None:
        self._words = WordReader(text)
        self._expressions = ExpressionReader(self._words, self._query)
        self._definitions = DefinitionReader(self._words)
        self._rights = RightReader(self._words)
        self._named: dict[str, Query] = {}

    def batch(self) -> Iterator[tuple[Statement, str]]:
        while self._words.skip(";"):
            pass
        while not self._words.at_end():
            start = self._words.word.at
            try:
                found = self._statement()
            except ServerError as error:
                if error.number == 102 and "stand-in" not in error.text:
                    raise unknown_statement(self._words.text[start:].strip(), error.text) from None
                raise
            yield found, self._words.text[start : self._words.word.at].strip().rstrip(";")
            while self._words.skip(";"):
                pass

    def declared(self) -> dict[str, SqlType]:
        found = {}
        while not self._words.at_end():
            name = self._words.step().text
            self._words.skip("AS")
            found[name.lower()] = self._words.type()
            _ = self._words.skip("OUTPUT") or self._words.skip("OUT")
            if not self._words.at_end():
                self._words.need(",")
        return found

    def _statement(self) -> Statement:
        known: dict[str, Callable[[], Statement]] = {
            "SELECT": self._query,
            "WITH": self._with,
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
            "GRANT": self._rights.grant,
            "CREATE": self._defined,
            "ALTER": self._defined,
            "DROP": self._definitions.read,
            "TRUNCATE": self._definitions.read,
        }
        read = known.get(self._words.word.text.upper()) if self._words.word.kind is WordKind.NAME else None
        if read is None:
            raise self._words.wrong()
        return read()

    def _defined(self) -> Statement:
        return self._rights.principal() or self._definitions.read()

    def _query(self) -> Query:
        first = self._select()
        more = []
        while self._words.skip("UNION", "ALL"):
            more.append(self._select())
        order = self._expressions.ordered() if self._words.skip("ORDER", "BY") else ()
        if self._words.skip("OPTION"):
            self._words.need("(", "RECOMPILE", ")")
        return Query(first.items, first.source, first.where, order, first.top, tuple(more))

    def _with(self) -> Query:
        """Read a query with others that are named before it; each name then means that query."""
        self._words.need("WITH")
        while True:
            name = self._words.name().lower()
            self._words.need("AS", "(")
            self._named[name] = self._query()
            self._words.need(")")
            if not self._words.skip(","):
                break
        found = self._query()
        self._named.clear()
        return found

    def _select(self) -> Query:
        if self._words.skip("("):
            inner = self._query()
            if inner.order or inner.more:
                raise self._words.wrong()
            self._words.need(")")
            return inner
        self._words.need("SELECT")
        top = None
        if self._words.skip("TOP"):
            brackets = self._words.skip("(")
            top = self._expressions.expression() if brackets else Constant(self._words.step().value)
            if brackets:
                self._words.need(")")
        items = [self._item()]
        while self._words.skip(","):
            items.append(self._item())
        source = self._from() if self._words.skip("FROM") else None
        where = self._expressions.expression() if self._words.skip("WHERE") else None
        return Query(tuple(items), source, where, (), top)

    def _item(self) -> ResultItem:
        if self._words.skip("*"):
            return ResultItem(None)
        if self._words.word.kind is WordKind.VARIABLE and self._words.peek().text == "=":
            raise self._words.wrong()
        start = self._words.at
        if self._words.has_name() and self._words.peek().text == ".":
            qualifier = self._words.name()
            self._words.step()
            if self._words.skip("*"):
                return ResultItem(None, qualifier)
            self._words.at = start
        value = self._expressions.expression()
        if self._words.skip("AS"):
            alias = (
                str(self._words.step().value)
                if self._words.word.kind is WordKind.VALUE
                else self._words.name()
            )
        else:
            alias = self._words.name() if self._words.has_name() else ""
        return ResultItem(value, alias)

    def _from(self) -> From:
        left = self._table()
        while True:
            if self._words.skip("INNER", "JOIN") or self._words.skip("JOIN"):
                kind = "INNER"
            elif self._words.skip("LEFT", "JOIN") or self._words.skip("LEFT", "OUTER", "JOIN"):
                kind = "LEFT"
            elif self._words.skip("CROSS", "JOIN") or self._words.skip(","):
                left = Join("CROSS", left, self._table(), None)
                continue
            else:
                return left
            right = self._table()
            self._words.need("ON")
            left = Join(kind, left, right, self._expressions.expression())

    def _table(self) -> From:
        if self._words.skip("("):
            query = self._query()
            self._words.need(")")
            return Derived(query, self._alias(""))
        if self._words.word.kind is WordKind.VARIABLE:
            name = self._words.step().text
            return RelationName((name,), self._alias(name))
        parts = self._words.parts()
        arguments = None
        if self._words.skip("("):
            arguments = (
                () if self._words.is_next(")") else self._expressions.listed(self._expressions.expression)
            )
            self._words.need(")")
        alias = self._alias(parts[-1])
        if len(parts) == 1 and parts[0].lower() in self._named:
            return Derived(self._named[parts[0].lower()], alias)
        hints: frozenset[str] = frozenset()
        if self._words.skip("WITH"):
            hints = self._hints()
        return RelationName(parts, alias, hints, arguments)

    def _alias(self, otherwise: str) -> str:
        if self._words.skip("AS"):
            return self._words.name()
        return self._words.name() if self._words.has_name() else otherwise

    def _hints(self) -> frozenset[str]:
        self._words.need("(")
        found = {self._words.name().upper()}
        while self._words.skip(","):
            found.add(self._words.name().upper())
        self._words.need(")")
        if not found <= _HINTS:
            raise unknown_statement(self._words.text, f"{_REFUSED_HINT}: {', '.join(sorted(found - _HINTS))}")
        return frozenset(found)

    def _named_table(self) -> RelationName:
        parts = self._words.parts()
        hints = self._hints() if self._words.skip("WITH") else frozenset()
        return RelationName(parts, parts[-1], hints)

    def _insertion(self) -> Insertion | Filling:
        self._words.need("INSERT")
        self._words.skip("INTO")
        if self._words.word.kind is WordKind.VARIABLE:
            name = self._words.step().text.lower()
            if not self._words.is_next("EXEC"):
                raise self._words.wrong()
            return Filling(name, self._procedure())
        table = self._named_table()
        columns = []
        if self._words.skip("("):
            columns.append(self._words.name())
            while self._words.skip(","):
                columns.append(self._words.name())
            self._words.need(")")
        self._words.need("VALUES")
        rows = []
        while True:
            self._words.need("(")
            rows.append(self._expressions.listed(self._expressions.expression))
            self._words.need(")")
            if not self._words.skip(","):
                return Insertion(table, tuple(columns), tuple(rows))

    def _update(self) -> Change:
        self._words.need("UPDATE")
        table = self._named_table()
        self._words.need("SET")
        assignments = []
        while True:
            name = self._words.name()
            self._words.need("=")
            assignments.append((name, self._expressions.expression()))
            if not self._words.skip(","):
                break
        where = self._expressions.expression() if self._words.skip("WHERE") else None
        return Change(table, tuple(assignments), where)

    def _deletion(self) -> Change:
        self._words.need("DELETE")
        self._words.skip("FROM")
        table = self._named_table()
        return Change(table, None, self._expressions.expression() if self._words.skip("WHERE") else None)

    def _bound(self) -> Statement:
        kind = self._words.step().text.upper()
        if not (self._words.skip("TRAN") or self._words.skip("TRANSACTION")):
            if kind in {"BEGIN", "SAVE"}:
                raise self._words.wrong()
            self._words.skip("WORK")
        return Bound(kind, self._words.name() if self._words.has_name() else "")

    def _set(self) -> Statement:
        self._words.need("SET")
        if self._words.word.kind is WordKind.VARIABLE:
            name = self._words.step().text.lower()
            self._words.need("=")
            return VariableValue(name, None, self._expressions.expression())
        found = [self._words.step().text.upper()]
        while self._words.skip(","):  # SET QUOTED_IDENTIFIER, ANSI_NULLS ON
            found.append(self._words.step().text.upper())
        while self._words.word.kind in {
            WordKind.NAME,
            WordKind.VALUE,
            WordKind.SIGN,
        } and not self._words.is_next(";"):
            if self._words.word.text.upper() in {
                "SET",
                "SELECT",
                "EXEC",
                "BEGIN",
                "IF",
                "USE",
                "DECLARE",
                "INSERT",
            }:
                break
            if found[-1] in {"ON", "OFF"}:
                break
            found.append(self._words.step().text.upper())
        return OptionSetting(tuple(found))

    def _declaration(self) -> Statement:
        self._words.need("DECLARE")
        name = self._words.step().text.lower()
        self._words.skip("AS")
        if self._words.skip("TABLE"):
            return TableVariable(name, self._definitions.columns().columns)
        of = self._words.type()
        return VariableValue(name, of, self._expressions.expression() if self._words.skip("=") else None)

    def _using(self) -> Using:
        self._words.need("USE")
        return Using(self._words.name())

    def _procedure(self) -> ProcedureCall:
        self._words.step()
        parts, arguments = self._words.parts(), []
        while (
            self._words.word.kind in {WordKind.VARIABLE, WordKind.VALUE}
            or self._words.is_next("NULL")
            or self._words.is_next("-")
        ):
            name = ""
            if self._words.word.kind is WordKind.VARIABLE and self._words.peek().text == "=":
                name = self._words.step().text.lower()
                self._words.step()
            arguments.append((name, self._expressions.expression()))
            if not self._words.skip(","):
                break
        return ProcedureCall(parts, tuple(arguments))

    def _conditional(self) -> Conditional:
        self._words.need("IF")
        condition = self._expressions.expression()
        if (
            not self._words.is_next("BEGIN")
            or self._words.is_next("BEGIN", "TRAN")
            or self._words.is_next("BEGIN", "TRANSACTION")
        ):
            return Conditional(condition, (self._statement(),))
        self._words.step()
        found = []
        while not self._words.skip("END"):
            found.append(self._statement())
            while self._words.skip(";"):
                pass
        return Conditional(condition, tuple(found))

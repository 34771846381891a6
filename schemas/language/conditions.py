"""The filter of a snapshot request: text to a tree that a source turns into its own SQL.

    condition  = term (OR term)*
    term       = factor (AND factor)*
    factor     = ( condition ) | column test
    test       = (= <> < <= > >=) literal | IS [NOT] NULL | LIKE 'text'
               | IN ( literal, … ) | BETWEEN literal AND literal
    literal    = number | 'text' | TRUE | FALSE | NULL (in a list)

Comes in: text from any user that can write to the signal table.  Goes out: names and values, separate from
each other.  Nothing of the text itself ever reaches a database: the source checks that the columns exist,
quotes their names and sends the values as parameters.  What is not in the grammar (functions, sub-selects,
comments, casts, a second statement) is refused.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple

from wrackline.schemas.errors import Definite, WracklineError, define

LENGTH_MAX: Final = 4096
DEPTH_MAX: Final = 32
COMPARISONS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})

REFUSED = define(
    "condition.refused",
    Definite,
    "the condition is refused at character {at}: {reason}",
    hint="allowed: a column with =, <>, <, <=, >, >=, IN (…), IS [NOT] NULL, LIKE '…' or BETWEEN … AND …,"
    " joined by AND, OR and parentheses; write text in single quotes, and names as they are or in double"
    " quotes",
)

Literal = Decimal | str | bool | None


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column as it was written; an unquoted one follows the database's own rule for case."""

    name: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column operator literal`."""

    column: ColumnName
    operator: str
    literal: Literal


@dataclass(frozen=True, slots=True)
class In:
    """`column IN (…)`."""

    column: ColumnName
    literals: tuple[Literal, ...]


@dataclass(frozen=True, slots=True)
class Null:
    """`column IS [NOT] NULL`."""

    column: ColumnName
    negated: bool


@dataclass(frozen=True, slots=True)
class Like:
    """`column LIKE 'text'`; % and _ as in SQL."""

    column: ColumnName
    pattern: str


@dataclass(frozen=True, slots=True)
class Between:
    """`column BETWEEN low AND high`."""

    column: ColumnName
    low: Literal
    high: Literal


@dataclass(frozen=True, slots=True)
class And:
    """All of at least two."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of at least two."""

    parts: tuple["Condition", ...]


Condition = Comparison | In | Null | Like | Between | And | Or


@dataclass(frozen=True, slots=True)
class Select:
    """`SELECT * FROM name [WHERE condition] [ORDER BY columns]`, Debezium's form for a blocking snapshot."""

    table: tuple[str, ...]
    condition: Condition | None


def parse(text: str) -> Condition:
    """Read a condition; anything outside the grammar is refused by its place, never shown."""
    reader = _ConditionReader(text)
    condition = reader.condition(0)
    reader.end()
    return condition


def parse_select(text: str) -> Select:
    """Read a whole SELECT of all columns of one table, with or without a condition.

    An ORDER BY is accepted and left out: it selects the same rows, and rows are read in the order of the key.
    """
    reader = _ConditionReader(text)
    reader.expect("SELECT", "*", "FROM")
    table = [reader.name().name]
    while reader.take("."):
        table.append(reader.name().name)
    condition = reader.condition(0) if reader.take("WHERE") else None
    reader.pass_order()
    reader.end()
    return Select(tuple(table), condition)


def columns(condition: Condition) -> frozenset[ColumnName]:
    """The columns that a condition names; the source refuses a column that the table lacks."""
    if isinstance(condition, And | Or):
        return frozenset[ColumnName]().union(*map(columns, condition.parts))
    return frozenset({condition.column})


def render(condition: Condition) -> str:
    """The condition as text again, in the grammar above: for saved state and for people."""
    match condition:
        case And(parts):
            text = " AND ".join(f"({render(p)})" if isinstance(p, And | Or) else render(p) for p in parts)
        case Or(parts):
            text = " OR ".join(f"({render(p)})" if isinstance(p, Or) else render(p) for p in parts)
        case Comparison(column, operator, literal):
            text = f"{_name(column)} {operator} {_literal(literal)}"
        case In(column, literals):
            text = f"{_name(column)} IN ({', '.join(map(_literal, literals))})"
        case Null(column, negated):
            text = f"{_name(column)} IS {'NOT ' if negated else ''}NULL"
        case Like(column, pattern):
            text = f"{_name(column)} LIKE {_literal(pattern)}"
        case Between(column, low, high):
            text = f"{_name(column)} BETWEEN {_literal(low)} AND {_literal(high)}"
    return text


def _name(column: ColumnName) -> str:
    return f'"{column.name.replace(chr(34), chr(34) * 2)}"' if column.quoted else column.name


def _literal(literal: Literal) -> str:
    match literal:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if literal else "FALSE"
        case str():
            return f"'{literal.replace(chr(39), chr(39) * 2)}'"
        case Decimal():
            return str(literal)


class _Token(NamedTuple):
    kind: str
    text: str
    at: int


# ASCII only: a letter that merely looks like one of these is not a token
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<word>[A-Za-z_][A-Za-z0-9_$]*)
      | (?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?(?![A-Za-z0-9_.]))
      | (?P<text>'(?:[^'\x00]|'')*')
      | (?P<quoted>"(?:[^"\x00-\x1f]|"")+"|`(?:[^`\x00-\x1f]|``)+`)
      | (?P<mark><>|<=|>=|[=<>(),.*])""",
    re.VERBOSE,
)
_WORDS = frozenset(
    {"AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "BETWEEN", "TRUE", "FALSE", "SELECT", "FROM", "WHERE"}
)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise REFUSED(at=at + 1, reason="no word, number, text or operator starts here")
        kind, token = found.lastgroup, found.group()
        if kind == "word" and token.upper() in _WORDS:
            kind, token = "mark", token.upper()
        if kind != "space":
            yield _Token(kind, token, at + 1)
        at = found.end()
    yield _Token("end", "", at + 1)


class _ConditionReader:
    """A recursive-descent reader over the tokens of one text."""

    def __init__(self, text: str) -> None:
        if len(text) > LENGTH_MAX:
            raise REFUSED(at=LENGTH_MAX, reason=f"it is longer than {LENGTH_MAX} characters")
        self._tokens = list(_tokens(text))
        self._next = 0

    def take(self, mark: str) -> bool:
        token = self._tokens[self._next]
        if token.kind != "mark" or token.text != mark:
            return False
        self._next += 1
        return True

    def expect(self, *marks: str) -> None:
        for mark in marks:
            if not self.take(mark):
                raise self._refused(f"{mark} is expected")

    def end(self) -> None:
        if self._tokens[self._next].kind != "end":
            raise self._refused("the condition should end here")

    def condition(self, depth: int) -> Condition:
        if depth > DEPTH_MAX:
            raise self._refused(f"parentheses are nested deeper than {DEPTH_MAX}")
        parts = self._joined("OR", lambda: self._term(depth))
        return parts[0] if len(parts) == 1 else Or(parts)

    def name(self) -> ColumnName:
        token = self._tokens[self._next]
        if token.kind not in {"word", "quoted"}:
            raise self._refused("a name is expected")
        self._next += 1
        if token.kind == "word":
            return ColumnName(token.text)
        quote = token.text[0]
        return ColumnName(token.text[1:-1].replace(quote * 2, quote), quoted=True)

    def pass_order(self) -> None:
        """Read an ORDER BY, if there is one."""
        if not self._take_word("ORDER"):
            return
        if not self._take_word("BY"):
            raise self._refused("BY is expected")
        while True:
            self.name()
            while self.take("."):
                self.name()
            self._take_word("ASC", "DESC")
            if self._take_word("NULLS") and not self._take_word("FIRST", "LAST"):
                raise self._refused("FIRST or LAST is expected")
            if not self.take(","):
                return

    def _take_word(self, *words: str) -> bool:
        """Take one of these words, which are names elsewhere."""
        token = self._tokens[self._next]
        if token.kind != "word" or token.text.upper() not in words:
            return False
        self._next += 1
        return True

    def _joined(self, word: str, part: Callable[[], Condition]) -> tuple[Condition, ...]:
        parts = [part()]
        while self.take(word):
            parts.append(part())
        return tuple(parts)

    def _term(self, depth: int) -> Condition:
        parts = self._joined("AND", lambda: self._factor(depth))
        return parts[0] if len(parts) == 1 else And(parts)

    def _factor(self, depth: int) -> Condition:
        if self.take("("):
            inner = self.condition(depth + 1)
            self.expect(")")
            return inner
        return self._test(self.name())

    def _test(self, column: ColumnName) -> Condition:
        for operator in COMPARISONS:
            if self.take(operator):
                return Comparison(column, operator, self._literal(null=False))
        if self.take("IS"):
            negated = self.take("NOT")
            self.expect("NULL")
            return Null(column, negated)
        if self.take("LIKE"):
            return Like(column, self._text())
        if self.take("BETWEEN"):
            low = self._literal(null=False)
            self.expect("AND")
            return Between(column, low, self._literal(null=False))
        if self.take("IN"):
            self.expect("(")
            literals = [self._literal(null=True)]
            while self.take(","):
                literals.append(self._literal(null=True))
            self.expect(")")
            return In(column, tuple(literals))
        raise self._refused("an operator is expected")

    def _text(self) -> str:
        literal = self._literal(null=False)
        if not isinstance(literal, str):
            self._next -= 1
            raise self._refused("LIKE takes a text in single quotes")
        return literal

    def _literal(self, *, null: bool) -> Literal:
        token = self._tokens[self._next]
        self._next += 1
        match token.kind, token.text:
            case "number", text:
                return Decimal(text)
            case "text", text:
                return text[1:-1].replace("''", "'")
            case "mark", "TRUE" | "FALSE" as word:
                return word == "TRUE"
            case "mark", "NULL" if null:
                return None
        self._next -= 1
        if token.text == "NULL":
            raise self._refused("nothing is ever equal to NULL: write IS NULL")
        raise self._refused("a number, a text in single quotes, TRUE or FALSE is expected")

    def _refused(self, reason: str) -> WracklineError:
        return REFUSED(at=self._tokens[self._next].at, reason=reason)

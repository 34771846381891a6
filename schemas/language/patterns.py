"""Which tables a request means: a name, or an anchored pattern over whole names.

Comes in: text from a signal or a setting, in the notation of Java's and Python's regular
expressions as far as table names need it: letters, `.`, classes, groups, `|`, `* + ? {m,n}`.
Goes out: a pattern that answers for one table.  It is matched by the set of places that each part can reach,
never by backtracking, so no pattern can take more than a few thousand steps: that is why it is not `re`,
which a signal could hang for hours.
A name written in double quotes part by part is that name, whatever characters it has.
"""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.tables.table import TableId

LENGTH_MAX: Final = 512
REPEAT_MAX: Final = 64
DEPTH_MAX: Final = 16
COMPARED_MAX: Final = 2_000_000  # letters of patterns times letters of tables: some seconds

REFUSED = define(
    "pattern.refused",
    Definite,
    "the table pattern is refused at character {at}: {reason}",
    hint='write a name ("schema"."table" or schema.table) or a pattern of letters, ., [a-z], (a|b), *, +, ?',
)

TOO_MANY = define(
    "pattern.too_many",
    Definite,
    "the request has too many patterns for the number of tables that they are compared with",
    hint="list the tables themselves in data-collections, or send several signals",
)

_QUOTED = re.compile(r'"(?:[^"]|"")+"(?:\."(?:[^"]|"")+"){1,2}')
_CLASSES: dict[str, Callable[[str], bool]] = {
    "d": lambda c: c in "0123456789",
    "w": lambda c: c.isascii() and (c.isalnum() or c == "_"),
    "s": lambda c: c in " \t\n\r\f\v",
}


@dataclass(frozen=True, slots=True)
class TablePattern:
    """A name or pattern as it was written, and what it matches; letters match in either case."""

    text: str
    _node: "_Node" = field(compare=False, repr=False)  # follows from the text

    def matches(self, table: TableId) -> bool:
        """Whether the whole of `schema.table` or `database.schema.table` matches."""
        return any(self.matches_name(name) for name in _names(table))

    def matches_name(self, name: str) -> bool:
        """Whether the whole of this text matches."""
        lowered = name.lower()
        return len(lowered) in _reach(self._node, lowered, frozenset({0}))


class Among:
    """Some tables of a request, with which others are compared: as texts first, then as patterns.

    A name may be given with or without its database.  A pattern is matched against every other text, so the
    comparisons of one request have a bound.
    """

    def __init__(self, tables: Sequence[TablePattern]) -> None:
        self._tables = tables
        self._whole = {table.text.lower() for table in tables}
        self._ends = {end for text in self._whole for end in _ends(text)}
        self._letters, self._left = sum(map(len, self._whole)), COMPARED_MAX

    def meets(self, other: TablePattern) -> bool:
        """Whether it may mean a table that one of these means."""
        text = other.text.lower()
        if text in self._ends or not self._whole.isdisjoint(_ends(text)):
            return True
        self._left -= len(text) * self._letters
        if self._left < 0:
            too_many = TOO_MANY()
            raise too_many
        return any(one.matches_name(other.text) or other.matches_name(one.text) for one in self._tables)


def _ends(text: str) -> list[str]:
    """Return the whole text, and what is behind each of its dots."""
    parts = text.split(".")
    return [".".join(parts[at:]) for at in range(len(parts))]


def compile_pattern(text: str) -> TablePattern:
    """Read a name or pattern; what is outside the notation is refused by its place."""
    if len(text) > LENGTH_MAX:
        raise REFUSED(at=LENGTH_MAX, reason=f"it is longer than {LENGTH_MAX} characters")
    if (name := _unquoted(text)) is not None:
        return TablePattern(text, _Sequence(tuple(_one_of(c) for c in name.lower())))
    reader = _PatternReader(text)
    node = reader.either(0)
    reader.end()
    return TablePattern(text, node)


def resolve(pattern: TablePattern, tables: Collection[TableId]) -> tuple[TableId, ...]:
    """The tables that are meant: the one with exactly this name, else all that match, in order."""
    name = _unquoted(pattern.text)
    exact = [table for table in tables if (name or pattern.text) in _names(table)]
    return tuple(sorted(exact if exact or name else filter(pattern.matches, tables)))


def exact_pattern(*names: str) -> str:
    """Write a pattern for only this name, as a setting's list and any file contain it."""
    return ".".join("".join(map(_plain, name)) for name in names)


def _plain(char: str) -> str:
    if char.isalnum() or char in " _-":
        return char
    return "." if char in ',"\\[]^&' else f"[{char}]"  # a list's comma, and what quotes or classes mean


def _unquoted(text: str) -> str | None:
    """Return the name that is in quotes, None for a pattern."""
    if not _QUOTED.fullmatch(text):
        return None
    return ".".join(part[1:-1].replace('""', '"') for part in re.findall(r'"(?:[^"]|"")+"', text))


def _names(table: TableId) -> tuple[str, str]:
    return f"{table.schema}.{table.name}", str(table)


@dataclass(frozen=True, slots=True)
class _Char:
    fits: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Either:
    branches: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    node: "_Node"
    least: int
    most: int | None


_Node = _Char | _Sequence | _Either | _Repeat


def _one_of(char: str) -> _Char:
    return _Char(lambda c: c == char)


def _reach(node: _Node, name: str, starts: frozenset[int]) -> frozenset[int]:
    """The places in the name that the node can end at, if it begins at any of `starts`."""
    match node:
        case _Char(fits):
            return frozenset(at + 1 for at in starts if at < len(name) and fits(name[at]))
        case _Sequence(parts):
            for part in parts:
                starts = _reach(part, name, starts)
            return starts
        case _Either(branches):
            return frozenset[int]().union(*(_reach(branch, name, starts) for branch in branches))
        case _Repeat(inner, least, most):
            for _ in range(least):
                starts = _reach(inner, name, starts)
            reached = fresh = starts
            rounds = 0
            while fresh and (most is None or rounds < most - least):
                fresh = _reach(inner, name, fresh) - reached
                reached |= fresh
                rounds += 1
            return reached


class _PatternReader:
    """A recursive-descent reader of one pattern."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def end(self) -> None:
        if self._at < len(self._text):
            raise self._refused("a parenthesis is closed that was not opened")

    def either(self, depth: int) -> _Node:
        if depth > DEPTH_MAX:
            raise self._refused(f"groups are nested deeper than {DEPTH_MAX}")
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else _Either(tuple(branches))

    def _sequence(self, depth: int) -> _Sequence:
        parts: list[_Node] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._atom(depth)))
        if not parts:
            raise self._refused("an empty pattern, group or branch matches nothing useful")
        return _Sequence(tuple(parts))

    def _atom(self, depth: int) -> _Node:
        char = self._text[self._at]
        self._at += 1
        match char:
            case ".":
                return _Char(lambda c: c != "\n")
            case "(":
                self._take("?:")
                inner = self.either(depth + 1)
                if not self._take(")"):
                    raise self._refused("a group is not closed")
                return inner
            case "[":
                return self._class()
            case "\\":
                return self._escaped()
            case "$" if self._text[self._at : self._at + 1].isidentifier():
                return _one_of(char)  # inside a name, where PostgreSQL takes it without quotes
            case "*" | "+" | "?" | "{" | "}" | "]" | "^" | "$":
                self._at -= 1
                raise self._refused(
                    "this character has no meaning here; a pattern always covers the whole name"
                )
        return _one_of(char.lower())

    def _escaped(self) -> _Char:
        char = self._text[self._at : self._at + 1]
        if char in _CLASSES and char:
            self._at += 1
            return _Char(_CLASSES[char])
        if not char or char.isalnum():
            raise self._refused("only \\d, \\w, \\s and escaped characters are supported")
        self._at += 1
        return _one_of(char)

    def _class(self) -> _Char:
        negated = self._take("^")
        tests: list[Callable[[str], bool]] = []
        while not self._take("]"):
            tests.append(self._class_member())
        if not tests:
            raise self._refused("a class is empty")
        return _Char(lambda c: any(test(c) for test in tests) != negated)

    def _class_member(self) -> Callable[[str], bool]:
        char = self._text[self._at : self._at + 1]
        if not char or char == "[" or self._text.startswith("&&", self._at):
            raise self._refused("a class is not closed, or contains another")
        self._at += 1
        if char == "\\":
            return self._escaped().fits
        last = self._text[self._at + 1 : self._at + 2]
        if not self._text.startswith("-", self._at) or last in {"", "]"}:
            return _one_of(char.lower()).fits
        self._at += 2
        if last < char or last in "\\[":
            raise self._refused("a range in a class goes backwards")
        return lambda c: char <= c <= last or char <= c.upper() <= last

    def _repeated(self, node: _Node) -> _Node:
        found = re.compile(r"([*+?]|\{([0-9]{1,3})(,([0-9]{0,3}))?\})([?+]?)").match(self._text, self._at)
        if found is None:
            return node
        sign, least, comma, most, manner = found.groups()
        if manner == "+":
            raise self._refused("a possessive repetition is not supported")
        if _repeats(node):
            raise self._refused("a repetition of a repetition is not supported")
        bounds: tuple[int, int | None] = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(sign, (0, 0))
        if least is not None:
            bounds = (int(least), (int(most) if most else None) if comma else int(least))
        if bounds[0] > REPEAT_MAX or (bounds[1] or 0) > REPEAT_MAX or bounds[0] > (bounds[1] or REPEAT_MAX):
            raise self._refused(f"a repetition is from m to n times, at most {REPEAT_MAX}")
        self._at = found.end()
        return _Repeat(node, *bounds)

    def _take(self, sign: str) -> bool:
        taken = self._text.startswith(sign, self._at)
        if taken:
            self._at += len(sign)
        return taken

    def _refused(self, reason: str) -> WracklineError:
        return REFUSED(at=self._at + 1, reason=reason)


def _repeats(node: _Node) -> bool:
    match node:
        case _Repeat():
            return True
        case _Sequence(parts):
            return any(map(_repeats, parts))
        case _Either(branches):
            return any(map(_repeats, branches))
    return False

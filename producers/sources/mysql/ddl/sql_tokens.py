"""A statement's text cut into words, as the server that logged it cuts it.  Pure.

    b"DROP /*!40005 TEMPORARY */ TABLE `a``b`"  ->  DROP  TEMPORARY  TABLE  a`b

Comments are gaps, except for comments that the server ran: its log has `/* 99999 …` for a `/*!99999 …` that
it did not run, so any `/*!` that is left was run (seen in MySQL 9.7 and MariaDB 11.4), and so was any `/*M!`
of MariaDB.
Words are cut on demand: the rows of a logged INSERT are never read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from wrackline.schemas.tables.table import TableId


def keywords(text: str) -> frozenset[str]:
    """Return a table of keywords, written as one text."""
    return frozenset(text.split())


class UnreadableSql(Exception):  # noqa: N818 it never leaves this folder
    """The text does not match the known grammar."""


@dataclass(frozen=True, slots=True)
class SqlSpelling:
    """The spelling of the session that wrote a statement, and of the server that ran it."""

    encoding: str = "utf-8"  # Python's name of character_set_client
    ansi_quotes: bool = False
    no_backslash_escapes: bool = False
    mariadb: bool = False
    lower_names: bool = False  # lower_case_table_names is not 0


class TokenKind(Enum):
    """What a piece of a statement is."""

    WORD = "word"  # a keyword, a name or a number
    NAME = "name"  # a quoted name
    TEXT = "text"
    MARK = "mark"
    END = "end"


class SqlToken(NamedTuple):
    """One piece; `text` is without its quotes."""

    kind: TokenKind
    text: str
    after_gap: bool = True  # X'61' is a number of that form only without a gap

    @property
    def word(self) -> str:
        """The keyword that it may be."""
        return self.text.upper() if self.kind is TokenKind.WORD else ""


_END: Final = SqlToken(TokenKind.END, "")
_CONTROL: Final = "".join(map(chr, range(33)))
_PLAIN_COMMENT = r"/\*{run}(?:[^*]|\*(?!/))*+\*/"
_QUOTED = r"{q}(?:[^{q}{escape}]{more}|{q}{q})*+{q}"


def _gap(run: str) -> re.Pattern[str]:
    comment = _PLAIN_COMMENT.format(run=run)
    return re.compile(rf"(?:[ \t\n\v\f\r]++|#[^\n]*+|--(?=[{_CONTROL}]|\Z)[^\n]*+|{comment})*+")


def _quoted_pattern(quote: str, *, escapes: bool) -> str:
    escape, more = ("\\\\", r"|\\.") if escapes else ("", "")
    return _QUOTED.format(q=quote, escape=escape, more=more)


def _token_pattern(*, ansi_quotes: bool, escapes: bool) -> re.Pattern[str]:
    double = _quoted_pattern('"', escapes=escapes and not ansi_quotes)
    name, text = [_quoted_pattern("`", escapes=False)], [_quoted_pattern("'", escapes=escapes)]
    (name if ansi_quotes else text).append(double)
    word = r"(?:[0-9A-Za-z_$]|[^\x00-\x7f])++"
    mark = r"""[^'"`]"""
    return re.compile(
        f"(?P<WORD>{word})|(?P<NAME>{'|'.join(name)})|(?P<TEXT>{'|'.join(text)})|(?P<MARK>{mark})", re.DOTALL
    )


_GAPS: Final = {False: _gap("(?!!)"), True: _gap("(?!M?!)")}
_RUN: Final = {False: re.compile(r"/\*!\d{0,6}"), True: re.compile(r"/\*M?!\d{0,6}")}
_PIECES: Final = {
    (ansi, escapes): _token_pattern(ansi_quotes=ansi, escapes=escapes)
    for ansi in (False, True)
    for escapes in (False, True)
}


def tokens(text: str, spelling: SqlSpelling) -> Iterator[SqlToken]:
    """Cut a text; raise `UnreadableSql` where a quote or a comment has no end."""
    gap, run = _GAPS[spelling.mariadb], _RUN[spelling.mariadb]
    piece = _PIECES[spelling.ansi_quotes, not spelling.no_backslash_escapes]
    place = running = 0
    while True:
        begins = place
        while True:
            before, found = place, gap.match(text, place)
            place = before if found is None else found.end()
            if (opened := run.match(text, place)) is not None:
                running, place = running + 1, opened.end()
            elif running and text.startswith("*/", place):
                running, place = running - 1, place + 2
            if place == before:
                break
        if place == len(text):
            if running:
                raise UnreadableSql
            return
        found = piece.match(text, place)
        if found is None or found.lastgroup is None or text.startswith("/*", place):
            raise UnreadableSql
        kind = TokenKind[found.lastgroup]
        yield SqlToken(kind, _unquote(kind, found[0]), place > begins)
        place = found.end()


def _unquote(kind: TokenKind, text: str) -> str:
    if kind is TokenKind.NAME:
        quote = text[0]
        return text[1:-1].replace(quote * 2, quote)
    return text[1:-1] if kind is TokenKind.TEXT else text  # the content of a text is never used


def _deeper(piece: SqlToken) -> int:
    return (piece.text == "(") - (piece.text == ")") if piece.kind is TokenKind.MARK else 0


class TokenReader:
    """A place in a statement, and what can be taken there."""

    def __init__(self, text: str, database: str, spelling: SqlSpelling) -> None:
        """Take the text, and the database of names without a database."""
        self._coming = tokens(text, spelling)
        self._ahead: list[SqlToken] = []
        self._database, self._lower = database, spelling.lower_names

    def peek(self, ahead: int = 0) -> SqlToken:
        """Return a piece without taking it."""
        while len(self._ahead) <= ahead:
            self._ahead.append(next(self._coming, _END))
        return self._ahead[ahead]

    def take(self) -> SqlToken:
        """Take the next piece."""
        piece = self.peek()
        if piece is not _END:
            self._ahead.pop(0)
        return piece

    @property
    def ended(self) -> bool:
        """Whether nothing is left but a semicolon."""
        while self.mark(";"):
            pass
        return self.peek() is _END

    def next_is(self, *words: str) -> bool:
        """Whether the next piece is one of these keywords."""
        return self.peek().word in words

    def got(self, *words: str) -> bool:
        """Take these keywords, if all of them come next."""
        if all(self.peek(ahead).word == word for ahead, word in enumerate(words)):
            del self._ahead[: len(words)]
            return True
        return False

    def any_of(self, *words: str) -> str:
        """Take one of these keywords, if one comes next; empty if not."""
        return self.take().word if self.next_is(*words) else ""

    def mark(self, text: str) -> bool:
        """Take a mark, if it comes next."""
        piece = self.peek()
        if piece.kind is TokenKind.MARK and piece.text == text:
            self.take()
            return True
        return False

    def need(self, *words: str) -> None:
        """Take keywords that must come."""
        if not self.got(*words):
            raise UnreadableSql

    def name(self) -> str:
        """Take a name, quoted or not."""
        piece = self.take()
        if piece.kind not in {TokenKind.WORD, TokenKind.NAME} or not piece.text:
            raise UnreadableSql
        return piece.text

    def database(self) -> str:
        """Take the name of a database."""
        name = self.name()
        return name.lower() if self._lower else name

    def table(self) -> TableId:
        """Take the name of a table, with its database or without."""
        database, name = self._database, self.name()
        if self.mark("."):
            database, name = name, self.name()
        if not database:
            raise UnreadableSql
        if self._lower:
            database, name = database.lower(), name.lower()
        return TableId(database, database, name)

    def brackets(self) -> list[SqlToken] | None:
        """Take the content of brackets, if an opening bracket comes next."""
        if not self.mark("("):
            return None
        inside: list[SqlToken] = []
        depth = 1
        while (piece := self.take()) is not _END:
            depth += _deeper(piece)
            if not depth:
                return inside
            inside.append(piece)
        raise UnreadableSql

    def clause(self) -> list[SqlToken]:
        """Take all up to the next comma outside brackets, and the comma."""
        taken: list[SqlToken] = []
        depth = 0
        while (piece := self.take()) is not _END:
            if not depth and piece.kind is TokenKind.MARK and piece.text == ",":
                break
            depth += _deeper(piece)
            taken.append(piece)
        return taken

    def within(self, taken: list[SqlToken]) -> "TokenReader":
        """Return the words of a clause by itself."""
        made = TokenReader("", self._database, SqlSpelling(lower_names=self._lower))
        made._ahead = list(taken)
        return made

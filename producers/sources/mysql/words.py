"""A statement's text cut into words, as the server that logged it cuts it.  Pure.

    b"DROP /*!40005 TEMPORARY */ TABLE `a``b`"  ->  DROP  TEMPORARY  TABLE  a`b

Comments are gaps, but for those that the server ran: into its log it writes `/* 99999 …` for a `/*!99999 …`
that it did not run, so any `/*!` that is left was run (seen in MySQL 9.7 and MariaDB 11.4), and any `/*M!` of
MariaDB.
Words are cut when they are asked for: the rows of a logged INSERT are never looked at.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from wrackline.schemas.table import TableId


def keywords(text: str) -> frozenset[str]:
    """Return a table of keywords, written as one text."""
    return frozenset(text.split())


class Unreadable(Exception):  # noqa: N818 it never leaves this folder
    """The text is not what the grammar that is known here expects."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the session that wrote a statement spells, and the server that ran it."""

    encoding: str = "utf-8"  # Python's name of character_set_client
    ansi_quotes: bool = False
    no_backslash_escapes: bool = False
    mariadb: bool = False
    lower_names: bool = False  # lower_case_table_names is not 0


class Kind(Enum):
    """What a piece of a statement is."""

    WORD = "word"  # a keyword, a name or a number
    NAME = "name"  # a quoted name
    TEXT = "text"
    MARK = "mark"
    END = "end"


class Piece(NamedTuple):
    """One piece; `text` is without its quotes."""

    kind: Kind
    text: str
    after_gap: bool = True  # X'61' is a number of that form only where nothing stands between

    @property
    def word(self) -> str:
        """The keyword that it may be."""
        return self.text.upper() if self.kind is Kind.WORD else ""


_END: Final = Piece(Kind.END, "")
_CONTROL: Final = "".join(map(chr, range(33)))
_PLAIN_COMMENT = r"/\*{run}(?:[^*]|\*(?!/))*+\*/"
_QUOTED = r"{q}(?:[^{q}{escape}]{more}|{q}{q})*+{q}"


def _gap(run: str) -> re.Pattern[str]:
    comment = _PLAIN_COMMENT.format(run=run)
    return re.compile(rf"(?:[ \t\n\v\f\r]++|#[^\n]*+|--(?=[{_CONTROL}]|\Z)[^\n]*+|{comment})*+")


def _quoted(quote: str, *, escapes: bool) -> str:
    escape, more = ("\\\\", r"|\\.") if escapes else ("", "")
    return _QUOTED.format(q=quote, escape=escape, more=more)


def _pieces(*, ansi_quotes: bool, escapes: bool) -> re.Pattern[str]:
    double = _quoted('"', escapes=escapes and not ansi_quotes)
    name, text = [_quoted("`", escapes=False)], [_quoted("'", escapes=escapes)]
    (name if ansi_quotes else text).append(double)
    word = r"(?:[0-9A-Za-z_$]|[^\x00-\x7f])++"
    mark = r"""[^'"`]"""
    return re.compile(
        f"(?P<WORD>{word})|(?P<NAME>{'|'.join(name)})|(?P<TEXT>{'|'.join(text)})|(?P<MARK>{mark})", re.DOTALL
    )


_GAPS: Final = {False: _gap("(?!!)"), True: _gap("(?!M?!)")}
_RUN: Final = {False: re.compile(r"/\*!\d{0,6}"), True: re.compile(r"/\*M?!\d{0,6}")}
_PIECES: Final = {
    (ansi, escapes): _pieces(ansi_quotes=ansi, escapes=escapes)
    for ansi in (False, True)
    for escapes in (False, True)
}


def pieces(text: str, spelling: Spelling) -> Iterator[Piece]:
    """Cut a text; `Unreadable` where a quote or a comment has no end."""
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
                raise Unreadable
            return
        found = piece.match(text, place)
        if found is None or found.lastgroup is None or text.startswith("/*", place):
            raise Unreadable
        kind = Kind[found.lastgroup]
        yield Piece(kind, _unquoted(kind, found[0]), place > begins)
        place = found.end()


def _unquoted(kind: Kind, text: str) -> str:
    if kind is Kind.NAME:
        quote = text[0]
        return text[1:-1].replace(quote * 2, quote)
    return text[1:-1] if kind is Kind.TEXT else text  # what a text says is never asked


def _deeper(piece: Piece) -> int:
    return (piece.text == "(") - (piece.text == ")") if piece.kind is Kind.MARK else 0


class Words:
    """A place in a statement, and what can be taken there."""

    def __init__(self, text: str, database: str, spelling: Spelling) -> None:
        """Take the text and the database that names without one are in."""
        self._coming = pieces(text, spelling)
        self._ahead: list[Piece] = []
        self._database, self._lower = database, spelling.lower_names

    def peek(self, ahead: int = 0) -> Piece:
        """Return a piece without taking it."""
        while len(self._ahead) <= ahead:
            self._ahead.append(next(self._coming, _END))
        return self._ahead[ahead]

    def take(self) -> Piece:
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
        if piece.kind is Kind.MARK and piece.text == text:
            self.take()
            return True
        return False

    def need(self, *words: str) -> None:
        """Take keywords that must come."""
        if not self.got(*words):
            raise Unreadable

    def name(self) -> str:
        """Take a name, quoted or not."""
        piece = self.take()
        if piece.kind not in {Kind.WORD, Kind.NAME} or not piece.text:
            raise Unreadable
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
            raise Unreadable
        if self._lower:
            database, name = database.lower(), name.lower()
        return TableId(database, database, name)

    def brackets(self) -> list[Piece] | None:
        """Take what stands in brackets, if an opening one comes next."""
        if not self.mark("("):
            return None
        inside: list[Piece] = []
        depth = 1
        while (piece := self.take()) is not _END:
            depth += _deeper(piece)
            if not depth:
                return inside
            inside.append(piece)
        raise Unreadable

    def clause(self) -> list[Piece]:
        """Take all up to the next comma outside brackets, and the comma."""
        taken: list[Piece] = []
        depth = 0
        while (piece := self.take()) is not _END:
            if not depth and piece.kind is Kind.MARK and piece.text == ",":
                break
            depth += _deeper(piece)
            taken.append(piece)
        return taken

    def within(self, taken: list[Piece]) -> "Words":
        """Return the words of a clause by itself."""
        made = Words("", self._database, Spelling(lower_names=self._lower))
        made._ahead = list(taken)
        return made

"""SQL_REDO: any bytes, against a second reader that is made of patterns.

Both find the same cells, or both refuse.  A value of a cell is read, or refused.
"""

import re
from contextlib import suppress
from typing import NamedTuple

from wrackline.producers.sources.oracle.redo.kinds import RedoCell, RedoKind, RedoOperation, UnknownRedoError
from wrackline.producers.sources.oracle.redo.statement import RedoStatement
from wrackline.producers.sources.oracle.redo.values import value_of

BLANKS = rb"[\t-\r ]*+"
APART = BLANKS + rb"(?<=[\t-\r ])"
STRING = rb"'((?:[^']|'')*+)'"
NAME = rb'"([^"]++)"'
WORDS = {
    "insert": RedoOperation.INSERT,
    "update": RedoOperation.UPDATE,
    "delete": RedoOperation.DELETE,
}
FUNCTIONS = {
    b"TO_DATE": RedoKind.DATE,
    b"TO_TIMESTAMP": RedoKind.TIMESTAMP,
    b"TO_TIMESTAMP_TZ": RedoKind.ZONED,
    b"TO_DSINTERVAL": RedoKind.DAYS,
    b"TO_YMINTERVAL": RedoKind.MONTHS,
    b"HEXTORAW": RedoKind.RAW,
    b"XMLTYPE": RedoKind.XML,
    b"XMLType": RedoKind.XML,
}
MASKS = {RedoKind.DATE: rb"," + BLANKS + rb"'S?YYYY-MM-DD HH24:MI:SS'"}
SIGNS = {
    b"NULL": RedoKind.NULL,
    b"EMPTY_CLOB()": RedoKind.EMPTY_CLOB,
    b"EMPTY_BLOB()": RedoKind.EMPTY_BLOB,
    b"Unsupported Type": RedoKind.UNSUPPORTED,
    b"XMLType(:1)": RedoKind.BOUND,
    b"XMLTYPE(:1)": RedoKind.BOUND,
}
VARIABLE = rb"[0-9A-Za-z_]++"
WITHOUT_TEXT = {re.escape(sign): kind for sign, kind in SIGNS.items()} | {
    rb"/\* JSON \*/ (?:EMPTY_BLOB\(\)|HEXTORAW\(" + STRING + rb"\))": RedoKind.UNSUPPORTED,
    rb":" + VARIABLE: RedoKind.BOUND,
}


class Redo(NamedTuple):
    """A statement as plain values."""

    operation: RedoOperation
    owner: bytes
    table: bytes
    changes: list[RedoCell]
    conditions: list[RedoCell]
    row_id: bytes | None


def compiled_redo(statement: RedoStatement, text: bytes) -> Redo | None:
    """Read a statement by the parser; None if it is refused."""
    try:
        operation = RedoOperation(statement.parse(text))
    except UnknownRedoError:
        return None
    return Redo(
        operation,
        statement.owner,
        statement.table,
        statement.changes,
        statement.conditions,
        statement.row_id,
    )


class PatternReader:
    """Reads a statement token by token, each by a pattern."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at, self.alias = text, 0, b""

    def peek(self, pattern: bytes) -> re.Match[bytes] | None:
        """Take what is here if it matches."""
        found = re.compile(pattern, re.DOTALL).match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def take(self, pattern: bytes) -> re.Match[bytes]:
        """Take what must be here."""
        found = self.peek(pattern)
        if found is None:
            raise LookupError
        return found

    def redo(self) -> Redo:
        """Read all of the text."""
        if self.peek(rb"XML DOC BEGIN:"):
            found = self.selected()
        elif self.peek(rb"DECLARE.*?BEGIN" + BLANKS):
            if not self.text.startswith(b"select ", self.at):
                self.take(rb".*? Stmt := '")
                inner = self.take(rb"(update .*)';" + BLANKS + rb"\Z")[1]
                return PatternReader(inner.replace(b"''", b"'")).redo()
            found = self.selected()
            self.take(BLANKS + rb"for update" + BLANKS + rb";?" + BLANKS + rb"(?:END;)?")
        else:
            found = self.changed()
        self.take(BLANKS + rb";?" + BLANKS + rb"\Z")
        return found

    def changed(self) -> Redo:
        """Read a change of a row."""
        word = self.take(rb"(insert) into (?=.)|(update) (?=.)|(delete) from (?=.)")
        operation = WORDS[(word[1] or word[2] or word[3]).decode()]
        owner, table = self.take(BLANKS + NAME + rb"\." + NAME).groups()
        changes: list[RedoCell] = []
        if operation is RedoOperation.INSERT:
            return Redo(operation, owner, table, self.inserted(), [], None)
        self.named()
        if operation is RedoOperation.UPDATE:
            self.take(APART + rb"set ")
            changes = [self.assigned()]
            while self.peek(BLANKS + rb","):
                changes.append(self.assigned())
        return Redo(operation, owner, table, changes, *self.where())

    def selected(self) -> Redo:
        """Read which column of which row is selected."""
        self.take(BLANKS + rb"select ")
        letter = b"" if self.text.startswith(b'"', self.at) else self.take(rb"(.)\.")[1] + rb"\."
        column = self.take(NAME)[1]
        if self.peek(BLANKS + rb"into "):
            self.take(VARIABLE)
        owner, table = self.take(BLANKS + rb"from " + BLANKS + NAME + rb"\." + NAME).groups()
        self.named()
        if letter and letter != self.alias:
            raise LookupError
        cell = RedoCell(column, RedoKind.BOUND, b"")
        return Redo(RedoOperation.UPDATE, owner, table, [cell], *self.where())

    def named(self) -> None:
        """Read a letter that stands for the table, if there is one."""
        if letter := self.peek(BLANKS + rb"([A-Za-z])(?=[ ;\0]|\Z)"):
            self.alias = letter[1] + rb"\."

    def where(self) -> tuple[list[RedoCell], bytes | None]:
        """Read the conditions, if there are any."""
        return self.conditions() if self.peek(APART + rb"where ") else ([], None)

    def inserted(self) -> list[RedoCell]:
        """Read columns, then values."""
        self.take(BLANKS + rb"\(")
        columns = [self.take(BLANKS + NAME)[1]]
        while self.peek(BLANKS + rb","):
            columns.append(self.take(BLANKS + NAME)[1])
        self.take(BLANKS + rb"\)" + BLANKS + rb"values" + BLANKS + rb"\(")
        values = [self.value()]
        while self.peek(BLANKS + rb","):
            values.append(self.value())
        self.take(BLANKS + rb"\)")
        if len(columns) != len(values):
            raise LookupError
        return [RedoCell(column, *value) for column, value in zip(columns, values, strict=True)]

    def assigned(self) -> RedoCell:
        """Read a column and its value."""
        column = self.take(BLANKS + self.alias + NAME + BLANKS + rb"=")[1]
        return RedoCell(column, *self.value())

    def conditions(self) -> tuple[list[RedoCell], bytes | None]:
        """Read what is behind WHERE."""
        found: list[RedoCell] = []
        row_id = None
        while True:
            if same := self.peek(BLANKS + self.alias + rb"ROWID" + BLANKS + rb"=" + BLANKS + STRING):
                if row_id is not None or not same[1] or b"'" in same[1]:
                    raise LookupError
                row_id = same[1]
            elif none := self.peek(BLANKS + self.alias + NAME + BLANKS + rb"IS NULL"):
                found.append(RedoCell(none[1], RedoKind.NULL, b""))
            else:
                found.append(self.assigned())
            if not self.peek(APART + rb"and "):
                return found, row_id

    def value(self) -> tuple[RedoKind, bytes]:
        """Read a value."""
        self.take(BLANKS)
        part = STRING + rb"|UNISTR\(" + STRING + rb"\)"
        between = BLANKS + rb"\|\|" + BLANKS
        if chain := self.peek(rb"(?:" + part + rb")(?:" + between + rb"(?:" + part + rb"))++"):
            if b"UNISTR" not in re.sub(STRING, b"", chain[0]):
                raise LookupError
            return RedoKind.CHAIN, chain[0]
        if units := self.peek(rb"UNISTR\(" + STRING + rb"\)"):
            return RedoKind.UNISTR, units[1]
        if text := self.peek(STRING):
            return RedoKind.QUOTED if b"'" in text[1] else RedoKind.TEXT, text[1]
        for sign, kind in WITHOUT_TEXT.items():
            if self.peek(sign):
                return kind, b""
        for name, kind in FUNCTIONS.items():
            if call := self.peek(name + rb"\(" + STRING + MASKS.get(kind, rb"") + rb"\)"):
                return kind, call[1]
        return RedoKind.NUMBER, self.take(rb"[-+]?(?:\d++\.?\d*+|\.\d++)(?:E[-+]?\d++)?+(?!E)")[0]


def pattern_redo(text: bytes) -> Redo | None:
    """Read a statement by patterns; None if it is refused."""
    try:
        return PatternReader(text).redo()
    except LookupError:
        return None


def oracle_redo(data: bytes) -> None:
    """A statement."""
    found = compiled_redo(RedoStatement(), data)
    if found != pattern_redo(data):
        raise AssertionError("read differently")
    for cell in [] if found is None else found.changes + found.conditions:
        with suppress(UnknownRedoError):
            value_of(cell.kind, cell.text)

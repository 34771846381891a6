"""Two parsers that are not ours, in a Java: Debezium's own of LogMiner, and JSqlParser, which reads SQL.

In: a statement.  Out: what each of them reads, or None where it refuses; and what it should read, made of
what ours read.  Debezium reads no names of owner and table, and it takes a value that is not there for NULL.
JSqlParser reads SQL, so it gets a function in place of the words with which LogMiner says that it has no
value.
"""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.fuzz.oracle_redo import FUNCTIONS, SIGNS, STRING, Redo
from wrackline.control.runtime.spark import java
from wrackline.control.runtime.spark.jars import classpath, fetch
from wrackline.producers.sources.oracle.redo.kinds import RedoCell, RedoKind, RedoOperation, UnknownRedoError
from wrackline.producers.sources.oracle.redo.values import value_of
from wrackline.schemas.versions import REDO_PARSERS

Said = dict[str, Any]

_PROGRAM = Path(__file__).with_name("RedoParsers.java")
_NAME = re.compile(r'"([^"]+)"')
_PART = re.compile(rb"UNISTR\(" + STRING + rb"\)|" + STRING, re.DOTALL)
_CALLS = {kind: name.decode().upper() for name, kind in FUNCTIONS.items()} | {RedoKind.UNISTR: "UNISTR"}
_BOUND = ":a variable"
_SIGNS = {kind: sign.decode() for sign, kind in SIGNS.items()} | {RedoKind.BOUND: _BOUND}
_NO_SQL = re.compile(r"""('(?:[^']|'')*'|"[^"]*")|Unsupported Type""")
_NO_VALUE = frozenset({RedoKind.NULL, RedoKind.UNSUPPORTED})


class OtherParsers:
    """The Java that runs them."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def read(self, text: str, columns: Iterable[str] | None = None) -> tuple[Said | None, Said | None]:
        """Return what Debezium and JSqlParser read; without columns, each name behind the table's is one."""
        said = self._ask(text, _NAME.findall(text)[2:] if columns is None else columns)
        return said["debezium"], said["jsqlparser"]

    def read_begin(self, text: str, columns: Iterable[str]) -> Said | None:
        """Return whose large value Debezium says that a text begins."""
        said: Said | None = self._ask(text, columns)["begin"]
        return said

    def _ask(self, text: str, columns: Iterable[str]) -> Said:
        sql = _NO_SQL.sub(lambda found: found[1] or "UNSUPPORTED()", text)
        asked = {"redo": text, "sql": sql, "columns": list(dict.fromkeys(columns))}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        said: Said = json.loads(self._process.stdout.readline())
        return said


@contextmanager
def running_parsers() -> Iterator[OtherParsers]:
    """Run the program until the end of the block."""
    command = [java.find_java().program, "-Xmx256m", "-cp", classpath(fetch(REDO_PARSERS)), str(_PROGRAM)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as process:
        try:
            yield OtherParsers(process)
        finally:
            process.kill()


def columns_of(redo: Redo) -> list[str]:
    """Return the names of a statement's columns."""
    return [cell.column.decode() for cell in redo.changes + redo.conditions]


def for_debezium(redo: Redo) -> Said:
    """What Debezium should read where ours read this; an update's new row has what is kept of the old."""
    old, new = _row(redo.conditions), _row(redo.changes)
    names = columns_of(redo)
    if redo.operation is RedoOperation.UPDATE:
        cleared = {cell.column.decode() for cell in redo.changes if cell.kind is RedoKind.NULL}
        new = {name: old.get(name) if new.get(name) is None else new[name] for name in names}
        new |= dict.fromkeys(cleared)
        old = {name: old.get(name) for name in names}
    return {"operation": redo.operation.name, "new": new, "old": old}


def of_debezium(said: Said) -> Said:
    """What Debezium read, with a value in one form: its text, or what its UNISTR says."""
    rows = {row: {name: value and _one(value) for name, value in said[row].items()} for row in ("new", "old")}
    return {"operation": said["operation"], **rows}


def for_begin(redo: Redo) -> Said:
    """Whose large value Debezium should find that a text begins, where ours read this."""
    [column] = redo.changes
    old = {cell.column.decode(): _value(cell) for cell in redo.conditions}
    names = {"owner": redo.owner, "table": redo.table, "column": column.column}
    return {name: text.decode() for name, text in names.items()} | {
        "old": old | {column.column.decode(): None}
    }


def of_begin(said: Said) -> Said:
    """The same, with a value in one form."""
    return said | {"old": {name: value and _one(value) for name, value in said["old"].items()}}


def for_jsqlparser(redo: Redo) -> Said:
    """What JSqlParser should read where ours read this."""
    conditions = [_cell(cell) for cell in redo.conditions]
    if redo.row_id is not None:
        conditions.append(["ROWID", [["text", redo.row_id.decode()]]])
    return {
        "operation": redo.operation.name,
        "owner": f'"{redo.owner.decode()}"',
        "table": f'"{redo.table.decode()}"',
        "changes": [_cell(cell) for cell in redo.changes],
        "conditions": conditions,
    }


def of_jsqlparser(said: Said) -> Said:
    """What JSqlParser read, with the words of functions in one form."""
    cells = {
        clause: [[column, [_part(*part) for part in parts]] for column, parts in said[clause]]
        for clause in ("changes", "conditions")
    }
    return said | cells


def _part(word: str, text: str) -> list[str]:
    word = word.upper() if word == "XMLType" else word
    return ["sign", _BOUND] if (word, text) == ("XMLTYPE", ":1") else [word, text]


def _one(value: tuple[str, str | None]) -> str:
    text, said = value
    if said is not None:
        return f"UNISTR: {said}"
    text = re.sub(r"^(TO_DATE\('(?:[^']|'')*'),.*", r"\1)", text, flags=re.DOTALL)
    return _BOUND if text.upper() == "XMLTYPE(:1)" else re.sub(r"^XMLType\(", "XMLTYPE(", text)


def _row(cells: Iterable[RedoCell]) -> dict[str, str | None]:
    return {cell.column.decode(): _value(cell) for cell in cells}


def _value(cell: RedoCell) -> str | None:
    """A value as Debezium has it."""
    text = cell.text.decode()
    if cell.kind in _NO_VALUE:
        return None
    if cell.kind in _SIGNS:
        return _SIGNS[cell.kind]
    if cell.kind is RedoKind.UNISTR or (cell.kind is RedoKind.CHAIN and text.startswith("UNISTR(")):
        try:
            said = value_of(cell.kind, cell.text)
        except UnknownRedoError:
            return f"UNISTR('{text}')" if cell.kind is RedoKind.UNISTR else text
        return f"UNISTR: {said}" if isinstance(said, str) else None
    if cell.kind in _CALLS:
        return f"{_CALLS[cell.kind]}('{text}')"
    return text.replace("''", "'") if cell.kind is RedoKind.QUOTED else text


def _cell(cell: RedoCell) -> list[Any]:
    """A cell as JSqlParser has it."""
    text = cell.text.decode()
    parts = [["sign", text]]
    if cell.kind in {RedoKind.TEXT, RedoKind.QUOTED}:
        parts = [["text", text]]
    elif cell.kind is RedoKind.CHAIN:
        parts = [
            ["text", found[2].decode()] if found[1] is None else ["UNISTR", found[1].decode()]
            for found in _PART.finditer(cell.text)
        ]
    elif cell.kind is RedoKind.UNSUPPORTED:
        parts = [["UNSUPPORTED", ""]]
    elif cell.kind in {RedoKind.EMPTY_CLOB, RedoKind.EMPTY_BLOB}:
        parts = [[_SIGNS[cell.kind].removesuffix("()"), ""]]
    elif cell.kind in _SIGNS:
        parts = [["sign", _SIGNS[cell.kind]]]
    elif cell.kind in _CALLS:
        parts = [[_CALLS[cell.kind], text]]
    return [f'"{cell.column.decode()}"', parts]

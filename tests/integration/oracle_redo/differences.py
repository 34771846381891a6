"""Where another parser and ours mean to differ, each with a statement that shows it and the reason.

What LogMiner writes has one form (`is_as_logminer_writes`): others count on its blanks, so outside of it a
statement is judged by one of them alone.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from tests.fuzz.oracle_redo import Redo
from wrackline.producers.sources.oracle.redo.kinds import RedoKind, UnknownRedoError
from wrackline.producers.sources.oracle.redo.values import value_of

_WORDS = re.compile(r"'(?:[^']|'')*'|\"[^\"]+\"")
_CALL = r"(?:\w+\((?:S(?:, S)?|:1)?\))"
_VALUE = rf"(?:S|NULL|Unsupported Type|(?:/\* JSON \*/ )?{_CALL}(?: \|\| {_CALL})*|[-+.\dE]+)"
_CONDITIONS = (
    rf"  ?where (?:(?:\w\.)?[NR](?: = {_VALUE}| IS NULL))(?: and (?:\w\.)?[NR](?: = {_VALUE}| IS NULL))*"
)
_FORM = re.compile(
    rf"insert into N\.N ?\(N(?:,N)*\) values \({_VALUE}(?:,{_VALUE})*\);"
    rf"|update N\.N(?: \w)? set (?:\w\.)?N = {_VALUE}(?:, (?:\w\.)?N = {_VALUE})*(?:{_CONDITIONS})?;"
    rf"|delete from N\.N(?:;|(?: \w)?{_CONDITIONS};)"
)
_NATIONAL = frozenset({RedoKind.UNISTR, RedoKind.CHAIN})


def is_as_logminer_writes(text: str) -> bool:
    """Whether each blank is where LogMiner writes one, and each part of a text in parts is in UNISTR."""
    outside = _WORDS.sub(lambda word: "S" if word[0].startswith("'") else "N", text)
    return _FORM.fullmatch(outside.replace("ROWID", "R")) is not None


class Difference(NamedTuple):
    """One that is meant: whose, the statement that shows it, which statements have it, and why."""

    parser: str
    redo: str
    concerns: Callable[[str, Redo], bool]
    why: str


def _national(*found: str) -> Callable[[str, Redo], bool]:
    """Whether a text of UNISTR has one of these."""
    return lambda _, redo: any(
        word in cell.text.decode()
        for cell in redo.changes + redo.conditions
        if cell.kind in _NATIONAL
        for word in found
    )


def _is_half(_text: str, redo: Redo) -> bool:
    for cell in redo.changes + redo.conditions:
        if cell.kind in _NATIONAL:
            try:
                value_of(cell.kind, cell.text)
            except UnknownRedoError:
                return True
    return False


def _columns(redo: Redo) -> set[str]:
    return {cell.column.decode() for cell in redo.changes + redo.conditions}


def _names(redo: Redo) -> set[str]:
    return {redo.owner.decode(), redo.table.decode()} | _columns(redo)


MEANT = (
    Difference(
        "debezium",
        """delete from "S"."T" where "A" =  '1';""",
        lambda text, _: not is_as_logminer_writes(text),
        "it counts on each blank, on conditions behind an alias, and on UNISTR around each part of a text; of"
        " other SQL it reads too much or too little",
    ),
    Difference(
        "debezium",
        r"""insert into "S"."T"("A") values (UNISTR('a\\b'));""",
        _national("\\\\"),
        "two backslashes of UNISTR are one, by Oracle's manual; it keeps both, or does not read the text",
    ),
    Difference(
        "debezium",
        """insert into "S"."T"("A") values (UNISTR('x'')||'));""",
        lambda text, _: "UNISTR(')" in text or "'')" in text,
        "it takes an apostrophe and a parenthesis for the end of UNISTR where they belong to its text",
    ),
    Difference(
        "debezium",
        r"""insert into "S"."T"("A") values (UNISTR('\D83C'));""",
        _is_half,
        "half of a character, or a backslash without four digits, is no value to us",
    ),
    *(
        Difference(
            parser,
            """update "S"."T" set "A" = /* JSON */ HEXTORAW('ff4a5a') where "B" = '1';""",
            lambda text, _: "/* JSON */" in text,
            "a document in Oracle's own form is no value to us; they have its bytes",
        )
        for parser in ("debezium", "jsqlparser")
    ),
    Difference(
        "debezium",
        """update "S"."T" set "A" = '1', "a" = '2';""",
        lambda _, redo: len({name.upper() for name in _columns(redo)}) < len(_columns(redo)),
        "its tables have no two columns whose names differ in capitals alone",
    ),
    Difference(
        "jsqlparser",
        """delete from "S"."T" where "A" = 'a\\'';';""",
        lambda text, _: "\\'" in text,
        "it takes a backslash before an apostrophe for one of MySQL's",
    ),
    Difference(
        "jsqlparser",
        """delete from "S"."T\n" where "A" = '1';""",
        lambda _, redo: any("\n" in name or "\r" in name for name in _names(redo)),
        "a name of its grammar has no line's end",
    ),
    Difference(
        "jsqlparser",
        """delete from "S"."T@B" where "A" = '1';""",
        lambda _, redo: "@" in redo.table.decode(),
        "what is behind @ in a table's name is another database to it",
    ),
)

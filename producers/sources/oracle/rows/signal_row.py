"""The texts of a row that was inserted into the signal table.  Pure.

In: the statement as SQL_REDO has it.  Out: id, type and data.  A text that is no such statement, or that
lacks a value, raises `UnknownRedoError`.
"""

from typing import Final

from wrackline.producers.sources.oracle.redo.kinds import RedoKind, RedoOperation, UnknownRedoError
from wrackline.producers.sources.oracle.redo.statement import RedoStatement
from wrackline.producers.sources.oracle.redo.values import value_of

_PARTS: Final = ("id", "type", "data")


def signal_texts(redo: bytes) -> tuple[str, str, str]:
    """Return them; if the columns have other names, the first three count."""
    statement = RedoStatement()
    if statement.parse(redo) != RedoOperation.INSERT:
        raise UnknownRedoError("a signal is no insert", 0)
    cells = statement.changes
    lower = [cell.column.decode().lower() for cell in cells]
    named = all(part in lower for part in _PARTS)
    if not named and len(cells) < len(_PARTS):
        raise UnknownRedoError("a signal has no three columns", 0)
    found = [cells[lower.index(part) if named else place] for place, part in enumerate(_PARTS)]
    id_, type_, data = (_text(cell.kind, cell.text) for cell in found)
    return id_, type_, data


def _text(kind: RedoKind, cell: bytes) -> str:
    value = value_of(kind, cell)
    return "" if value is None else str(value)

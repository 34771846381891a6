"""Cells of small answers as Python values: what the catalogue says, places, times.  Pure."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

from wrackline.producers.sources.sqlserver.discover.types import WireType, of_wire
from wrackline.producers.sources.sqlserver.rows.cell_values import Reader, reader_of, text_of, value_of
from wrackline.schemas.tables.types import ColumnType, Kind

_TIMES: Final = frozenset({"datetime", "smalldatetime", "datetime2", "time"})
_INSTANT: Final = ColumnType(Kind.INSTANT_MICROS, "datetimeoffset")


class AnswerColumn(Protocol):
    """A column of an answer."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def type(self) -> WireType:
        """Its type."""
        ...


class TableAnswer(Protocol):
    """A result with few rows, whose cells are as they came."""

    @property
    def columns(self) -> Sequence[AnswerColumn]:
        """Its columns."""
        ...

    @property
    def rows(self) -> Sequence[tuple[bytes | None, ...]]:
        """Its rows."""
        ...


def python_rows(answer: TableAnswer) -> Iterator[tuple[Any, ...]]:
    """Read an answer's values: a moment with a zone in microseconds since 1970, without one as its text."""
    readers = [_reader(column.type) for column in answer.columns]
    for row in answer.rows:
        pairs = zip(readers, row, strict=True)
        yield tuple(None if cell is None else reader(cell) for reader, cell in pairs)


def _reader(wire: WireType) -> Reader:
    name = of_wire(wire).name
    if name == "datetimeoffset":
        return reader_of(wire, _INSTANT)
    return lambda cell: (text_of if name in _TIMES else value_of)(wire, cell)

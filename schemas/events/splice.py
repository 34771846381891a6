"""Cuts a row's columns out of an event and puts them into another, without reading a value.

    header | before | after | tail      an event of the log
    header | null   | after |           the head of a snapshot row

Comes in: an event in which the log left out what did not change, and a row as a SELECT saw it.  Goes out:
that row with the columns that the log did send.  Why it is right: a column's Avro bytes follow only from its
value, the same from the log and from a chunk, so a column is a piece of text between two places, and its end
follows from its kind (`types.py`).  Both must have the same shape.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise, repeat
from typing import TypeAlias

from wrackline.schemas.tables.table import TableSchema
from wrackline.schemas.tables.types import FORMS, ColumnType

Pieces: TypeAlias = Mapping[int, bytes]  # a column's place -> its bytes, with the union's index

_HEADER = 5
_NULL, _VALUE = 0, 2
_Skip: TypeAlias = Callable[[bytes, int], int]


def sent_columns(event: bytes, table: TableSchema, unsent: Collection[str]) -> Pieces:
    """Cut the columns of `after` out of an event, except those that the log did not send."""
    pieces = enumerate(_after(event, table))
    return {place: piece for place, piece in pieces if table.columns[place].name not in unsent}


def splice_row(head: bytes, table: TableSchema, pieces: Pieces) -> bytes:
    """Return the head of a snapshot row with these columns put in."""
    row = _after(head, table)
    header = head[: len(head) - sum(map(len, row))]
    return header + b"".join(pieces.get(place, piece) for place, piece in enumerate(row))


def _after(value: bytes, table: TableSchema) -> Sequence[bytes]:
    """Cut `after` into its columns."""
    skips = [_skip_of(column.type) for column in table.columns]
    at = _HEADER + 1
    if value[_HEADER] == _VALUE:
        at = _ends(value, at, skips)[-1]
    if value[at] != _VALUE:
        raise ValueError("an event without a row after it has no columns to cut")
    ends = _ends(value, at + 1, skips)
    return [value[start:end] for start, end in pairwise([at + 1, *ends])]


def _ends(value: bytes, at: int, skips: Iterable[_Skip]) -> list[int]:
    """The places behind each column of a row."""
    ends = []
    for skip in skips:
        at = skip(value, at + 1) if value[at] == _VALUE else at + 1
        ends.append(at)
    return ends


def _skip_of(column: ColumnType) -> _Skip:
    """What finds the end of a value that is not null."""
    avro = FORMS[column.kind].avro
    if avro == "array":
        if column.element is None:
            raise ValueError(f"{column.source} is an array without an element type")
        return partial(_array, skip=_skip_of(column.element))
    return _SKIPS[avro]


def _long(value: bytes, at: int) -> tuple[int, int]:
    """Read an Avro long; return it and the place behind it."""
    read = shift = 0
    while True:
        byte = value[at]
        at += 1
        read |= (byte & 127) << shift
        if byte < 128:
            return (read >> 1) ^ -(read & 1), at
        shift += 7


def _counted(value: bytes, at: int) -> int:
    size, at = _long(value, at)
    return at + size


def _array(value: bytes, at: int, skip: _Skip) -> int:
    """Blocks of nullable elements, each with their number before it; a negative one has its size, too."""
    while True:
        count, at = _long(value, at)
        if count == 0:
            return at
        at = _counted(value, at) if count < 0 else _ends(value, at, repeat(skip, count))[-1]


_SKIPS: Mapping[str, _Skip] = {
    "boolean": lambda _, at: at + 1,
    "int": lambda value, at: _long(value, at)[1],
    "long": lambda value, at: _long(value, at)[1],
    "float": lambda _, at: at + 4,
    "double": lambda _, at: at + 8,
    "bytes": _counted,
    "string": _counted,
}


def key_cells(key: bytes, table: TableSchema) -> Sequence[bytes | None]:
    """Cut a record's key into its columns' Avro bytes, without a union's index; None for null."""
    cells: list[bytes | None] = []
    at = _HEADER
    for column in table.key_columns:
        if column.nullable:
            at += 1
            if key[at - 1] == _NULL:
                cells.append(None)
                continue
        end = _skip_of(column.type)(key, at)
        cells.append(key[at:end])
        at = end
    return cells


def number(cell: bytes) -> int:
    """Read a cell that is an Avro int or long."""
    return _long(cell, 0)[0]


def content(cell: bytes) -> bytes:
    """Read a cell that is an Avro string or bytes."""
    return cell[_long(cell, 0)[1] :]

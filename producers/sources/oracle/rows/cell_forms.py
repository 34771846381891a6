"""What is done to each column's cells, chosen once for each shape.  Pure.

    a column's type, its published type, its mask  ->  OracleCellForm

Most cells are written without a Python value in between.  The others are made by `cell_readers.py`: texts
with UNISTR, numbers of more than 18 digits, moments before the year 1, masks, columns that are carried as
text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.producers.rows.python_rows import form_of
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import BINARY_FLOATS, family, may_lack
from wrackline.producers.sources.oracle.redo.kinds import RedoKind
from wrackline.producers.sources.oracle.rows.cell_readers import most_digits, reader_of
from wrackline.producers.sources.oracle.rows.cell_sql import cell_kind
from wrackline.producers.sources.oracle.rows.cells import done_to
from wrackline.schemas.events.frame import avro_text
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.language.masks import Mask
from wrackline.schemas.tables.types import ColumnType, Kind

_TEXTS: Final = frozenset({Kind.STRING, Kind.XML, Kind.JSON})
_WHOLE: Final = frozenset({Kind.INT16, Kind.INT32, Kind.INT64})
_INSTANTS: Final = frozenset({Kind.ZONED_TIMESTAMP, Kind.INSTANT_MICROS})
_MASKED_GROWTH: Final = 6
_LONGEST_NUMBER: Final = 220  # of a number that is written without its exponent
_LONGEST_DECIMAL: Final = 24


@dataclass(frozen=True, slots=True)
class OracleCellForm:
    """What is done to the cells of one column."""

    done: int
    scale: int  # as cells.py takes it
    make: Callable[[int, bytes], bytes]  # makes the Avro bytes of a cell that is not written directly
    growth: int  # bytes that a cell's byte may become at most,
    beside: int  # and how many are added
    read_kind: RedoKind  # of its cells in a chunk
    may_lack: bool  # whether a statement may not name it
    never: bool  # whether SQL_REDO never has its values exactly


def cell_form(sql_type: OracleType, column: ColumnType, mask: Mask | None) -> OracleCellForm:
    """Choose for one column."""
    lacks, never = may_lack(sql_type), family(sql_type) in BINARY_FLOATS
    reading = cell_kind(sql_type)
    if mask is not None:
        make, beside = _masked(sql_type, column, mask), mask.most + _LONGEST_NUMBER
        return OracleCellForm(0, 0, make, _MASKED_GROWTH, beside, reading, lacks, never)
    form, read = form_of(column), reader_of(sql_type, column)
    growth = 1 if column.kind in _TEXTS or column.kind is Kind.BYTES else 3
    beside = _LONGEST_NUMBER if column.kind in {Kind.NUMERIC_TEXT, Kind.TEXT_OF} else _LONGEST_DECIMAL
    return OracleCellForm(
        done_to(column.kind),
        _scale(sql_type, column),
        lambda kind, cell: form(read(kind, cell)),
        growth,
        beside,
        reading,
        lacks,
        never,
    )


def cell_forms(shape: Projection, types: Sequence[OracleType]) -> list[OracleCellForm]:
    """Choose for the published columns."""
    return [
        cell_form(sql_type, column.type, None if isinstance(action, Plain) else action)
        for sql_type, column, action in zip(types, shape.source.columns, shape.actions, strict=True)
        if action is not Plain.DROP
    ]


def _scale(sql_type: OracleType, column: ColumnType) -> int:
    if column.kind in _WHOLE:
        return most_digits(column)
    if column.kind is Kind.DECIMAL:
        return (column.precision or 0) << 8 | (column.scale or 0)
    return int(column.kind in _INSTANTS and family(sql_type) == "TIMESTAMP WITH LOCAL TIME ZONE")


def _masked(sql_type: OracleType, column: ColumnType, mask: Mask) -> Callable[[int, bytes], bytes]:
    """Mask a value's text: that which a column has that is carried as text."""
    as_text = column if column.kind in _TEXTS else ColumnType(Kind.TEXT_OF, column.source)
    reader = reader_of(sql_type, as_text)

    def make(kind: int, cell: bytes) -> bytes:
        return avro_text(mask(str(reader(kind, cell)).encode()).decode())

    return make

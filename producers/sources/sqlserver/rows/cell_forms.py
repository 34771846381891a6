"""What is done to each column's cells, chosen once for each shape.  Pure.

    a column on the wire, its published type, its mask  ->  CellForm

Most cells are written without a Python value in between.  The others are made by `cell_values.py`: decimals
of another scale, texts that are not ASCII in a code page, columns that are carried as text, masks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.producers.rows.python_rows import form_of
from wrackline.producers.sources.sqlserver.discover.collations import codec_of
from wrackline.producers.sources.sqlserver.discover.types import WireType, of_wire, width_of
from wrackline.producers.sources.sqlserver.rows.cell_values import reader_of, text_of
from wrackline.producers.sources.sqlserver.rows.cells import done_to
from wrackline.schemas.events.frame import avro_text
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.language.masks import Mask
from wrackline.schemas.tables.types import ColumnType, Kind

_TEXTS: Final = frozenset({Kind.STRING, Kind.XML, Kind.JSON})
_CODED: Final = frozenset({"char", "varchar", "text"})
_MONEY: Final = frozenset({"money", "smallmoney"})
_GROWTH: Final = 6  # of a cell that becomes a text: a moment of eight bytes has 34 characters


@dataclass(frozen=True, slots=True)
class CellForm:
    """What is done to the cells of one column."""

    done: int
    scale: int  # of a moment: ticks of 100 ns are 10 ** (7 - scale) units
    make: Callable[[bytes], bytes]  # makes the Avro bytes of a cell that is not written directly
    growth: int  # bytes that a cell's byte may become at most,
    beside: int = 0  # and how many are added
    long: int = 0  # its ordinal in update masks, if an image before may lack it
    width: int = 0  # the size that its cells have, 0: any


def cell_form(wire: WireType, column: ColumnType, mask: Mask | None, *, long: int = 0) -> CellForm:
    """Choose for one column."""
    name, making = of_wire(wire).name, reader_of(wire, column)
    if name in _CODED:
        codec_of(wire.collation)  # refused here, and not at the first row
    if mask is not None:
        beside = mask.most + _GROWTH
        return CellForm(0, 0, _masked(wire, column, mask), _GROWTH, beside, long, width_of(wire))
    form, done = form_of(column), done_to(name, column.kind)
    if column.kind is Kind.DECIMAL and column.scale != (4 if name in _MONEY else wire.scale):
        done = 0  # the unscaled number is another one
    growth = (
        1 if column.kind is Kind.BYTES else 2 if name not in _CODED and column.kind in _TEXTS else _GROWTH
    )
    make, width = (lambda cell: form(making(cell))), width_of(wire)
    return CellForm(done, wire.scale, make, growth, long=long, width=width)


def cell_forms(shape: Projection, wires: Sequence[WireType], ordinals: Sequence[int] = ()) -> list[CellForm]:
    """Choose for the published columns; `ordinals`: of long columns in update masks, 0 for the others."""
    return [
        cell_form(
            wire,
            column.type,
            None if isinstance(action, Plain) else action,
            long=ordinals[place] if ordinals else 0,
        )
        for place, (wire, column, action) in enumerate(
            zip(wires, shape.source.columns, shape.actions, strict=True)
        )
        if action is not Plain.DROP
    ]


def _masked(wire: WireType, column: ColumnType, mask: Mask) -> Callable[[bytes], bytes]:
    reader = reader_of(wire, column) if column.kind in _TEXTS else None

    def make(cell: bytes) -> bytes:
        text = str(reader(cell)) if reader is not None else text_of(wire, cell)
        return avro_text(mask(text.encode()).decode())

    return make

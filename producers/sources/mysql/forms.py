"""What is done to each column's cells, chosen once a shape: for the log, or for a result's binary rows.

In: the column as the log describes it, the type that it goes out as, the rule that the filters have for it.
Out: a `Form`.  Most cells are then written without a Python value between.  The others are made into their
text first: what a rule masks, what is carried as text, JSON, wide decimals, character sets that are
not UTF-8, and MariaDB's types that have no number of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

from wrackline.producers.sources.mysql import odd_cells as odd
from wrackline.producers.sources.mysql import wire_types as wire
from wrackline.producers.sources.mysql.cells import done_to, meta_of
from wrackline.producers.sources.mysql.json_text import text_of
from wrackline.producers.sources.mysql.moments import duration, form_of, moment
from wrackline.producers.sources.mysql.table_map import WireColumn
from wrackline.schemas.masks import Mask
from wrackline.schemas.types import ColumnType, Kind

Make: TypeAlias = Callable[[bytes], bytes]

_BINARY = 63  # the collation of bytes that are no text
_CHARACTERS = frozenset(
    {wire.VARCHAR, wire.VAR_STRING, wire.STRING, wire.BLOB, wire.VARCHAR_COMPRESSED, wire.BLOB_COMPRESSED}
)
_COMPRESSED = frozenset({wire.VARCHAR_COMPRESSED, wire.BLOB_COMPRESSED})
_MOMENTS = frozenset(
    {wire.DATE, wire.NEWDATE, wire.DATETIME, wire.DATETIME2, wire.TIMESTAMP, wire.TIMESTAMP2}
)
_AS_TEXT = frozenset({Kind.TEXT_OF, Kind.NUMERIC_TEXT})
_OF_MARIADB: dict[str, Make] = {"inet4": odd.inet4_text, "inet6": odd.inet6_text, "uuid": odd.uuid_text}


class Charset(Protocol):
    """How a character set's bytes are read; `ascii`: bytes below 0x80 are what they are in UTF-8."""

    @property
    def reader(self) -> Callable[[bytes], str] | None:
        """None where the bytes are UTF-8."""
        ...

    @property
    def ascii(self) -> bool: ...


Charsets: TypeAlias = Callable[[int], Charset]


@dataclass(frozen=True, slots=True)
class Form:
    """What is done to the cells of one column."""

    done: int
    meta: int
    growth: int = 1  # bytes that a cell's byte may become at the most,
    beside: int = 0  # and how many are added
    labels: tuple[bytes, ...] = ()  # of an enum or a set, in UTF-8
    make: Make | None = None  # its text, where that is made first
    plain_ascii: bool = False  # it need not be made where all of its bytes are ASCII
    mask: Mask | None = None


def log_form(column: WireColumn, type_: ColumnType, mask: Mask | None, charsets: Charsets) -> Form:
    """Choose what is done to a column's cells in the log."""
    if mask is None and column.wire in _CHARACTERS and column.collation not in {None, _BINARY}:
        charset = charsets(column.collation or 0)
        if charset.reader is not None or column.wire in _COMPRESSED:
            make = _characters(column, charset)
            return Form(0, 0, make=make, plain_ascii=charset.ascii and column.wire not in _COMPRESSED)
    make = None if mask is None and _direct(column, type_) else _text(column, type_, charsets)
    return _form(column, type_, make, mask, result=False)


def result_form(column: WireColumn, type_: ColumnType, mask: Mask | None) -> Form:
    """Choose what is done to a column's cells in a result, whose texts are in utf8mb4."""
    direct = mask is None and (_direct(column, type_) or type_.kind in {Kind.UUID, Kind.JSON})
    make = None if direct else _result_text(column, type_)
    return _form(column, type_, make, mask, result=True)


def _form(
    column: WireColumn, type_: ColumnType, make: Make | None, mask: Mask | None, *, result: bool
) -> Form:
    if make is not None:
        return Form(0, 0, make=make, mask=mask)
    done, meta = done_to(column, type_.kind, result=result), meta_of(column, type_.kind, result=result)
    if type_.kind is Kind.ZONED_TIMESTAMP:
        return Form(done, meta, growth=4)
    if type_.kind is Kind.ARRAY:
        return Form(done, meta, growth=2)
    if result or column.wire not in {wire.ENUM, wire.SET}:
        padded = column.meta if column.wire == wire.STRING else 0
        return Form(done, meta, beside=padded)
    labels = tuple(label.encode() for label in column.labels)
    return Form(done, meta, beside=sum(len(label) + 1 for label in labels), labels=labels)


def _direct(column: WireColumn, type_: ColumnType) -> bool:
    """Whether a cell goes out without a text between."""
    if column.wire in _CHARACTERS and column.wire not in _COMPRESSED:
        return column.collation != _BINARY or type_.kind in {Kind.BYTES, Kind.STRING, Kind.JSON, Kind.XML}
    return type_.kind not in _AS_TEXT and column.wire not in {wire.JSON, *_COMPRESSED}


def _characters(column: WireColumn, charset: Charset) -> Make:
    reader = charset.reader
    if column.wire not in _COMPRESSED:
        return lambda raw: raw if reader is None else reader(raw).encode()
    return lambda raw: odd.uncompressed(raw) if reader is None else reader(odd.uncompressed(raw)).encode()


def _text(column: WireColumn, type_: ColumnType, charsets: Charsets) -> Make:
    """Return what writes a cell of the log as the server prints it."""
    match column.wire:
        case wire.NEWDECIMAL:
            return partial(_decimal, column.meta >> 8, column.meta & 255)
        case wire.JSON:
            return text_of
        case wire.YEAR:
            return lambda raw: b"%04d" % (1900 + raw[0] if raw[0] else 0)
        case wire.ENUM:
            return partial(_enum, ("", *column.labels))
        case wire.SET:
            labels = tuple(label.encode() for label in column.labels)
            return lambda raw: odd.set_text(int.from_bytes(raw, "little"), labels)
    if column.wire in _CHARACTERS:
        if column.collation not in {None, _BINARY}:
            return _characters(column, charsets(column.collation or 0))
        named = _OF_MARIADB.get(type_.source)
        if named is not None:
            return named
        return odd.uncompressed if column.wire in _COMPRESSED else odd.bytes_text
    return _number_or_moment(column, result=False)


def _result_text(column: WireColumn, type_: ColumnType) -> Make:
    """Return what writes a cell of a result as the server prints it; most are so already."""
    match column.wire:
        case wire.NEWDECIMAL:
            return odd.plain_decimal
        case wire.YEAR:
            return lambda raw: b"%04d" % int.from_bytes(raw, "little")
        case wire.JSON | wire.ENUM | wire.SET:
            return bytes
    if column.wire in _CHARACTERS:
        binary = column.collation == _BINARY and type_.source not in _OF_MARIADB
        return odd.bytes_text if binary and column.wire not in _COMPRESSED else bytes
    return _number_or_moment(column, result=True)


def _number_or_moment(column: WireColumn, *, result: bool) -> Make:
    """Return what writes the other types' cells as text; they are told apart by their number alone."""
    digits = column.meta
    match column.wire:
        case wire.FLOAT:
            return lambda raw: odd.single_text(raw)
        case wire.DOUBLE:
            return lambda raw: odd.double_text(raw)
        case wire.BIT:
            return partial(_bits, column.meta)
        case wire.VECTOR:
            return odd.vector_text
        case wire.GEOMETRY:
            return odd.bytes_text
        case wire.TIME | wire.TIME2:
            form = form_of(column, result=result)
            return lambda raw: odd.time_text(duration(form, raw, 0, len(raw)), digits)
    if column.wire in _MOMENTS:
        form = form_of(column, result=result)
        if column.wire in {wire.DATE, wire.NEWDATE}:
            return lambda raw: odd.date_text(moment(form, raw, 0, len(raw)))
        return lambda raw: odd.datetime_text(moment(form, raw, 0, len(raw)), digits)
    return lambda raw: b"%d" % int.from_bytes(raw, "little", signed=not column.unsigned)


def _decimal(digits: int, scale: int, raw: bytes) -> bytes:
    return odd.decimal_text(odd.units(raw, digits, scale), scale)


def _bits(bits: int, raw: bytes) -> bytes:
    return odd.bits_text(raw, bits)


def _enum(labels: tuple[str, ...], raw: bytes) -> bytes:
    place = int.from_bytes(raw, "little")
    if place >= len(labels):
        raise odd.Unfit("it has a label that the column does not have")
    return labels[place].encode()

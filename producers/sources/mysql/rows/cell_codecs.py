"""What is done to each column's cells, chosen once for each shape: for the log, or for a result's rows.

In: the column as the log describes it, its published type, the filters' rule for it.  Out: a `CellCodec`.
Most cells are then written without a Python value in between.  The others are made into text first: masked
columns, columns that are carried as text, JSON, wide decimals, character sets that are not UTF-8, and
MariaDB's types that have no number of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.producers.sources.mysql.rows import odd_cells as odd
from wrackline.producers.sources.mysql.rows.cells import done_to, meta_of
from wrackline.producers.sources.mysql.rows.json_text import text_of
from wrackline.producers.sources.mysql.rows.temporal import duration, form_of, moment
from wrackline.schemas.language.masks import Mask
from wrackline.schemas.tables.types import ColumnType, Kind

Make: TypeAlias = Callable[[bytes], bytes]

_BINARY = 63  # the collation of bytes that are not text
_CHARACTERS = frozenset(
    {wire.VARCHAR, wire.VAR_STRING, wire.STRING, wire.BLOB, wire.VARCHAR_COMPRESSED, wire.BLOB_COMPRESSED}
)
_COMPRESSED = frozenset({wire.VARCHAR_COMPRESSED, wire.BLOB_COMPRESSED})
_DATES = frozenset({wire.DATE, wire.NEWDATE})
_MOMENTS = frozenset({*_DATES, wire.DATETIME, wire.DATETIME2, wire.TIMESTAMP, wire.TIMESTAMP2})
_AS_TEXT = frozenset({Kind.TEXT_OF, Kind.NUMERIC_TEXT})
_OF_MARIADB: dict[str, Make] = {"inet4": odd.inet4_text, "inet6": odd.inet6_text, "uuid": odd.uuid_text}
# Writers of text for cells that are the same in the log and in results, and for cells that differ.
_ALIKE: dict[int, Make] = {
    wire.FLOAT: odd.single_text,
    wire.DOUBLE: odd.double_text,
    wire.VECTOR: odd.vector_text,
    wire.GEOMETRY: odd.bytes_text,
}
_LOGGED: dict[int, Make] = {wire.JSON: text_of, wire.YEAR: odd.logged_year_text}
_IN_RESULTS: dict[int, Make] = {
    wire.NEWDECIMAL: odd.plain_decimal,
    wire.YEAR: odd.year_text,
    wire.JSON: bytes,
    wire.ENUM: bytes,
    wire.SET: bytes,
}


class CharsetReader(Protocol):
    """How a character set's bytes are read; `ascii`: bytes below 0x80 mean the same as in UTF-8."""

    @property
    def reader(self) -> Callable[[bytes], str] | None:
        """None where the bytes are UTF-8."""
        ...

    @property
    def ascii(self) -> bool:
        """Whether a text of only such bytes need not be read."""
        ...


Charsets: TypeAlias = Callable[[int], CharsetReader]


@dataclass(frozen=True, slots=True)
class CellCodec:
    """What is done to the cells of one column."""

    done: int
    meta: int
    growth: int = 1  # bytes that a cell's byte may become at most,
    beside: int = 0  # and how many are added
    labels: tuple[bytes, ...] = ()  # of an enum or a set, in UTF-8
    make: Make | None = None  # makes its text, if that is needed
    plain_ascii: bool = False  # not needed if all its bytes are ASCII
    mask: Mask | None = None


def log_codec(
    column: WireColumn, type_: ColumnType, mask: Mask | None, charsets: Charsets, most: int
) -> CellCodec:
    """Choose what is done to a column's cells in the log; a compressed cell may become `most` bytes."""
    if mask is None and column.wire in _CHARACTERS and column.collation not in {None, _BINARY}:
        charset = charsets(column.collation or 0)
        if charset.reader is not None or column.wire in _COMPRESSED:
            plain = charset.ascii and column.wire not in _COMPRESSED
            return CellCodec(0, 0, make=_characters(column, charset, most), plain_ascii=plain)
    direct = mask is None and _direct(column, type_)
    return _codec(column, type_, None if direct else _text(column, type_, charsets, most), mask, result=False)


def result_codec(column: WireColumn, type_: ColumnType, mask: Mask | None) -> CellCodec:
    """Choose what is done to a column's cells in a result, whose texts are in utf8mb4."""
    direct = mask is None and (_direct(column, type_) or type_.kind in {Kind.UUID, Kind.JSON})
    make = None if direct else _result_text(column, type_)
    return _codec(column, type_, make, mask, result=True)


def _codec(
    column: WireColumn, type_: ColumnType, make: Make | None, mask: Mask | None, *, result: bool
) -> CellCodec:
    if make is not None:
        return CellCodec(0, 0, make=make, mask=mask)
    done, meta = done_to(column, type_.kind, result=result), meta_of(column, type_.kind, result=result)
    if type_.kind is Kind.ZONED_TIMESTAMP:
        return CellCodec(done, meta, growth=4)
    if type_.kind is Kind.ARRAY:
        return CellCodec(done, meta, growth=2)
    if result or column.wire not in {wire.ENUM, wire.SET}:
        padded = column.meta if column.wire == wire.STRING else 0
        return CellCodec(done, meta, beside=padded)
    labels = tuple(label.encode() for label in column.labels)
    return CellCodec(done, meta, beside=sum(len(label) + 1 for label in labels), labels=labels)


def _direct(column: WireColumn, type_: ColumnType) -> bool:
    """Whether a cell is written without a text in between."""
    if column.wire in _CHARACTERS and column.wire not in _COMPRESSED:
        return column.collation != _BINARY or type_.kind in {Kind.BYTES, Kind.STRING, Kind.JSON, Kind.XML}
    return type_.kind not in _AS_TEXT and column.wire not in {wire.JSON, *_COMPRESSED}


def _characters(column: WireColumn, charset: CharsetReader, most: int) -> Make:
    reader = charset.reader
    write = odd.utf8 if reader is None else partial(_read, reader)
    if column.wire not in _COMPRESSED:
        return write
    plain = partial(odd.uncompressed, most=most)
    return lambda raw: write(plain(raw))


def _read(reader: Callable[[bytes], str], raw: bytes) -> bytes:
    try:
        return reader(raw).encode()
    except UnicodeError:  # bytes that are not characters, or half of a pair
        raise Unfit("it is text that its character set does not have") from None


def _text(column: WireColumn, type_: ColumnType, charsets: Charsets, most: int) -> Make:
    """Return the function that writes a cell of the log as the server prints it."""
    if column.wire in _LOGGED:
        return _LOGGED[column.wire]
    if column.wire in {wire.ENUM, wire.SET}:
        return partial(_enum if column.wire == wire.ENUM else _set, column.labels)
    if column.wire not in _CHARACTERS:
        return _number_or_moment(column, result=False)
    if column.collation not in {None, _BINARY}:
        return _characters(column, charsets(column.collation or 0), most)
    padded = column.meta if column.wire == wire.STRING else 0
    write = odd.bytes_text if type_.kind in _AS_TEXT else bytes
    if column.wire in _COMPRESSED:
        return lambda raw: write(odd.uncompressed(raw, most))
    return _OF_MARIADB.get(type_.source) or (lambda raw: odd.bytes_text(raw.ljust(padded, b"\0")))


def _result_text(column: WireColumn, type_: ColumnType) -> Make:
    """Return the function that writes a cell of a result as the server prints it; most already are."""
    if column.wire in _CHARACTERS:
        binary = column.collation == _BINARY and type_.source not in _OF_MARIADB
        direct = column.wire in _COMPRESSED and type_.kind not in _AS_TEXT
        if binary:
            return bytes if direct else odd.bytes_text
        return odd.utf8
    return _IN_RESULTS.get(column.wire) or _number_or_moment(column, result=True)


def _number_or_moment(column: WireColumn, *, result: bool) -> Make:
    """Return the function that writes the other types' cells as text; only their number decides."""
    digits, form = column.meta, form_of(column, result=result)
    if column.wire in _ALIKE:
        return _ALIKE[column.wire]
    if column.wire == wire.NEWDECIMAL:
        return partial(_decimal, digits >> 8, digits & 255)
    if column.wire == wire.BIT:
        return partial(_bits, digits)
    if column.wire in {wire.TIME, wire.TIME2}:
        return lambda raw: odd.time_text(duration(form, raw, 0, len(raw)), digits)
    if column.wire in _MOMENTS:
        write = odd.date_text if column.wire in _DATES else partial(odd.datetime_text, digits=digits)
        return lambda raw: write(moment(form, raw, 0, len(raw)))
    return lambda raw: b"%d" % int.from_bytes(raw, "little", signed=not column.unsigned)


def _decimal(digits: int, scale: int, raw: bytes) -> bytes:
    return odd.decimal_text(odd.units(raw, digits, scale), scale)


def _set(labels: tuple[str, ...], raw: bytes) -> bytes:
    return odd.set_text(int.from_bytes(raw, "little"), labels)


def _bits(bits: int, raw: bytes) -> bytes:
    return odd.bits_text(raw, bits)


def _enum(labels: tuple[str, ...], raw: bytes) -> bytes:
    place = int.from_bytes(raw, "little")
    if place > len(labels):
        raise Unfit("it has a label that the column does not have")
    return labels[place - 1].encode() if place else b""

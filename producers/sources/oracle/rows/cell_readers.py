"""A cell's text as a value that `form_of` (producers/rows/python_rows.py) writes.  Pure.

    a column  ->  what reads its cells  ->  a value

Log and chunk have the same texts, so one reader gives the same value both ways, also where the two write it
differently: a number has one text here, without an exponent and without zeros at its ends.

A cell that is not written as its type is, or that its kind can't hold, raises `Unfit`.
"""

import re
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from types import MappingProxyType
from typing import Final, TypeAlias

from wrackline.producers.rows.unfit_values import Unfit
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import BINARY_FLOATS, INSTANTS, family
from wrackline.producers.sources.oracle.redo.kinds import RedoKind, UnknownRedoError
from wrackline.producers.sources.oracle.redo.values import RedoMoment, value_of
from wrackline.producers.sources.oracle.rows.cells import BYTES
from wrackline.schemas.tables.types import ColumnType, Kind

Reader: TypeAlias = Callable[[int, bytes], object]

_TEXTS: Final = frozenset({RedoKind.TEXT, RedoKind.QUOTED, RedoKind.UNISTR, RedoKind.CHAIN})
_NUMBERS: Final = frozenset({RedoKind.TEXT, RedoKind.NUMBER})
_MOMENTS: Final = frozenset({RedoKind.DATE, RedoKind.TIMESTAMP})
_WHOLE: Final = frozenset({Kind.INT16, Kind.INT32, Kind.INT64})
_DAY: Final = 86_400_000_000
_MARCH: Final = 719_468  # days from 0000-03-01 to 1970-01-01
_GREGORIAN: Final = 1583  # before it each fourth year has a leap day
_LEAP_DAY: Final = re.compile(rb" ?(-?\d{4})-02-29")
_MOST_EXPONENT: Final = 200  # more than a NUMBER has
_FRACTION: Final = re.compile(r"\.(\d*?)0*(?=$| )", re.ASCII)
_DAYS: Final = re.compile(r"([+-])(\d+) (\d\d):(\d\d):(\d\d)(?:\.(\d+))?", re.ASCII)


def reader_of(sql_type: OracleType, column: ColumnType) -> Reader:
    """Return what reads the cells of a column."""
    name = family(sql_type)
    if name in _BY_FAMILY:
        return _BY_FAMILY[name](name, column)
    return _text if column.kind is not Kind.BOOLEAN else _boolean


def _value(kinds: frozenset[RedoKind], kind: int, cell: bytes) -> object:
    """Read a cell that must be of one of these kinds."""
    if kind not in kinds:
        raise Unfit("it is not written as its type is")
    try:
        return value_of(RedoKind(kind), cell)
    except UnknownRedoError as error:
        raise Unfit(error.reason) from None


def _text(kind: int, cell: bytes) -> str:
    return str(_value(_TEXTS, kind, cell))


def _boolean(kind: int, cell: bytes) -> bool:
    text = _text(kind, cell)
    if text not in {"TRUE", "FALSE"}:
        raise Unfit("it is neither true nor false")
    return text == "TRUE"


def _bytes(kind: int, cell: bytes) -> bytes:
    if kind == BYTES:
        return cell
    found = _value(frozenset({RedoKind.RAW}), kind, cell)
    return found if isinstance(found, bytes) else b""


def _hex(kind: int, cell: bytes) -> str:
    return _bytes(kind, cell).hex().upper()


def _of_bytes(_: str, column: ColumnType) -> Reader:
    return _bytes if column.kind is Kind.BYTES else _hex


def _number(kind: int, cell: bytes) -> Decimal:
    text = str(_value(_NUMBERS, kind, cell))
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise Unfit("it is not a number") from None
    if not number.is_finite() or abs(number.adjusted()) > _MOST_EXPONENT:
        raise Unfit("it is not a number that a server stores")
    return number


def _number_text(kind: int, cell: bytes) -> str:
    text = f"{_number(kind, cell):f}"
    if "." in text:
        text = text.rstrip("0").removesuffix(".")
    return text.removeprefix("-") if text == "-0" else text


def _whole(kind: int, cell: bytes, *, most: int) -> int:
    number = _number(kind, cell)
    whole = int(number)
    if whole != number:
        raise Unfit("it is not a whole number")
    if len(str(abs(whole))) > most:
        raise Unfit("it has more digits than its column")
    return whole


def _decimal(kind: int, cell: bytes, *, precision: int, scale: int) -> Decimal:
    number = _number(kind, cell)
    if number and number.adjusted() >= precision - scale:
        raise Unfit("it has more digits than its column")
    return number


def _of_number(_: str, column: ColumnType) -> Reader:
    if column.kind in _WHOLE:
        return partial(_whole, most=most_digits(column))
    if column.kind is Kind.DECIMAL and column.precision is not None:
        return partial(_decimal, precision=column.precision, scale=column.scale or 0)
    return _number_text


def most_digits(column: ColumnType) -> int:
    """Return how many digits a whole number of a column has at most."""
    return {Kind.INT16: 4, Kind.INT32: 9}.get(column.kind, 18)


def _micros(kind: int, cell: bytes) -> int:
    return int(str(_value(_MOMENTS, kind, cell)))


def _moment_text(kind: int, cell: bytes) -> str:
    _micros(kind, _in_calendar(cell))
    return _FRACTION.sub(_shorter, cell.decode().strip())


def _in_calendar(cell: bytes) -> bytes:
    """Give a leap day that only Oracle's calendar has another date; its text is a value all the same."""
    found = _LEAP_DAY.match(cell)
    if found is None or (year := int(found[1])) >= _GREGORIAN or (year + (year < 0)) % 4:
        return cell
    return cell.replace(b"-02-29", b"-02-28", 1)


def _shorter(found: re.Match[str]) -> str:
    return f".{found[1]}" if found[1] else ""


def _of_moment(_: str, column: ColumnType) -> Reader:
    return _micros if column.kind is Kind.TIMESTAMP_MICROS else _moment_text


def _instant(kind: int, cell: bytes, *, in_utc: bool) -> int:
    moment = _value(frozenset({RedoKind.ZONED}), kind, cell)
    if not isinstance(moment, RedoMoment) or (moment.offset is None and not in_utc):
        raise Unfit("it has no time zone")
    return moment.local - (moment.offset or 0) * 60_000_000


def _zoned(kind: int, cell: bytes, *, in_utc: bool) -> str:
    return zoned_text(_instant(kind, cell, in_utc=in_utc))


def _zoned_text(kind: int, cell: bytes, *, in_utc: bool) -> str:
    _instant(kind, _in_calendar(cell), in_utc=in_utc)
    text = _FRACTION.sub(_shorter, cell.decode().strip())
    return f"{text} +00:00" if in_utc and text[-3] == ":" and text[-6] == ":" else text


def _of_instant(name: str, column: ColumnType) -> Reader:
    by_kind = {Kind.ZONED_TIMESTAMP: _zoned, Kind.INSTANT_MICROS: _instant}
    return partial(by_kind.get(column.kind, _zoned_text), in_utc=name == "TIMESTAMP WITH LOCAL TIME ZONE")


def zoned_text(micros: int) -> str:
    """Write a moment of any year; one before 1 or behind 9999 has a sign."""
    days, micros = divmod(micros, _DAY)
    era, of_era = divmod(days + _MARCH, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153  # 0 is March
    day = of_year - (153 * month + 2) // 5 + 1
    year += era * 400 + (month > 9)
    seconds, micros = divmod(micros, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    fraction = f".{micros:06}".rstrip("0").removesuffix(".")
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{(month + 2) % 12 + 1:02}-{day:02}T{clock}{fraction}Z"


def _days(kind: int, cell: bytes) -> str:
    """Write an interval with all its places, as ISO 8601 does: P2DT3H4M5.000000006S."""
    _value(frozenset({RedoKind.DAYS}), kind, cell)
    found = _DAYS.fullmatch(cell.decode())
    if found is None:
        raise Unfit("it is not an interval")
    sign = found[1].removeprefix("+")
    days, hours, minutes, seconds = (int(part) for part in found.groups()[1:5])
    fraction = f".{found[6] or ''}".rstrip("0").removesuffix(".")
    parts = [f"{sign}{days}D" if days else "", "T"]
    parts += [f"{sign}{count}{letter}" for count, letter in ((hours, "H"), (minutes, "M")) if count]
    if seconds or fraction:
        parts.append(f"{sign}{seconds}{fraction}S")
    text = "".join(parts).removesuffix("T")
    return f"P{text}" if text else "PT0S"


def _months(kind: int, cell: bytes) -> str:
    months = int(str(_value(frozenset({RedoKind.MONTHS}), kind, cell)))
    sign, (years, months) = "-" if months < 0 else "", divmod(abs(months), 12)
    text = (f"{sign}{years}Y" if years else "") + (f"{sign}{months}M" if months else "")
    return f"P{text}" if text else "PT0S"


def _float(kind: int, cell: bytes) -> float:
    """Read a number that the driver gave; what SQL_REDO has never comes here."""
    try:
        return float(str(_value(_NUMBERS, kind, cell)))
    except ValueError:
        raise Unfit("it is not a number") from None


def _short_float(kind: int, cell: bytes) -> str:
    """Write the fewest digits that give the same four bytes."""
    number = _float(kind, cell)
    made = (float(f"{number:.{digits}g}") for digits in range(6, 10))
    four = struct.pack("<f", number)
    return str(next((one for one in made if struct.pack("<f", one) == four), number))


def _double(kind: int, cell: bytes) -> str:
    return str(_float(kind, cell))


def _of_float(name: str, column: ColumnType) -> Reader:
    if column.kind is not Kind.TEXT_OF:
        return _float
    return _short_float if name == "BINARY_FLOAT" else _double


_BY_FAMILY: Final[Mapping[str, Callable[[str, ColumnType], Reader]]] = MappingProxyType(
    {
        **dict.fromkeys(("NUMBER", "FLOAT"), _of_number),
        **dict.fromkeys(("RAW", "BLOB"), _of_bytes),
        **dict.fromkeys(("DATE", "TIMESTAMP"), _of_moment),
        **dict.fromkeys(INSTANTS, _of_instant),
        **dict.fromkeys(BINARY_FLOATS, _of_float),
        "INTERVAL DAY TO SECOND": lambda _, __: _days,
        "INTERVAL YEAR TO MONTH": lambda _, __: _months,
    }
)

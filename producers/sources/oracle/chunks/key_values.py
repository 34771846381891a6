"""A key's value as the literal that its column is compared with.  Pure.

    text of a cell ("7", " 2026-01-02 03:04:05", "00FF")  ->  a literal of the column's own type

A cell's text is what the server writes in a session of ours (`cell_sql.py`); bytes are hex, and a float is
the shortest number with its value.  The literal names the format, whatever the session's is, and has the
column's type, so that the server converts the literal and not the column.

A key of Kafka or of a request is another text of the same value: moments and intervals may be written as ISO
8601 does, numbers without an exponent.

A text is compared as its column is: the server pads a literal beside CHAR, and none beside VARCHAR2.  The
empty text is NULL, so it is not a value.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Final, NoReturn

from wrackline.producers.kit.reads.dialect import KeyValueError
from wrackline.producers.sources.oracle.connect.quoting import identifier, literal
from wrackline.producers.sources.oracle.discover.facts import OracleType
from wrackline.producers.sources.oracle.discover.types import family
from wrackline.producers.sources.oracle.rows.cell_sql import DATE_MASK, TIMESTAMP_MASK, ZONED_MASK

ALIAS: Final = "t"  # of the table that is read

_NUMBER: Final = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:E[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)
_FLOAT: Final = re.compile(r"-?(?:\d+(?:\.\d*)?(?:e[+-]?\d{1,3})?|inf)|nan", re.ASCII)
_HEX: Final = re.compile(r"(?:0x)?((?:[0-9A-Fa-f]{2})+)", re.ASCII)
_DAYS: Final = re.compile(r"[+-]?\d{1,9} \d\d:\d\d:\d\d(?:\.\d{1,9})?", re.ASCII)
_MONTHS: Final = re.compile(r"[+-]?\d{1,9}-\d{1,2}", re.ASCII)
_ISO_DAYS: Final = re.compile(
    r"P(?:(-?\d{1,9})D)?(?:T(?:(-?\d{1,2})H)?(?:(-?\d{1,2})M)?(?:(-?\d{1,2}(?:\.\d{1,9})?)S)?)?", re.ASCII
)
_ISO_MONTHS: Final = re.compile(r"P(?:(-?\d{1,9})Y)?(?:(-?\d{1,2})M)?(?:T0S)?", re.ASCII)
_MOMENT: Final = re.compile(
    r" ?(-?\d{4})-(\d\d)-(\d\d)"
    r"(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?: ?(Z|[+-]\d\d(?::\d\d)?))?)?",
    re.ASCII,
)
_CLOCK: Final = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d", re.ASCII)
_GREGORIAN: Final = 1583  # the first whole year of the calendar; before it each fourth year has a leap day
_MOST_NUMBER: Final = 260  # characters of a number without an exponent
_LONG_NUMBER: Final = 60  # from which on it gets one
_MOST_BYTES: Final = 4000  # of a literal


@dataclass(frozen=True, slots=True)
class OracleKeyColumn:
    """A column whose values are compared."""

    name: str
    type: OracleType
    nullable: bool

    @property
    def ordered(self) -> bool:
        """Whether its values can be compared."""
        return family(self.type) in _LITERALS

    def compare(self, sign: str, text: str) -> str:
        """Write `column sign value`."""
        return f"{qualified(self.name)} {sign} {self.literal(text)}"

    def literal(self, text: str) -> str:
        """Write a text as a literal of the column's type."""
        if (write := _LITERALS.get(family(self.type))) is None:
            raise KeyValueError
        return write(self.type, text)


def qualified(name: str) -> str:
    """Name a column of the table that is read, so that it is not taken for one of the statement's own."""
    return f"{ALIAS}.{identifier(name)}"


def text_of(cell: str | bytes | float | None) -> str | None:
    """Write a cell of a row as the text of a bound."""
    match cell:
        case bytes():
            return cell.hex().upper()
        case float():
            return repr(cell)
    return cell


def _number(_: OracleType, text: str) -> str:
    if len(text) > _MOST_NUMBER:
        return _refused()
    number = _match(_NUMBER, text)
    return f"TO_NUMBER('{number if len(number) < _LONG_NUMBER else _shortened(number)}')"


def _shortened(number: str) -> str:
    """Write an exponent for the zeros at a number's ends."""
    sign, digits, exponent = Decimal(number).as_tuple()
    written = "".join(map(str, digits))
    kept = written.rstrip("0") or "0"
    return f"{'-' * sign}{kept}E{int(exponent) + len(written) - len(kept)}"


def _float(kind: OracleType, text: str) -> str:
    return f"TO_{family(kind)}('{_match(_FLOAT, text)}')"


def _raw(_: OracleType, text: str) -> str:
    found = _HEX.fullmatch(text)
    return f"HEXTORAW('{found[1]}')" if found and len(found[1]) <= _MOST_BYTES else _refused()


def _text(_: OracleType, text: str) -> str:
    return literal(text) if 0 < len(text.encode()) <= _MOST_BYTES and "\0" not in text else _refused()


def _national(kind: OracleType, text: str) -> str:
    """Write all but ASCII by codes: the rest of the statement is in the database's other character set."""
    units = text.encode("utf-16-be")
    if not text or len(units) > _MOST_BYTES:
        return _refused()
    if text.isascii() and text.isprintable():
        return f"N{literal(text)}"
    codes = "".join(f"\\{units[at : at + 2].hex().upper()}" for at in range(0, len(units), 2))
    if family(kind) == "NVARCHAR2" or kind.length is None:
        return f"UNISTR('{codes}')"
    return (
        f"CAST(UNISTR('{codes}') AS NCHAR({kind.length}))" if len(units) // 2 <= kind.length else _refused()
    )


def _boolean(_: OracleType, text: str) -> str:
    return _BOOLEANS.get(text) or _refused()


def _date(_: OracleType, text: str) -> str:
    moment, fraction, zone = _moment(text)
    return f"TO_DATE('{moment}', '{DATE_MASK}')" if not fraction and not zone else _refused()


def _timestamp(_: OracleType, text: str) -> str:
    moment, fraction, zone = _moment(text)
    return f"TO_TIMESTAMP('{moment}.{fraction:0<9}', '{TIMESTAMP_MASK}')" if not zone else _refused()


def _local(kind: OracleType, text: str) -> str:
    """Write a moment; without a zone it is of the session's, which is UTC."""
    return f"CAST({_zoned(kind, text)} AS {_LOCAL})"


def _zoned(_: OracleType, text: str) -> str:
    moment, fraction, zone = _moment(text)
    offset = "+00:00" if zone in {"", "Z"} else zone if ":" in zone else f"{zone}:00"
    return f"TO_TIMESTAMP_TZ('{moment}.{fraction:0<9} {offset}', '{ZONED_MASK}')"


def _days(_: OracleType, text: str) -> str:
    if (found := _ISO_DAYS.fullmatch(text)) is not None and text[-1] not in "PT":
        days, hours, minutes, seconds = (part or "0" for part in found.groups())
        whole, dot, fraction = seconds.lstrip("-").partition(".")
        clock = ":".join(f"{part.lstrip('-'):0>2}" for part in (hours, minutes, whole))
        sign = "-" if "-" in text else "+"
        text = f"{sign}{days.lstrip('-')} {clock}{dot}{fraction}"
    return f"TO_DSINTERVAL('{_match(_DAYS, text)}')"


def _months(_: OracleType, text: str) -> str:
    if (found := _ISO_MONTHS.fullmatch(text)) is not None and text != "P":
        years, months = (part.lstrip("-") if part else "0" for part in found.groups())
        text = f"{'-' if '-' in text else '+'}{years}-{months}"
    return f"TO_YMINTERVAL('{_match(_MONTHS, text)}')"


def _moment(text: str) -> tuple[str, str, str]:
    """Return a moment, its places behind the seconds, and its zone; it must be in the calendar."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        return _refused()
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    clock = found[4] or "00:00:00"
    if not (year and 1 <= month <= 12 and 1 <= day <= _days_of(year, month) and _CLOCK.fullmatch(clock)):
        return _refused()
    return f"{found[1]}-{found[2]}-{found[3]} {clock}", found[5] or "", found[6] or ""


def _days_of(year: int, month: int) -> int:
    if year < _GREGORIAN:
        return monthrange(2001 if (year + (year < 0)) % 4 else 2000, month)[1]
    return monthrange(year, month)[1]


def _match(form: re.Pattern[str], text: str) -> str:
    return text if form.fullmatch(text) else _refused()


def _refused() -> NoReturn:
    raise KeyValueError


_BOOLEANS: Final = MappingProxyType({"0": "FALSE", "1": "TRUE", "false": "FALSE", "true": "TRUE"})
_LOCAL: Final = "TIMESTAMP(9) WITH LOCAL TIME ZONE"
_LITERALS: Final[Mapping[str, Callable[[OracleType, str], str]]] = MappingProxyType(
    {
        "NUMBER": _number,
        "FLOAT": _number,
        "BINARY_FLOAT": _float,
        "BINARY_DOUBLE": _float,
        "CHAR": _text,
        "VARCHAR2": _text,
        "NCHAR": _national,
        "NVARCHAR2": _national,
        "RAW": _raw,
        "BOOLEAN": _boolean,
        "DATE": _date,
        "TIMESTAMP": _timestamp,
        "TIMESTAMP WITH LOCAL TIME ZONE": _local,
        "TIMESTAMP WITH TIME ZONE": _zoned,
        "INTERVAL DAY TO SECOND": _days,
        "INTERVAL YEAR TO MONTH": _months,
    }
)

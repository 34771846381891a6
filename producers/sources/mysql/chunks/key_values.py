"""A key's value in its three forms: the cell of a row, the text that is saved, the literal that is compared.

    cell of a binary row  -->  text ("7", "a", "0x00ff", "2026-01-02 03:04:05.000006")  -->  SQL

The text is exact and is what the server itself would write, with three choices of ours: bytes are hex behind
`0x`, bits are their number, a float is the shortest number with its value.  In a literal, numbers and times
must match a pattern, and all other text is hex.  A literal is compared as its column compares: a text in the
column's own charset and collation, an enum and a set by number, because their order is that of the numbers,
not of the labels.  Pure.
"""

import re
import struct
from dataclasses import dataclass
from typing import Final

from wrackline.producers.kit.reads.dialect import KeyValueError
from wrackline.producers.sources.mysql.connect.quoting import identifier
from wrackline.producers.sources.mysql.connect.statement_rows import ResultColumn, length_at
from wrackline.producers.sources.mysql.discover.types import MySqlType

_FIXED = {1: 1, 2: 2, 13: 2, 3: 4, 9: 4, 4: 4, 5: 8, 8: 8, 6: 0}  # MYSQL_TYPE_* whose cells have one length
_INTEGERS = frozenset({1, 2, 3, 8, 9, 13})

_WHOLE = re.compile(r"-?[0-9]{1,20}")
_DECIMAL = re.compile(r"-?[0-9]{1,65}(\.[0-9]{1,38})?")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_MOMENT = re.compile(rf"{_DAY}([ T]{_CLOCK})?")
_QUOTED = {
    "date": re.compile(_DAY),
    "datetime": _MOMENT,
    "timestamp": _MOMENT,
    "time": re.compile(rf"-?[0-9]?{_CLOCK}"),
    "uuid": re.compile(r"[0-9A-Fa-f-]{32,36}"),
    "inet4": re.compile(r"[0-9.]{7,15}"),
    "inet6": re.compile(r"[0-9A-Fa-f:.]{2,45}"),
}
_WHOLES = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint", "year", "bit"})
_BYTES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"})
_HEX = re.compile(r"0x(?:[0-9A-Fa-f]{2})*")


NEVER: Final = "FALSE"  # for an enum, where no number matches


def text_literal(text: str) -> str:
    """Write a text in hex, so that the SQL contains no text that a user wrote."""
    return f"_utf8mb4 X'{text.encode().hex()}'"


@dataclass(frozen=True, slots=True)
class MySqlKeyColumn:
    """A column whose values are compared."""

    name: str
    type: MySqlType
    nullable: bool

    @property
    def sql(self) -> str:
        """The quoted name."""
        return identifier(self.name)

    def text(self, cell: bytes | None, column: ResultColumn) -> str | None:
        """Write a cell as the saved text."""
        if cell is None:
            return None
        match column.wire:
            case wire if wire in _INTEGERS:
                made = str(int.from_bytes(cell, "little", signed=not column.unsigned))
            case 4 | 5 as wire:  # float and double
                (number,) = struct.unpack("<f" if wire == 4 else "<d", cell)
                made = repr(number)
            case 16:  # bit
                made = str(int.from_bytes(cell, "big"))
            case 7 | 10 | 12 as wire:  # timestamp, date, datetime
                made = _moment(cell, day_only=wire == 10)
            case 11:
                made = _time(cell)
            case _:
                made = f"0x{cell.hex()}" if self.type.name in _BYTES else cell.decode(errors="replace")
        return made

    def literal(self, text: str) -> str:
        """Write a text as the literal that the column is compared with."""
        match self.type.name:
            case name if name in _WHOLES:
                made = _match(_WHOLE, text)
            case "decimal":
                made = _match(_DECIMAL, text)
            case "float" | "double" as name:
                made = _float(text, single=name == "float")
            case "enum":
                made = str(self.number(text))
            case "set":
                made = str(self._members(text))
            case name if name in _QUOTED:
                made = f"'{_match(_QUOTED[name], text)}'"
            case name if name in _BYTES:
                made = f"X'{text[2:] if _HEX.fullmatch(text) else text.encode().hex()}'"
            case _:
                made = text_literal(text)
        return made

    def compare(self, sign: str, text: str) -> str:
        """Write `column sign value`, for an enum a list: from 0, which is not a label, to the last number."""
        if self.type.name != "enum":
            return f"{self.sql} {sign} {self.literal(text)}"
        most, number = len(self.type.labels), self.number(text)
        numbers = {
            "=": range(number, number + 1),
            ">": range(number + 1, most + 1),
            ">=": range(number, most + 1),
            "<": range(number),
            "<=": range(number + 1),
        }[sign]
        return f"{self.sql} IN ({', '.join(map(str, numbers))})" if numbers else NEVER

    def number(self, label: str) -> int:
        """Return the place of an enum's label, from 1; a value without a label is stored as 0, read as ''."""
        if label in self.type.labels:
            return self.type.labels.index(label) + 1
        if label:
            raise KeyValueError
        return 0

    def _members(self, text: str) -> int:
        try:
            return sum(1 << self.type.labels.index(label) for label in set(text.split(",")) if text)
        except ValueError:
            raise KeyValueError from None


def cells(row: bytes, columns: tuple[ResultColumn, ...]) -> list[bytes | None]:
    """Split a binary row into cells; used for single rows, such as the last of a slice."""
    at = 1 + (len(columns) + 9) // 8
    found: list[bytes | None] = []
    for number, column in enumerate(columns, 2):
        if row[1 + number // 8] >> number % 8 & 1:
            found.append(None)
            continue
        size = _FIXED.get(column.wire)
        if size is None:
            size, at = length_at(row, at)
        found.append(row[at : at + size])
        at += size
    return found


def _match(form: re.Pattern[str], text: str) -> str:
    if form.fullmatch(text) is None:
        raise KeyValueError
    return text


def _float(text: str, *, single: bool) -> str:
    """Write a number that is exactly the stored number, and that the server does not read as a decimal."""
    try:
        number = float(text)
        if single:
            (number,) = struct.unpack("<f", struct.pack("<f", number))
        written = repr(number)
    except (ValueError, OverflowError):
        raise KeyValueError from None
    if not re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", written):
        raise KeyValueError  # no server stores infinity or NaN
    return written if "e" in written else f"{written}e0"


def _moment(cell: bytes, *, day_only: bool) -> str:
    year, month, day, hour, minute, second, micros = struct.unpack("<HBBBBBI", cell.ljust(11, b"\0"))
    date = f"{year:04}-{month:02}-{day:02}"
    if day_only:
        return date
    return f"{date} {hour:02}:{minute:02}:{second:02}" + (f".{micros:06}" if micros else "")


def _time(cell: bytes) -> str:
    negative, days, hour, minute, second, micros = struct.unpack("<BIBBBI", cell.ljust(12, b"\0"))
    clock = f"{'-' if negative else ''}{24 * days + hour:02}:{minute:02}:{second:02}"
    return clock + (f".{micros:06}" if micros else "")

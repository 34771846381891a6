"""A key's value as the literal that its column is compared with.  Pure.

    text of a cell ("7", "2026-01-02 03:04:05.997", "0x00ff")  ->  a literal of the column's own type

Each literal is cast to the type of its column.  If it were of another type, the server might convert the
column instead, and read the whole table: nvarchar against a varchar key, numeric against bigint.  A text
takes the column's collation before it becomes varchar, because the code page is the collation's.  It is hex,
so the SQL contains no text that a user wrote.
"""

import re
from dataclasses import dataclass
from typing import Final

from wrackline.producers.kit.reads.dialect import KeyValueError
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.discover.types import SqlServerType

_WHOLE = re.compile(r"-?[0-9]{1,20}")
_DECIMAL = re.compile(r"-?[0-9]{1,38}(?:\.([0-9]{1,38}))?")
_FLOAT = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,3})?")
_HEX = re.compile(r"0x((?:[0-9A-Fa-f]{2})*)")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,7})?)?"
_ZONE = r"[+-][0-9]{2}:[0-9]{2}"
_MOMENTS: Final = {
    "date": re.compile(_DAY),
    "time": re.compile(_CLOCK),
    "datetime": re.compile(rf"{_DAY} {_CLOCK}"),
    "smalldatetime": re.compile(rf"{_DAY} {_CLOCK}"),
    "datetime2": re.compile(rf"{_DAY}( {_CLOCK})?"),
    "datetimeoffset": re.compile(rf"{_DAY} {_CLOCK} ?{_ZONE}"),
    "uniqueidentifier": re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"),
}
_WITH_LANGUAGE: Final = frozenset({"datetime", "smalldatetime"})  # which reads only ISO 8601 in any language
_BITS: Final = {"smallint": 15, "int": 31, "bigint": 63}
_PLACES: Final = {"money": 4, "smallmoney": 4}
_BYTES: Final = {"timestamp": 8, "rowversion": 8, "hierarchyid": 892, "binary": 8000, "varbinary": 8000}
_CODED: Final = frozenset({"char", "varchar"})
_MOST_UNITS: Final = 4000  # of nvarchar(4000); no key is as long


@dataclass(frozen=True, slots=True)
class SqlServerKeyColumn:
    """A column whose values are compared; `collation` is its text's, by name."""

    name: str
    type: SqlServerType
    nullable: bool
    collation: str | None = None

    def compare(self, sign: str, text: str) -> str:
        """Write `column sign value`."""
        return f"{identifier(self.name)} {sign} {self.literal(text)}"

    def literal(self, text: str) -> str:
        """Write a text as a literal of the column's type."""
        name, written = self.type.name, str(self.type)
        if name in _MOMENTS:
            moment = _match(_MOMENTS[name], text)
            if name in _WITH_LANGUAGE:
                moment = moment.replace(" ", "T")
            return f"CAST('{moment}' AS {written})"
        if name in _BYTES:
            return f"CAST({self._bytes(text)} AS {written})"
        if name in {"nchar", "nvarchar"}:
            return f"CAST(0x{_units(text)} AS nvarchar({_MOST_UNITS}))"
        if name in _CODED and self.collation is not None:
            return (
                f"CAST(CAST(0x{_units(text)} AS nvarchar({_MOST_UNITS})) COLLATE {self.collation}"
                " AS varchar(8000))"
            )
        return f"CAST({self._number(text)} AS {written})"

    def _number(self, text: str) -> str:
        match self.type.name:
            case "bit" if text in {"0", "1"}:
                return text
            case "tinyint" if _WHOLE.fullmatch(text) and 0 <= int(text) <= 255:
                return text
            case name if name in _BITS and _WHOLE.fullmatch(text):
                if -(1 << _BITS[name]) <= int(text) < 1 << _BITS[name]:
                    return text
            case "real" | "float" if _FLOAT.fullmatch(text):
                return text if "e" in text else f"{text}e0"
            case "decimal" | "numeric" | "money" | "smallmoney" as name:
                places = _DECIMAL.fullmatch(text)
                if places and len(places[1] or "") <= (self.type.scale or _PLACES.get(name, 0)):
                    return text
        raise KeyValueError

    def _bytes(self, text: str) -> str:
        length = self.type.length or _BYTES[self.type.name]
        if len(_match(_HEX, text)) > 2 + 2 * length:
            raise KeyValueError
        return text


def _match(form: re.Pattern[str], text: str) -> str:
    if form.fullmatch(text) is None:
        raise KeyValueError
    return text


def _units(text: str) -> str:
    written = text.encode("utf-16-le", "surrogatepass").hex()
    if len(written) > 4 * _MOST_UNITS:
        raise KeyValueError
    return written

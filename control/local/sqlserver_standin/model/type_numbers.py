"""How the catalogue describes a type: its numbers, its length in bytes, its precision and its scale."""

from collections.abc import Mapping
from types import MappingProxyType

from wrackline.control.local.sqlserver_standin.model.tables import Cells
from wrackline.control.local.sqlserver_standin.wire.sql_types import CLR, MAX, SqlType, decimal_length
from wrackline.control.local.sqlserver_standin.wire.values import codec_of

_CLR_NUMBER = 240
_TEXTS = frozenset({"char", "varchar", "nchar", "nvarchar", "text", "ntext"})
# name: system number, length in bytes, precision, scale; what depends on the declaration is 0 here
_SYSTEM = """
image 34 16 0 0; text 35 16 0 0; uniqueidentifier 36 16 0 0; date 40 3 10 0; time 41 0 0 0;
datetime2 42 0 0 0; datetimeoffset 43 0 0 0; tinyint 48 1 3 0; smallint 52 2 5 0; int 56 4 10 0;
smalldatetime 58 4 16 0;
real 59 4 24 0; money 60 8 19 4; datetime 61 8 23 3; float 62 8 53 0; sql_variant 98 8016 0 0;
ntext 99 16 0 0; bit 104 1 1 0; decimal 106 0 0 0; smallmoney 122 4 10 4; bigint 127 8 19 0;
varbinary 165 0 0 0; varchar 167 0 0 0; binary 173 0 0 0; char 175 0 0 0; timestamp 189 8 0 0;
nvarchar 231 0 0 0; nchar 239 0 0 0; xml 241 -1 0 0; json 244 -1 0 0; vector 255 0 0 0
"""
_ROWS = {row.split()[0]: tuple(map(int, row.split()[1:])) for row in _SYSTEM.replace("\n", " ").split(";")}
_CLR_LENGTHS = {"hierarchyid": 892, "geometry": -1, "geography": -1}
# name: (bytes, precision) of a time without places behind the second, and what a place adds to the precision
_TIMES = {"time": (3, 8), "datetime2": (6, 19), "datetimeoffset": (8, 26)}

TYPE_NUMBERS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {name: (row[0], row[0]) for name, row in _ROWS.items()}
    | {name: (_CLR_NUMBER, 128 + at) for at, name in enumerate(_CLR_LENGTHS)}
)
"""The system number and the user number of each type; those of CLR types share a system number."""


def type_columns(of: SqlType) -> Cells:
    """Return system number, user number, length, precision, scale and collation of a column."""
    collation = of.collation.name if of.name in _TEXTS else None
    return (*TYPE_NUMBERS[of.name], *_measures(of), collation)


def _measures(of: SqlType) -> tuple[int, int, int]:
    if of.name in CLR:
        return _CLR_LENGTHS[of.name], 0, 0
    if of.name in _TIMES:
        least, precision = _TIMES[of.name]
        return least + (of.scale > 2) + (of.scale > 4), precision + of.scale + (of.scale > 0), of.scale
    if of.name == "decimal":
        return decimal_length(of.precision), of.precision, of.scale
    if of.size:
        wide = 2 if of.name in _TEXTS and codec_of(of) == "utf-16-le" else 1
        return (-1 if of.size == MAX else of.size * wide), 0, 0
    _, length, precision, scale = _ROWS[of.name]
    return length, precision, scale

"""The code page of a text, from the five bytes that its column's collation has on the wire.  Pure.

    LCID (20 bits) | flags (8 bits) | version (4 bits) | sort id (8 bits)

A collation of SQL Server's own has a sort id, one of Windows only an LCID; from 2019 on a flag says UTF-8.
Both tables are in the TDS specification and in Windows' lists of locales.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from wrackline.schemas.errors import OperatorNeeded, define

COLLATION_UNKNOWN = define(
    "sqlserver.collation_unknown",
    OperatorNeeded,
    "a text column has a collation whose code page is not known (LCID {lcid}, sort id {sort_id})",
    hint="carry it as nvarchar: ALTER TABLE ... ALTER COLUMN ... nvarchar(...); or leave the column out:"
    " column.exclude.list",
)

_UTF8: Final = 1 << 26
_LCID: Final = 0xFFFFF


def _spread(table: Mapping[str, str]) -> Mapping[int, str]:
    """Read `page: numbers and ranges` into a number's page."""
    made: dict[int, str] = {}
    for page, numbers in table.items():
        for part in numbers.split():
            first, _, last = part.partition("-")
            made |= dict.fromkeys(range(int(first, 16), int(last or first, 16) + 1), page)
    return MappingProxyType(made)


_SORT_IDS: Final = _spread(
    {
        "cp437": "1e-22",
        "cp850": "28-2c 31 37-3d",
        "cp1252": "33-36 47 48 b7-ba",
        "cp1250": "50-60",
        "cp1251": "68-6c",
        "cp1253": "70-72 78-7a 7c",
        "cp1254": "80-82",
        "cp1255": "88-8a",
        "cp1256": "90-92",
        "cp1257": "98-a0",
    }
)
_LOCALES: Final = _spread(  # of all collations that a server lists
    {
        "cp874": "41e",
        "cp932": "411",
        "cp936": "804",
        "cp949": "412",
        "cp950": "404 c04 1404",
        "cp1250": "405 40e 415 418 41a-41c 424 442 81a 141a",
        "cp1251": "419 422 42f 43f 444 46d 485 82c c1a 201a",
        "cp1252": "406 407 409-40c 40f 414 417 42e 437 43b 452 462 47a 47c 47e 483 83b 85f c0a",
        "cp1253": "408",
        "cp1254": "41f 42c 443",
        "cp1255": "40d",
        "cp1256": "401 420 429 480 48c",
        "cp1257": "425-427",
        "cp1258": "42a",
    }
)


def codec_of(collation: bytes) -> str:
    """Return Python's name of a text's code page."""
    word, sort_id = int.from_bytes(collation[:4], "little"), collation[4]
    lcid = word & _LCID
    if word & _UTF8:
        return "utf-8"
    found = _SORT_IDS.get(sort_id) if sort_id else _LOCALES.get(lcid & 0xFFFF)  # above it: how it sorts
    if found is None:
        raise COLLATION_UNKNOWN(lcid=hex(lcid), sort_id=sort_id)
    return found

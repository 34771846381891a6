"""A table for each data type, NULL possible and not, with the values at its edges.

A value is written as T-SQL would write it; what a driver must return is the Python value beside it, to the
microsecond.
"""

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from wrackline.control.local.sqlserver_standin.model.database import ModelDatabase
from wrackline.control.local.sqlserver_standin.wire.sql_types import sql_type
from wrackline.control.local.sqlserver_standin.wire.values import Variant

_EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))
_WEST = dt.timezone(dt.timedelta(hours=-14))
_LONG = "a long text, é, " * 3000
_UUID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")

Pairs = tuple[tuple[object, object], ...]


def _same(*values: object) -> Pairs:
    return tuple((value, value) for value in values)


VALUES: dict[str, Pairs] = {
    "bit": _same(True, False),
    "tinyint": _same(0, 255),
    "smallint": _same(-(2**15), 2**15 - 1),
    "int": _same(-(2**31), 2**31 - 1),
    "bigint": _same(-(2**63), 2**63 - 1),
    "real": _same(1.5, -3.4028234663852886e38),
    "float": _same(1e300, -0.1, 5e-324),
    "decimal(9,2)": ((Decimal("-1234567.89"),) * 2, (Decimal(0),) * 2),
    "decimal(19,0)": _same(Decimal(10**19 - 1)),
    "decimal(28,14)": _same(Decimal("-12345678901234.12345678901234")),
    "decimal(38,10)": _same(Decimal("1234567890123456789012345678.0123456789")),
    "money": _same(Decimal("-922337203685477.5808"), Decimal("922337203685477.5807"), Decimal("-0.0001")),
    "smallmoney": _same(Decimal("-214748.3648"), Decimal("214748.3647")),
    "char(5)": (("ab", "ab   "),),
    "varchar(20)": _same("é€", ""),
    "varchar(max)": _same(_LONG, ""),
    "text": _same("hello é"),
    "nchar(4)": (("é", "é   "),),
    "nvarchar(20)": _same("日本𝄞", ""),
    "nvarchar(max)": _same(_LONG, "日", ""),
    "ntext": _same("日本"),
    "varchar(20) collate Cyrillic_General_CI_AS": _same("Привет"),
    "varchar(20) collate Polish_CI_AS": _same("Łódź"),
    "varchar(20) collate Greek_CI_AS": _same("Αθήνα"),
    "varchar(20) collate Japanese_CI_AS": _same("日本"),
    "varchar(20) collate Chinese_PRC_CI_AS": _same("中国"),
    "varchar(20) collate Latin1_General_100_CI_AS_SC_UTF8": _same("日本é"),
    "binary(4)": ((b"\x01\x02", b"\x01\x02\x00\x00"),),
    "varbinary(10)": _same(b"", b"\xff\x00"),
    "varbinary(max)": _same(bytes(range(256)) * 100, b""),
    "image": _same(b"\x00\x01"),
    "date": _same(dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    "time(0)": (("23:59:59", dt.time(23, 59, 59)),),
    "time(3)": (("12:34:56.789", dt.time(12, 34, 56, 789_000)),),
    "time(7)": (("23:59:59.9999999", dt.time(23, 59, 59, 999_999)), ("00:00:00", dt.time(0))),
    "datetime2(0)": (("0001-01-01 00:00:00", dt.datetime(1, 1, 1)),),  # noqa: DTZ001 - it has no zone
    "datetime2(3)": (("2024-02-29 12:34:56.789", dt.datetime(2024, 2, 29, 12, 34, 56, 789_000)),),  # noqa: DTZ001
    "datetime2(7)": (("9999-12-31 23:59:59.1234567", dt.datetime(9999, 12, 31, 23, 59, 59, 123_456)),),  # noqa: DTZ001
    "datetime": (
        ("1753-01-01 00:00:00", dt.datetime(1753, 1, 1)),  # noqa: DTZ001
        ("2024-02-29 23:59:59.996", dt.datetime(2024, 2, 29, 23, 59, 59, 997_000)),  # noqa: DTZ001
        ("1899-12-31 00:00:00.789", dt.datetime(1899, 12, 31, 0, 0, 0, 790_000)),  # noqa: DTZ001
    ),
    "smalldatetime": (("2079-06-06 23:58:30", dt.datetime(2079, 6, 6, 23, 59)),),  # noqa: DTZ001
    "datetimeoffset(7)": (
        ("2024-02-29 23:30:00.123456+05:30", dt.datetime(2024, 2, 29, 23, 30, 0, 123_456, _EAST)),
    ),
    "datetimeoffset(0)": (("2024-01-01 00:00:00-14:00", dt.datetime(2024, 1, 1, tzinfo=_WEST)),),
    "uniqueidentifier": _same(_UUID),
    "xml": _same("<a>é</a>"),
    "json": _same('{"a": "é"}'),
    "hierarchyid": _same(b"\x5a\xc0"),
    "geography": _same(b"\x01" * 22),
    "timestamp": ((None, (2001).to_bytes(8, "big")),),
    "sql_variant": (
        (5, 5),
        (Variant(sql_type("nvarchar(10)"), "é"), "é"),
        (Variant(sql_type("varchar(10)"), "ab"), "ab"),
        (Decimal("1.25"), Decimal("1.25")),
        (b"\x01\x02", b"\x01\x02"),
        (_UUID, _UUID),
        (2.5, 2.5),
        (dt.date(2024, 1, 1), dt.date(2024, 1, 1)),
    ),
}


@dataclass(frozen=True, slots=True)
class TypeTable:
    """A table of one type, and what a driver must read from it in the order of `id`."""

    name: str
    declaration: str
    values: Pairs

    @property
    def expected(self) -> list[object]:
        """Return what a driver reads; the last row is NULL where it may be."""
        nullable = "not null" not in self.declaration and self.declaration != "timestamp"
        return [value for _, value in self.values] + [None] * nullable


def tables() -> Iterator[TypeTable]:
    """List the tables."""
    for number, (declaration, values) in enumerate(VALUES.items()):
        yield TypeTable(f"dbo.n{number}", declaration, values)
        if declaration != "timestamp":
            yield TypeTable(f"dbo.f{number}", f"{declaration} not null", values)


def fill(database: ModelDatabase) -> None:
    """Make the tables."""
    for table in tables():
        database.create_table(table.name, {"id": "int", "v": table.declaration}, key=("id",))
        with database.transaction() as one:
            for number, (value, _) in enumerate(table.values):
                one.insert(table.name, {"id": number} if value is None else {"id": number, "v": value})
            if table.expected[-1] is None:
                one.insert(table.name, {"id": len(table.values), "v": None})

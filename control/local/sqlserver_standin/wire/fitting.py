"""Makes the value of a type out of what a program wrote: a literal, a parameter, a test's own value."""

import datetime as dt
import math
import re
import struct
import uuid
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation

from wrackline.control.local.sqlserver_standin.wire.moments import (
    TICKS_OF_DAY,
    TICKS_OF_SECOND,
    Moment,
    TimeOfDay,
    ZonedMoment,
    of_thirds,
    rounded,
    ticks_of,
    time_of,
    to_thirds,
)
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError
from wrackline.control.local.sqlserver_standin.wire.sql_types import CLR, MAX, TEXTS, SqlType
from wrackline.control.local.sqlserver_standin.wire.values import Cell, Variant, codec_of

_RANGES = {
    "tinyint": (0, 255),
    "smallint": (-(2**15), 2**15 - 1),
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
}
_MONEY = {"smallmoney": 2**31, "money": 2**63}
_OFFSET = re.compile(r"(.*?)(?:Z|([+-])(\d\d):(\d\d))?")
_CONTEXT = Context(prec=60, rounding=ROUND_HALF_UP)
_BYTES = frozenset({"binary", "varbinary", "image", "timestamp", *CLR})
_MOMENTS = frozenset({"datetime", "smalldatetime", "datetime2"})


def fitted(of: SqlType, value: Cell) -> Cell:
    """Return the value as the type holds it; what does not fit is an error of the server's."""
    if value is None:
        return None
    if of.name in TEXTS:
        return _text(of, value)
    if of.name in _BYTES:
        return _bytes(of, value)
    if isinstance(value, str) and of.name != "sql_variant":
        value = _parsed(of, value.strip())
    if of.name in _RANGES:
        return _integer(of, value)
    if of.name == "bit":
        return bool(value)
    if of.name in {"real", "float"}:
        return _float(of, value)
    if of.name == "decimal" or of.name in _MONEY:
        return _exact(of, value)
    if of.name == "uniqueidentifier":
        return value if isinstance(value, uuid.UUID) else uuid.UUID(bytes_le=_need_bytes(value)[:16])
    if of.name == "sql_variant":
        return value if isinstance(value, Variant) else _as_variant(value)
    return _temporal(of, value)


def type_of(value: Cell) -> SqlType:
    """Return the type that a Python value has as a literal."""
    match value:
        case None | bool() | int():
            big = value is not None and not -(2**31) <= value < 2**31
            return SqlType("bit" if isinstance(value, bool) else "bigint" if big else "int")
        case float():
            return SqlType("float")
        case Decimal():
            digits, exponent = value.as_tuple().digits, int(value.as_tuple().exponent)
            scale = max(-exponent, 0)
            return SqlType("decimal", precision=min(max(len(digits), scale, 1), 38), scale=scale)
        case str():
            return SqlType("nvarchar", MAX if len(value) > 4000 else max(len(value), 1))
        case bytes():
            return SqlType("varbinary", MAX if len(value) > 8000 else max(len(value), 1))
        case Moment() | dt.datetime():
            return SqlType("datetime2", scale=7)
        case ZonedMoment():
            return SqlType("datetimeoffset", scale=7)
        case TimeOfDay() | dt.time():
            return SqlType("time", scale=7)
        case dt.date():
            return SqlType("date")
        case uuid.UUID():
            return SqlType("uniqueidentifier")
    raise TypeError(f"no type of SQL Server holds a {type(value).__name__}")


def _as_variant(value: Cell) -> Variant:
    of = type_of(value)
    return Variant(of, fitted(of, value))


def _text(of: SqlType, value: Cell) -> str:
    text = value if isinstance(value, str) else shown(value)
    coded = text.encode(codec_of(of), "surrogatepass" if codec_of(of) == "utf-16-le" else "replace")
    text = coded.decode(codec_of(of), "surrogatepass" if codec_of(of) == "utf-16-le" else "replace")
    if of.size > 0:
        wide = 2 if of.name.startswith("n") else 1
        if len(coded) > of.size * wide:
            raise ServerError(2628, "String or binary data would be truncated.")
        if of.name in {"char", "nchar"}:
            return text + " " * (of.size - len(coded) // wide)
    return text


def _bytes(of: SqlType, value: Cell) -> bytes:
    data = _need_bytes(value)
    if of.size > 0 and len(data) > of.size:
        raise ServerError(2628, "String or binary data would be truncated.")
    return data.ljust(of.size, b"\x00") if of.name in {"binary", "timestamp"} else data


def _need_bytes(value: Cell) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass")
    if isinstance(value, int):
        return value.to_bytes(4, "big", signed=value < 0)
    raise ServerError(206, f"Operand type clash: {type(value).__name__} is incompatible with varbinary")


def _parsed(of: SqlType, text: str) -> Cell:
    """Read a text as a value of another type."""
    try:
        if of.name in _RANGES or of.name == "bit":
            return {"true": 1, "false": 0}.get(text.lower()) if text.isalpha() else int(text or 0)
        if of.name in {"real", "float"}:
            return float(text)
        if of.name == "decimal" or of.name in _MONEY:
            return Decimal(text)
        if of.name == "uniqueidentifier":
            return uuid.UUID(text)
        if of.name == "time":
            return _moment_of_text(f"1900-01-01 {text}")
        if of.name == "datetimeoffset":
            return _zoned_of_text(text)
        return _moment_of_text(text)
    except (ValueError, InvalidOperation):
        raise ServerError(
            241 if of.name in {"date", "time", "datetimeoffset"} or of.name in _MOMENTS else 8114,
            f"Error converting data type nvarchar to {of.name}.",
        ) from None


def _moment_of_text(text: str) -> Moment:
    """Read an ISO date and time with up to seven digits behind the second."""
    main, _, part = text.partition(".")
    part = part.ljust(7, "0")
    moment = dt.datetime.fromisoformat(main).replace(microsecond=int(part[:6]))
    return Moment.of(moment, int(part[6]))


def _zoned_of_text(text: str) -> ZonedMoment:
    """Read a date and time with an offset behind it, or of UTC."""
    local, sign, hours, minutes = _OFFSET.fullmatch(text).groups(default="0")  # type: ignore[union-attr]
    offset = (int(hours) * 60 + int(minutes)) * (-1 if sign == "-" else 1)
    moment = _moment_of_text(local.rstrip())
    ticks = moment.day * TICKS_OF_DAY + moment.ticks - offset * 60 * TICKS_OF_SECOND
    return ZonedMoment(*divmod(ticks, TICKS_OF_DAY), offset)


def _integer(of: SqlType, value: Cell) -> int:
    if not isinstance(value, int | float | Decimal):
        raise ServerError(206, f"Operand type clash: {type(value).__name__} is incompatible with {of.name}")
    number = int(value)
    low, high = _RANGES[of.name]
    if not low <= number <= high:
        raise ServerError(220, f"Arithmetic overflow error for data type {of.name}, value = {number}.")
    return number


def _float(of: SqlType, value: Cell) -> float:
    number = float(value) if isinstance(value, int | float | Decimal) else math.nan
    if not math.isfinite(number):
        raise ServerError(8115, f"Arithmetic overflow error converting expression to data type {of.name}.")
    return float(struct.unpack("<f", struct.pack("<f", number))[0]) if of.name == "real" else number


def _exact(of: SqlType, value: Cell) -> Decimal:
    if not isinstance(value, int | float | Decimal):
        raise ServerError(206, f"Operand type clash: {type(value).__name__} is incompatible with {of.name}")
    scale = of.scale if of.name == "decimal" else 4
    number = Decimal(value).quantize(Decimal(1).scaleb(-scale), context=_CONTEXT)
    most = _MONEY.get(of.name) or 10**of.precision
    if not (-most <= number.scaleb(scale, _CONTEXT) < most):
        raise ServerError(8115, f"Arithmetic overflow error converting expression to data type {of}.")
    return number.copy_abs() if number == 0 else number


def _temporal(of: SqlType, value: Cell) -> Cell:
    """Make a value of one of the types of date and time; a date is midnight, an offset is dropped."""
    if of.name == "time":
        ticks = value.ticks if isinstance(value, Moment | TimeOfDay) else ticks_of(_need_time(value))
        return TimeOfDay(min(rounded(0, ticks, of.scale)[1], TICKS_OF_DAY - 1))
    if of.name == "datetimeoffset":
        if isinstance(value, dt.datetime) and value.tzinfo:
            value = ZonedMoment.of(value)
        zoned = value if isinstance(value, ZonedMoment) else ZonedMoment(*_moment(value), 0)
        return ZonedMoment(*rounded(zoned.day, zoned.ticks, of.scale), zoned.minutes)
    moment = _moment(value)
    if of.name == "date":
        return dt.date.fromordinal(moment.day + 1)
    if of.name == "datetime2":
        return Moment(*rounded(*moment, of.scale))
    if of.name == "smalldatetime":
        minutes = (moment.ticks + 30 * TICKS_OF_SECOND) // (60 * TICKS_OF_SECOND)
        return Moment(moment.day + minutes // 1440, minutes % 1440 * 60 * TICKS_OF_SECOND)
    thirds = to_thirds(moment.ticks)
    return Moment(moment.day + thirds // 25_920_000, of_thirds(thirds % 25_920_000))


def _need_time(value: Cell) -> dt.time:
    if isinstance(value, dt.datetime):
        return value.time()
    if isinstance(value, dt.time):
        return value
    raise ServerError(206, f"Operand type clash: {type(value).__name__} is incompatible with time")


def _moment(value: Cell) -> Moment:
    match value:
        case Moment():
            return value
        case ZonedMoment():
            return Moment.of(value.as_datetime().replace(tzinfo=None), value.ticks % 10)
        case dt.datetime():
            return Moment.of(value.replace(tzinfo=None))
        case dt.date():
            return Moment(value.toordinal() - 1, 0)
        case TimeOfDay():
            return Moment(dt.date(1900, 1, 1).toordinal() - 1, value.ticks)
    raise ServerError(206, f"Operand type clash: {type(value).__name__} is incompatible with datetime2")


def shown(value: Cell) -> str:
    """Show a value as a text, as a conversion to nvarchar does."""
    match value:
        case bool():
            return "1" if value else "0"
        case Moment():
            whole = dt.datetime.combine(dt.date.fromordinal(value.day + 1), time_of(value.ticks))
            return f"{whole:%Y-%m-%d %H:%M:%S}.{value.ticks % TICKS_OF_SECOND:07}"
        case TimeOfDay():
            return f"{time_of(value.ticks):%H:%M:%S}.{value.ticks % TICKS_OF_SECOND:07}"
        case ZonedMoment():
            return value.as_datetime().isoformat(" ")
        case bytes():
            return value.decode("latin-1")
        case uuid.UUID():
            return str(value).upper()
        case Variant():
            return shown(value.value)
    return str(value)

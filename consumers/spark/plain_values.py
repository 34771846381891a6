"""A value of a table's column in its plain form: what each loader and each comparison reads alike.

    a day             days since 1970
    a moment          microseconds since 1970
    an array          JSON, its moments with microseconds
    everything else   as it is

No expression asks for the session's time zone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.limits import Limit, LimitBreach
from wrackline.schemas.tables.types import ColumnType, Kind

_MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"  # by itself to_json cuts a moment to milliseconds
JSON: Mapping[str, str] = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": f"{_MOMENT}XXX",
    "timestampNTZFormat": _MOMENT,
}
_DAY, _HOUR, _MINUTE = 86_400_000_000, 3_600_000_000, 60_000_000


def plain_value(value: Column, of: ColumnType) -> Column:
    """Return it."""
    return _WRITTEN.get(of.kind, _itself)(value)


def breaches(plain: Column, limit: Limit) -> Iterator[tuple[LimitBreach, Column]]:
    """Return the ways in which a plain value may be beyond a limit, each with its condition."""
    for character in limit.unheld:
        yield LimitBreach.CHARACTER, F.contains(plain, F.lit(character))
    if limit.most_bytes is not None:
        yield LimitBreach.SIZE, F.octet_length(plain) > limit.most_bytes
    ends = [plain < end for end in (limit.least,) if end is not None]
    ends += [plain > end for end in (limit.greatest,) if end is not None]
    if ends:
        yield LimitBreach.RANGE, reduce(Column.__or__, ends)


def bytes_of_row(texts: Iterable[Column]) -> Column:
    """Return how many bytes a row's texts and bytes have together."""
    sizes = (F.coalesce(F.octet_length(one), F.lit(0)) for one in texts)
    return reduce(Column.__add__, sizes, F.lit(0).cast("bigint"))


def _itself(value: Column) -> Column:
    return value


def _moment(value: Column) -> Column:
    """Count from a timestamp without zone; its fields ask for none."""
    seconds = (F.date_part(F.lit("SECOND"), value) * F.lit(1_000_000)).cast("bigint")
    fields = ((F.unix_date(value.cast("date")), _DAY), (F.hour(value), _HOUR), (F.minute(value), _MINUTE))
    return reduce(Column.__add__, (field.cast("bigint") * F.lit(by) for field, by in fields), seconds)


def _json(value: Column) -> Column:
    return F.to_json(value, JSON)


_WRITTEN: Mapping[Kind, Callable[[Column], Column]] = {  # the others as they are
    Kind.DATE: F.unix_date,
    Kind.TIMESTAMP_MICROS: _moment,
    Kind.ZONED_TIMESTAMP: F.unix_micros,
    Kind.INSTANT_MICROS: F.unix_micros,
    Kind.ARRAY: _json,
}

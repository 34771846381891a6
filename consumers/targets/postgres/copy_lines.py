r"""A frame as lines of PostgreSQL's COPY, made by Spark's own expressions.

In: the frame of dedupe.py.  Out: texts `a<tab>b<tab>\N…<newline>`, streamed partition by partition.

Days are written as Julian ones (`J2440588`), which the server reads the same whatever its DateStyle, with
any number of digits in the year, and before Christ.  No expression asks for the session's time zone.
What carries an infinite date or timestamp is written as `infinity` or `-infinity`.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.contract.plan import MergePlan
from wrackline.schemas.tables.infinity import FIRST, FIRST_DAY, FIRST_MICROS, LAST, LAST_DAY, LAST_MICROS
from wrackline.schemas.tables.types import ColumnType, Kind

_EPOCH = 2440588  # the Julian day of 1970-01-01
_DAY, _HOUR, _MINUTE, _SECOND = 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000
_FIRST_TEXT = "-290308-12-21 19:59:27.6"  # FIRST_MICROS and LAST_MICROS, as Spark writes them without a zone
_LAST_TEXT = "+294247-01-10 04:00:25.2"
_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}  # the backslash first
_IN_ARRAY = {"\\": "\\\\", '"': '\\"'}
_NAMES = ColumnType(Kind.ARRAY, "text[]", element=ColumnType(Kind.STRING, "text"))
_BLOCK = 1 << 16  # characters handed to the driver at a time


def copy_lines(frame: DataFrame, plan: MergePlan) -> Iterator[str]:
    """Return blocks of whole lines, in the stage's order; at most two partitions are held."""
    row = F.col("row")
    cells = [_text(row.getField(column.target), column.type) for column in plan.columns]
    cells += [
        F.col("seq"),
        F.col("op"),
        _instant(F.col("commit_ts")),
        F.col("deleted").cast("string"),
        *(_text(F.when(F.size(name) > 0, F.col(name)), _NAMES) for name in ("unsent", "missing")),
        *([_text(F.col("known_at"), _NAMES)] if plan.told_late else []),
    ]
    line = F.concat_ws("\t", *(F.coalesce(_replaced(cell, _ESCAPES), F.lit("\\N")) for cell in cells))
    block: list[str] = []
    size = 0
    for (text,) in frame.select(line).toLocalIterator(prefetchPartitions=True):
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield "\n".join(block) + "\n"
            block, size = [], 0
    if block:
        yield "\n".join(block) + "\n"


def _text(value: Column, of: ColumnType) -> Column:
    """Write a value as PostgreSQL's input functions read it; null stays null."""
    if of.element is not None:
        element = of.element
        items = F.transform(value, lambda item: F.coalesce(_quoted(_text(item, element)), F.lit("NULL")))
        return F.concat(F.lit("{"), F.array_join(items, ","), F.lit("}"))
    return _WRITTEN.get(of.kind, _plain)(value)


def _plain(value: Column) -> Column:
    return value.cast("string")


def _bytes(value: Column) -> Column:
    return F.concat(F.lit("\\x"), F.hex(value))


def _date(value: Column) -> Column:
    days = F.unix_date(value)
    return _or_infinite(days, FIRST_DAY, LAST_DAY, _julian(days))


def _moment(value: Column) -> Column:
    """Write a timestamp without zone; Spark's text of it asks for no zone either."""
    text = value.cast("string")
    day = _julian(F.unix_date(value.cast("date")))
    finite = F.concat(day, F.lit(" "), F.substring_index(text, " ", -1))
    return _or_infinite(text, _FIRST_TEXT, _LAST_TEXT, finite)


def _instant(value: Column) -> Column:
    """Write a moment in UTC."""
    micros = F.unix_micros(value)
    of_day = F.pmod(micros, F.lit(_DAY))
    finite = F.concat(_julian(_div(micros - of_day, _DAY)), F.lit(" "), _clock(of_day), F.lit("+00"))
    return _or_infinite(micros, FIRST_MICROS, LAST_MICROS, finite)


def _or_infinite(value: Column, first: object, last: object, finite: Column) -> Column:
    return F.when(value == F.lit(first), FIRST).when(value == F.lit(last), LAST).otherwise(finite)


def _julian(days: Column) -> Column:
    return F.concat(F.lit("J"), (days.cast("bigint") + _EPOCH).cast("string"))


def _clock(micros: Column) -> Column:
    """Write microseconds as hours, minutes and seconds; hours take as many digits as they need."""
    return F.concat(
        _div(micros, _HOUR).cast("string"),
        F.lit(":"),
        _padded(_div(micros, _MINUTE) % 60, 2),
        F.lit(":"),
        _padded(_div(micros, _SECOND) % 60, 2),
        F.lit("."),
        _padded(micros % _SECOND, 6),
    )


def _duration(micros: Column) -> Column:
    return F.concat(F.when(micros < 0, F.lit("-")).otherwise(F.lit("")), _clock(F.abs(micros)))


def _div(number: Column, by: int) -> Column:
    return F.call_function("div", number, F.lit(by).cast("bigint"))


def _padded(number: Column, digits: int) -> Column:
    return F.lpad(number.cast("string"), digits, "0")


def _quoted(item: Column) -> Column:
    return F.concat(F.lit('"'), _replaced(item, _IN_ARRAY), F.lit('"'))


def _replaced(text: Column, escapes: dict[str, str]) -> Column:
    return reduce(lambda made, pair: F.replace(made, F.lit(pair[0]), F.lit(pair[1])), escapes.items(), text)


_WRITTEN: Mapping[Kind, Callable[[Column], Column]] = {  # the others as Spark writes them
    Kind.BYTES: _bytes,
    Kind.BITS: _bytes,
    Kind.DATE: _date,
    Kind.TIME_MICROS: _clock,
    Kind.DURATION_MICROS: _duration,
    Kind.TIMESTAMP_MICROS: _moment,
    Kind.ZONED_TIMESTAMP: _instant,
    Kind.INSTANT_MICROS: _instant,
}

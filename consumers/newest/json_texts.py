"""Arrow values as the texts that Spark writes of them: pure.

In: values of one column, as Avro has them or in their plain form.  Out: texts, equal to the byte.

    json_lists     what to_json makes of an array (spark/plain_values.py)
    json_strings   a text in JSON
    decimal_texts  digits without an exponent, as ANSI rules cast a decimal
    float_marks    the bits of a float, as Java writes them for %a: one text in every Java

Java 17 writes some floats of an array with a digit more than Java 21, whose form is taken here.
"""

from base64 import b64encode
from collections.abc import Callable
from decimal import Decimal
from math import isfinite, isnan
from typing import Final

import pyarrow as pa
from pyarrow import compute

from wrackline.schemas.tables.types import ColumnType, Kind

_NAMED: Final = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES: Final = {chr(code): _NAMED.get(chr(code), f"\\u{code:04X}") for code in range(32)}
_CONTROL: Final = r"[\x00-\x1f]"
_DAYS: Final = (-719_162, 2_932_896)  # of the years that have four digits
_DAY_MICROS: Final = 86_400_000_000
_MOMENTS: Final = frozenset({Kind.TIMESTAMP_MICROS, Kind.ZONED_TIMESTAMP, Kind.INSTANT_MICROS})
_NO_EXPONENT: Final = 6  # a decimal with so many places has none in Arrow


def json_lists(
    lists: pa.Array, of: ColumnType, plain: Callable[[pa.Array, ColumnType], pa.Array]
) -> pa.Array:
    """Write lists whose elements `plain` makes plain; it raises ValueError for a year beyond 9999."""
    if of.element is None:
        raise TypeError(of)
    if pa.types.is_null(lists.type):
        return lists.cast(pa.string())
    elements = lists.flatten()
    texts = _elements(elements, plain(elements, of.element), of.element)
    lengths = compute.fill_null(compute.list_value_length(lists), 0)
    ends = compute.cumulative_sum(lengths.cast(pa.int32()))
    starts = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    joined = compute.binary_join(pa.ListArray.from_arrays(starts, compute.fill_null(texts, "null")), ",")
    whole = compute.binary_join_element_wise("[", joined, "]", "")
    return compute.if_else(lists.is_valid(), whole, None)


def json_strings(values: pa.Array) -> pa.Array:
    """Write texts as JSON has them."""
    escaped = compute.replace_substring(values, "\\", "\\\\")
    escaped = compute.replace_substring(escaped, '"', '\\"')
    if compute.any(compute.match_substring_regex(escaped, _CONTROL)).as_py():
        for character, written in _ESCAPES.items():
            escaped = compute.replace_substring(escaped, character, written)
    return compute.binary_join_element_wise('"', escaped, '"', "")


def decimal_texts(values: pa.Array) -> pa.Array:
    """Write all digits of decimals."""
    places = values.type.scale
    if places <= _NO_EXPONENT:
        return values.cast(pa.string())
    unscaled = pa.Array.from_buffers(
        pa.decimal128(values.type.precision), len(values), values.buffers(), offset=values.offset
    ).cast(pa.string())
    digits = compute.ascii_lpad(compute.ascii_ltrim(unscaled, "-"), places + 1, "0")
    pointed = compute.utf8_replace_slice(digits, start=-places, stop=-places, replacement=".")
    sign = compute.if_else(compute.starts_with(unscaled, "-"), "-", "")
    return compute.binary_join_element_wise(sign, pointed, "")


def float_marks(values: pa.Array) -> pa.Array:
    """Write floats by their bits; -0.0 and 0.0 have one text, and so has every NaN."""
    return pa.array([None if one is None else _float_mark(one) for one in values.to_pylist()], pa.string())


def _float_mark(value: float) -> str:
    if not isfinite(value):
        return _unlike_a_number(value)
    sign, _, rest = (value + 0.0).hex().rpartition("0x")
    mantissa, _, exponent = rest.partition("p")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0")
    digits = mantissa if "." in mantissa and not mantissa.endswith(".") else f"{mantissa.rstrip('.')}.0"
    return f"{sign}0x{digits}p{int(exponent)}"


def _unlike_a_number(value: float) -> str:
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _elements(values: pa.Array, plain: pa.Array, of: ColumnType) -> pa.Array:
    """Write each element; a null stays one."""
    if of.kind is Kind.DATE:
        _refuse_beyond(plain, *_DAYS)
        return json_strings(plain.cast(pa.int32()).cast(pa.date32()).cast(pa.string()))
    if of.kind in _MOMENTS:
        first, last = _DAYS
        _refuse_beyond(plain, first * _DAY_MICROS, (last + 1) * _DAY_MICROS - 1)
        written = plain.cast(pa.timestamp("us")).cast(pa.string())
        zone = "" if of.kind is Kind.TIMESTAMP_MICROS else "Z"
        moments = compute.replace_substring(written, " ", "T")
        return json_strings(compute.binary_join_element_wise(moments, zone, ""))
    if pa.types.is_decimal(values.type):
        return values.cast(pa.string())
    if pa.types.is_floating(values.type):
        return _floats(values)
    if pa.types.is_binary(plain.type):
        coded = [None if one is None else b64encode(one).decode() for one in plain.to_pylist()]
        return json_strings(pa.array(coded, pa.string()))
    return json_strings(plain) if pa.types.is_string(plain.type) else plain.cast(pa.string())


def _refuse_beyond(values: pa.Array, least: int, greatest: int) -> None:
    ends = compute.min_max(values)
    if len(values) > values.null_count and not (
        least <= ends["min"].as_py() and ends["max"].as_py() <= greatest
    ):
        raise ValueError("a year of more than four digits")


def _floats(values: pa.Array) -> pa.Array:
    """Write most floats by Arrow; row by row only what is very small or large, or no number."""
    short = values.cast(pa.string())
    pointed = compute.if_else(
        compute.match_substring(short, "."), short, compute.binary_join_element_wise(short, ".0", "")
    )
    size = compute.abs(values.cast(pa.float64()))
    usual = compute.or_(
        compute.equal(size, 0.0), compute.and_(compute.greater_equal(size, 1e-3), compute.less(size, 1e7))
    )
    others = compute.indices_nonzero(compute.invert(compute.fill_null(usual, True)))
    if not len(others):
        return pointed
    pairs = zip(values.take(others).to_pylist(), short.take(others).to_pylist(), strict=True)
    return compute.replace_with_mask(
        pointed,
        compute.invert(compute.fill_null(usual, True)),
        pa.array([_float_text(*one) for one in pairs]),
    )


def _float_text(value: float, short: str) -> str:
    """Write a float as Java 21 does: of one digit it makes the nearest two."""
    if not isfinite(value):
        return f'"{_unlike_a_number(value)}"'
    sign, digits, exponent = Decimal(short).as_tuple()
    power = len(digits) + int(exponent) - 1
    text = "".join(map(str, digits)).rstrip("0")
    if len(text) == 1:
        nearest, _, moved = f"{abs(value):.1e}".partition("e")
        text, power = nearest.replace(".", ""), int(moved)
        text = text[0] if text[1] == "0" else text
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"

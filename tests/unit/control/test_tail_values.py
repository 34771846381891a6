"""Values as `wrackline tail` shows them: exact, distinguishable, and harmless to a terminal."""

import json
import math
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.control.runtime.events import logical_types
from wrackline.control.runtime.events.value_text import ShownMoment, quote, show_name, show_value
from wrackline.control.runtime.ground.terminal_text import escape

EPOCH = date(1970, 1, 1).toordinal()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("null", '"null"'),
        (True, "true"),
        (1, "1"),
        ("1", '"1"'),
        (b"\x00\xff", "0x00ff"),
        (b"", "0x"),
        ("", '""'),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        (Decimal("1E+3"), "1000"),
        (Decimal("0.0000000001"), "0.0000000001"),
        (ShownMoment("2026-05-01"), "2026-05-01"),
        ([None, "a", [1]], '[null, "a", [1]]'),
        ({"a": None, "b c": "x"}, '{a: null, "b c": "x"}'),
        ('a"b\\\n', '"a\\"b\\\\\\n"'),
        ("\x1b[2J", '"\\u001b[2J"'),
        ("\x7f\x9b", '"\\u007f\\u009b"'),
        ("a\u202eb\u2028", '"a\\u202eb\\u2028"'),
        ("\U000e0001", '"\\udb40\\udc01"'),
        ("ärger 日本 🙂", '"ärger 日本 🙂"'),
    ],
)
def test_a_value_is_written_so_that_it_is_no_other(value: object, text: str) -> None:
    assert show_value(value) == text


@given(st.text())
def test_a_text_is_printable_and_can_be_read_again(text: str) -> None:
    assert quote(text).isprintable()
    assert json.loads(quote(text)) == text
    assert escape(json.dumps(text, ensure_ascii=False)).isprintable()
    assert json.loads(escape(json.dumps(text, ensure_ascii=False))) == text
    assert show_name(text).isprintable()


@given(st.dates())
def test_a_day_is_written_as_the_calendar_does(day: date) -> None:
    assert logical_types.day(day.toordinal() - EPOCH) == day.isoformat()


@given(st.datetimes())
def test_a_moment_is_written_as_the_calendar_does(at: datetime) -> None:
    micros = (at - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001 - both are without a zone
    assert datetime.fromisoformat(logical_types.moment(micros)) == at
    assert logical_types.moment(micros, "Z") == logical_types.moment(micros) + "Z"


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (-EPOCH, "0000-12-31"),
        (-EPOCH - 366, "-0001-12-31"),
        (-2_440_588, "-4713-11-24"),
        (2932897, "+10000-01-01"),
    ],
)
def test_a_day_that_no_date_of_python_can_be(days: int, text: str) -> None:
    assert logical_types.day(days) == text


def test_a_time_of_day_may_be_the_end_of_it() -> None:
    assert logical_types.clock(86_400_000_000) == "24:00:00"
    assert logical_types.clock(1) == "00:00:00.000001"
    assert logical_types.clock(-1_500_000) == "-00:00:01.500"


@given(st.integers(-(10**60), 10**60), st.integers(0, 60))
def test_a_decimal_keeps_all_its_digits(unscaled: int, scale: int) -> None:
    data = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    assert int(show_value(logical_types.decimal(data, scale)).replace(".", "")) == unscaled
    assert logical_types.decimal(data, scale).as_tuple().exponent == -scale

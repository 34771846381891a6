"""Handling modes: what is done anyway is accepted, anything else is refused with what is done instead."""

import pytest

from tests.unit.settings.shop import GOOD, checked, codes

FIXED = {
    "decimal.handling.mode": ("precise", ("double", "string"), "decimals"),
    "time.precision.mode": (
        "microseconds",
        ("adaptive", "connect", "isostring", "nanoseconds"),
        "microseconds",
    ),
    "binary.handling.mode": ("bytes", ("base64", "base64-url-safe", "hex"), "bytes"),
    "interval.handling.mode": ("string", ("numeric",), "ISO 8601"),
    "bigint.unsigned.handling.mode": ("precise", ("long",), "20 digits"),
    "money.fraction.digits": ("2", ("0", "3"), "two places"),
    "event.processing.failure.handling.mode": ("fail", ("warn", "skip"), "never skipped"),
    "event.deserialization.failure.handling.mode": ("fail", ("warn", "ignore"), "never skipped"),
}
OTHERS = [(name, word, said) for name, (_, words, said) in FIXED.items() for word in words]


@pytest.mark.parametrize(("name", "word"), [(name, word) for name, (word, _, _) in FIXED.items()])
def test_a_mode_that_says_what_is_done_anyway_is_accepted(name: str, word: str) -> None:
    assert codes(checked({**GOOD, name: word})) == []


@pytest.mark.parametrize(("name", "word", "said"), OTHERS)
def test_another_mode_is_refused_with_what_is_done_instead(name: str, word: str, said: str) -> None:
    found = checked({**GOOD, name: word})
    assert codes(found) == [(name, "settings.invalid")]
    assert found.values is None
    assert said in found.problems[0].error.sentence


@pytest.mark.parametrize("word", ["json", "map"])
def test_an_hstore_is_text_whatever_is_asked(word: str) -> None:
    found = checked({**GOOD, "hstore.handling.mode": word})
    assert codes(found) == [("hstore.handling.mode", "settings.refused")]
    assert "the server's own text" in found.problems[0].error.sentence


def test_a_timestamp_with_zone_is_text_or_microseconds() -> None:
    values = checked(GOOD).values
    assert values is not None
    assert values.text("timestamptz.handling.mode") == "string"
    assert codes(checked({**GOOD, "timestamptz.handling.mode": "micros"})) == []
    assert codes(checked({**GOOD, "timestamptz.handling.mode": "millis"})) == [
        ("timestamptz.handling.mode", "settings.invalid")
    ]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("column.mask.hash.SHA-257.with.salt.pepper", "mask.algorithm_unknown"),
        ("column.mask.hash.v2.none.with.salt.pepper", "mask.algorithm_unknown"),
        ("column.truncate.to.0.chars", "mask.length_refused"),
        ("column.mask.with.99999.chars", "mask.length_refused"),
    ],
)
def test_a_mask_that_there_is_not_is_named_before_the_start(name: str, code: str) -> None:
    found = checked({**GOOD, name: "public.t.a"})
    assert codes(found) == [(name, code)]
    assert "pepper" not in str(found.problems[0].error)
    assert codes(checked({**GOOD, "column.mask.hash.v2.SHA-256.with.salt.pepper": "public.t.a"})) == []

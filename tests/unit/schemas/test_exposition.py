"""Metrics in Prometheus' text form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.schemas.language.exposition import Family, Histogram, Sample, text


@given(st.lists(st.floats(0, 5)))
def test_a_histogram_s_buckets_hold_all_below_them(values: list[float]) -> None:
    histogram = Histogram((0.5, 1.0))
    for value in values:
        histogram.observe(value)
    half, one, rest, total, count = [sample.value for sample in histogram.samples({})]
    assert half == sum(value <= 0.5 for value in values)
    assert one == sum(value <= 1.0 for value in values)
    assert rest == count == len(values)
    assert total == pytest.approx(sum(values))


def test_a_label_cannot_break_out_of_its_line() -> None:
    family = Family("m", "gauge", "a\\b\nc", [Sample({"table": 'a"b\\c\nd'}, 1.5)])
    assert text([family]) == ('# HELP m a\\\\b\\nc\n# TYPE m gauge\nm{table="a\\"b\\\\c\\nd"} 1.5\n')
    assert text([Family("m", "gauge", "", [])]) == ""

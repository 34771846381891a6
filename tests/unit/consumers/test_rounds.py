"""What a batch means: offsets, floor, shape, and how much of it is read at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.consumers.contract.batch_scope import (
    BatchRange,
    Outline,
    SchemaPair,
    applied_after,
    schema_pairs,
)
from wrackline.consumers.contract.plan import Applied, NewestChange, TopicPartition
from wrackline.consumers.kafka.topic_offsets import check_range, same_topic
from wrackline.schemas.errors import Definite

HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)


def test_the_newest_change_decides_the_shape_and_a_truncate_does_not() -> None:
    seen = [
        Outline(SchemaPair(1, 2), "05", None, 3),
        Outline(SchemaPair(3, 4), "07", None, 1),
        Outline(SchemaPair(3, 9), "09", "09", 0),
    ]
    made = applied_after(Applied(), "t", {0: 10, 1: 4}, seen)
    assert made == Applied({HERE: 10, THERE: 4}, "09", NewestChange("07", 3, 4))
    assert schema_pairs(made, seen) == {SchemaPair(1, 2), SchemaPair(3, 4)}


def test_the_newest_truncate_is_the_floor() -> None:
    seen = [Outline(SchemaPair(1, 2), seq, seq, 0, 1) for seq in ("03", "07", "05")]
    assert applied_after(Applied(), "t", {0: 3}, seen).floor == "07"


def test_what_comes_late_reshapes_nothing() -> None:
    before = Applied({HERE: 5}, "03", NewestChange("08", 7, 8))
    made = applied_after(before, "t", {0: 6}, [Outline(SchemaPair(1, 2), "05", "02", 1)])
    assert made == Applied({HERE: 6}, "03", NewestChange("08", 7, 8))
    assert schema_pairs(made, [Outline(SchemaPair(1, 2), "05", "02", 1)]) == {
        SchemaPair(1, 2),
        SchemaPair(7, 8),
    }


def test_a_table_without_a_row_has_no_shape() -> None:
    assert applied_after(Applied(), "t", {0: 3}, [Outline(SchemaPair(None, 2), "01", "01", 0)]).newest is None


@given(
    st.dictionaries(st.integers(0, 5), st.tuples(st.integers(0, 99), st.integers(0, 99)), min_size=1),
    st.integers(1, 50),
)
def test_a_cut_range_is_a_first_part_and_never_empty(sizes: dict[int, tuple[int, int]], most: int) -> None:
    whole = BatchRange(
        "t", {p: at for p, (at, _) in sizes.items()}, {p: at + n for p, (at, n) in sizes.items()}
    )
    cut = whole.at_most(most)
    assert cut.start == whole.start
    assert all(cut.start[p] <= cut.end[p] <= whole.end[p] for p in sizes)
    assert cut.offsets < most + len(sizes)
    assert cut.empty == whole.empty


def test_a_topic_created_again_is_another_however_far_it_reaches() -> None:
    before = same_topic("s.d.p.t", Applied({HERE: 5}), "0a")
    assert before == Applied({HERE: 5}, topic_ids={"s.d.p.t": "0a"})
    assert same_topic("s.d.p.t", before, "0a") == before
    assert same_topic("s.d.p.t", before, None) == before, "older brokers have no ids"
    with pytest.raises(Definite, match=r"consume.topic_cut.*id was 0a and is 0b"):
        same_topic("s.d.p.t", before, "0b")


def test_what_is_gone_is_never_skipped() -> None:
    assert check_range("s.d.p.t", {0: 5}, {0: 5, 1: 2}, {0: 9, 1: 4}) == BatchRange(
        "s.d.p.t", {0: 5, 1: 2}, {0: 9, 1: 4}
    )
    for firsts, ends, code in (
        ({0: 6}, {0: 9}, "consume.offsets_gone"),
        ({0: 0}, {0: 4}, "consume.topic_cut"),
        ({}, {}, "consume.topic_cut"),
    ):
        with pytest.raises(Definite) as caught:
            check_range("s.d.p.t", {0: 5}, firsts, ends)
        assert caught.value.code == code
        assert "wrackline snapshot start <pipeline.toml> 'd.p.t'" in caught.value.hint

"""The numbers of our readers: a server ends the reader whose number another brings along."""

import pytest

from wrackline.producers.sources.mysql.connect.connect import other_ids

OURS = 1_000_000_000, 1_999_999_999  # what a pipeline's first number is made in


@pytest.mark.parametrize("first", [1, 7, *OURS, 2_294_967_296, 2_999_999_999, 3_500_000_000, 4_294_967_295])
def test_a_pipelines_readers_have_numbers_of_their_own(first: int) -> None:
    numbers = [first, *other_ids(first)]
    assert len(set(numbers)) == 4
    assert all(0 < number < 1 << 32 for number in numbers)


@pytest.mark.parametrize("first", OURS)
def test_no_other_number_is_a_pipelines_first(first: int) -> None:
    assert not [number for number in other_ids(first) if OURS[0] <= number <= OURS[1]]

"""What a new shape asks to be read again, where names alone would not show it."""

from dataclasses import replace

import pytest

from tests.unit.producers.snapshot.shop import TABLE, TEXT
from wrackline.producers.snapshot.shapes import Need, needs_refresh
from wrackline.schemas.table import Column

AGAIN = Column("big", 9, TEXT)  # dropped, and added again under its name
OTHER = Column("other", 9, TEXT)


@pytest.mark.parametrize(("added", "need"), [(AGAIN, Need.REFRESH), (OTHER, Need.NOTHING)])
def test_a_column_that_takes_the_name_of_another_is_read_again(added: Column, need: Need) -> None:
    altered = replace(TABLE, columns=(*TABLE.columns[:2], added))
    assert needs_refresh(TABLE, altered, frozenset()) is need


def test_two_columns_that_exchange_their_names_are_read_again() -> None:
    first, second = Column("a", 7, TEXT), Column("b", 8, TEXT)
    before = replace(TABLE, columns=(*TABLE.columns, first, second))
    after = replace(TABLE, columns=(*TABLE.columns, replace(first, name="b"), replace(second, name="a")))
    assert needs_refresh(before, after, frozenset()) is Need.REFRESH

"""Whatever a database calls a thing, Avro gets a legal name, always the same one, or a refusal."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.avro_names import avro_name, avro_namespace, column_names

LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@given(st.text(max_size=70))
@example("")
@example("2 rooms")
@example('quo"ted')
@example("\U0001f30a")
@example("x" * 63)
@example("é" * 31)
@example("٣")  # a digit, but not Avro's
@example("a\n")
def test_every_name_becomes_legal_and_stays(name: str) -> None:
    legal = avro_name(name)
    assert LEGAL.fullmatch(legal)
    assert avro_name(legal) == legal
    if LEGAL.fullmatch(name):
        assert legal == name


@given(st.lists(st.text(max_size=8), min_size=1, max_size=4).map(".".join))
@example("shop1..public.2 rooms")
def test_every_part_of_a_namespace_becomes_legal(topic: str) -> None:
    parts = avro_namespace(topic).split(".")
    assert len(parts) == topic.count(".") + 1
    assert all(LEGAL.fullmatch(part) for part in parts)


@given(st.lists(st.text("ab_ -2", max_size=4), unique=True))
def test_columns_keep_apart_or_are_refused(columns: list[str]) -> None:
    """T-H05."""
    apart = len({avro_name(column) for column in columns}) == len(columns)
    if apart:
        assert column_names("t", columns) == {column: avro_name(column) for column in columns}
    else:
        with pytest.raises(OperatorNeeded, match=r"avro\.names_collide"):
            column_names("t", columns)

"""Whatever a database calls a thing, Avro gets a legal name, always the same one, or a refusal."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.avro_names import avro_name, avro_namespace, column_names, unicode_name
from wrackline.schemas.kafka.topic_names import Naming

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


ODD = st.lists(st.text("ab_ -2\xefu0", min_size=1, max_size=4), unique=True)


@given(ODD)
@example(["a-b", "a_b", "a_u002db"])
@example(["a-b", "a_b", "a-u002db"])
def test_columns_keep_apart_or_are_refused(columns: list[str]) -> None:
    """T-H05."""
    plain = [avro_name(column) for column in columns]
    shared = {column for column, name in zip(columns, plain, strict=True) if plain.count(name) > 1}
    escaped = shared - {*plain}
    kept = {avro_name(column) for column in columns if column not in escaped}
    if any(unicode_name(column) in kept for column in escaped):
        with pytest.raises(OperatorNeeded, match=r"avro\.names_collide"):
            column_names("t", columns)
        return
    found = column_names("t", columns)
    assert len(set(found.values())) == len(columns)
    assert all(LEGAL.fullmatch(name) for name in found.values())
    for column, name in found.items():
        assert name == (column if LEGAL.fullmatch(column) else name)
        assert column in shared or name == avro_name(column), "whoever shares no name keeps it"


@given(st.lists(st.text(max_size=4) | st.text("a_u0e5f", max_size=9), unique=True))
@example(["\xef", "_u00ef", "_u005fu00ef"])
def test_tables_with_different_names_have_different_topics_if_names_are_escaped(names: list[str]) -> None:
    for naming in (Naming.WRACKLINE_UNICODE, Naming.DEBEZIUM_UNICODE):
        made = [naming.part(name) for name in names]
        assert len(set(made)) == len(names)
        assert all(re.fullmatch("[A-Za-z0-9_-]*", one) for one in made)

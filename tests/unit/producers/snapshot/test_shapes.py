"""What a new shape asks to be read again, and how a shape stands in the saved state."""

from dataclasses import replace

import orjson
import pytest
from pydantic import TypeAdapter

from tests.unit.producers.snapshot.shop import INT, TABLE, TEXT
from wrackline.producers.snapshot.shape_changes import RefreshNeed, needs_refresh, render_shape
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

AGAIN = Column("big", 9, TEXT)  # dropped, and added again under its name
OTHER = Column("other", 9, TEXT)
NONE: frozenset[int] = frozenset()


def with_columns(*columns: Column) -> TableSchema:
    return replace(TABLE, columns=(*TABLE.columns, *columns))


@pytest.mark.parametrize(("added", "need"), [(AGAIN, RefreshNeed.REFRESH), (OTHER, RefreshNeed.NOTHING)])
def test_a_column_that_takes_the_name_of_another_is_read_again(added: Column, need: RefreshNeed) -> None:
    altered = replace(TABLE, columns=(*TABLE.columns[:2], added))
    assert needs_refresh(TABLE, altered, NONE) is need


def test_two_columns_that_exchange_their_names_are_read_again() -> None:
    first, second = Column("a", 7, TEXT), Column("b", 8, TEXT)
    before = with_columns(first, second)
    after = with_columns(replace(first, name="b"), replace(second, name="a"))
    assert needs_refresh(before, after, NONE) is RefreshNeed.REFRESH


@pytest.mark.parametrize(
    ("before", "after", "filled", "need"),
    [
        pytest.param(TABLE, TABLE, NONE, RefreshNeed.NOTHING, id="nothing"),
        pytest.param(TABLE, with_columns(OTHER), NONE, RefreshNeed.NOTHING, id="a column of nulls"),
        pytest.param(
            TABLE, with_columns(OTHER), frozenset({8}), RefreshNeed.NOTHING, id="another has a default"
        ),
        pytest.param(TABLE, with_columns(OTHER), frozenset({9}), RefreshNeed.REFRESH, id="a default"),
        pytest.param(
            TABLE, with_columns(replace(OTHER, nullable=False)), NONE, RefreshNeed.REFRESH, id="not null"
        ),
        pytest.param(
            TABLE, with_columns(replace(OTHER, generated=True)), NONE, RefreshNeed.REFRESH, id="computed"
        ),
        pytest.param(with_columns(OTHER), TABLE, NONE, RefreshNeed.NOTHING, id="dropped"),
        pytest.param(
            with_columns(OTHER),
            with_columns(replace(OTHER, name="new")),
            NONE,
            RefreshNeed.NOTHING,
            id="renamed",
        ),
        pytest.param(
            with_columns(OTHER),
            with_columns(replace(OTHER, type=INT)),
            NONE,
            RefreshNeed.REFRESH,
            id="a type",
        ),
        pytest.param(
            with_columns(OTHER),
            with_columns(replace(OTHER, generated=True)),
            NONE,
            RefreshNeed.REFRESH,
            id="computed now",
        ),
        pytest.param(
            with_columns(replace(OTHER, generated=True)),
            with_columns(OTHER),
            NONE,
            RefreshNeed.NOTHING,
            id="computed no more",
        ),
        pytest.param(TABLE, replace(TABLE, key=("v",)), NONE, RefreshNeed.RESTART, id="another key"),
        pytest.param(
            TABLE,
            replace(TABLE, key_kind=KeyKind.UNIQUE),
            NONE,
            RefreshNeed.NOTHING,
            id="another index, same key",
        ),
        pytest.param(
            TABLE,
            replace(with_columns(replace(OTHER, nullable=False)), key=("v",)),
            NONE,
            RefreshNeed.RESTART,
            id="another key and a column",
        ),
    ],
)
def test_a_change_of_shape_needs_this_refresh(
    before: TableSchema, after: TableSchema, filled: frozenset[int], need: RefreshNeed
) -> None:
    assert needs_refresh(before, after, filled) is need


def test_a_shape_is_read_back_as_it_was_saved() -> None:
    mood = ColumnType(Kind.ENUM, "mood", labels=("sad", "ok"))
    shape = TableSchema(
        TableId("d", "s", "t"),
        (
            Column("id", 1, INT, nullable=False),
            Column("price", 2, ColumnType(Kind.DECIMAL, "numeric(9,2)", 9, 2)),
            Column("flags", 3, ColumnType(Kind.BITS, "bit(7)", length=7), generated=True),
            Column("mood", 4, mood),
            Column("moods", 5, ColumnType(Kind.ARRAY, "mood[]", element=mood)),
        ),
        ("price", "id"),
        KeyKind.CUSTOM,
    )
    kept = orjson.dumps(render_shape(shape))
    assert TypeAdapter(TableSchema).validate_json(kept, strict=True) == shape


def test_what_is_not_set_of_a_type_is_not_saved() -> None:
    (first, *_) = render_shape(TABLE)["columns"]
    assert first["type"] == {"kind": "int32", "source": "integer"}

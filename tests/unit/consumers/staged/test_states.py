"""What is kept about a table is read as it was written, also by an earlier version, and never guessed."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

import pytest

from tests.fakes.duck_service import DIALECT
from wrackline.consumers.contract.plan import Applied, PlannedColumn, plan_merge
from wrackline.consumers.staged.shape import StagedColumn, StagedShape, first_shape
from wrackline.consumers.staged.state import StagedState, StateNames, read_state, state_move, state_values
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import TABLE, TEXT

PRICE = ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2)
LISTS = ColumnType(Kind.ARRAY, "text[]", element=TEXT)
COLUMNS = (
    StagedColumn(PlannedColumn(7, "é plain", "é plain", TEXT), "é plain"),
    StagedColumn(PlannedColumn(8, "Price", "price", PRICE), "price"),
    StagedColumn(PlannedColumn(9, "label", "label", TEXT), "label__7"),
    StagedColumn(PlannedColumn(10, "A", "b", LISTS), "A"),
)


def state_of(shape: StagedShape) -> StagedState:
    return StagedState(TABLE.id, shape, Applied(), 3, "made")


def shape() -> StagedShape:
    made = first_shape(plan_merge(TABLE, DIALECT.identifiers, Applied()), DIALECT)
    return replace(made, columns=(*made.columns, *COLUMNS), leaving=("gone__3",), husks=("kept",))


def read(values: dict[str, Any]) -> StagedState:
    return read_state(list(values.values()), StateNames("the table", "the state", "", ""))


def written(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """A state's row with a shape that somebody has changed."""
    values: dict[str, Any] = {**state_values(state_of(shape()))}
    texts = json.loads(unquote(values["shape"]))
    change(texts)
    return {**values, "shape": quote(json.dumps(texts))}


def test_a_shape_is_read_as_it_was_written() -> None:
    assert read({**state_values(state_of(shape()))}) == state_of(shape())


def test_a_shape_of_version_1_is_read() -> None:
    def as_before(texts: dict[str, Any]) -> None:
        types = texts.pop("types")
        names = [(one.column.source, one.column.target, one.place) for one in shape().columns]
        texts["columns"] = [
            {"identity": one[0], "source": source, "target": target, "place": place, "type": types[one[1]]}
            for one, (source, target, place) in zip(texts["columns"], names, strict=True)
        ]

    values = written(as_before)
    assert read({**values, "version": 1}) == state_of(shape())


def test_a_shape_is_written_with_the_version_of_its_form() -> None:
    before = state_of(shape())
    moves = [before.then(shape=replace(shape(), shown=True)), before.then(applied=before.applied)]
    assert [sorted(state_move(before, after, "t", DIALECT).writes) for after in moves] == [
        ["number", "shape", "version"],
        ["number"],
    ]


@pytest.mark.parametrize(
    "column",
    [
        [7],
        [7, 0],
        [7, -1, "x"],
        [7, 99, "x"],
        ["7", 0, "x"],
        [7, 0, 8],
        [7, 0, "a", "b", "c", "d"],
        "abc",
        None,
    ],
    ids=str,
)
def test_a_column_that_nobody_wrote_is_refused(column: object) -> None:
    with pytest.raises(OperatorNeeded, match=r"staged\.state_broken"):
        read(written(lambda texts: texts["columns"].append(column)))

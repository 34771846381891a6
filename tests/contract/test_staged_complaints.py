"""What users of other writers to warehouses complained about, each as a small test of the staged targets.

Which complaint is meant is in each test: the issue or pull request of the project that had it.
"""

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from tests.fakes.duck_service import DIALECT, IN_PARTS
from tests.fakes.duck_world import DuckWorld
from tests.fixtures.tiers import alternatives
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    TEXT,
    A,
    B,
    alter,
    change,
    labels,
    partial,
    plan_for,
    put,
    seq,
)

STORAGE, STAGE = '"wrackline"."public__orders"', r'"wrackline"\."(_wl_stage__\w+)"'


@pytest.fixture(params=alternatives([DIALECT, IN_PARTS]), ids=["merge", "parts"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
    return DuckWorld(tmp_path, request.param)


def sent(world: DuckWorld, offset: int, *changes: Change) -> list[str]:
    """Merge a batch and return its statements."""
    world.trap.texts.clear()
    put(world, plan_for(world, offset), *changes)
    return list(world.trap.texts)


def merges(texts: list[str]) -> list[str]:
    return [text for text in texts if STORAGE in text]


def test_a_batch_neither_loads_into_its_table_nor_changes_it(world: DuckWorld) -> None:
    """dlt#161, sling-cli#113: a service counts loads into a table, and changes of it."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    batches = [sent(world, number, change("u", A, number, "y")) for number in (2, 3)]
    for texts in batches:
        assert {text.split()[0] for text in merges(texts)} <= {"MERGE", "UPDATE", "INSERT"}
        assert not any(STORAGE in text for text in texts if "read_parquet" in text)
    stages = [set(re.findall(STAGE, "\n".join(texts))) for texts in batches]
    assert [len(names) for names in stages] == [1, 1]
    assert stages[0] != stages[1], "each batch is loaded into a table of its own"


def test_no_statement_looks_for_the_newest_change(world: DuckWorld) -> None:
    """airbyte#43046: whole tables were ranked behind each load; one change of a key is loaded here."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    texts = sent(world, 2, change("u", A, 2, "y"), partial("u", A, 3, "z"), change("c", B, 4, "new"))
    assert merges(texts)
    assert not [text for text in texts if re.search(r"\bOVER\b|GROUP BY|DISTINCT|QUALIFY", text)]
    assert labels(world) == {A: "z", B: "new"}


def test_a_change_of_shape_moves_no_offset(world: DuckWorld) -> None:
    """snowflake-kafka-connector#658: what came behind a change of shape was skipped."""
    put(world, plan_for(world, 1), change("c", A, 1, "x"))
    before = world.target.applied(TABLE.id)
    wider = replace(TABLE, columns=(*COLUMNS, Column("extra", 5, TEXT)))
    alter(world, plan_for(world, 9, table=wider), TABLE)
    assert world.target.applied(TABLE.id) == before
    put(world, plan_for(world, 2, table=wider), change("c", B, 2, "y", extra="e"))
    assert {row["label"]: row["extra"] for row in world.seen(TABLE.id)} == {"x": None, "y": "e"}


def test_rows_of_every_shape_are_one_merge(world: DuckWorld) -> None:
    """artie#1077: a merge for each set of columns that some rows did not send."""
    put(world, plan_for(world, 1), change("c", A, 1, "x", "old"), change("c", B, 1, "x", "old"))
    whole = sent(world, 2, change("u", A, 2, "y", "big"))
    shapes = [replace(change("u", B, 4, None, "big"), unsent=frozenset({"label"})), partial("u", A, 3, "z")]
    mixed = sent(world, 3, *shapes, change("c", ("c", 3), 5, "whole", "big"))
    assert len(merges(mixed)) == len(merges(whole))
    seen = {row["number"]: (row["label"], row["big"]) for row in world.seen(TABLE.id)}
    assert seen == {1: ("z", "big"), 2: ("x", "big"), 3: ("whole", "big")}


def test_a_key_with_a_null_is_found_by_an_equality(world: DuckWorld) -> None:
    """airbyte#81346: what compares nulls is slow in a join, and without it a row is there twice."""
    for number, label in ((1, "x"), (2, "y")):
        values = {"shop": None, "number": 1, "label": label, "big": None}
        texts = sent(world, number, Change((None, 1), seq(number), "u", values))
    assert [row["label"] for row in world.seen(TABLE.id)] == ["y"]
    assert merges(texts)
    for text in merges(texts):
        assert re.search(r't\."_wl_key" = s\.k', text)
        assert not re.search(r'DISTINCT FROM|<=>|"(shop|number)" IS NULL', text)


def test_a_decimal_gets_more_digits_on_both_sides(world: DuckWorld) -> None:
    """dbt-core#6107, airbyte#27590: a type can't change in its place, so its table was to be read again."""
    price = Column("price", 5, ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2))
    narrow = replace(TABLE, columns=(*COLUMNS, price))
    values = {"shop": "a", "number": 1, "label": "x", "big": None, "price": Decimal("9999999999.99")}
    put(world, plan_for(world, 1, table=narrow), Change(A, seq(1), "c", values))
    wide = replace(price, type=ColumnType(Kind.DECIMAL, "numeric(20,4)", 20, 4))
    wider = replace(TABLE, columns=(*COLUMNS, wide))
    alter(world, plan_for(world, 2, table=wider), narrow)
    more = {**values, "shop": "b", "price": Decimal("-9999999999999999.9999")}
    put(world, plan_for(world, 3, table=wider), Change(("b", 1), seq(2), "c", more))
    found = {row["shop"]: str(row["price"]) for row in world.seen(TABLE.id)}
    assert found == {"a": "9999999999.9900", "b": "-9999999999999999.9999"}

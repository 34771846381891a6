"""The texts of a staged target, as they are reviewed: a change of one shows in the diff of its golden file.

To write the file again: WRACKLINE_WRITE_GOLDEN=1 .venv/bin/pytest tests/unit/consumers/staged/test_texts.py
"""

import os
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Self

import pytest
from sqlglot import parse_one
from sqlglot.expressions import Command

from wrackline.consumers.contract.plan import (
    Applied,
    Deletes,
    KeyColumnRange,
    MergePlan,
    TableMode,
    plan_merge,
)
from wrackline.consumers.staged import letters
from wrackline.consumers.staged.merge import StagedMerge, staged_columns
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.service import CarriedFiles, StageTable
from wrackline.consumers.staged.shape import drop_column, first_shape, reshape_columns
from wrackline.consumers.staged.state import StagedState, first_state, state_move, state_query
from wrackline.consumers.staged.view import create_view, pairs, settle
from wrackline.consumers.targets.snowflake.dialect import DIALECT, create_stage, create_table
from wrackline.consumers.targets.snowflake.session import SnowflakeSession
from wrackline.schemas.tables import evolution
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import HERE, seq

GOLDEN = Path(__file__).parents[3] / "golden/staged/snowflake.sql"
LAYOUT = StagedLayout("{schema}", "wrackline", DIALECT.identifiers)
COLUMNS = (
    Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
    Column("day", 2, ColumnType(Kind.DATE, "date"), nullable=False),
    Column("price", 3, ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2)),
    Column('la"bel\\', 4, ColumnType(Kind.STRING, "text")),
    Column("weight", 5, ColumnType(Kind.FLOAT64, "float8")),
    Column("at", 6, ColumnType(Kind.TIMESTAMP_MICROS, "timestamp")),
    Column("seen", 7, ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")),
    Column("clock", 8, ColumnType(Kind.TIME_MICROS, "time")),
)
ORDERS = TableSchema(TableId("db", "public", "orders"), COLUMNS, ("id", "day"), KeyKind.PRIMARY)
PLACE = LAYOUT.place(ORDERS.id)
STAGED = PLACE.stage("__0123456789abcdef0123456789abcdef")
TABLE, STAGE = DIALECT.path(PLACE.table), DIALECT.path(STAGED)
VIEW, STATE = DIALECT.path(PLACE.view), DIALECT.path(PLACE.state)
WITHIN = {
    "ID": KeyColumnRange(41_000, 43_999),
    "DAY": KeyColumnRange(date(2026, 1, 1), date(2026, 1, 31)),
}


def planned(mode: TableMode = TableMode.UPSERT, table: TableSchema = ORDERS, **more: object) -> MergePlan:
    plan = plan_merge(table, DIALECT.identifiers, Applied({HERE: 9}), mode=mode)
    return replace(plan, **more)  # type: ignore[arg-type]  # the names are the plan's


def merge(plan: MergePlan, floor: str | None = None) -> StagedMerge:
    return StagedMerge(plan, first_shape(plan, DIALECT), DIALECT, TABLE, STAGE, floor)


class WrittenStatements(list[str]):
    """A connection and its cursor; they write down what they are given, without what is new each time."""

    description = (("rows_loaded",),)

    def cursor(self) -> Self:
        return self

    def execute(self, text: str) -> None:
        self.append(re.sub(r"(?i)(__|/)[0-9a-f]{32}", r"\g<1>0123456789abcdef0123456789abcdef", text))

    def fetchall(self) -> list[tuple[int]]:
        return [(3,)]


def load_texts(stage: StageTable) -> dict[str, str]:
    """A stage, and what a session sends to load a file into it."""
    sent = WrittenStatements()
    files = CarriedFiles(("/batches/it's 1.parquet",), 3)
    assert SnowflakeSession(lambda: sent).load(stage, files, "load") == 3
    names = ("a place for files", "the upload of a file", "the load of a stage")
    return {"a stage": create_stage(stage), **dict(zip(names, sent, strict=True))}


def texts() -> dict[str, str]:
    """Every kind of statement, by what it is."""
    whole = planned(lacking=frozenset(), within=WITHIN)
    partial = planned(lacking=frozenset({"PRICE", 'LA"BEL\\'}), deletes=Deletes.HARD)
    late = planned(lacking=frozenset({"PRICE"}), told_late=True, lacking_is_null=True)
    append, bag = planned(TableMode.APPEND), planned(table=replace(ORDERS, key=(), key_kind=KeyKind.NONE))
    load = merge(replace(whole, loads=True))
    shape = first_shape(whole, DIALECT)
    state = StagedState(ORDERS.id, shape)
    after = state.then(applied=Applied({HERE: 9}, seq(3)))
    changed = replace(
        ORDERS,
        columns=(
            replace(COLUMNS[0], type=ColumnType(Kind.DECIMAL, "numeric(20,0)", 20, 0)),
            *COLUMNS[1:3],
            replace(COLUMNS[3], name="title"),
            *COLUMNS[4:7],
            Column("new", 9, ColumnType(Kind.STRING, "text")),
        ),
    )
    asked = AddColumn | DropColumn | RenameColumn | ChangeType
    changes = [one for one in evolution.changes(ORDERS, changed) if isinstance(one, asked)]
    reshaping = reshape_columns(shape, planned(table=changed), changes, DIALECT, 7)
    (question,) = filter(None, [load.asks_for_rows()])
    return {
        "the table": create_table(PLACE, shape),
        **load_texts(StageTable(STAGED, staged_columns(partial))),
        "state, created": first_state(state, STATE, DIALECT),
        "state, moved": state_move(state, after, STATE, DIALECT).text,
        "state, read": state_query(STATE),
        "void": merge(whole, seq(3)).void(),
        "merge of whole changes": merge(whole, seq(3)).steps(all_new=False)[0],
        "merge of partial changes, hard deletes": merge(partial).steps(all_new=False)[0],
        "merge of changes that are known late": merge(late).steps(all_new=False)[0],
        "load, question": question,
        "load, all new": load.steps(all_new=True)[0],
        "events": merge(append).steps(all_new=False)[0],
        "view of rows": create_view(VIEW, TABLE, shape, DIALECT),
        "view of events": create_view(VIEW, TABLE, first_shape(append, DIALECT), DIALECT),
        "view of a bag": create_view(VIEW, TABLE, first_shape(bag, DIALECT), DIALECT),
        "view after a change": create_view(VIEW, TABLE, reshaping.shape, DIALECT),
        "pairs": f"SELECT COUNT(*) FROM ({pairs(TABLE, first_shape(bag, DIALECT), DIALECT, 1000)}) AS pairs",
        "pairs, deleted": settle(TABLE, first_shape(bag, DIALECT), DIALECT, 1000),
        **{f"added {at}": text for at, text in enumerate(reshaping.additions(TABLE, DIALECT))},
        **{f"filled {at}": text for at, text in enumerate(reshaping.fillings(TABLE, DIALECT))},
        **{f"dropped {name}": drop_column(TABLE, name, DIALECT) for name in reshaping.shape.leaving},
    }


def test_the_texts_are_as_they_were_reviewed() -> None:
    found = "\n\n".join(f"-- {name}\n{text};" for name, text in texts().items()) + "\n"
    if "WRACKLINE_WRITE_GOLDEN" in os.environ:
        GOLDEN.write_text(found)
    assert found == GOLDEN.read_text()


@pytest.mark.parametrize("name", texts())
def test_a_text_is_snowflakes(name: str) -> None:
    """A parser of its dialect reads it, and reads the same in what it writes of it."""
    tree = parse_one(texts()[name], read="snowflake")
    assert not isinstance(tree, Command), "it gave up"
    assert parse_one(tree.sql("snowflake"), read="snowflake") == tree


def test_no_text_holds_what_services_disagree_on() -> None:
    """Literals of our own have no quote and no backslash; the names of a table may have them."""
    state = [text for name, text in texts().items() if name.startswith("state")]
    assert all("\\" not in text and '\\"' not in text for text in state)
    assert sum("%22" in text for text in state) == 2


def test_a_stage_has_a_column_for_each_value() -> None:
    late = planned(lacking=frozenset({"PRICE"}), told_late=True)
    names = [column.name for column in staged_columns(late)]
    values = [f"c{at}" for at in range(8)]
    assert names == ["k", *values, "seq", "op", "commit_us", "deleted", "unsent", "missing", "w2"]
    events = [column.name for column in staged_columns(planned(TableMode.APPEND))]
    assert events[:2] == ["k", "c1"], "an event's own row is its key"


def test_a_piece_of_a_letter_fits_every_text() -> None:
    assert letters.PIECE * 4 / 3 <= 65_535

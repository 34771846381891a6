"""What becomes of a target's table when its source has changed, in each mode."""

from dataclasses import replace

import pytest

from wrackline.consumers.batch.evolve import SchemaChangeBehaviour, ShapeChange, reshape
from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.plan import Applied, Deletes, MergePlan, TableMode, plan_merge
from wrackline.consumers.contract.target import Capabilities, MergeStyle
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

INT, LONG = ColumnType(Kind.INT32, "integer"), ColumnType(Kind.INT64, "bigint")
TEXT, CODE = ColumnType(Kind.STRING, "text"), ColumnType(Kind.STRING, "varchar(4)")
ID, COUNT, NOTE = Column("id", 1, INT), Column("count", 2, INT), Column("note", 3, TEXT)
CAN = Capabilities(
    Identifiers(63, case_sensitive=False),
    native=frozenset(Kind) - {Kind.JSON, Kind.XML},
    most_decimal_digits=38,
    merge=MergeStyle.MERGE,
    deletes=frozenset(Deletes),
    transactional_ddl=True,
    renames=True,
    drops=True,
    widens=frozenset({(Kind.INT32, Kind.INT64)}),
)
CLUMSY = replace(CAN, renames=False, drops=False, widens=frozenset())


def plan(*columns: Column, mode: TableMode = TableMode.UPSERT) -> MergePlan:
    key = tuple(column.name for column in columns if column.identity == ID.identity)
    table = TableSchema(TableId("db", "public", "orders"), columns, key, KeyKind.PRIMARY)
    return plan_merge(table, CAN.identifiers, Applied(), mode=mode)


BEFORE = plan(ID, COUNT, NOTE)
HELD = BEFORE.columns
WIDE, NARROW = replace(COUNT, type=LONG), replace(COUNT, type=ColumnType(Kind.INT16, "smallint"))
EXTRA = Column("extra", 4, TEXT)


def names(made: MergePlan) -> list[str]:
    return [column.target for column in made.columns]


def test_a_table_that_is_not_there_needs_no_change() -> None:
    for behaviour in SchemaChangeBehaviour:
        assert reshape(BEFORE, None, CAN, behaviour) == (BEFORE, ())


def test_the_same_shape_needs_no_change_though_it_has_other_words() -> None:
    other = plan(replace(NOTE, type=CODE, nullable=False), ID, COUNT)
    for behaviour in SchemaChangeBehaviour:
        assert reshape(other, HELD, CAN, behaviour) == (other, ())


def test_what_is_text_in_the_target_stays_text() -> None:
    before = plan(ID, replace(NOTE, type=ColumnType(Kind.JSON, "json")))
    after = plan(ID, replace(NOTE, type=ColumnType(Kind.XML, "xml")))
    assert reshape(after, before.columns, CAN, SchemaChangeBehaviour.EXCEPTION) == (after, ())


def test_evolve_follows_every_change_or_none() -> None:
    after = plan(ID, WIDE, replace(NOTE, name="remark"), EXTRA)
    made, alterations = reshape(after, HELD, CAN, SchemaChangeBehaviour.EVOLVE)
    assert made == after
    assert [type(one) for one in alterations] == [ChangeType, RenameColumn, AddColumn]
    _, alterations = reshape(plan(ID, COUNT), HELD, CAN, SchemaChangeBehaviour.EVOLVE)
    assert alterations == (DropColumn(NOTE),)
    for column in (NARROW, replace(COUNT, type=TEXT)):
        with pytest.raises(OperatorNeeded, match=r"can't take.*count"):
            reshape(plan(ID, column, NOTE, EXTRA), HELD, CAN, SchemaChangeBehaviour.EVOLVE)


@pytest.mark.parametrize("behaviour", SchemaChangeBehaviour)
def test_what_is_excluded_is_left_undone_whatever_the_behaviour(behaviour: SchemaChangeBehaviour) -> None:
    after = plan(ID, WIDE, EXTRA)  # wider, `note` dropped, `extra` added
    every = {ShapeChange.ADD_COLUMN, ShapeChange.DROP_COLUMN, ShapeChange.RENAME_COLUMN}
    with pytest.raises(OperatorNeeded, match="count"):  # the old type does not hold the new values
        reshape(after, HELD, CAN, behaviour, {*every, ShapeChange.ALTER_TYPE})
    made, alterations = reshape(plan(ID, COUNT, EXTRA), HELD, CAN, behaviour, every)
    assert (names(made), alterations) == (["id", "count"], ())
    renamed = plan(ID, COUNT, replace(NOTE, name="remark"))
    made, alterations = reshape(renamed, HELD, CAN, behaviour, every)
    assert (names(made), alterations) == (["id", "count", "note"], ())
    assert [column.source for column in made.columns] == ["id", "count", "remark"]


def test_a_change_that_is_not_excluded_is_followed() -> None:
    after = plan(ID, COUNT, EXTRA)
    _, alterations = reshape(after, HELD, CAN, SchemaChangeBehaviour.EVOLVE, {ShapeChange.DROP_COLUMN})
    assert [type(one) for one in alterations] == [AddColumn]


def test_exception_follows_none() -> None:
    with pytest.raises(OperatorNeeded, match="'extra' is added"):
        reshape(plan(ID, COUNT, NOTE, EXTRA), HELD, CAN, SchemaChangeBehaviour.EXCEPTION)


def test_try_evolve_leaves_what_the_target_cannot_take() -> None:
    after = plan(ID, NARROW, replace(NOTE, name="remark"), EXTRA)
    made, alterations = reshape(after, HELD, CLUMSY, SchemaChangeBehaviour.TRY_EVOLVE)
    assert alterations == (AddColumn(EXTRA, 3),)
    assert names(made) == ["id", "count", "note", "extra"]
    assert made.columns[1].type == INT  # every smallint is an integer
    with pytest.raises(OperatorNeeded):  # and not every bigint
        reshape(plan(ID, WIDE, NOTE), HELD, CLUMSY, SchemaChangeBehaviour.TRY_EVOLVE)


def test_lenient_adds_and_widens_and_takes_nothing_away() -> None:
    after = plan(ID, WIDE, EXTRA)
    made, alterations = reshape(after, HELD, CAN, SchemaChangeBehaviour.LENIENT)
    assert made == after  # the dropped column is not written, so it keeps what it holds
    assert [type(one) for one in alterations] == [ChangeType, AddColumn]
    made, alterations = reshape(
        plan(ID, COUNT, replace(NOTE, name="remark")), HELD, CAN, SchemaChangeBehaviour.LENIENT
    )
    assert (names(made), alterations) == (["id", "count", "note"], ())


def test_ignore_carries_what_the_target_has() -> None:
    after = plan(replace(ID, name="number"), NARROW, replace(EXTRA, name="Note "))
    made, alterations = reshape(after, HELD, CAN, SchemaChangeBehaviour.IGNORE)
    assert alterations == ()
    assert (names(made), made.key) == (["id", "count"], ("id",))


@pytest.mark.parametrize("behaviour", [SchemaChangeBehaviour.LENIENT, SchemaChangeBehaviour.TRY_EVOLVE])
def test_two_columns_never_share_a_name(behaviour: SchemaChangeBehaviour) -> None:
    again = plan(ID, COUNT, Column("Note", 5, TEXT))  # dropped, and created again
    with pytest.raises(OperatorNeeded, match="'Note'"):
        reshape(again, HELD, CLUMSY, behaviour)


@pytest.mark.parametrize("mode", [TableMode.HISTORY, TableMode.APPEND])
def test_what_a_dropped_column_held_is_a_part_of_what_was(mode: TableMode) -> None:
    held = plan(ID, COUNT, NOTE, mode=mode).columns
    later = plan(ID, NOTE, EXTRA, mode=mode)
    made, changes = reshape(later, held, CAN, SchemaChangeBehaviour.EVOLVE)
    assert [type(change) for change in changes] == [AddColumn]
    assert made.columns == (*later.columns, held[2])
    assert reshape(made, made.columns, CAN, SchemaChangeBehaviour.EVOLVE) == (made, ())

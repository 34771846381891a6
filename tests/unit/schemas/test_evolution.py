"""Schema changes: distinguished by identity, with what they mean for values already stored."""

from dataclasses import replace

import pytest

from wrackline.schemas.errors import Definite
from wrackline.schemas.tables.evolution import (
    AddColumn,
    Change,
    ChangeGenerated,
    ChangeKey,
    ChangeNullability,
    ChangeType,
    DropColumn,
    RenameColumn,
    RenameTable,
    Reorder,
    Stored,
    Widening,
    changes,
    widening,
)
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

INT = ColumnType(Kind.INT32, "integer")
BIG = ColumnType(Kind.INT64, "bigint")
TEXT = ColumnType(Kind.STRING, "text")
ID, NAME, SIZE = Column("id", 1, INT, nullable=False), Column("name", 2, TEXT), Column("size", 3, INT)
TABLE = TableSchema(TableId("d", "s", "t"), (ID, NAME, SIZE), ("id",), KeyKind.PRIMARY)
ANEW, MOVED = Column("x", 4, INT), TableId("d", "s", "u")


def columns(*found: Column) -> TableSchema:
    return replace(TABLE, columns=found)


@pytest.mark.parametrize(
    ("new", "change", "stored"),
    [
        (columns(ID, NAME, SIZE, ANEW), AddColumn(ANEW, 3), Stored.SOURCE_KNOWS),
        (columns(ANEW, ID, NAME, SIZE), AddColumn(ANEW, 0), Stored.SOURCE_KNOWS),
        (columns(ID, SIZE), DropColumn(NAME), Stored.GONE),
        (columns(ID, replace(NAME, name="n"), SIZE), RenameColumn(2, "name", "n", proven=True), Stored.SAME),
        (columns(ID, NAME, replace(SIZE, type=BIG)), ChangeType(3, "size", INT, BIG), Stored.SOURCE_KNOWS),
        (columns(ID, NAME, replace(SIZE, nullable=False)),
         ChangeNullability(3, "size", nullable=False), Stored.SAME),
        (columns(ID, NAME, replace(SIZE, generated=True)),
         ChangeGenerated(3, "size", generated=True), Stored.SOURCE_KNOWS),
        (columns(SIZE, NAME, ID), Reorder((3, 2, 1)), Stored.SAME),
        (replace(TABLE, id=MOVED), RenameTable(TABLE.id, MOVED), Stored.SAME),
        (replace(TABLE, key=("name",)),
         ChangeKey(("id",), ("name",), KeyKind.PRIMARY, KeyKind.PRIMARY), Stored.REKEYED),
        (replace(TABLE, key_kind=KeyKind.CUSTOM),
         ChangeKey(("id",), ("id",), KeyKind.PRIMARY, KeyKind.CUSTOM), Stored.SAME),
        (replace(TABLE, key=(), key_kind=KeyKind.NONE),
         ChangeKey(("id",), (), KeyKind.PRIMARY, KeyKind.NONE), Stored.REKEYED),
    ],
)  # fmt: skip
def test_one_change_is_one_value(new: TableSchema, change: Change, stored: Stored) -> None:
    assert changes(TABLE, new) == (change,)
    assert change.stored is stored


def test_a_column_created_again_under_its_old_name_is_another_one() -> None:
    anew = replace(NAME, identity=9)
    assert changes(TABLE, columns(ID, anew, SIZE)) == (DropColumn(NAME), AddColumn(anew, 1))


def test_two_columns_that_swap_names_are_two_renames() -> None:
    swapped = columns(ID, replace(NAME, name="size"), replace(SIZE, name="name"))
    assert changes(TABLE, swapped) == (
        RenameColumn(2, "name", "size", proven=True),
        RenameColumn(3, "size", "name", proven=True),
    )


def test_a_guessed_rename_says_so() -> None:
    (rename,) = changes(TABLE, columns(ID, replace(NAME, name="n"), SIZE), guessed_renames={2})
    assert rename == RenameColumn(2, "name", "n", proven=False)
    assert rename.stored is Stored.SOURCE_KNOWS


def test_renaming_a_key_column_is_no_change_of_the_key() -> None:
    renamed = replace(columns(replace(ID, name="key"), NAME, SIZE), key=("key",))
    assert changes(TABLE, renamed) == (RenameColumn(1, "id", "key", proven=True),)


def test_a_table_whose_columns_share_an_identity_is_refused() -> None:
    with pytest.raises(Definite, match=r"evolution\.duplicate_identity"):
        changes(TABLE, columns(ID, replace(NAME, identity=1)))


def number(precision: int, scale: int) -> ColumnType:
    return ColumnType(Kind.DECIMAL, f"numeric({precision},{scale})", precision=precision, scale=scale)


def enum(*labels: str) -> ColumnType:
    return ColumnType(Kind.ENUM, "enum", labels=labels)


def array(element: ColumnType) -> ColumnType:
    return ColumnType(Kind.ARRAY, f"{element.source}[]", element=element)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (ColumnType(Kind.STRING, "varchar(20)"), ColumnType(Kind.STRING, "text"), Widening.SAME_CARRIER),
        (INT, BIG, Widening.WIDER),
        (BIG, INT, Widening.OTHER),
        (INT, ColumnType(Kind.FLOAT64, "double"), Widening.WIDER),
        (INT, ColumnType(Kind.FLOAT32, "real"), Widening.OTHER),
        (BIG, ColumnType(Kind.FLOAT64, "double"), Widening.OTHER),
        (INT, TEXT, Widening.OTHER),
        (number(10, 2), number(12, 2), Widening.WIDER),
        (number(10, 2), number(12, 4), Widening.WIDER),
        (number(10, 2), number(12, 5), Widening.OTHER),
        (number(10, 2), number(9, 2), Widening.OTHER),
        (number(10, 2), number(12, 1), Widening.OTHER),
        (INT, number(10, 0), Widening.WIDER),
        (INT, number(9, 0), Widening.OTHER),
        (BIG, ColumnType(Kind.UINT64, "bigint unsigned"), Widening.OTHER),
        (number(10, 2), ColumnType(Kind.NUMERIC_TEXT, "numeric"), Widening.WIDER),
        (enum("a", "b"), enum("a", "x", "b"), Widening.WIDER),
        (enum("a", "b"), enum("a"), Widening.OTHER),
        (enum("a"), TEXT, Widening.WIDER),
        (array(INT), array(BIG), Widening.WIDER),
        (array(BIG), array(INT), Widening.OTHER),
        (array(INT), INT, Widening.OTHER),
        (ColumnType(Kind.DATE, "date"), ColumnType(Kind.TIMESTAMP_MICROS, "timestamp"), Widening.OTHER),
        (
            ColumnType(Kind.BITS, "bit(3)", length=3),
            ColumnType(Kind.BITS, "bit(4)", length=4),
            Widening.OTHER,
        ),
    ],
)
def test_widening_means_that_every_old_value_fits(
    old: ColumnType, new: ColumnType, expected: Widening
) -> None:
    assert widening(old, new) is expected

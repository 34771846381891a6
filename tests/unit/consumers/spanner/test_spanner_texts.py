"""The statements of Spanner, as a snapshot; the emulator runs each of them too."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from wrackline.consumers.contract.identifiers import target_name
from wrackline.consumers.contract.plan import Applied, PlannedColumn, TableMode, plan_merge
from wrackline.consumers.contract.sequences import FeedSequence
from wrackline.consumers.staged.places import StagedLayout, StagedRelation
from wrackline.consumers.staged.shape import StagedColumn, StagedShape, first_shape
from wrackline.consumers.targets.spanner import texts
from wrackline.consumers.targets.spanner.types import DIALECT, IDENTIFIERS, LIMITS, WIDENS, cell, physical
from wrackline.schemas.tables.table import Column, KeyKind
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import COLUMNS, TABLE

GOLDEN = Path(__file__).parents[3] / "golden/spanner/statements.sql"
MODES = {"append": TableMode.APPEND, "history": TableMode.HISTORY}
LAYOUT = StagedLayout("{database}_{schema}", "wrackline", IDENTIFIERS)
PLACE = LAYOUT.place(TABLE.id)
WEIGHT = Column("weight", 5, ColumnType(Kind.FLOAT64, "float8"))
TABLES = {
    "upsert": TABLE,
    "append": TABLE,
    "history": TABLE,
    "no key": replace(TABLE, columns=(*COLUMNS, WEIGHT), key=(), key_kind=KeyKind.NONE),
}


def of_digits(place: str, precision: int, scale: int) -> StagedColumn:
    of = ColumnType(Kind.DECIMAL, "numeric", precision, scale)
    return StagedColumn(PlannedColumn(9, "more", "more", of), place)


def statements() -> str:
    """Every statement, each kind of table with its own."""
    storage = PLACE.table
    written = [
        texts.create_states(StagedRelation(storage.schema, "wl_state")),
        texts.create_letters(StagedRelation(storage.schema, "wl_dead_letters")),
        texts.add_column(storage, "more", "STRING(MAX)"),
        texts.drop_column(storage, "more"),
        texts.fill_column(storage, of_digits("more__2", 36, 12), of_digits("more", 20, 9)),
    ]
    for name, table in TABLES.items():
        mode = MODES.get(name, TableMode.UPSERT)
        shape = first_shape(plan_merge(table, IDENTIFIERS, Applied(), mode=mode), DIALECT)
        written += [
            f"-- {name}",
            texts.create_table(storage, shape, "0f"),
            texts.create_view(PLACE.view, storage, shape, "definer"),
            texts.voided(storage, shape, 10),
            texts.delete_voided(storage, shape),
            texts.incomplete(storage, shape),
        ]
        if mode is TableMode.HISTORY:
            written += [texts.across(storage, shape, 10), *views_of_feeds(shape)]
        elif shape.keyless:
            written.append(texts.pairs(storage, shape, 10))
        else:
            written.append(texts.old_tombstones(storage, shape.ours))
    return "\n\n".join(written) + "\n"


def views_of_feeds(shape: StagedShape) -> Iterator[str]:
    for of in (Kind.INT64, Kind.DATE, Kind.TIMESTAMP_MICROS, Kind.STRING, Kind.DECIMAL):
        sequence = FeedSequence((("", ColumnType(of, "feed", 20, 4)),))
        feed = replace(shape, ours=shape.ours.of_feed("_wl_", sequence))
        yield texts.create_view(PLACE.view, PLACE.table, feed, "definer")


def test_the_statements_are_those_that_were_read() -> None:
    """After a change of intent: set WRACKLINE_WRITE_GOLDEN, and read the difference."""
    if "WRACKLINE_WRITE_GOLDEN" in os.environ:
        GOLDEN.write_text(statements())
    assert statements() == GOLDEN.read_text()


@pytest.mark.parametrize("name", ["_first", "9th", "Größe", "a b", "select", "x" * 300, "名"])
def test_a_name_begins_with_a_letter(name: str) -> None:
    made = target_name(name, IDENTIFIERS)
    assert made[0].isascii()
    assert made[0].isalpha()
    assert made.replace("_", "").isalnum()
    assert len(made) <= 128


@pytest.mark.parametrize(
    ("kind", "primitive", "carried"),
    [
        (Kind.DATE, -719_162, "0001-01-01"),
        (Kind.DATE, 2_932_896, "9999-12-31"),
        (Kind.TIMESTAMP_MICROS, -1, "1969-12-31T23:59:59.999999Z"),
        (Kind.ZONED_TIMESTAMP, 0, "1970-01-01T00:00:00Z"),
        (Kind.TIME_MICROS, 86_399_999_999, "23:59:59.999999"),
        (Kind.BYTES, b"\0\xff", "AP8="),
        (Kind.DECIMAL, "1.50", "1.50"),
        (Kind.INT64, 7, 7),
        (Kind.BOOLEAN, False, False),
        (Kind.STRING, None, None),
    ],
)
def test_a_cell_is_what_a_mutation_carries(kind: Kind, primitive: object, carried: object) -> None:
    assert cell(primitive, ColumnType(kind, "any")) == carried


def test_a_decimal_is_a_number_where_spanner_holds_it() -> None:
    def of(precision: int, scale: int) -> str:
        return physical(ColumnType(Kind.DECIMAL, "numeric", precision, scale))

    assert {of(38, 9), of(12, 2), of(29, 0)} == {"NUMERIC"}
    assert {of(38, 8), of(38, 10), of(10, 10)} == {"STRING(MAX)"}


def test_what_widens_keeps_its_column() -> None:
    for old, new in WIDENS:
        assert physical(ColumnType(old, "old", 9, 2)) == physical(ColumnType(new, "new", 12, 2))


def test_a_limit_is_of_the_staged_form() -> None:
    for kind, limit in LIMITS.items():
        ends = [end for end in (limit.least, limit.greatest) if end is not None]
        assert all(cell(end, ColumnType(kind, "any")) is not None for end in ends)


@pytest.mark.parametrize(
    ("kind", "held", "refused"),
    [
        (Kind.DATE, 2_932_896, 2_932_897),
        (Kind.BYTES, b"x" * 10_485_760, b"x" * 10_485_761),
        (Kind.JSON, "x" * 2_621_440, "x" * 2_621_441),
    ],
)
def test_a_batch_is_staged_with_what_spanner_holds_no_value_of(
    kind: Kind, held: object, refused: object
) -> None:
    limit = DIALECT.limit(ColumnType(kind, "any"))
    assert limit is not None
    assert limit.breach(held) is None
    assert limit.breach(refused) is not None

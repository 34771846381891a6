"""The texts for Redshift, as they are reviewed; they are its dialect, and break no rule of its manual.

To write the file again:
WRACKLINE_WRITE_GOLDEN=1 .venv/bin/pytest tests/unit/consumers/redshift/test_redshift_texts.py
"""

import os
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from sqlglot import exp, parse_one
from sqlglot.expressions import Command

from tests.unit.consumers.redshift.restrictions import RESERVED, RESTRICTIONS, broken
from wrackline.consumers.contract.identifiers import target_name
from wrackline.consumers.contract.plan import (
    Applied,
    Deletes,
    KeyColumnRange,
    MergePlan,
    TableMode,
    plan_merge,
)
from wrackline.consumers.staged.merge import StagedMerge, staged_columns
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.service import StageTable
from wrackline.consumers.staged.shape import drop_column, first_shape, reshape_columns
from wrackline.consumers.staged.state import StagedState, first_state, state_move, state_query
from wrackline.consumers.staged.view import create_view, pairs, settle
from wrackline.consumers.targets.redshift.dialect import (
    DIALECT,
    IDENTIFIERS,
    TEXT_TOO_LONG,
    create_stage,
    create_table,
    literal,
)
from wrackline.consumers.targets.redshift.session import CopyRole, copy_text, load_errors
from wrackline.consumers.targets.redshift.types import TEXT_BYTES
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables import evolution
from wrackline.schemas.tables.evolution import AddColumn, ChangeType, DropColumn, RenameColumn
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import HERE, seq

GOLDEN = Path(__file__).parents[3] / "golden/staged/redshift.sql"
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
    Column("picture", 9, ColumnType(Kind.BYTES, "bytea")),
    Column("big", 10, ColumnType(Kind.DECIMAL, "numeric(19,0)", 19, 0)),
)
ORDERS = TableSchema(TableId("db", "public", "orders"), COLUMNS, ("id", "day"), KeyKind.PRIMARY)
PLACE = LAYOUT.place(ORDERS.id)
STAGED = PLACE.stage("__0123456789abcdef0123456789abcdef")
TABLE, STAGE, VIEW, STATE = map(DIALECT.path, (PLACE.table, STAGED, PLACE.view, PLACE.state))
ROLE = CopyRole("arn:aws:iam::123456789012:role/copies")
WITHIN = {
    "id": KeyColumnRange(41_000, 43_999),
    "day": KeyColumnRange(date(2026, 1, 1), date(2026, 1, 31)),
}


def planned(mode: TableMode = TableMode.UPSERT, table: TableSchema = ORDERS, **more: object) -> MergePlan:
    plan = plan_merge(table, DIALECT.identifiers, Applied({HERE: 9}), mode=mode)
    return replace(plan, **more)  # type: ignore[arg-type]  # the names are the plan's


def merge(plan: MergePlan, floor: str | None = None) -> StagedMerge:
    return StagedMerge(plan, first_shape(plan, DIALECT), DIALECT, TABLE, STAGE, floor)


def texts() -> dict[str, str]:
    """Every kind of statement, by what it is."""
    whole = planned(lacking=frozenset(), within=WITHIN)
    partial = planned(lacking=frozenset({"price", 'la"bel\\'}), deletes=Deletes.HARD)
    append, bag = planned(TableMode.APPEND), planned(table=replace(ORDERS, key=(), key_kind=KeyKind.NONE))
    shape, content = first_shape(whole, DIALECT), first_shape(bag, DIALECT)
    state = StagedState(ORDERS.id, shape)
    after = state.then(applied=Applied({HERE: 9}, seq(3)))
    changed = replace(
        ORDERS,
        columns=(
            replace(COLUMNS[0], type=ColumnType(Kind.DECIMAL, "numeric(20,0)", 20, 0)),
            *COLUMNS[1:3],
            replace(COLUMNS[3], name="title"),
            *COLUMNS[4:7],
            Column("new", 11, ColumnType(Kind.STRING, "text")),
        ),
    )
    asked = AddColumn | DropColumn | RenameColumn | ChangeType
    changes = [one for one in evolution.changes(ORDERS, changed) if isinstance(one, asked)]
    reshaping = reshape_columns(shape, planned(table=changed), changes, DIALECT, 7)
    merges = {
        "merge of whole changes": merge(whole, seq(3)).steps(all_new=False),
        "merge of partial changes, hard deletes": merge(partial).steps(all_new=False),
        "load, all new": merge(replace(whole, loads=True)).steps(all_new=True),
        "events": merge(append).steps(all_new=False),
    }
    return {
        "the table": create_table(PLACE, shape),
        "a stage": create_stage(StageTable(STAGED, staged_columns(partial))),
        "the load of a stage": copy_text(STAGE, "s3a://shop-stage/batches/shop/0/files.manifest", ROLE),
        "what a load refused": load_errors(61),
        "state, created": first_state(state, STATE, DIALECT),
        "state, moved": state_move(state, after, STATE, DIALECT).text,
        "state, read": state_query(STATE),
        "void": merge(whole, seq(3)).void(),
        **{f"{name}, {at}": text for name, steps in merges.items() for at, text in enumerate(steps, 1)},
        "view of rows": create_view(VIEW, TABLE, shape, DIALECT),
        "view of events": create_view(VIEW, TABLE, first_shape(append, DIALECT), DIALECT),
        "view of a bag": create_view(VIEW, TABLE, content, DIALECT),
        "view after a change": create_view(VIEW, TABLE, reshaping.shape, DIALECT),
        "pairs": f"SELECT COUNT(*) FROM ({pairs(TABLE, content, DIALECT, 1000)}) AS pairs",
        "pairs, deleted": settle(TABLE, content, DIALECT, 1000),
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
def test_a_text_is_redshifts(name: str) -> None:
    """A parser of its dialect reads it, and reads the same in what it writes of it."""
    tree = parse_one(texts()[name], read="redshift")
    assert not isinstance(tree, Command), "it gave up"
    assert parse_one(tree.sql("redshift"), read="redshift") == tree


@pytest.mark.parametrize("name", texts())
def test_a_text_breaks_no_restriction_of_the_manual(name: str) -> None:
    assert broken(texts()[name]) == []


@pytest.mark.parametrize("name", texts())
def test_a_name_without_quotes_is_no_reserved_word(name: str) -> None:
    names = parse_one(texts()[name], read="redshift").find_all(exp.Identifier)
    assert [one.this for one in names if not one.quoted and one.this.upper() in RESERVED] == []


REFUSED = (
    'ALTER TABLE "a"."b" ADD COLUMN IF NOT EXISTS "c" BIGINT',
    'ALTER TABLE "a"."b" DROP COLUMN IF EXISTS "c"',
    'ALTER TABLE "a"."b" ADD COLUMN "c" BIGINT, ADD COLUMN "d" BIGINT',
    'ALTER TABLE "a"."b" ALTER COLUMN "c" TYPE BIGINT',
    'CREATE TABLE IF NOT EXISTS "a"."b" AS SELECT 1',
    'CREATE OR REPLACE VIEW "a"."b" AS SELECT 1',
    'CREATE TABLE "a"."b" (c BIGINT) SORTKEY AUTO',
    'CREATE TABLE "a"."b" (c BIGINT) DISTKEY(c, d)',
    "MERGE x USING y ON z WHEN MATCHED AND a THEN DELETE",
    'DELETE FROM "a"."b" t WHERE t.c',
    'DELETE FROM "a"."b" USING (SELECT 1) s WHERE c',
    'UPDATE "a"."b" t SET t.c = 1',
    'UPDATE "a"."b" SET c = 1 FROM d LEFT JOIN e ON f',
    "INSERT INTO a SELECT 1 RETURNING b",
    "SELECT CAST(a AS TEXT)",
    "SELECT CAST(a AS VARCHAR)",
    "SELECT CAST(a AS VARCHAR(65536))",
    "SELECT CAST(a AS VARBYTE(2000000))",
    "SELECT CAST(a AS DECIMAL(19, 0))",
    "SELECT CAST(a AS DECIMAL(38, 38))",
    "SELECT a * INTERVAL '1 microsecond'",
    "SELECT 'a\\b'",
    "SELECT %s",
    "TRUNCATE a",
)


@pytest.mark.parametrize("text", REFUSED)
def test_a_refused_text_would_be_seen(text: str) -> None:
    assert len(broken(text)) >= 1


def test_each_restriction_sees_something() -> None:
    unseen = {why for _, why in RESTRICTIONS} - {why for text in REFUSED for why in broken(text)}
    assert unseen == set()


def test_a_literal_is_never_cut_and_has_no_backslash() -> None:
    assert literal("it's") == "'it''s'"
    assert literal("a\\'b") == "('a' || CHR(92) || '''b')"
    assert literal("é" * 32_767) == f"'{'é' * 32_767}'"
    with pytest.raises(OperatorNeeded, match=rf"{TEXT_TOO_LONG.code}.*65536 bytes"):
        literal("é" * 32_768)


def test_the_state_of_too_many_columns_is_refused() -> None:
    def created(columns: int, name: str) -> str:
        types = [ColumnType(Kind.STRING, "text"), ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2)]
        many = tuple(Column(name.format(at), at, types[at % 2]) for at in range(1, columns + 1))
        wide = replace(ORDERS, columns=many, key=(many[0].name,))
        return first_state(StagedState(ORDERS.id, first_shape(planned(table=wide), DIALECT)), STATE, DIALECT)

    assert created(1_590, "customer_name_{:04}"), "as many as a table of Redshift has, beside ours"
    with pytest.raises(OperatorNeeded, match=TEXT_TOO_LONG.code):
        created(1_590, "the_customer_has_long_names_{:04}")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Orders", "orders"),
        ("OID", "_id"),
        ("xmin", "_min"),
        ("xminimum", "xminimum"),
        ("a\nb", "a_b"),
        ('la"bel\\', 'la"bel\\'),
    ],
)
def test_a_name_becomes_one_that_is_allowed(name: str, found: str) -> None:
    assert target_name(name, IDENTIFIERS) == found


def test_a_long_name_is_counted_in_bytes() -> None:
    assert len(target_name("é" * 64, IDENTIFIERS).encode()) <= 127


def test_text_is_as_long_as_a_text_may_be() -> None:
    assert DIALECT.physical(ColumnType(Kind.JSON, "jsonb")) == f"VARCHAR({TEXT_BYTES})"
    assert DIALECT.physical(ColumnType(Kind.DECIMAL, "numeric(38,38)", 38, 38)) == f"VARCHAR({TEXT_BYTES})"

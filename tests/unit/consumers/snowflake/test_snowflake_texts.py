"""What is Snowflake's own in the texts; the others are in the golden file of the staged targets."""

from pathlib import Path

import pytest
from sqlglot import parse_one
from sqlglot.expressions import Command

from wrackline.consumers.contract.identifiers import target_name
from wrackline.consumers.contract.plan import Applied, plan_merge
from wrackline.consumers.staged.merge import staged_columns
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.service import StageTable
from wrackline.consumers.staged.shape import first_shape
from wrackline.consumers.targets.snowflake.dialect import (
    DIALECT,
    IDENTIFIERS,
    create_stage,
    create_table,
    literal,
    quoted,
)
from wrackline.consumers.targets.snowflake.limits import LIMITS
from wrackline.consumers.targets.snowflake.session import copy_text, put_text
from wrackline.consumers.targets.snowflake.types import NATIVE, WIDENS, converted, physical, restored
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import HERE, TABLE

PLACE = StagedLayout("{schema}", "wrackline", IDENTIFIERS).place(TABLE.id)
PLAN = plan_merge(TABLE, IDENTIFIERS, Applied({HERE: 1}))
DECIMAL = ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2)
FINE = ColumnType(Kind.DECIMAL, "numeric(38,38)", 38, 38)
DAY = 86_400_000_000


def test_unquoted_sql_finds_every_name() -> None:
    for name in ("orders", "Größe", "ŉ", 'a"b', "x" * 300):
        made = target_name(name, IDENTIFIERS)
        assert quoted(made) == '"' + made.replace('"', '""') + '"', "a legal name is quoted as it is"
        assert made == made.upper()
        assert len(made) <= 255


def test_the_tables_are_made_as_they_cost_least() -> None:
    made = create_table(PLACE, first_shape(PLAN, DIALECT))
    assert made.startswith('CREATE TABLE IF NOT EXISTS "WRACKLINE"."PUBLIC__ORDERS" ("_WL_KEY" VARCHAR, ')
    stage = create_stage(StageTable(PLACE.stage("__00"), staged_columns(PLAN)))
    assert stage.startswith('CREATE TRANSIENT TABLE "WRACKLINE"."_WL_STAGE__PUBLIC__ORDERS__00" (k VARCHAR, ')
    assert stage.endswith(") DATA_RETENTION_TIME_IN_DAYS = 0")


@pytest.mark.parametrize(
    "text",
    [
        create_table(PLACE, first_shape(PLAN, DIALECT)),
        create_stage(StageTable(PLACE.stage("__00"), staged_columns(PLAN))),
        put_text(Path("/it's/x.parquet"), '@"W"."F"/one'),
        copy_text('"W"."T"', '@"W"."F"/one'),
    ],
)
def test_a_text_is_snowflakes(text: str) -> None:
    assert not isinstance(parse_one(text, read="snowflake"), Command), "the parser gave up"


def test_a_file_is_named_as_its_folder_is_called() -> None:
    assert put_text(Path("/a b/x%20é.parquet"), "@f").startswith("PUT 'file:///a b/x%20é.parquet' @f ")


def test_a_literal_is_read_as_it_was() -> None:
    for text in ("it's", "a\\b", "\\'", "é\n"):
        assert parse_one(literal(text), read="snowflake").name == text


def test_a_decimal_has_its_scale_and_every_digit() -> None:
    assert physical(DECIMAL) == "DECIMAL(38, 2)"
    assert restored("c2", DECIMAL) == "TO_NUMBER(c2, 38, 2)"
    assert (physical(FINE), restored("c2", FINE)) == ("VARCHAR", "c2"), "no NUMBER has 38 digits of scale"
    assert converted("x", ColumnType(Kind.INT64, "bigint"), DECIMAL) == "CAST(x AS DECIMAL(38, 2))"
    assert all(old in NATIVE for old, _ in WIDENS)


def test_every_kind_that_is_text_or_bytes_or_a_moment_has_a_limit() -> None:
    assert {kind for kind in Kind if kind not in NATIVE} <= set(LIMITS)
    assert LIMITS[Kind.BYTES].most_bytes == 8 * 2**20
    assert LIMITS[Kind.STRING].most_bytes == 16 * 2**20
    assert (LIMITS[Kind.TIME_MICROS].least, LIMITS[Kind.TIME_MICROS].greatest) == (0, DAY - 1)
    assert LIMITS[Kind.DATE].greatest == 2_932_896
    assert LIMITS[Kind.TIMESTAMP_MICROS].greatest == 2_932_897 * DAY - 1
    assert Kind.INT64 not in LIMITS

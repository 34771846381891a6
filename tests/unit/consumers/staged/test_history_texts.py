"""A history's texts for each warehouse, as they are reviewed; a parser of its dialect reads each of them.

To write the files again:
WRACKLINE_WRITE_GOLDEN=1 .venv/bin/pytest tests/unit/consumers/staged/test_history_texts.py
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import pytest
from sqlglot import exp, parse_one
from sqlglot.expressions import Command

from tests.unit.consumers.bigquery.test_bigquery_texts import DOCUMENTED
from tests.unit.consumers.redshift.restrictions import RESERVED, broken
from wrackline.consumers.contract.plan import Applied, KeyColumnRange, TableMode, plan_merge
from wrackline.consumers.contract.sequences import FeedSequence
from wrackline.consumers.staged.dialect import StagedDialect
from wrackline.consumers.staged.merge import staged_columns
from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.staged.shape import columns_text, first_shape
from wrackline.consumers.staged.versions import StagedVersions
from wrackline.consumers.staged.view import create_view
from wrackline.consumers.targets.bigquery.dialect import DIALECT as BIGQUERY
from wrackline.consumers.targets.bigquery.limits import MOST_TEXT
from wrackline.consumers.targets.redshift.dialect import DIALECT as REDSHIFT
from wrackline.consumers.targets.snowflake.dialect import DIALECT as SNOWFLAKE
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import HERE, seq

GOLDEN = Path(__file__).parents[3] / "golden/staged"
DIALECTS: Mapping[str, StagedDialect] = {"snowflake": SNOWFLAKE, "bigquery": BIGQUERY, "redshift": REDSHIFT}
COLUMNS = (
    Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
    Column("day", 2, ColumnType(Kind.DATE, "date"), nullable=False),
    Column("price", 3, ColumnType(Kind.DECIMAL, "numeric(12,2)", 12, 2)),
    Column("label", 4, ColumnType(Kind.STRING, "text")),
    Column("weight", 5, ColumnType(Kind.FLOAT64, "float8")),
    Column("seen", 6, ColumnType(Kind.ZONED_TIMESTAMP, "timestamptz")),
)
ORDERS = TableSchema(TableId("db", "public", "orders"), COLUMNS, ("id", "day"), KeyKind.PRIMARY)
SEQUENCES = (
    ColumnType(Kind.INT64, "feed"),
    ColumnType(Kind.INSTANT_MICROS, "feed"),
    ColumnType(Kind.DECIMAL, "feed", 36, 9),
    ColumnType(Kind.STRING, "feed"),
)
PRUNED, WINDOWS = "partitions are skipped by literals", "no window is partitioned by a float"
WITHIN = {
    "id": KeyColumnRange(41_000, 43_999),
    "day": KeyColumnRange(date(2026, 1, 1), date(2026, 1, 31)),
}


@cache
def texts(service: str, table: TableSchema = ORDERS) -> dict[str, str]:
    """Every kind of statement, by what it is."""
    dialect = DIALECTS[service]
    place = StagedLayout("{schema}", "wrackline", dialect.identifiers).place(ORDERS.id)
    stage = dialect.path(place.stage("__0123456789abcdef0123456789abcdef"))
    plan = plan_merge(table, dialect.identifiers, Applied({HERE: 9}), mode=TableMode.HISTORY)
    shape = first_shape(plan, dialect)
    names = {one.column.identity: one.column.target for one in shape.of_source}
    within = {names[ORDERS.columns[at].identity]: ends for at, ends in enumerate(WITHIN.values())}
    whole = replace(plan, truncated=False, within=within, tracked=frozenset({names[3], names[5]}))
    path = dialect.path(place.table)
    versions = StagedVersions(whole, shape, dialect, path, stage, seq(3), frozenset())
    partial = StagedVersions(plan, shape, dialect, path, stage, None, frozenset({3, 5}))
    merges = {
        "whole events": versions.steps(all_new=False),
        "partial events and truncates": partial.steps(all_new=False),
        "events of new keys": versions.steps(all_new=True),
    }
    return {
        "the table": f"CREATE TABLE {path} ({columns_text(shape, dialect)})",
        "question": partial.asks_for_unsent(),
        **{f"{name}, {at}": text for name, steps in merges.items() for at, text in enumerate(steps, 1)},
        "view": create_view(dialect.path(place.view), path, shape, dialect),
        **{
            f"view of a feed by {of.kind.value}": create_view(
                dialect.path(place.view),
                path,
                replace(shape, ours=plan.ours.of_feed("_wl_", FeedSequence((("", of),)))),
                dialect,
            )
            for of in SEQUENCES
        },
    }


@cache
def tree(service: str, name: str) -> exp.Expr:
    return parse_one(texts(service)[name], read=service)


CASES = [(service, name) for service in DIALECTS for name in texts(service)]


@pytest.mark.parametrize("service", DIALECTS)
def test_the_texts_are_as_they_were_reviewed(service: str) -> None:
    found = "\n\n".join(f"-- {name}\n{text};" for name, text in texts(service).items()) + "\n"
    golden = GOLDEN / f"history_{service}.sql"
    if "WRACKLINE_WRITE_GOLDEN" in os.environ:
        golden.write_text(found)
    assert found == golden.read_text()


@pytest.mark.parametrize(("service", "name"), CASES)
def test_a_text_is_of_its_dialect(service: str, name: str) -> None:
    """A parser of its dialect reads it, and reads the same in what it writes of it."""
    found = tree(service, name)
    assert not isinstance(found, Command), "it gave up"
    assert parse_one(found.sql(service), read=service) == found


@pytest.mark.parametrize(("service", "name"), CASES)
def test_a_text_has_nothing_that_some_service_lacks(service: str, name: str) -> None:
    found = tree(service, name)
    assert list(found.find_all(exp.With, exp.IgnoreNulls, exp.Qualify, exp.NullSafeEQ)) == []
    framed = exp.Sum, exp.Max, exp.FirstValue
    for window in found.find_all(exp.Window):
        assert window.args.get("alias") is None, "the name of a window"
        assert isinstance(window.this, framed) == (window.args.get("spec") is not None), "the frame is said"


def test_no_text_breaks_a_restriction_of_redshifts_manual() -> None:
    for name, text in texts("redshift").items():
        if name != "the table":  # the layout is a part of another text
            assert broken(text) == []
        names = tree("redshift", name).find_all(exp.Identifier)
        assert [one.this for one in names if not one.quoted and one.this.upper() in RESERVED] == []


@pytest.mark.parametrize("rule", DOCUMENTED)
def test_no_text_is_what_bigquerys_documentation_refuses(rule: str) -> None:
    """A batch with a truncate has keys that are null, so no range says where its keys lie."""
    broken_by = [name for name, text in texts("bigquery").items() if not DOCUMENTED[rule](text)]
    whole = [name for name in broken_by if not name.startswith("partial events and truncates")]
    assert (whole if rule == PRUNED else broken_by) == []


def test_bigquery_s_rules_see_the_windows_of_a_history() -> None:
    found = texts("bigquery")["whole events, 1"]
    assert DOCUMENTED[WINDOWS](found)
    assert not DOCUMENTED[WINDOWS](found.replace("PARTITION BY k", "PARTITION BY v5"))
    assert not DOCUMENTED[PRUNED](texts("bigquery")["partial events and truncates, 1"])


def test_a_wide_table_s_text_is_short_enough() -> None:
    many = tuple(Column(f"column_of_a_long_name_{at}", at, COLUMNS[2].type) for at in range(10, 1010))
    wide = texts("bigquery", replace(ORDERS, columns=(*COLUMNS, *many)))
    assert max(len(text.encode()) for text in wide.values()) < MOST_TEXT / 2


def test_an_event_s_own_row_is_staged_beside_its_key() -> None:
    plan = plan_merge(ORDERS, SNOWFLAKE.identifiers, Applied({HERE: 9}), mode=TableMode.HISTORY)
    assert [column.name for column in staged_columns(plan)][:4] == ["k", "e", "c1", "c2"]


@pytest.mark.parametrize(("service", "text"), CASES)
def test_bigquery_makes_no_character_of_code_0_by_chr(service: str, text: str) -> None:
    """It returns an empty text there, which would take the character out of a sequence."""
    assert service != "bigquery" or "CHR(0)" not in texts(service)[text]

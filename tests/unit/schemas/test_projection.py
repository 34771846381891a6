"""What goes out of a table, and the keys that may not be hidden."""

from dataclasses import replace

import pytest

from wrackline.producers.rows.unfit_values import column_list
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.events.projection import Plain, findings, project, project_all
from wrackline.schemas.language.masks import HashMask, StarsMask, TruncateMask
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

TABLE = TableSchema(
    TableId("d", "public", "t"),
    (
        Column("id", 1, ColumnType(Kind.INT32, "integer"), nullable=False),
        Column("name", 2, ColumnType(Kind.STRING, "character varying(20)")),
        Column("note", 3, ColumnType(Kind.STRING, "text")),
        Column("born", 4, ColumnType(Kind.DATE, "date")),
        Column("doc", 5, ColumnType(Kind.JSON, "jsonb")),
    ),
    ("id",),
    KeyKind.PRIMARY,
)
HASH = "column.mask.hash.v2.SHA-256.with.salt.x"


def test_without_rules_everything_goes_out() -> None:
    assert project(TABLE, ColumnRules()) == project_all(TABLE)
    assert project_all(TABLE).plain


def test_what_is_hidden_goes_out_as_text_and_what_is_excluded_not_at_all() -> None:
    shape = project(
        TABLE,
        ColumnRules.of(
            {
                "column.exclude.list": ("public.t.note",),
                "column.mask.with.3.chars": ("public.t.born",),
                "column.truncate.to.5.chars": ("public.t.(doc|id)",),
                HASH: ("public.t.name",),
            }
        ),
    )
    assert not shape.plain
    assert shape.source == TABLE
    assert shape.actions == (
        Plain.KEEP, HashMask("sha256", b"x", 2, 20), Plain.DROP, StarsMask(3), TruncateMask(5)
    )  # fmt: skip
    assert [(column.name, column.identity, column.type.kind) for column in shape.table.columns] == [
        ("id", 1, Kind.INT32), ("name", 2, Kind.STRING), ("born", 4, Kind.STRING), ("doc", 5, Kind.STRING)
    ]  # fmt: skip
    assert shape.table.key == ("id",)


def test_a_truncated_text_keeps_its_type() -> None:
    shape = project(TABLE, ColumnRules.of({"column.truncate.to.2.chars": ("public.t.name",)}))
    assert shape.table == TABLE
    assert not shape.plain


def test_a_key_of_the_users_own() -> None:
    shape = project(TABLE, ColumnRules.of({"message.key.columns": "public.t:note,name"}))
    assert (shape.table.key, shape.table.key_kind) == (("note", "name"), KeyKind.CUSTOM)
    assert shape.plain


def test_with_another_key_the_primary_key_may_be_left_out() -> None:
    rules = ColumnRules.of({"message.key.columns": "public.t:note", "column.exclude.list": ("public.t.id",)})
    assert "id" not in {column.name for column in project(TABLE, rules).table.columns}


def test_a_hashed_key_stays_a_key() -> None:
    shape = project(TABLE, ColumnRules.of({HASH: ("public.t.id",)}))
    assert shape.table.key_columns == (replace(TABLE.columns[0], type=ColumnType(Kind.STRING, "text")),)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"column.exclude.list": ("public.t.id",)}, "filter.key_left_out"),
        ({"column.include.list": ("public.t.name",)}, "filter.key_left_out"),
        ({"column.mask.with.4.chars": ("public.t.id",)}, "filter.key_not_equal"),
        (
            {"message.key.columns": "public.t:name", "column.truncate.to.1.chars": ("public.t.name",)},
            "filter.key_not_equal",
        ),
        ({"message.key.columns": "public.t:name", HASH: ("public.t.name",)}, "filter.key_not_equal"),
        ({"message.key.columns": "public.t:Name"}, "filter.key_column_missing"),
    ],
)
def test_a_key_that_would_not_distinguish_rows_is_refused(values: dict[str, str], code: str) -> None:
    with pytest.raises(OperatorNeeded) as caught:
        project(TABLE, ColumnRules.of(values))
    assert caught.value.code == code
    assert "d.public.t" in caught.value.sentence


def test_patterns_that_match_nothing_and_truncations_that_cannot_be_are_named() -> None:
    rules = ColumnRules.of(
        {
            "column.exclude.list": ("public.t.not", "public.t.note"),
            "message.key.columns": "public.q:a;public.t:id",
            "column.truncate.to.2.chars": ("public.t.born",),
            "column.mask.hash.v2.SHA-256.with.salt.pepper": ("public.t.nam",),
        }
    )
    found = list(findings(rules, [TABLE]))
    assert [finding.id for finding in found] == ["filter.matches_nothing"] * 3 + ["filter.not_truncated"]
    assert "public.t.not," in found[0].description
    assert "public.t.nam," in found[1].description
    assert "public.q," in found[2].description
    assert (found[3].table, found[3].column) == (TABLE.id, "born")
    assert "pepper" not in str(found)


ODD_NAMES = (
    "price (USD)",
    "a,b",
    "total|net",
    "x[1]",
    'say "so"',
    "50%+",
    "c*",
    "e^2",
    "{n}",
    "back\\slash",
    "#no",
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_hint_s_value_means_its_column_and_no_other(name: str) -> None:
    """What is printed is given as the setting; a comma ends an item of a list, so a dot stands for it."""
    table = replace(
        TABLE,
        id=TableId("d", "s+x", "o$1"),
        columns=(replace(TABLE.columns[0], name=name), *TABLE.columns[1:]),
        key=(name,),
    )
    [warned] = findings(ColumnRules.of({"column.unfit.null": (r".*",)}), [table])
    value = column_list(table.id, [name])
    assert f"column.as.text = '{value}' to carry" in warned.suggestion
    assert f"column.unfit.letter = '{value}' to set" in warned.suggestion
    assert "," not in value
    rules = ColumnRules.of({"column.as.text": (value,)})
    assert rules.as_text(table.id, name)
    others = [*(one for one in ODD_NAMES if one != name), "price USD", "total", "net", "a", "b", "id", "note"]
    assert not any(rules.as_text(table.id, one) for one in others)
    assert not any(
        rules.as_text(TableId("d", *of), name) for of in (("s+x", "o1"), ("ssx", "o$1"), ("s+x", "o"))
    )


def test_a_hint_about_a_cut_column_means_that_column() -> None:
    table = replace(TABLE, columns=(*TABLE.columns[:3], replace(TABLE.columns[3], name="born (UTC)")))
    rules = ColumnRules.of({"column.truncate.to.3.chars": (column_list(table.id, ["born (UTC)"]),)})
    [warned] = findings(rules, [table])
    value = warned.suggestion.partition("column.exclude.list = ")[2].strip("'")
    assert value == column_list(table.id, ["born (UTC)"])
    assert ColumnRules.of({"column.exclude.list": (value,)}).drops(table.id, "born (UTC)")

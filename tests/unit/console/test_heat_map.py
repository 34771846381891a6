"""The map of tables: a cell for each, in fields by schema, coloured by what was chosen."""

import re

import pytest

from tests.unit.console.made import RUNS, MadeCrew, MadeViews, busy, served, source_table, target_table
from tests.unit.console.test_pages import Page, asked
from wrackline.control.console.draw.heat_map import STEP, HeatMap, heat_map
from wrackline.control.console.heat_figures import FIGURES, heat_kinds, heat_legend
from wrackline.schemas.kafka.board_records import Half, HalfBoard

NOW = 1_800_000_000_000


def cells_of(drawn: HeatMap) -> dict[str, int]:
    """How many cells each kind has, counted in its path."""
    return {
        kind: sum((int(run) + 2) // STEP for run in re.findall(r"h(\d+)", path)) for kind, path in drawn.drawn
    }


def test_each_schema_has_a_field_and_each_table_a_cell() -> None:
    kinds = {f"shop.{schema}.t{number}": "good" for schema in ("a", "b") for number in range(30)}
    drawn = heat_map(kinds)
    assert [label for label, _ in drawn.labels] == ["shop.a", "shop.b"]
    assert len({(cell.x, cell.y) for cell in drawn.cells}) == 60
    last_of_a = max(cell.y for cell in drawn.cells if cell.name.startswith("shop.a"))
    assert last_of_a < drawn.labels[1][1] < min(c.y for c in drawn.cells if c.name.startswith("shop.b"))
    assert max(cell.y for cell in drawn.cells) + STEP <= drawn.height
    assert heat_map({}).cells == []


def test_many_cells_are_runs_and_none_is_lost() -> None:
    kinds = {f"shop.s{number % 3}.t{number:05}": f"heat{number // 97 % 5}" for number in range(10_000)}
    drawn = heat_map(kinds)
    assert sum(cells_of(drawn).values()) == 10_000
    assert cells_of(drawn)["heat0"] == sum(kind == "heat0" for kind in kinds.values())
    assert sum(len(path) for _, path in drawn.drawn) < 60_000
    ends = [
        int(x) + int(run) for _, path in drawn.drawn for x, run in re.findall(r"M(\d+) [\d.]+h(\d+)", path)
    ]
    assert max(ends) <= drawn.width, "no run leaves its row"
    assert heat_map({f"s{number}.t": "good" for number in range(2_000)}).labels == [], "too many to name"


@pytest.mark.parametrize(
    ("figure", "level"), [("late", "heat2"), ("events", "heat1"), ("rows", "heat3"), ("letters", "heat1")]
)
def test_a_cell_shows_the_figure_that_was_chosen(figure: str, level: str) -> None:
    source = HalfBoard(
        tables={"a": source_table("a", requests=["initial"], expected=20_000_000, letters={"c": 2})}
    )
    target = HalfBoard(tables={"a": target_table(events=700, late_ms=42_000, dead_letters=3)})
    halves = {Half.SOURCE: source, Half.TARGET: target}
    assert heat_kinds(figure, {"a": "good", "b": "bad"}, halves, NOW)["a"] == level
    assert level in {one.kind for one in heat_legend(figure)}


def test_a_table_that_waits_grows_later_by_the_clock() -> None:
    target = HalfBoard(tables={"a": target_table(behind=9, behind_s=1.0, at_ms=NOW - 70_000)})
    halves = {Half.SOURCE: HalfBoard(), Half.TARGET: target}
    assert heat_kinds("late", {"a": "good"}, halves, NOW) == {"a": "heat3"}


def test_the_page_of_ten_thousand_tables_is_small_whatever_is_shown() -> None:
    views = MadeViews({"big": busy(10_000)})
    with served(MadeCrew({"big": RUNS}), views) as door:
        for figure in (*FIGURES, "none-such"):
            html = asked(door, "GET", f"/p/big?figure={figure}")[2]
            assert len(html) < 250_000, figure
        assert "below 10 min" in Page(asked(door, "GET", "/p/big?figure=late")[2]).text

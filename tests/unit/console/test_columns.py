"""The page of a table's columns, and the same by REST."""

from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote

import orjson
import pytest

from tests.unit.console.made import HOSTILE, RUNS, MadeCrew, MadeViews, busy, crowd, hostile, served
from tests.unit.console.made_maps import APRIL, HASHED, MARCH, TABLE, learn
from tests.unit.console.test_pages import Page, asked
from wrackline.control.console.lineage.columns_page import ColumnsPage, columns_page
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR
from wrackline.control.runtime.rest.routes import lineage_routes
from wrackline.control.runtime.rest.server.endpoint import RestEndpoint, open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK, RestSettings
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.kafka.column_maps import ColumnMap, ColumnStep, MapLog

PATH = f"/p/shop/tables/{TABLE}/lineage"


def page_of(*columns: ColumnStep, text: str = "", page: int = 1) -> ColumnsPage:
    source = MapLog()
    source.take(TABLE, MARCH, ColumnMap(TABLE, columns).encode())
    return columns_page("shop", TABLE, (source.of(TABLE), ()), text=text, page=page)


def test_each_column_is_drawn_in_three_layers_and_said_in_words() -> None:
    with served(*crowd()) as door:
        _, _, html = asked(door, "GET", PATH)
    text = Page(html).text
    assert (html.count("<rect "), html.count("<line ")) == (8, 5), "the copy does not have the price yet"
    assert html.count('<line class="warn"') == 1
    assert f"e-mail \u2013 e_mail string email_hash ▒ {HASHED} → renamed 2026-04-01 00:00:00 UTC" in text
    assert "id bigint id int64 id 2026-03-01 00:00:00 UTC" in text
    assert "Left out: note" in text
    assert "copy lake.orders" in text
    assert "since 2026-04-01 00:00:00 UTC added price; changed e_mail" in text


def test_it_is_shown_as_it_was_at_a_moment() -> None:
    with served(*crowd()) as door:
        for moment in (MARCH, APRIL - 1):
            text = Page(asked(door, "GET", f"{PATH}?at={moment}")[2]).text
            assert "As it was from 2026-03-01 00:00:00 UTC on" in text
            assert "e-mail text e_mail string email_hash → renamed 2026-03-01 00:00:00 UTC" in text
            assert HASHED not in text
        assert "As it was" not in Page(asked(door, "GET", f"{PATH}?at={APRIL}")[2]).text
        before = Page(asked(door, "GET", f"{PATH}?at=1")[2]).text
        assert "As it was from 2026-03-01" in before, "the oldest that is known"
        assert asked(door, "GET", f"{PATH}?at=-1")[0] == 400


def test_what_was_not_reported_or_does_not_exist_is_said() -> None:
    with served(*crowd()) as door:
        assert "No columns have been reported yet" in asked(door, "GET", "/p/shop/tables/none/lineage")[2]
        assert asked(door, "GET", f"/p/none/tables/{TABLE}/lineage")[0] == 404
        found = asked(door, "GET", f"{PATH}?q=HASH")[2]
        assert found.count('<th scope="row">') == 1
        assert "No column has such a name" in asked(door, "GET", f"{PATH}?q=zzz")[2]


def test_many_columns_come_page_by_page() -> None:
    columns = [ColumnStep(f"c{number:03}", f"c{number:03}", "string", "text") for number in range(120)]
    third = page_of(*columns, page=9)
    assert (third.page, third.pages, third.count, len(third.rows)) == (3, 3, 120, 20)
    assert page_of(*columns, text="c11").count == 10


def test_a_column_that_only_the_copy_has_is_said() -> None:
    target = MapLog()
    target.take(TABLE, MARCH, ColumnMap("lake", (ColumnStep("old", "old", "string"),)).encode())
    [row] = columns_page("shop", TABLE, ((), target.of(TABLE))).rows
    assert [one.word for one in row.badges] == ["only in the copy"]


def test_names_of_others_are_text_here_too() -> None:
    views = MadeViews({HOSTILE: hostile()})
    with served(MadeCrew({HOSTILE: RUNS}), views) as door:
        path = f"/p/{quote(HOSTILE, safe='')}/tables/{quote(HOSTILE, safe='')}/lineage"
        for query in ("", "?q=%3Cimg%20src=x%3E"):
            status, _, html = asked(door, "GET", path + query)
            assert status == 200
            assert not [one for one in Page(html).elements if one[1].get("src") == "x"]
        assert HOSTILE in Page(asked(door, "GET", path)[2]).text


@pytest.fixture
def views() -> MadeViews:
    return MadeViews({"shop": busy(3), "stock": busy(1)})


@pytest.fixture
def door(views: MadeViews) -> Iterator[RestEndpoint]:
    with open_endpoint(RestSettings(0), [lineage_routes.routes(views)], print) as endpoint:
        yield endpoint


def told(door: RestEndpoint, path: str) -> tuple[int, Any]:
    connection = HTTPConnection(LOOPBACK, door.port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, orjson.loads(answer.read())
    finally:
        connection.close()


def test_rest_tells_which_column_fed_another_and_when(door: RestEndpoint) -> None:
    status, found = told(door, f"/lineage?column={TABLE}.email_hash")
    assert (status, found["left_out"], found["unknown"]) == (200, 0, [])
    shop = [one for one in found["spans"] if one["pipeline"] == "shop"]
    assert [
        (one["since_ms"], one["until_ms"], one["source"], one["how"], one["renamed"]) for one in shop
    ] == [
        (MARCH, APRIL, "e-mail", "", True),
        (APRIL, None, "e-mail", HASHED, True),
    ]
    assert {one["pipeline"] for one in found["spans"]} == {"shop", "stock"}
    assert told(door, f"/lineage?column={TABLE}.none")[1]["spans"] == []
    for no_column in ("", "?column=id", "?column=.x", "?column=x."):
        assert told(door, f"/lineage{no_column}")[0] == 400


def test_a_pipeline_whose_settings_are_wrong_hides_no_other(
    door: RestEndpoint, views: MadeViews, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = views.column_maps

    def wrong(name: str, column: str = "", table: str = "") -> Any:
        if name == "stock":
            raise NO_CONNECTOR(name=name)
        return known(name, column, table)

    monkeypatch.setattr(views, "column_maps", wrong)
    found = told(door, f"/lineage?column={TABLE}.price")[1]
    assert ([one["pipeline"] for one in found["spans"]], found["unknown"]) == (["shop"], ["stock"])


def test_rest_tells_a_pipeline_s_tables_and_one_with_its_history(door: RestEndpoint) -> None:
    _, found = told(door, "/connectors/shop/lineage")
    [table] = found["tables"]
    assert (table["name"], table["copy"], table["left_out"], found["next"]) == (
        TABLE, "lake.orders", ["note"], None,
    )  # fmt: skip
    assert [(one["field"], one["since_ms"]) for one in table["columns"]] == [
        ("id", MARCH), ("e_mail", APRIL), ("price", APRIL),
    ]  # fmt: skip
    assert "earlier" not in table
    [whole] = told(door, f"/connectors/shop/lineage?table={TABLE}")[1]["tables"]
    [march] = whole["earlier"]
    assert (march["since_ms"], march["until_ms"], len(march["columns"])) == (MARCH, APRIL, 2)
    assert told(door, "/connectors/shop/lineage?table=none")[1]["code"] == "rest.no_table"
    assert told(door, "/connectors/none/lineage")[1]["code"] == "rest.no_connector"


def test_rest_tells_a_hundred_tables_at_once(door: RestEndpoint, views: MadeViews) -> None:
    halves = views.boards["shop"].halves
    for number in range(149):
        learn(halves[Half.SOURCE].maps, halves[Half.TARGET].maps, f"a{number:03}")
    _, first = told(door, "/connectors/shop/lineage")
    assert (len(first["tables"]), first["next"]) == (100, "a099")
    _, second = told(door, f"/connectors/shop/lineage?after={first['next']}")
    assert (len(second["tables"]), second["tables"][0]["name"], second["next"]) == (50, "a100", None)

"""The page of positions and log: where a pipeline continues, and when what it needs may be lost."""

from collections.abc import Iterator

import pytest

from tests.unit.console.made import both, crowd, database, half, served
from tests.unit.console.test_pages import Page, asked
from wrackline.control.console.draw.log_forecast import age_forecast, size_forecast
from wrackline.control.console.log.log_advice import log_advice, log_badge
from wrackline.control.console.log.log_page import log_page
from wrackline.control.console.page_words import DASH
from wrackline.control.console.pipeline_page import pipeline_page
from wrackline.control.console.pipelines_page import ListedPipeline
from wrackline.control.console.table_layout import TableChoice, table_layout
from wrackline.control.runtime.board.board_summary import PastMinute, summarise
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import GroupMember
from wrackline.control.runtime.rest.server.endpoint import RestEndpoint
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import Document, Half, HalfBoard

GB, HOUR, NOW = 1_000_000_000, 3_600, 1_800_000_000_000


@pytest.fixture(scope="module")
def door() -> Iterator[RestEndpoint]:
    with served(*crowd()) as endpoint:
        yield endpoint


def test_a_slot_shows_what_it_keeps_and_when_it_may_be_lost(door: RestEndpoint) -> None:
    html = asked(door, "GET", "/p/archive/positions")[2]
    text = Page(html).text
    assert "6F/1A2B3C4D (epoch 2)" in text
    assert "may still grow by 17.3 GB" in text
    assert "the limit is reached in 2 h, if nothing is confirmed meanwhile" in text
    assert "Raise max_slot_wal_keep_size on the server" in text
    assert "wrackline offsets rewind pipeline.toml --to" in text
    assert 'class="lost"' in html


def test_a_slot_without_a_limit_says_what_that_means(door: RestEndpoint) -> None:
    html = asked(door, "GET", "/p/shop/positions")[2]
    text = Page(html).text
    assert "may still grow by no limit" in text
    assert "may be lost not within 8 weeks" in text
    assert "SET max_slot_wal_keep_size = '100GB'" in text
    assert 'class="lost"' not in html
    assert "The source half has reported no log yet" in asked(door, "GET", "/p/new-one/positions")[2]
    assert asked(door, "GET", "/p/none/positions")[0] == 404


def test_in_a_group_no_page_names_a_file_that_there_is_not() -> None:
    crew, views = crowd()
    crew.group = [GroupMember(crew.worker, 64, 0, "1")]
    orders = "shop.public.orders"
    screens = [
        "", "/errors", "/events", "/letters", "/lineage", "/logs", "/positions", "/rewind", "/snapshot",
        f"/t/{orders}", f"/tables/{orders}/shapes", f"/tables/{orders}/lineage",
    ]  # fmt: skip
    with served(crew, views) as door:
        shown = {one: asked(door, "GET", f"/p/shop{one}") for one in screens}
    assert {status for status, *_ in shown.values()} == {200}
    assert [one for one, answer in shown.items() if "pipeline.toml" in Page(answer[2]).text] == []
    text = Page(shown["/positions"][2]).text
    assert "POST /connectors/shop/offsets/rewind?dry_run=true" in text
    assert "DELETE /connectors/shop/offsets" in text


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({}, "safe"),
        ({"log": None, "through_ms": None}, "not seen yet"),
        ({"log": None}, "not shown"),
        ({"status": "lost"}, "lost"),
        ({"status": "unreserved"}, "at risk"),
        ({"lost_in_s": HOUR}, "at risk"),
        ({"lost_in_s": 30 * HOUR}, "lost soon"),
        ({"lost_in_s": 30 * 24 * HOUR}, "safe"),
    ],
)
def test_how_safe_a_log_is(more: Document, word: str) -> None:
    assert log_badge(database(**more)).word == word


def test_advice_names_what_to_set_and_is_silent_where_all_is_well() -> None:
    safe = database(lost_in_s=30 * 24 * HOUR)
    assert log_advice("postgres", safe, silent=False) == []
    assert ["is silent" in text for text in log_advice("postgres", safe, silent=True)] == [True]
    soon = log_advice("mysql", database(lost_in_s=HOUR), silent=False)
    assert ["binlog_expire_logs_seconds" in text for text in soon] == [True]
    assert "wrackline offsets reset" in log_advice("postgres", database(status="lost"), silent=True)[0]
    assert "may be removed at the server's next checkpoint" in " ".join(
        log_advice("postgres", database(status="unreserved"), silent=False)
    )


def test_the_line_of_a_forecast_ends_where_the_limit_is_reached() -> None:
    drawn = size_forecast([(0, 1.0 * GB), (60_000, 2.0 * GB)], 2 * GB, 8 * GB, 8_000, 1_000_000)
    assert drawn.ahead.split()[-1] == f"{drawn.lost_x:g},{drawn.limit_y:g}"
    assert drawn.now_x < (drawn.lost_x or 0) < drawn.width
    assert (drawn.limit, drawn.since) == ("10.0 GB", "60 s ago")
    assert drawn.past.split()[-1].split(",")[0] == f"{drawn.now_x:g}"
    far = size_forecast((), 2 * GB, 8 * GB, None, 10)
    assert (far.lost_x, far.past) == (None, "")
    assert "does not come near" in far.words
    gone = size_forecast((), 10 * GB, 0, 0, 10)
    assert gone.lost_x == gone.now_x


def test_a_log_that_is_kept_by_time_is_drawn_by_its_age() -> None:
    drawn = age_forecast(7 * 24 * HOUR, 24 * HOUR)
    assert (drawn.limit, drawn.words) == (
        "7 d", "the oldest needed file expires in 24 h, if nothing is read meanwhile",
    )  # fmt: skip
    log = database(log="binary log", retained_bytes=None, kept_s=604_800, expires_s=3_600, lost_in_s=3_600)
    page = log_page(listed(log), board(log), NOW, grouped=False)
    [panel] = page.panels
    assert panel.forecast is not None
    assert panel.forecast.title == "age of the oldest needed file"
    assert ("the oldest needed file expires in", "60 min") in panel.retention


def test_position_is_drawn_against_time_and_the_day_where_there_is_one() -> None:
    log = database(behind=500)
    day = [PastMinute(NOW - (30 - n) * 60_000, 0, None, 500, 1_000 + n * 10) for n in range(30)]
    quarter, whole = (
        log_page(listed(log, minutes), board(log), NOW, grouped=False).charts[0] for minutes in ((), day)
    )
    assert not quarter.lines
    assert [(line.name, line.newest) for line in whole.lines] == [
        ("log written", "790 B"),
        ("in Kafka", "290 B"),
    ]
    assert whole.since == "29 min ago"


@pytest.mark.parametrize(
    ("behind", "through", "unread"),
    [(1_250_000, NOW - 2_300, "1.2 MB"), (None, NOW - 2_300, "at most 2.3 s"), (None, None, DASH)],
)
def test_a_log_without_bytes_is_behind_by_time(behind: int | None, through: int | None, unread: str) -> None:
    log = database(log=None, behind_bytes=behind, through_ms=through)
    [panel] = log_page(listed(log), board(log), NOW, grouped=False).panels
    assert dict(panel.position)["log not read yet"] == unread
    halves = both(board(log), HalfBoard())
    layout = table_layout(halves, TableChoice(), NOW)
    [source, *_] = pipeline_page(listed(log), halves, layout, TableChoice(), NOW).stations
    assert dict(source.facts)["log not read yet"] == unread


def board(log: Document) -> HalfBoard:
    made = half(databases={"shop": log})
    made.heard_ms = NOW
    return made


def listed(log: Document, minutes: tuple[PastMinute, ...] | list[PastMinute] = ()) -> ListedPipeline:
    summary = summarise(both(board(log), HalfBoard()), NOW)
    assert set(summary.states) == set(Half)
    state = ConnectorState(TaskState.RUNNING)
    return ListedPipeline("shop", "mysql", "iceberg", state, summary, (), "w", minutes)

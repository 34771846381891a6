"""The console's pages over boards made by hand: what they show, what they refuse, and what they never do."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from html.parser import HTMLParser
from http.client import HTTPConnection
from pathlib import Path

import pytest
import requests

from bench.ours.boards import HandedBoards
from bench.ours.boards import served as served_by_a_worker
from tests.unit.console.made import (
    HOSTILE,
    RUNS,
    MadeCrew,
    MadeViews,
    broken,
    busy,
    crowd,
    hostile,
    served,
    target_table,
)
from wrackline.control import console
from wrackline.control.console.draw.charts import nice_top, points, thinned
from wrackline.control.console.page_frame import HEADERS
from wrackline.control.runtime.board.board_summary import PipelineHistory
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.rest.access.roles import ROLES
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState, state_of_tasks
from wrackline.control.runtime.rest.server.endpoint import RestEndpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.kafka.board_records import Half

PAGES = ["/p/shop/logs", "/p/shop/logs?live=on", "/p/shop/rewind", "/p/shop/settings?show=all",
         "/p/shop/events?live=on", "/workers", "/lineage", "/p/shop/lineage",
         "/p/shop/tables/shop.public.orders/lineage", "/p/shop/positions", "/p/new-one/positions",
         "/p/archive/positions",
         "/p/shop/snapshot", "/p/new-one/snapshot", "/p/billing/snapshot", "/p/warehouse/snapshot?sent=x",
         "/", "/?state=failed", "/?q=shop", "/p/shop", "/p/shop?tone=busy", "/p/shop?q=orders&page=9",
         "/p/billing", "/p/archive", "/p/warehouse", "/p/new-one", "/p/stock", "/p/shop/t/shop.public.orders",
         "/p/billing/t/billing.public.invoices", "/p/shop/settings"]  # fmt: skip

SAFE = {name.lower(): text for name, text in HEADERS.items()}.items()


class Page(HTMLParser):
    """What a page has: its words, and every element with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def asked(
    door: RestEndpoint, method: str, path: str, headers: Mapping[str, str] | None = None
) -> tuple[int, Mapping[str, str], str]:
    connection = HTTPConnection(LOOPBACK, door.port, timeout=30)
    try:
        connection.request(method, f"/console{path}", headers=dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def crew() -> MadeCrew:
    return crowd()[0]


@pytest.fixture(scope="module")
def door(crew: MadeCrew) -> Iterator[RestEndpoint]:
    with served(crew, crowd()[1]) as endpoint:
        yield endpoint


@pytest.mark.parametrize("path", PAGES)
def test_every_page_renders_and_runs_nothing_of_its_own(door: RestEndpoint, path: str) -> None:
    """A-CONSOLE-01."""
    status, headers, html = asked(door, "GET", path)
    assert status == 200
    assert headers.items() >= SAFE
    page = Page(html)
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
        assert tag != "style"
        assert tag != "script" or (attributes["src"] or "").startswith("/console/static/")
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids)), "an id is there once, or renewing mixes rows up"


def test_the_list_shows_the_worst_first_and_why() -> None:
    with served(*crowd()) as door:  # its own: boards that nobody reports on are silent after a while
        _, _, html = asked(door, "GET", "/")
        _, _, silent = asked(door, "GET", "/?state=silent")
        _, _, other = asked(door, "GET", "/?q=no%20such")
    names = re.findall(r'<tr id="row-([^"]+)"', html)
    assert (names[0], set(names)) == (
        "billing", {"billing", "shop", "archive", "stock", "new-one", "warehouse"},
    )  # fmt: skip
    text = Page(html).text
    assert "replication slot wrackline_billing is lost" in text
    assert "may be lost in 2 h" in text
    assert "Restart the failed ones" in text, "no sentence that says that a restart failed"
    assert re.search(r"1 silent", text)
    assert re.findall(r'<tr id="row-([^"]+)"', silent) == ["stock"]
    assert "No pipeline matches" in other


def test_a_pipeline_says_what_needs_somebody_and_what_to_do(door: RestEndpoint) -> None:
    text = Page(asked(door, "GET", "/p/billing")[2]).text
    assert "wrackline offsets reset <pipeline.toml>" in text
    assert "target.other_mode" in text
    assert "1 need you" in text
    text = Page(asked(door, "GET", "/p/shop")[2]).text
    assert re.search(r"reading rows .* 42 % 2 min left", text)
    text = Page(asked(door, "GET", "/p/new-one")[2]).text
    assert "No table has been reported yet" in text


def test_actions_fit_the_state_and_are_passed_on(door: RestEndpoint, crew: MadeCrew) -> None:
    def verbs(name: str) -> set[str]:
        return set(re.findall(r"/do/(\w+)", asked(door, "GET", f"/p/{name}")[2]))

    assert verbs("shop") == {"pause", "restart", "stop"}
    assert verbs("warehouse") == {"resume"}
    crew.wished.clear()
    status, headers, _ = asked(door, "POST", "/p/shop/do/pause")
    assert (status, headers["location"]) == (303, "/console/p/shop")
    assert crew.wished == [("shop", DesiredState.PAUSE)]
    crew.wished.clear()
    for path in ("/p/shop/do/drop", "/p/none/do/pause"):
        assert asked(door, "POST", path)[0] == 404
    assert asked(door, "GET", "/p/shop/do/pause")[0] == 405
    assert not crew.wished


def test_one_half_is_paused_and_resumed_alone() -> None:
    resting = ConnectorState(TaskState.PAUSED, worker=RUNS.worker)
    board = busy(3)
    board.halves[Half.TARGET].heard_ms -= 3_600_000
    crew = MadeCrew(
        {"both": replace(RUNS, target=RUNS), "half": replace(RUNS, target=resting), "alone": RUNS}
    )
    with served(crew, MadeViews({"both": busy(3), "half": board, "alone": busy(3)})) as door:
        buttons = {
            name: re.findall(r"/tasks/(\d)/do/(\w+)", asked(door, "GET", f"/p/{name}")[2])
            for name in ("both", "half", "alone")
        }
        assert buttons["both"] == [("0", "pause"), ("1", "pause")]
        assert buttons["half"] == [("0", "pause"), ("1", "resume")]
        assert buttons["alone"] == [], "one task is paused as the whole"
        text = Page(asked(door, "GET", "/p/half")[2]).text
        assert "half paused" in text
        assert "silent" not in text
        for path, code in (("both/tasks/1/do/pause", 303), ("half/tasks/1/do/resume", 303),
                           ("alone/tasks/1/do/pause", 404), ("both/tasks/0/do/stop", 404),
                           ("none/tasks/0/do/pause", 404)):  # fmt: skip
            assert asked(door, "POST", f"/p/{path}")[0] == code
        assert asked(door, "POST", "/p/half/do/restart")[0] == 303
    assert crew.wished == [
        ("both", DesiredState.PAUSE), ("half", DesiredState.RUN), ("half", DesiredState.RESTART),
    ]  # fmt: skip
    assert crew.tasks == [1, 1, None], "a restart of all leaves a half that rests"


def test_each_task_of_a_source_half_has_a_line_and_actions_of_its_own() -> None:
    board, error = busy(3), {"code": "pg.unreachable", "sentence": "no answer", "hint": "look", "frames": []}
    tasks = [
        {"task": 0, "state": "running", "error": None, "databases": ["shop", HOSTILE]},
        {"task": 1, "state": "silent", "error": error, "databases": ["crm"]},
        {"task": 2, "state": "stopped", "error": None, "databases": []},
    ]
    source = board.halves[Half.SOURCE]
    source.report = {**source.report, "tasks": tasks}
    states = [RUNS, replace(RUNS, worker="db-host-2:8083"), ConnectorState(TaskState.PAUSED)]
    crew = MadeCrew({"three": state_of_tasks(states, RUNS)})
    with served(crew, MadeViews({"three": board})) as door:
        html = asked(door, "GET", "/p/three")[2]
        page = Page(html)
        assert re.findall(r"/tasks/(\d)/do/(\w+)", html) == [
            ("3", "pause"), ("0", "pause"), ("0", "restart"),
            ("1", "pause"), ("1", "restart"), ("2", "resume"),
        ], "the target half has the next number"  # fmt: skip
        assert "<img src=x" not in html
        for words in ("db-host-2:8083", "silent", "crm", "task 1", "no answer", "half paused"):
            assert words in page.text
        assert asked(door, "POST", "/p/three/tasks/1/do/restart")[0] == 303
        assert asked(door, "POST", "/p/three/tasks/4/do/restart")[0] == 404
    assert (crew.wished, crew.tasks) == ([("three", DesiredState.RESTART)], [1])


def test_a_table_that_is_stuck_is_late_though_its_newest_change_was_not() -> None:
    board = busy(2)
    board.halves[Half.TARGET].report |= {"through_ms": now_ms() - 3_000}  # type: ignore[operator]
    orders, items = board.halves[Half.TARGET].tables
    tables = board.halves[Half.TARGET].tables
    tables[orders] = target_table(late_ms=900, current=False, complete_ms=now_ms() - 3_600_000)
    tables[items] = target_table(late_ms=900, current=True)
    board = board._replace(history=PipelineHistory())
    with served(MadeCrew({"shop": RUNS}), MadeViews({"shop": board})) as door:
        assert (
            "complete as the database was 60 min ago"
            in Page(asked(door, "GET", f"/p/shop/t/{orders}")[2]).text
        )
        items_page = Page(asked(door, "GET", f"/p/shop/t/{items}")[2]).text
        assert re.search(r"complete as the database was [3-9](\.\d)? s", items_page)
        for page in ("/", "/p/shop"):
            assert "60 min" in Page(asked(door, "GET", page)[2]).text
        rows = asked(door, "GET", "/p/shop")[2].partition("<tbody>")[2]
        assert rows.count("&lt; 10 s") == 1, "some seconds are written alike, so that the row stays"


def test_a_table_is_paused_and_tried_again_by_name() -> None:
    views = MadeViews({"billing": broken(), "shop": busy(3)})
    with served(MadeCrew({"billing": RUNS, "shop": RUNS}), views) as door:
        path = "/p/billing/t/billing.public.invoices"
        assert set(re.findall(r"/do/(\w+)", asked(door, "GET", path)[2])) == {"retry", "pause"}
        status, headers, _ = asked(door, "POST", f"{path}/do/retry")
        assert (status, headers["location"]) == (303, f"/console{path}")
        assert views.wished == [("billing", "billing.public.invoices", "retry", "")]
        assert asked(door, "POST", f"{path}/do/drop")[0] == 404
        assert asked(door, "POST", "/p/shop/t/none/do/pause")[0] in (404, 409)
        assert len(views.wished) == 1


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:1", "null"])
def test_a_page_of_another_site_can_do_nothing(door: RestEndpoint, crew: MadeCrew, origin: str) -> None:
    crew.wished.clear()
    assert asked(door, "POST", "/p/shop/do/stop", {"Origin": origin})[0] == 403
    assert not crew.wished
    own = f"http://127.0.0.1:{door.port}"
    assert asked(door, "POST", "/p/shop/do/stop", {"Origin": own})[0] == 303


def test_light_and_dark_are_remembered_and_lead_nowhere_else(door: RestEndpoint) -> None:
    status, headers, _ = asked(door, "POST", "/theme/dark?back=%2Fconsole%2Fp%2Fshop")
    assert (status, headers["location"]) == (303, "/console/p/shop")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert 'data-theme="dark"' in asked(door, "GET", "/", {"Cookie": cookie.partition(";")[0]})[2]
    assert 'data-theme="system"' in asked(door, "GET", "/", {"Cookie": 'wrackline_theme="><b>'})[2]
    for path in (
        "/theme/dark?back=https%3A%2F%2Fevil.example",
        "/theme/dark?back=%2F%2Fevil.example",
        "/theme/pink",
    ):
        assert asked(door, "POST", path)[0] == 404


def test_what_does_not_exist_is_said_in_a_page(door: RestEndpoint) -> None:
    for path in ("/p/none", "/p/none/settings", "/p/shop/t/none", f"/p/{'x' * 5000}"):
        status, _, html = asked(door, "GET", path)
        assert status == 404
        assert "<main" in html
    assert asked(door, "GET", "/static/..%2Fpage_frame.py")[0] == 404
    assert asked(door, "GET", "/static/console.css")[0] == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "path",
    ["/nothing", "/p/shop/nothing", "/static/a/b", "/%3Cimg%20src=x%3E", "/a?q=%22%3E%3Cimg%20src=x%3E"],
)
def test_an_address_that_is_of_no_page_is_said_in_a_page(door: RestEndpoint, method: str, path: str) -> None:
    status, headers, html = asked(door, method, path)
    assert (status, headers["content-type"]) == (404, "text/html; charset=utf-8")
    page = Page(html)
    assert "There is no page at this address." in page.text
    assert ("a", {"href": "/console/"}) in page.elements
    assert "<img src=x" not in html
    assert '"><img>' not in html
    assert headers.items() >= SAFE
    part = asked(door, method, path, {"HX-Request": "true"})
    assert (part[0], part[2][:5]) == (404, "<main")


@pytest.mark.parametrize(
    ("method", "path", "allowed"), [("GET", "/p/shop/do/pause", "POST"), ("PUT", "/p/shop", "GET")]
)
def test_an_address_with_another_method_is_no_page(
    door: RestEndpoint, method: str, path: str, allowed: str
) -> None:
    status, headers, html = asked(door, method, path)
    assert (status, headers["allow"]) == (405, allowed)
    assert headers.items() >= SAFE
    assert "There is no page at this address." in Page(html).text


def test_a_worker_says_it_in_a_page_too() -> None:
    with served_by_a_worker({}, HandedBoards(), 0) as (url, _):
        answer = requests.get(f"{url}/console/nothing", timeout=30)
    assert (answer.status_code, "There is no page at this address." in answer.text) == (404, True)


def test_what_is_beside_the_console_is_answered_to_programs(door: RestEndpoint) -> None:
    for method, path, status in (("GET", "/consoles", 404), ("POST", "/health", 405)):
        answer = requests.request(method, f"http://127.0.0.1:{door.port}{path}", timeout=30)
        assert (answer.status_code, answer.json()["error_code"]) == (status, status)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/p/shop/?q=a%26b", "/console/p/shop?q=a%26b"),
        ("//", "/console"),
        ("/p/a%3Fb%25%C3%A4//", "/console/p/a%3Fb%25%C3%A4"),
    ],
)
def test_a_slash_too_many_leads_to_the_page(door: RestEndpoint, path: str, to: str) -> None:
    status, headers, _ = asked(door, "GET", path)
    assert (status, headers["location"]) == (307, to)
    assert asked(door, "GET", "/nothing/")[0] == 404


@pytest.mark.parametrize("path", ["/p/shop?page=0", "/?done=x", "/p/shop/rewind?to=" + "x" * 101])
def test_an_address_that_is_not_right_is_said_in_a_page(door: RestEndpoint, path: str) -> None:
    status, headers, body = asked(door, "GET", path)
    assert (status, headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert "follow the page's links" in Page(body).text


def test_names_and_texts_of_others_are_text() -> None:
    """A-CONSOLE-02, A-CONSOLE-04."""
    views = MadeViews({"shop": hostile()})
    with served(MadeCrew({"shop": ConnectorState(TaskState.RUNNING, HOSTILE, HOSTILE)}), views) as door:
        table = next(iter(re.findall(r"/console/p/shop/t/[^\"]+", asked(door, "GET", "/p/shop")[2])))
        pages = ["/", "/p/shop", "/p/shop/settings", "/p/shop/positions",
                 "/p/shop/snapshot?sent=%3Cimg%20src=x%3E", "/?q=%3Cimg%20src=x%20onerror=alert(1)%3E",
                 f"/p/shop?q={'%3Cimg%3E'}&tone=%22%3E%3Cimg%3E", table.removeprefix("/console")]  # fmt: skip
        for path in pages:
            status, _, html = asked(door, "GET", path)
            assert status == 200
            page = Page(html)
            assert not [one for one in page.elements if one[1].get("src") == "x"], path
            assert "onerror" not in {name for _, attributes in page.elements for name in attributes}
        assert HOSTILE in "".join(Page(asked(door, "GET", "/p/shop")[2]).words)


def test_many_tables_come_page_by_page() -> None:
    views = MadeViews({"big": busy(1_030)})
    with served(MadeCrew({"big": RUNS}), views) as door:
        first = asked(door, "GET", "/p/big")[2]
        assert "page 1 of 11, 1030 tables" in Page(first).text
        assert "<rect" not in first, "many cells are drawn at once"
        last = asked(door, "GET", "/p/big?page=11")[2]
        assert len(re.findall(r'<th scope="row">', last)) == 30


def test_each_route_has_a_role() -> None:
    ours = {route: role.name for route, role in ROLES.items() if " /console" in route}
    assert ours["POST /console/p/{name}/do/{verb}"] == "OPERATOR"
    strangers = {route for route, role in ours.items() if role == "OPEN"}
    assert strangers == {
        "GET /console/login", "POST /console/login", "GET /console/static/{file}",
        "POST /console/theme/{theme}",
    }  # fmt: skip
    assert not [
        route for route, role in ours.items() if route.startswith("POST /console/p/") and role == "VIEWER"
    ]


@pytest.mark.parametrize(
    ("most", "top"), [(0, 1), (0.3, 0.5), (1, 1), (7, 10), (24, 25), (26, 50), (9_999, 10_000)]
)
def test_an_axis_ends_at_a_round_number(most: float, top: float) -> None:
    assert nice_top(most) == pytest.approx(top)


def test_points_fill_their_box_and_no_peak_is_lost() -> None:
    series = [(at, float(at == 500)) for at in range(1_000)]
    few = thinned(series, 50)
    assert (len(few) <= 50, max(value for _, value in few)) == (True, 1.0)
    placed = points(series, 0, 999, 1.0, (100, 40))
    assert (placed[0], placed[500][1], placed[-1]) == ((0.0, 40.0), 0.0, (100.0, 40.0))


def test_the_script_of_others_is_the_one_that_was_taken() -> None:
    """Of htmx 4.0.1, as docs/dependencies.md says."""
    digest = hashlib.sha384((Path(console.__file__).parent / "static/htmx.min.js").read_bytes()).hexdigest()
    assert digest == (
        "429f6b742f07ec4a8ea17fa74743f744f1b63688e2faa7702651a97f3c1026c7cea69dec1b021d48ff713b7f94944867"
    )


def test_only_resuming_wakes_a_pipeline_that_rests() -> None:
    made = crowd()
    with served(*made) as door:
        assert asked(door, "POST", "/p/warehouse/do/restart")[0] == 303
        assert made[0].wished == []
        assert asked(door, "POST", "/p/warehouse/do/resume")[0] == 303
    assert made[0].wished == [("warehouse", DesiredState.RUN)]

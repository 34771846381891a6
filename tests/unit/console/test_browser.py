"""The console in a real browser: it renews itself, obeys its rules, and works by keys and without scripts."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.integration.running.world import wait_until
from tests.unit.console import made_lines
from tests.unit.console.made import RUNS, MadeCrew, MadeViews, busy, crowd, past, served, source_table
from tests.unit.console.visitor import users
from tests.unit.control.rest_users import PASSWORD
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.kafka.board_records import Half

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
AXE_FAULTS = """
const done = arguments[arguments.length - 1]
axe.run(document, {resultTypes: ["violations"]}).then(found => done(found.violations
    .filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => one.id + ": " + one.nodes.map(node => node.target.join(" ")).join(", "))),
    fault => done([String(fault)]))
"""
TAB = "\ue004"  # as WebDriver sends the key
pytestmark = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="no chromium: apt-get install chromium chromium-driver",
)
PAGES = [
    "/p/shop/logs",
    "/p/shop/logs?live=on",
    "/p/shop/events?live=on",
    "/p/shop/rewind",
    f"/p/shop/rewind?to={past()[60].time[:19]}",
    "/p/shop/settings?show=all",
    "/p/shop/events?at=0:102",
    "/p/new-one/events",
    "/p/billing/errors",
    "/p/shop/letters",
    "/p/shop/tables/shop.public.orders/shapes",
    "/error/consume.too_many_letters",
    "/workers",
    "/lineage",
    "/p/shop/tables/shop.public.orders/lineage",
    "/",
    "/p/shop/snapshot",
    "/p/billing/snapshot",
    "/p/new-one/snapshot",
    "/p/shop/positions",
    "/p/new-one/positions",
    "/p/shop/lineage",
    "/p/shop/settings",
    "/p/shop/errors",
    "/p/billing/t/billing.public.invoices",
    "/?state=failed",
    "/p/shop",
    "/p/archive",
    "/p/billing",
    "/p/new-one",
    "/p/shop/t/shop.public.orders",
]
MAIN = ["/", "/p/shop", "/p/shop/t/shop.public.orders", "/p/billing/errors", "/p/shop/settings", "/workers"]
TOURS = [("light", MAIN), *(pytest.param(one, PAGES, marks=pytest.mark.full) for one in ("light", "dark"))]
Open = Callable[..., Any]


class BrokenProxy:
    """Something between a browser and the worker: while it has an answer, renewals get that."""

    def __init__(self) -> None:
        self.answer: Response | None = None
        self.told = 0

    def before(self, app: ASGIApp) -> ASGIApp:
        async def through(scope: Scope, receive: Receive, send: Send) -> None:
            renews = scope["type"] == "http" and b"hx-request" in dict(scope["headers"])
            self.told += renews
            await (self.answer if renews and self.answer is not None else app)(scope, receive, send)

        return through


@pytest.fixture
def browser() -> Iterator[Open]:
    """Open browsers; they end with the test."""
    opened: list[Any] = []

    def begin(*, scripts: bool = True, width: int = 1280) -> Any:
        options, size = webdriver.ChromeOptions(), f"--window-size={width},900"
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", size):
            options.add_argument(flag)
        if not scripts:
            options.add_experimental_option(
                "prefs", {"profile.managed_default_content_settings.javascript": 2}
            )
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(shutil.which("chromedriver"))
        opened.append(webdriver.Chrome(options=options, service=service))
        return opened[-1]

    yield begin
    for one in opened:
        one.quit()


@pytest.mark.parametrize(("theme", "pages"), TOURS, ids=["main", "light", "dark"])
def test_no_page_breaks_its_own_rules_and_none_is_wider_than_a_small_screen(
    browser: Open, theme: str, pages: Sequence[str]
) -> None:
    driver = browser()
    with served(*crowd()) as door:
        base = f"http://127.0.0.1:{door.port}/console"
        driver.get(base + "/")
        driver.add_cookie({"name": "wrackline_theme", "value": theme, "path": "/console"})
        for path in pages:
            driver.get(base + path)
            assert driver.find_element("css selector", "h1").is_displayed()
            driver.execute_cdp_cmd(
                "Emulation.setDeviceMetricsOverride",
                {"width": 320, "height": 700, "deviceScaleFactor": 1, "mobile": False},
            )
            wide = driver.execute_script("return document.scrollingElement.scrollWidth")
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            assert wide <= 320, path
        assert [one["message"] for one in driver.get_log("browser")] == []


@pytest.mark.parametrize(("theme", "pages"), TOURS, ids=["main", "light", "dark"])
def test_axe_finds_nothing_serious(browser: Open, theme: str, pages: Sequence[str]) -> None:
    faults: dict[str, list[str]] = {}
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    driver = browser()
    with served(*crowd()) as door:
        base = f"http://127.0.0.1:{door.port}/console"
        driver.get(base + "/")
        driver.add_cookie({"name": "wrackline_theme", "value": theme, "path": "/console"})
        for path in pages:
            driver.get(base + path)
            driver.execute_script(script)
            faults[path] = driver.execute_async_script(AXE_FAULTS)
        assert {path: found for path, found in faults.items() if found} == {}


@pytest.mark.full
def test_the_log_in_fits_too(browser: Open, tmp_path: Path) -> None:
    driver = browser()
    with served(*crowd(), RestSettings(0, users=users(tmp_path, ann='role = "viewer"'))) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/login")
        assert driver.switch_to.active_element.get_attribute("name") == "name"
        narrow = {"width": 320, "height": 700, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", narrow)
        assert driver.execute_script("return document.scrollingElement.scrollWidth") <= 320
        assert [one["message"] for one in driver.get_log("browser")] == []


@pytest.mark.full
@pytest.mark.parametrize(
    "path", ["/", "/p/shop", "/p/shop/snapshot", "/p/shop/events?at=0:102", "/p/shop/letters"]
)
def test_the_tab_key_reaches_all_that_can_be_pressed_and_shows_where_it_is(browser: Open, path: str) -> None:
    driver = browser()
    with served(*crowd()) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console{path}")
        found = driver.find_elements("css selector", "a[href], button, input, select, textarea, summary")
        left = {one for one in found if one.is_displayed()}
        for _ in range(len(left) + 10):  # tables that are scrolled are stops too
            driver.switch_to.active_element.send_keys(TAB)
            one = driver.switch_to.active_element
            if one in left:
                assert one.value_of_css_property("outline-style") == "solid", one.get_attribute("outerHTML")
                left.remove(one)
        assert [one.get_attribute("outerHTML") for one in left] == []


@pytest.mark.full
def test_nothing_is_drawn_anew_while_nothing_has_changed(browser: Open) -> None:
    driver = browser()
    views = MadeViews({"shop": busy(3)})
    with served(MadeCrew({"shop": RUNS}), views) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/lineage")
        driver.execute_script("""
            window.answers = [];
            document.addEventListener("htmx:after:request",
                ({detail}) => window.answers.push(detail.ctx.response.status));""")
        wait_until(lambda: driver.execute_script("return window.answers.length") >= 2, patience=15)
        assert set(driver.execute_script("return window.answers")) == {204}
        views.boards["shop"].halves[Half.SOURCE].tables["shop.public.new"] = source_table("shop.public.new")
        wait_until(lambda: 200 in driver.execute_script("return window.answers"), patience=15)
        wait_until(lambda: driver.execute_script("return window.answers.at(-1)") == 204, patience=15)


def test_a_page_renews_itself_where_it_stands(browser: Open) -> None:
    driver = browser()
    views = MadeViews({"shop": busy(3)})
    with served(MadeCrew({"shop": RUNS}), views) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop")
        driver.execute_script("window.stays = true")
        new = source_table("shop.public.brand_new")
        views.boards["shop"].halves[Half.SOURCE].tables["shop.public.brand_new"] = new
        wait_until(lambda: "shop.public.brand_new" in driver.page_source, patience=15)
        assert driver.execute_script("return window.stays"), "nothing was loaded anew"


@pytest.mark.full
@pytest.mark.parametrize("path", ["", "/logs?live=on"])
def test_an_answer_that_is_no_page_takes_nothing_away_and_the_page_goes_on(browser: Open, path: str) -> None:
    driver = browser()
    crew, views = MadeCrew({"shop": RUNS}), MadeViews({"shop": busy(3)})
    proxy = BrokenProxy()
    with served(crew, views, within=[Middleware(proxy.before)]) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop{path}")
        for proxy.answer in (
            HTMLResponse("<h1>502 Bad Gateway</h1>", 502),
            JSONResponse({"message": "HTTP 500 internal error"}, 500),
        ):
            told = proxy.told
            wait_until(lambda told=told: proxy.told >= told + 3, patience=15)  # type: ignore[misc]
        assert driver.find_element("css selector", "main h1").text == "shop"
        assert "Bad Gateway" not in driver.page_source
        proxy.answer = None
        new = source_table("shop.public.brand_new")
        views.boards["shop"].halves[Half.SOURCE].tables["shop.public.brand_new"] = new
        views.log = [made_lines.line(9_000, "info", "source", "figures", "shop.public.brand_new")]
        wait_until(lambda: "shop.public.brand_new" in driver.page_source, patience=15)


@pytest.mark.full
def test_what_has_changed_is_replaced_and_the_rest_stays(browser: Open) -> None:
    driver = browser()
    views = MadeViews({"shop": busy(3)})
    tables = views.boards["shop"].halves[Half.TARGET].tables
    with served(MadeCrew({"shop": RUNS}), views) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop")
        mark = "return document.getElementById('mark').dataset.mark"
        row = "return document.getElementById('row-shop.public.orders').textContent"
        for count in (111_111, 222_222):  # the second answer follows from the mark of the first
            before = driver.execute_script(mark)
            tables["shop.public.orders"] = {**tables["shop.public.orders"], "events": {"u": count}}
            wait_until(lambda count=count: f"{count:,}" in driver.execute_script(row), patience=15)  # type: ignore[misc]
            assert driver.execute_script(mark) != before
        assert len(driver.find_elements("css selector", "main")) == 1
        assert len(driver.find_elements("css selector", "tbody > tr[id]")) == 3
        assert driver.find_elements("css selector", "hx-partial, template") == []
        fetched = "e => e.initiatorType === 'fetch' && e.decodedBodySize > 0"
        sizes = f"performance.getEntriesByType('resource').filter({fetched}).map(e => e.decodedBodySize)"
        whole = driver.execute_script("return document.getElementById('main').outerHTML.length")
        assert max(driver.execute_script(f"return {sizes}")) < whole / 2
        assert [one["message"] for one in driver.get_log("browser")] == []


@pytest.mark.full
def test_keys_and_buttons_do_what_they_say(browser: Open) -> None:
    driver = browser()
    crew, views = crowd()
    with served(crew, views) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop")
        driver.find_element("css selector", "body").send_keys("/")
        assert driver.switch_to.active_element.get_attribute("id") == "search"
        driver.switch_to.active_element.send_keys("items_007\n")
        wait_until(lambda: "q=items_007" in driver.current_url, patience=15)
        assert len(driver.find_elements("css selector", "tbody th")) == 1
        driver.find_element("css selector", "button[title=dark]").click()
        wait_until(lambda: 'data-theme="dark"' in driver.page_source, patience=15)
        assert "q=items_007" in driver.current_url, "the same page again"
        driver.find_element("xpath", "//button[normalize-space()='Pause']").click()
        wait_until(lambda: bool(crew.wished), patience=15)
        assert crew.wished == [("shop", DesiredState.PAUSE)]
        driver.find_element("css selector", "body").send_keys("g")
        wait_until(lambda: driver.current_url.endswith("/console/"), patience=15)


def test_it_works_without_scripts(browser: Open) -> None:
    driver = browser(scripts=False)
    crew, views = crowd()
    with served(crew, views) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/")
        assert "reload the page" in driver.find_element("css selector", "footer").text
        driver.find_element("link text", "warehouse").click()
        driver.find_element("xpath", "//button[normalize-space()='Resume']").click()
        wait_until(lambda: bool(crew.wished), patience=15)
        assert crew.wished == [("warehouse", DesiredState.RUN)]
        assert driver.current_url.endswith("/console/p/warehouse")


@pytest.mark.parametrize("scripts", [True, False])
def test_somebody_logs_in_acts_and_logs_out(browser: Open, tmp_path: Path, scripts: bool) -> None:  # noqa: FBT001
    driver = browser(scripts=scripts)
    crew, views = crowd()
    file = users(tmp_path, ann='role = "operator"\ndata = true')
    with served(crew, views, RestSettings(0, users=file)) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop")
        wait_until(lambda: driver.title.startswith("Log in"), patience=15)
        driver.find_element("name", "name").send_keys("ann")
        driver.find_element("name", "password").send_keys(f"{PASSWORD}\n")
        wait_until(lambda: driver.current_url.endswith("/console/p/shop"), patience=15)
        driver.find_element("xpath", "//button[normalize-space()='Pause']").click()
        wait_until(lambda: crew.wished == [("shop", DesiredState.PAUSE)], patience=15)
        driver.find_element("link text", "Events").click()
        wait_until(lambda: "129.90" in driver.page_source, patience=15)
        driver.find_element("xpath", "//button[normalize-space()='Log out']").click()
        wait_until(lambda: driver.title.startswith("Log in"), patience=15)
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop/events")
        wait_until(lambda: driver.title.startswith("Log in"), patience=15)


@pytest.mark.full
def test_what_was_typed_stays_while_the_page_renews_itself(browser: Open) -> None:
    driver = browser()
    crew, views = crowd()
    with served(crew, views) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop/snapshot")
        driver.find_element("name", "tables").send_keys("public.orders")
        driver.find_element("css selector", "h1").click()
        driver.execute_script("document.activeElement.blur()")
        new = source_table("shop.public.brand_new", state="queued", requests=["initial"])
        views.boards["shop"].halves[Half.SOURCE].tables["shop.public.brand_new"] = new
        wait_until(lambda: "reading-shop.public.brand_new" in driver.page_source, patience=15)
        assert driver.find_element("name", "tables").get_property("value") == "public.orders"
        driver.find_element("css selector", "body").send_keys("?")
        assert driver.find_element("id", "keys").is_displayed()


@pytest.mark.full
def test_rows_are_asked_for_and_pipelines_chosen_without_scripts(browser: Open) -> None:
    driver = browser(scripts=False)
    crew, views = crowd()
    with served(crew, views) as door:
        base = f"http://127.0.0.1:{door.port}/console"
        driver.get(f"{base}/p/shop/snapshot")
        driver.find_element("name", "tables").send_keys("public.orders")
        driver.find_element("name", "where").send_keys("id >> (")
        driver.find_element("xpath", "//button[normalize-space()='Ask for these rows']").click()
        wait_until(lambda: "signal.bad_field" in driver.page_source, patience=15)
        driver.find_element("name", "where").clear()
        driver.find_element("xpath", "//button[normalize-space()='Ask for these rows']").click()
        wait_until(lambda: bool(views.sent), patience=15)
        assert b'"public.orders"' in views.sent[0][1]
        driver.get(f"{base}/")
        driver.find_element("name", "chosen:shop").click()
        driver.find_element("xpath", "//button[@formaction='/console/p/do/pause']").click()
        wait_until(lambda: bool(crew.wished), patience=15)
        assert crew.wished == [("shop", DesiredState.PAUSE)]
        assert "Pause was asked of 1 pipeline." in driver.page_source

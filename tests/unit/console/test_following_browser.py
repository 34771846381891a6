"""Pages that follow, in a real browser: rows come on top, wait while paused, and the oldest go."""

from typing import Any

from tests.integration.running.world import wait_until
from tests.unit.console import made_lines
from tests.unit.console.made import crowd, served
from tests.unit.console.test_browser import Open, browser, pytestmark

__all__ = ["browser", "pytestmark"]  # the fixture, and where there is a browser
PATIENCE = 20


def places(driver: Any) -> list[str]:
    """Return the lines that are shown, at one moment."""
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('#following .line')].map((one) => one.textContent.trim())"
    )
    return found


def line(place: int) -> tuple[int, bytes]:
    return made_lines.line(place, "info", "source", "figures", f"line {place}")


def test_lines_that_come_are_added_where_they_are_looked_at(browser: Open) -> None:
    driver = browser()
    crew, views = crowd()
    views.log = [line(1)]
    with served(crew, views) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop/logs")
        driver.find_element("link text", "Follow").click()
        wait_until(lambda: places(driver) == ["line 1"], patience=PATIENCE)
        driver.execute_script("window.stays = true")
        views.log.append(line(2))
        wait_until(lambda: places(driver) == ["line 2", "line 1"], patience=PATIENCE)
        pause = driver.find_element("id", "tail-pause")
        pause.send_keys("\n")
        assert (pause.text, pause.get_attribute("aria-pressed")) == ("Continue", "true")
        views.log += [line(place) for place in range(3, 200)]
        driver.execute_script("""window.refused = 0; document.addEventListener("htmx:config:request",
            (event) => { window.refused += event.defaultPrevented; });""")
        wait_until(lambda: driver.execute_script("return window.refused") >= 2, patience=PATIENCE)
        assert len(places(driver)) == 2, "nothing is added while it is paused"
        pause.click()
        wait_until(lambda: len(places(driver)) == 199, patience=PATIENCE)
        views.log += [line(place) for place in range(200, 400)]
        wait_until(lambda: places(driver)[0] == "line 399", patience=PATIENCE)
        views.log += [line(place) for place in range(400, 600)]
        wait_until(lambda: places(driver)[0] == "line 599", patience=PATIENCE)
        assert (len(places(driver)), places(driver)[-1]) == (500, "line 100")
        assert driver.execute_script("return window.stays"), "nothing was loaded anew"
        assert [one["message"] for one in driver.get_log("browser")] == []


def test_without_scripts_a_link_leads_to_what_is_newer(browser: Open) -> None:
    driver = browser(scripts=False)
    crew, views = crowd()
    views.log = [line(1)]
    with served(crew, views) as door:
        driver.get(f"http://127.0.0.1:{door.port}/console/p/shop/logs?live=on")
        assert not driver.find_elements("css selector", "#tail-pause")[0].is_displayed()
        views.log.append(line(2))
        driver.find_element("link text", "Newer").click()
        shown = driver.find_elements("css selector", ".lines .line")
        assert [one.text for one in shown] == ["line 2"]

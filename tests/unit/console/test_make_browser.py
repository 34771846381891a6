"""A pipeline is made in a real browser, with and without scripts."""

import pytest

from tests.unit.console.browser_hands import press, typed
from tests.unit.console.made import crowd, served
from tests.unit.console.test_browser import Open, browser, pytestmark
from tests.unit.console.test_make import SOURCE_FIELDS

__all__ = ["browser", "pytestmark"]  # the fixture, and where there is a browser


@pytest.mark.parametrize("scripts", [True, False])
def test_a_pipeline_is_made_in_a_browser(browser: Open, scripts: bool) -> None:  # noqa: FBT001
    driver = browser(scripts=scripts, width=400)
    with served(*crowd()) as door:
        base = f"http://127.0.0.1:{door.port}/console"
        driver.get(f"{base}/")
        driver.find_element("link text", "Make a pipeline").click()
        driver.find_element("css selector", "input[value=postgres]").click()
        typed(driver, {"name": "shop2"})
        press(driver, "Begin")
        typed(driver, SOURCE_FIELDS)
        press(driver, "Save and continue")
        driver.find_element("name", "pick:public/items").click()
        press(driver, "Save and continue")
        driver.find_element("css selector", "input[value=iceberg]").click()
        press(driver, "Save and continue")
        typed(driver, {"set:target.warehouse": "/data/lake"})
        press(driver, "Save and continue")
        press(driver, "Assess")
        assert "ready" in driver.find_element("tag name", "main").text
        wide = driver.execute_script("return document.scrollingElement.scrollWidth") if scripts else 0
        assert wide <= driver.get_window_size()["width"]
        press(driver, "Make the pipeline and start it")
        assert "shop2 is written" in driver.find_element("tag name", "h1").text
        assert [one["message"] for one in driver.get_log("browser")] == []

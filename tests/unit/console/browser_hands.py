"""What somebody does at a page in a real browser: types, and presses buttons."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.integration.running.world import PATIENCE

staleness_of = pytest.importorskip("selenium.webdriver.support.expected_conditions").staleness_of
WebDriverWait = pytest.importorskip("selenium.webdriver.support.wait").WebDriverWait
WebDriverException = pytest.importorskip("selenium.common.exceptions").WebDriverException
_OPEN = "for (let up = arguments[0]; up; up = up.parentElement) up.open = true"


def typed(driver: Any, fields: Mapping[str, str]) -> None:
    """Type into the fields of these names; what is folded is opened."""
    for name, text in fields.items():
        field = driver.find_element("name", name)
        if not field.is_displayed():
            driver.execute_script(_OPEN, field)
        field.clear()
        field.send_keys(text)


def press(driver: Any, label: str) -> None:
    """Press the button of this label, and wait for the next page."""
    page = driver.find_element("tag name", "html")
    driver.find_element("xpath", f"//button[normalize-space()={label!r}]").click()
    wait_for(driver, staleness_of(page))


def wait_for(driver: Any, holds: Callable[[Any], bool], patience: float = PATIENCE) -> None:
    """Wait until it holds; while a page goes, the driver may lose it in ways of its own."""
    WebDriverWait(driver, patience, ignored_exceptions=[WebDriverException]).until(holds)

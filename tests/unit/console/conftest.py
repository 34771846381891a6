"""Somebody at a browser before several pipelines, without a log-in."""

from collections.abc import Iterator

import pytest

from tests.unit.console.made import MadeViews, crowd, served
from tests.unit.console.visitor import Visitor


@pytest.fixture
def views() -> MadeViews:
    return crowd()[1]


@pytest.fixture
def visitor(views: MadeViews) -> Iterator[Visitor]:
    with served(crowd()[0], views) as door:
        yield Visitor(door.port)

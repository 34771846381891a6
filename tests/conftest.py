"""What all tests share: the fixtures of tests/fixtures, and the option that adds the deep tests."""

import os

import pytest
from hypothesis import HealthCheck, settings

# how long an example takes says something of the machine, and nothing of the code
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")

pytest_plugins = [
    "tests.fixtures.binlogs",
    "tests.fixtures.engine",
    "tests.fixtures.plain_build",
    "tests.fixtures.servers",
    "tests.fixtures.spark",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    parser.addoption("--deep", action="store_true", help="also run full matrices, storms and loads")
    parser.addoption(
        "--postgres",
        type=int,
        default=int(os.environ.get("WRACKLINE_POSTGRES", "15")),
        help="the PostgreSQL major that tests run on (default: WRACKLINE_POSTGRES, else 15)",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs servers; without --deep, leave the deep tests out."""
    for item in items:
        if "stack" in getattr(item, "fixturenames", ()):
            item.add_marker("servers")
    if config.getoption("--deep"):
        return
    deep = [item for item in items if item.get_closest_marker("deep")]
    if deep:
        config.hook.pytest_deselected(items=deep)
        items[:] = [item for item in items if item not in deep]

"""What all tests share: the fixtures of tests/fixtures, and the option that names a PostgreSQL."""

import os

import pytest
from hypothesis import HealthCheck, settings

# how long an example takes says something of the machine, and nothing of the code
settings.register_profile("ours", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ours")

pytest_plugins = [
    "tests.fixtures.tiers",  # first, because others take `alternatives` from it
    "tests.fixtures.binlogs",
    "tests.fixtures.engine",
    "tests.fixtures.others",
    "tests.fixtures.plain_build",
    "tests.fixtures.quick_java",
    "tests.fixtures.quick_rest",
    "tests.fixtures.servers",
    "tests.fixtures.spark",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our option."""
    parser.addoption(
        "--postgres",
        type=int,
        default=int(os.environ.get("WRACKLINE_POSTGRES", "15")),
        help="the PostgreSQL major that tests run on (default: WRACKLINE_POSTGRES, else 15)",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs servers."""
    for item in items:
        if "stack" in getattr(item, "fixturenames", ()):
            item.add_marker("servers")

"""Servers of MySQL's family for tests of existing rows, each with an empty database."""

import pytest

from tests.integration.mysql.rows_world import DATABASE, FLAVOURS, World
from wrackline.control.stack.stack import Stack


@pytest.fixture(params=FLAVOURS)
def world(stack: Stack, request: pytest.FixtureRequest) -> World:
    """A server of each kind, whose database is empty."""
    made = World(getattr(stack, request.param)())
    made.run(f"DROP DATABASE IF EXISTS {DATABASE}", f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
    return made

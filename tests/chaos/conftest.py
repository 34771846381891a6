"""A world whose rows are read in small chunks, for each kind of marks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.chaos.marks import MARKS, reading
from tests.chaos.world import World
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry

Opened: TypeAlias = Callable[..., World]


@pytest.fixture(params=MARKS)
def read_in_chunks(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    postgres: PostgresServer,
    kafka: Broker,
    registry: SchemaRegistry,
) -> Iterator[Opened]:
    """Open a world with chunks of this many rows, and more settings; it is closed at the end."""
    opened: list[World] = []

    def made(chunk: int, more: dict[str, str] | None = None) -> World:
        settings = {**reading(str(request.param), chunk), **(more or {})}
        opened.append(World(tmp_path, postgres, kafka, registry, settings))
        return opened[-1]

    yield made
    for world in opened:
        world.close()

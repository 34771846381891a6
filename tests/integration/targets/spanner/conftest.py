"""Google's emulator of Spanner, once for the folder."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.cloud.spanner_v1.instance import Instance

from tests.fakes.spanner_world import EMULATOR, SpannerWorld, spanner_emulator


@pytest.fixture(scope="package")
def instance() -> Iterator[Instance]:
    if not EMULATOR.exists():
        pytest.skip(
            "Google's emulator of Spanner is not installed: gcloud components install cloud-spanner-emulator"
        )
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with spanner_emulator(port) as made:
        yield made


@pytest.fixture
def world(instance: Instance, tmp_path: Path) -> Iterator[SpannerWorld]:
    made = SpannerWorld(instance, tmp_path)
    yield made
    made.close()

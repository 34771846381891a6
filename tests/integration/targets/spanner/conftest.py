"""Google's emulator of Spanner, once for the folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from google.cloud.spanner_v1.client import Client

from tests.fakes.spanner_world import SpannerWorld
from wrackline.control.local.emulators.spanner import emulated_client, find_emulator, server


@pytest.fixture(scope="package")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Its port; it may be missing here.  EMULATORS.md: sp-apart."""
    if find_emulator() is None:
        pytest.skip("Google's emulator is not here: gcloud components install cloud-spanner-emulator")
    running = server(tmp_path_factory.mktemp("spanner_emulator"))
    running.process.start()
    yield running.port
    running.process.stop()


@pytest.fixture(scope="package")
def client(emulator: int) -> Client:
    return emulated_client(emulator)


@pytest.fixture
def world(client: Client, tmp_path: Path) -> Iterator[SpannerWorld]:
    made = SpannerWorld(client, tmp_path)
    yield made
    made.target.close()

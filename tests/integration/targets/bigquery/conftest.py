"""The emulator, and a world over it."""

from pathlib import Path

import pytest

from tests.fakes.bigquery_world import BigQueryWorld
from tests.fixtures.bigquery_emulator import bigquery_emulator

__all__ = ["bigquery_emulator"]


@pytest.fixture
def world(bigquery_emulator: str, tmp_path: Path) -> BigQueryWorld:
    return BigQueryWorld(bigquery_emulator, tmp_path)

"""Delta keeps the target contract, with and without keys, and in every mode.

Iceberg keeps it in the gate, and the target and its SQL are the same code.  Of what only Delta does, the gate
runs the promises that conftest.py lists; test_writers.py has the rest.
"""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.targets.delta.world import DeltaWorld
from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import KeylessPromises, KeyPromises
from wrackline.testing.targets.modes_suite import ModesSuite
from wrackline.testing.targets.target_suite import TargetSuite


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> DeltaWorld:
    return DeltaWorld(spark, tmp_path / "lake")


class TestDelta(TargetSuite, DropSuite):
    """What every target promises; conftest.py says which of it is in the gate."""


@pytest.mark.deep
class TestDeltaOtherwise(KeylessPromises, KeyPromises, ModesSuite):
    """Tables without a key, histories and events."""

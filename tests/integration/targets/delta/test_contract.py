"""Delta keeps the target contract, with and without keys, and in every mode."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.contract.keyless_suite import KeylessPromises, KeyPromises
from tests.contract.modes_suite import ModesSuite
from tests.contract.target_suite import TargetSuite
from tests.integration.targets.delta.world import DeltaWorld


class TestDelta(TargetSuite, KeylessPromises, KeyPromises, ModesSuite):
    @pytest.fixture
    def world(self, spark: SparkSession, tmp_path: Path) -> DeltaWorld:
        return DeltaWorld(spark, tmp_path / "lake")

"""Iceberg keeps the target contract, with and without keys."""

import pytest
from pyspark.sql import SparkSession

from tests.contract.drop_suite import DropSuite
from tests.contract.keyless_suite import KeylessPromises, KeyPromises
from tests.contract.modes_suite import ModesSuite
from tests.contract.target_suite import TargetSuite
from tests.integration.targets.iceberg.world import IcebergWorld


class TestIceberg(TargetSuite, KeylessPromises, KeyPromises, ModesSuite, DropSuite):
    @pytest.fixture
    def world(self, spark: SparkSession, namespace: str) -> IcebergWorld:
        return IcebergWorld(spark, namespace)

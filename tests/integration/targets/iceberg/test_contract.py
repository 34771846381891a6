"""Iceberg keeps the target contract."""

import pytest
from pyspark.sql import SparkSession

from tests.contract.target_suite import TargetSuite, TargetWorld
from tests.integration.targets.iceberg.world import IcebergWorld


class TestIceberg(TargetSuite):
    @pytest.fixture
    def world(self, spark: SparkSession, namespace: str) -> TargetWorld:
        return IcebergWorld(spark, namespace)

"""Iceberg keeps the target contract, with and without keys."""

import pytest
from pyspark.sql import SparkSession

from tests.integration.targets.iceberg.world import IcebergWorld
from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import KeylessPromises, KeyPromises
from wrackline.testing.targets.modes_suite import AppendPromises, HardDeletePromises, HistoryPromises
from wrackline.testing.targets.target_suite import (
    CommitPromises,
    LetterPromises,
    MergePromises,
    ShapePromises,
)


@pytest.fixture
def world(spark: SparkSession, namespace: str) -> IcebergWorld:
    return IcebergWorld(spark, namespace)


class TestMerge(
    MergePromises, CommitPromises, KeylessPromises, KeyPromises, AppendPromises, HardDeletePromises
):
    """What the SQL of a merge and its commit decide."""


@pytest.mark.full  # PostgreSQL's run of them is in the gate, and so are Iceberg's shapes by hand
class TestRest(LetterPromises, ShapePromises, HistoryPromises, DropSuite):
    """What else a target promises."""

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


class TestMerge(MergePromises, CommitPromises, AppendPromises):
    """What the SQL of a merge and its commit decide."""


class TestKeysShortly:
    """Of what keys and hard deletes decide in that SQL, a promise of each."""

    test_rows = KeylessPromises.test_each_row_is_stored_as_often_as_it_came
    test_early_delete = KeylessPromises.test_a_delete_may_arrive_before_its_insert
    test_other_key = KeyPromises.test_a_table_with_another_key_starts_over
    test_hard_delete = HardDeletePromises.test_a_hard_delete_leaves_nothing


@pytest.mark.full  # PostgreSQL's run of them is in the gate
class TestKeys(KeylessPromises, KeyPromises, HardDeletePromises):
    """All of it."""


@pytest.mark.full  # PostgreSQL's run of them is in the gate, and so are Iceberg's shapes by hand
class TestRest(LetterPromises, ShapePromises, HistoryPromises, DropSuite):
    """What else a target promises."""

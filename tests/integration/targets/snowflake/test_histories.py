"""Versions, over the world of this folder's conftest; the gate keeps the same promises over DuckDB."""

import pytest

from wrackline.testing.targets.modes_suite import HistoryPromises

pytestmark = pytest.mark.full


class TestSnowflakeHistories(HistoryPromises):
    """A history in Snowflake's form of the statements."""

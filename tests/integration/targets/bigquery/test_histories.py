"""Versions, over the world of this folder's conftest; the gate keeps the same promises over DuckDB."""

import pytest

from wrackline.testing.targets.modes_suite import HistoryPromises

pytestmark = pytest.mark.full


class TestBigQueryHistories(HistoryPromises):
    """A history in BigQuery's form of the statements."""

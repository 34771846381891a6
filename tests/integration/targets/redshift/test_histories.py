"""Versions, over the world of this folder's conftest; the gate keeps the same promises over DuckDB."""

import pytest

from wrackline.testing.targets.modes_suite import HistoryPromises

pytestmark = [pytest.mark.servers, pytest.mark.full]


class TestRedshiftHistories(HistoryPromises):
    """A history in Redshift's form of the statements."""

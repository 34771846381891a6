"""A finding can be found."""

import pytest

from wrackline.schemas.language.findings import Finding, Severity


def test_a_column_needs_its_table() -> None:
    with pytest.raises(ValueError, match="names a column but no table"):
        Finding("pg.odd", "odd", "a column is odd", "look at it", "none", Severity.INFO, column="c")

"""Some of the simulation's histories, which end soon when a rule is broken; only mutants run these."""

import pytest

from tests.simulation.volume import these


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_no_history_breaks_a_rule(first: int) -> None:
    assert these(range(first, first + 100)) == []

"""How long each folder of tests may take in the gate, held against the last run that was recorded.

`./run test --record-durations` writes tests/durations.json.  Nothing is measured here: a folder that has
become slow is seen when its durations are recorded.  Then its budget is raised, or cases leave the gate.
"""

import json
from collections import Counter
from collections.abc import Mapping

import pytest

from tests.fixtures.tiers import DURATIONS

WORKERS, WHOLE_S = 3, 15 * 60  # of the gate
BUDGETS = {  # seconds of a worker
    "tests/chaos": 185,
    "tests/contract": 10,
    "tests/e2e": 130,
    "tests/integration": 25,
    "tests/integration/consuming": 260,
    "tests/integration/deploy": 20,
    "tests/integration/group": 100,
    "tests/integration/kafka": 155,
    "tests/integration/mysql": 300,
    "tests/integration/postgres": 195,
    "tests/integration/running": 270,
    "tests/integration/stack": 20,
    "tests/integration/targets": 425,
    "tests/property": 40,
    "tests/simulation": 30,
    "tests/unit": 185,
    "tests/unit/consumers": 115,
    "tests/unit/control": 175,
    "tests/unit/producers": 60,
}


def folder_of(file: str, budgets: Mapping[str, int]) -> str:
    """The longest folder with a budget that a file is in."""
    return max((folder for folder in budgets if file.startswith(f"{folder}/")), key=len, default="")


def seconds(budgets: Mapping[str, int]) -> Counter[str]:
    """What each folder took."""
    took: Counter[str] = Counter()
    for file, of_file in json.loads(DURATIONS.read_text())["files"].items():
        took[folder_of(file, budgets)] += of_file
    return took


@pytest.mark.parametrize("folder", BUDGETS)
def test_a_folder_keeps_its_budget(folder: str) -> None:
    assert seconds(BUDGETS)[folder] <= BUDGETS[folder]


def test_the_budgets_together_are_the_gate_s() -> None:
    assert sum(BUDGETS.values()) <= WORKERS * WHOLE_S


def test_every_file_has_a_budget() -> None:
    assert seconds(BUDGETS)[""] == 0


def test_a_file_counts_for_the_nearest_folder() -> None:
    budgets = {"tests/unit": 1, "tests/unit/consumers": 1}
    assert folder_of("tests/unit/consumers/test_a.py", budgets) == "tests/unit/consumers"
    assert folder_of("tests/unit/test_a.py", budgets) == "tests/unit"
    assert folder_of("tests/unitary/test_a.py", budgets) == ""

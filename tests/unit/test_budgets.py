"""How long each part of the tests may take in the gate, held against the last run that was recorded.

`./run test --record-durations` writes tests/durations.json.  Nothing is measured here: a part that has
become slow is seen when its durations are recorded.  Then its budget is raised, or cases leave the gate.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.fixtures.tiers import DURATIONS

ROOT = Path(__file__).parents[2]
WORKERS, WHOLE_S = 3, 15 * 60  # of the gate
BUDGETS = {  # seconds of a worker
    "SQL Server and tasks": 150,
    "warehouses": 110,
    "Oracle": 180,
    "tests/chaos": 165,
    "tests/contract": 5,
    "tests/e2e": 95,
    "tests/integration": 35,
    "tests/integration/consuming": 270,
    "tests/integration/deploy": 15,
    "tests/integration/group": 100,
    "tests/integration/kafka": 130,
    "tests/integration/mysql": 270,
    "tests/integration/postgres": 165,
    "tests/integration/running": 265,
    "tests/integration/stack": 15,
    "tests/integration/targets": 270,
    "tests/property": 25,
    "tests/simulation": 15,
    "tests/unit": 120,
    "tests/unit/console": 55,
    "tests/unit/consumers": 80,
    "tests/unit/control": 110,
    "tests/unit/producers": 55,
}
ACROSS = {  # what has its files in several folders: what they begin with
    "SQL Server and tasks": (
        "tests/contract/test_sqlserver",
        "tests/integration/kafka/test_deals.py",
        "tests/integration/running/test_databases.py",
        "tests/integration/running/test_tasks.py",
        "tests/integration/sqlserver",
        "tests/property/test_sqlserver",
        "tests/simulation/test_deals.py",
        "tests/unit/producers/sqlserver/",
        "tests/unit/sqlserver_standin/",
    ),
    "warehouses": (
        "tests/contract/test_broken_staged",
        "tests/contract/test_staged",
        "tests/integration/targets/bigquery/",
        "tests/integration/targets/redshift/",
        "tests/integration/targets/snowflake/",
        "tests/integration/targets/spanner/",
        "tests/integration/targets/test_staged",
        "tests/unit/consumers/bigquery/",
        "tests/unit/consumers/redshift/",
        "tests/unit/consumers/snowflake/",
        "tests/unit/consumers/spanner/",
        "tests/unit/consumers/staged/",
    ),
    "Oracle": (
        "tests/contract/test_oracle",
        "tests/integration/oracle",
        "tests/property/test_oracle",
        "tests/unit/oracle",
        "tests/unit/producers/oracle/",
    ),
}


def beginnings(budgets: Iterable[str]) -> Iterator[tuple[str, str]]:
    """What files begin with, and the budget that they count for."""
    for name in budgets:
        yield from ((begin, name) for begin in ACROSS.get(name, (f"{name}/",)))


def budget_of(file: str, budgets: Iterable[str]) -> str:
    """The budget that a file counts for: the one that names most of its path."""
    found = [(begin, name) for begin, name in beginnings(budgets) if file.startswith(begin)]
    return max(found, key=lambda one: len(one[0]), default=("", ""))[1]


def seconds(budgets: Mapping[str, int]) -> Counter[str]:
    """What each budget was used for."""
    took: Counter[str] = Counter()
    for file, of_file in json.loads(DURATIONS.read_text())["files"].items():
        took[budget_of(file, budgets)] += of_file
    return took


@pytest.mark.parametrize("name", BUDGETS)
def test_a_part_keeps_its_budget(name: str) -> None:
    assert seconds(BUDGETS)[name] <= BUDGETS[name]


def test_the_budgets_together_are_the_gate_s() -> None:
    assert sum(BUDGETS.values()) <= WORKERS * WHOLE_S


def test_every_file_has_a_budget() -> None:
    assert seconds(BUDGETS)[""] == 0


def test_a_file_counts_for_the_budget_that_names_most_of_its_path() -> None:
    budgets = ["tests/unit", "tests/unit/producers", "tests/contract", "Oracle"]
    assert budget_of("tests/unit/producers/test_a.py", budgets) == "tests/unit/producers"
    assert budget_of("tests/unit/producers/oracle/test_a.py", budgets) == "Oracle"
    assert budget_of("tests/contract/test_oracle_source.py", budgets) == "Oracle"
    assert budget_of("tests/contract/test_a.py", budgets) == "tests/contract"
    assert budget_of("tests/unit/test_a.py", budgets) == "tests/unit"
    assert budget_of("tests/unitary/test_a.py", budgets) == ""


def test_what_is_counted_across_folders_is_there() -> None:
    begins = [begin for name in ACROSS if name != "Oracle" for begin in ACROSS[name]]
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")]
    assert [begin for begin in begins if not any(file.startswith(begin) for file in files)] == []

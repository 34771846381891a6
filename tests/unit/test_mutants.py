"""Each module that `./run mutate` is meant for has its tests named."""

import gc
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.mutants.__main__ import LISTED, imported_from
from tests.mutants.planted import code_of, forked, plant
from tests.mutants.tests_of import TESTS
from wrackline.producers.kafka.client import client

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("producers/snapshot", "producers/kafka", "producers/kit/reads", "producers/kit/preflight"),
    "producers/sources/oracle/transactions",
)
ALONE = (
    "producers/contract/snapshot_requests.py",
    "producers/cutting/cutter.py",
    *(f"producers/kit/{name}.py" for name in ("known_tables", "lent_connection", "log_reports")),
    *(f"producers/kit/{name}.py" for name in ("open_handles", "polled_stream", "step_log")),
    "producers/task/partition_opener.py",
    "producers/task/partition_run.py",
    "producers/task/lane_wait.py",
    "producers/task/lanes.py",
    *(f"producers/sources/sqlserver/rows/{name}.py" for name in ("before_images", "packed_row", "rows")),
    "producers/sources/sqlserver/rows/cell_values.py",
    *(f"producers/sources/sqlserver/log/{name}.py" for name in ("lsn", "page_merger", "position")),
    "producers/sources/sqlserver/log/changes.py",
    "producers/sources/sqlserver/log/range_audit.py",
    *(f"producers/sources/sqlserver/follow/{name}.py" for name in ("continuity", "handover")),
    "producers/sources/sqlserver/follow/instance_tracker.py",
    "producers/sources/sqlserver/poll/capture_watch.py",
    "producers/sources/sqlserver/session/shared_question.py",
    "producers/sources/oracle/redo/values.py",
    *(f"producers/sources/oracle/mining/{name}.py" for name in ("incarnation", "log_files", "mined_row")),
    *(f"producers/sources/oracle/mining/{name}.py" for name in ("mining_range", "mining_sql", "position")),
    "producers/sources/oracle/mining/safe_scn.py",
    "schemas/pipelines/deal.py",
    "consumers/contract/batch_scope.py",
    "consumers/contract/plan.py",
    *(f"consumers/records/{name}.py" for name in ("dedupe", "fast_path", "replaced_records", "slow_path")),
)

FILE = "a_module_of_this_test.py"


def modules() -> set[str]:
    found = (file for folder in FOLDERS for file in (ROOT / folder).glob("*.py"))
    with_functions = (file for file in found if "def " in file.read_text())
    return {*(str(file.relative_to(ROOT)) for file in with_functions), *ALONE}


def test_each_module_has_its_tests() -> None:
    assert TESTS.keys() == modules()


def test_each_module_and_each_test_that_is_named_is_there() -> None:
    named = {test.partition("::")[0] for tests in TESTS.values() for test in tests}
    assert [path for path in {*modules(), *named} if not (ROOT / path).exists()] == []


def test_a_module_is_known_by_the_path_that_python_imports_it_from() -> None:
    assert client.__code__.co_filename == str(imported_from("producers/kafka/client.py"))


def test_only_modules_with_tests_have_survivors() -> None:
    assert tomllib.loads(LISTED.read_text()).keys() - TESTS.keys() == set()


@pytest.fixture
def answer() -> Iterator[Callable[[], int]]:
    """A function of a module that was imported before the tests were collected, and frozen."""
    names: dict[str, Callable[[], int]] = {}
    exec(compile("def answer():\n    return 1\n", FILE, "exec"), names)  # noqa: S102 - the text is above
    gc.freeze()
    yield names["answer"]
    gc.freeze()


def test_a_fault_is_put_into_a_function_that_the_collector_no_longer_sees(
    answer: Callable[[], int],
) -> None:
    plant(code_of("def answer():\n    return 2\n", FILE)["answer", 1], FILE)
    assert answer() == 2


def test_a_fault_whose_function_is_not_there_is_not_called_seen(answer: Callable[[], int]) -> None:
    faults = {
        "def answer():\n    return 2\n": "survived",
        "def other():\n    return 2\n": "not planted",
    }

    def plants(text: str) -> bool:
        [code] = code_of(text, FILE).values()
        plant(code, FILE)
        return False

    assert {text: forked(partial(plants, text), 60) for text in faults} == faults
    assert forked(lambda: True, 60) == "killed"
    assert answer() == 1, "only the child has the fault"

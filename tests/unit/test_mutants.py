"""Each module that `./run mutate` is meant for has its tests named."""

import tomllib
from pathlib import Path

from tests.mutants.__main__ import LISTED, imported_from
from tests.mutants.tests_of import TESTS
from wrackline.producers.kafka.client import client

ROOT = Path(__file__).parents[2]
FOLDERS = ("producers/snapshot", "producers/kafka", "producers/kit/reads", "producers/kit/preflight")
ALONE = (
    "producers/contract/snapshot_requests.py",
    "producers/cutting/cutter.py",
    *(f"producers/kit/{name}.py" for name in ("known_tables", "lent_connection", "log_reports")),
    *(f"producers/kit/{name}.py" for name in ("open_handles", "polled_stream", "step_log")),
    "producers/task/partition_opener.py",
    "producers/task/partition_run.py",
    *(f"producers/sources/sqlserver/rows/{name}.py" for name in ("before_images", "packed_row", "rows")),
    "consumers/contract/batch_scope.py",
    "consumers/contract/plan.py",
    *(f"consumers/records/{name}.py" for name in ("dedupe", "fast_path", "replaced_records", "slow_path")),
)


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

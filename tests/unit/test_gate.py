"""What stays in the gate: a case of every invariant, of every checker and of every promise of a contract.

A mark that takes a test out of the gate (`full`, `deep`) may stand on the test, on its class or on its file.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.checks import CHECKS
from tests.chaos.marks import NOT_OF_ROWS
from tests.fixtures.tiers import SESSIONS, _other_alternatives, _unit

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
SUITES = sorted([*(TESTS / "contract").glob("*_suite.py"), *(ROOT / "testing").glob("*/*_suite.py")])
OUT = re.compile(r"pytest\.mark\.(full|deep)\b")
MANY = 2  # runs of the checkers over a real pipeline that the gate has at least
STANDS_FOR: dict[str, str] = {  # a file that only --full runs, and the one in the gate that attacks the same
    "tests/integration/consuming/test_shapes.py": "testing/targets/target_suite.py",
    "tests/e2e/test_hundred_thousand.py": "tests/e2e/test_demo.py",
    "tests/chaos/test_altered_around_reads.py": "tests/integration/mysql/test_changed_around_reads.py",
    "tests/chaos/test_killed_while_reading.py": "tests/integration/mysql/test_killed_while_reading.py",
    "tests/chaos/test_killed_in_a_storm.py": "tests/simulation/test_histories.py",
}
ELSEWHERE = {  # a promise that leaves the gate, and the test that stays and keeps it
    "test_a_crash_leaves_all_of_a_history_s_batch_or_nothing": (
        "test_a_crash_leaves_all_of_a_batch_or_nothing"
    ),
}


@cache
def gate_tests(path: Path) -> frozenset[str]:
    """The names of a file's tests that no mark takes out of the gate."""
    tree = ast.parse(path.read_text())
    return frozenset() if is_file_out(tree) else frozenset(_left(tree.body))


def is_file_out(tree: ast.Module) -> bool:
    """Whether a file's own mark takes all of its tests out of the gate."""
    marks = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
    return any(mark.startswith("pytestmark") and OUT.search(mark) for mark in marks)


def _left(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        if any(map(is_out, node.decorator_list)):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _left(node.body)
        elif node.name.startswith("test_"):
            yield node.name


def is_out(decorator: ast.expr) -> bool:
    """Whether a mark takes all cases of a test out of the gate."""
    match decorator:
        case ast.Call(func=ast.Attribute(attr="parametrize"), args=[_, ast.List(elts=cases)]):
            return all(OUT.search(ast.unparse(case)) for case in cases)
        case _:
            return OUT.search(ast.unparse(decorator)) is not None


def named_files(row: str) -> Iterator[Path]:
    """The files of tests that a row of the page names, by themselves or by their folder."""
    for name in re.findall(r"`((?:tests|testing)/[\w/.]*)", row):
        path = ROOT / name
        yield from [path] if path.is_file() else path.rglob("*.py")


def rows(begin: str) -> dict[str, str]:
    """The rows of the page whose first cell begins so, by that cell."""
    lines = (ROOT / "docs/invariants.md").read_text().splitlines()
    return {line.split("|")[1].strip(): line for line in lines if re.match(rf"\| {begin}", line)}


@pytest.mark.parametrize("name", sorted(rows("INV-")))
def test_every_invariant_is_attacked_in_the_gate(name: str) -> None:
    assert any(gate_tests(path) for path in named_files(rows("INV-")[name]))


def test_every_checker_judges_real_runs_in_the_gate() -> None:
    """`check_all` runs each of them that a test does not name as left out."""
    runs: defaultdict[str, int] = defaultdict(int)
    for path in (TESTS / "chaos").rglob("test_*.py"):
        if path.name == "test_checks.py":  # its runs are made by hand
            continue
        tree = ast.parse(path.read_text())
        left = gate_tests(path)
        for test in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            if test.name in left:
                for checker in CHECKS:
                    text = ast.unparse(test).replace("NOT_OF_ROWS", repr(NOT_OF_ROWS))
                    runs[checker] += "check_all(" in text and f"'{checker}'" not in text
    assert {checker: runs[checker] for checker in CHECKS if runs[checker] < MANY} == {}


def test_every_promise_of_a_contract_is_in_the_gate() -> None:
    left = frozenset().union(*map(gate_tests, SUITES))
    for path in SUITES:
        promises = set(re.findall(r"def (test_\w+)", path.read_text()))
        assert promises
        assert {name for name in promises - gate_tests(path) if ELSEWHERE.get(name) not in left} == set()


@cache
def suite_classes() -> Mapping[str, ast.ClassDef]:
    """The classes of all contracts' suites."""
    nodes = (node for suite in map(Path.read_text, SUITES) for node in ast.parse(suite).body)
    return {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}


def with_bases(name: str) -> Iterator[str]:
    """A class, and those of the suites that it is made of."""
    yield name
    if name in suite_classes():
        for base in suite_classes()[name].bases:
            yield from with_bases(ast.unparse(base))


@cache
def real_runs() -> frozenset[str]:
    """The classes of the suites that a database or a lake runs in the gate."""
    run: set[str] = set()
    for path in (TESTS / "integration").rglob("test_*.py"):
        if (path.parent / "conftest.py").exists() and "GATE = " in (path.parent / "conftest.py").read_text():
            continue  # it takes most of the contract out
        tree = ast.parse(path.read_text())
        for node in [] if is_file_out(tree) else tree.body:
            if not (isinstance(node, ast.ClassDef) and node.name.startswith("Test")):
                continue
            if not any(map(is_out, node.decorator_list)):
                run.update(name for base in node.bases for name in with_bases(ast.unparse(base)))
    return frozenset(run)


@pytest.mark.parametrize("name", sorted(suite_classes()))
def test_every_class_of_a_contract_has_a_real_run_in_the_gate(name: str) -> None:
    body = suite_classes()[name].body
    promises = [one for one in body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")]
    assert not promises or name in real_runs()


@pytest.mark.parametrize(
    "row", [*rows("INV-").values(), *rows(r"\d+ ").values()], ids=lambda row: row.split("|")[1].strip()
)
def test_every_file_that_attacks_an_invariant_is_in_the_gate_or_another_stands_for_it(row: str) -> None:
    paths = [ROOT / name for name in re.findall(r"`((?:tests|testing)/[\w/]*\.py)`", row)]
    left = {str(path.relative_to(ROOT)) for path in paths if not gate_tests(path)}
    assert left - STANDS_FOR.keys() == set()
    assert all(gate_tests(ROOT / STANDS_FOR[name]) for name in left)


def test_a_mark_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text(
        "@pytest.mark.full\ndef test_a(): ...\nclass TestB:\n    def test_c(self): ...\n"
        "@pytest.mark.parametrize('x', [1, pytest.param(2, marks=pytest.mark.full)])\ndef test_d(x): ...\n"
        "@pytest.mark.parametrize('x', [pytest.param(2, marks=pytest.mark.full)])\ndef test_e(x): ...\n"
    )
    assert gate_tests(file) == {"test_c", "test_d"}
    other = tmp_path / "test_y.py"
    other.write_text("pytestmark = [pytest.mark.servers, pytest.mark.deep]\ndef test_a(): ...\n")
    assert gate_tests(other) == set()


class _Case:
    """A case of a test as pytest collects it: the parameter `of` has alternatives, `beside` has none."""

    def __init__(self, of: str, beside: str, number: int) -> None:
        self.nodeid = f"tests/test_a.py::test_b[{of}-{beside}]"
        self.callspec = SimpleNamespace(
            params={"of": of, "beside": beside}, indices={"of": 0, "beside": number}
        )
        self._of = of

    def iter_markers(self, _: str) -> Iterator[Any]:
        yield pytest.mark.alternative(self._of, "test").mark


def test_one_alternative_runs_for_each_value_of_the_other_parameters() -> None:
    """Pytest numbers combinations of values, so its numbers do not say which value it is."""
    both = product(["x", "y", "z"], ["p", "q"])
    cases: Any = [_Case(of, beside, number) for number, (of, beside) in enumerate(both)]
    left = set(cases) - set(_other_alternatives(cases))
    assert sorted(one.callspec.params["beside"] for one in left) == ["p", "q"]


def test_each_file_of_the_gate_that_needs_spark_shares_one_of_two_sessions() -> None:
    """A third worker would start a third Java."""
    needs = [
        str(path.relative_to(ROOT))
        for path in TESTS.rglob("test_*.py")
        if re.search(r"\bspark: SparkSession[,)]", path.read_text()) and gate_tests(path)
    ]
    assert len(needs) > 20
    assert [file for file in needs if _unit(file) == file] == []
    assert {_unit(file) for file in needs} == set(SESSIONS)

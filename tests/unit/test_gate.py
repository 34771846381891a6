"""What stays in the gate: a case of every invariant, of every checker and of every promise of a contract.

A mark that takes a test out of the gate (`full`, `deep`) may stand on the test, on its class or on its file.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.checks import CHECKS
from tests.fixtures.tiers import _other_alternatives

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
OUT = re.compile(r"pytest\.mark\.(full|deep)\b")
MANY = 2  # runs of the checkers over a real pipeline that the gate has at least
ELSEWHERE = {  # a promise that leaves the gate, and the test that stays and keeps it
    "test_a_crash_leaves_all_of_a_history_s_batch_or_nothing": (
        "test_a_crash_leaves_all_of_a_batch_or_nothing"
    ),
}


@cache
def gate_tests(path: Path) -> frozenset[str]:
    """The names of a file's tests that no mark takes out of the gate."""
    tree = ast.parse(path.read_text())
    marks = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Assign)]
    if any(mark.startswith("pytestmark") and OUT.search(mark) for mark in marks):
        return frozenset()
    return frozenset(_left(tree.body))


def _left(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        if any(OUT.search(ast.unparse(decorator)) for decorator in node.decorator_list):
            continue
        if isinstance(node, ast.ClassDef):
            yield from _left(node.body)
        elif node.name.startswith("test_"):
            yield node.name


def named_files(row: str) -> Iterator[Path]:
    """The files of tests that a row of the page names, by themselves or by their folder."""
    for name in re.findall(r"`(tests/[\w/.]*)", row):
        path = ROOT / name
        yield from [path] if path.is_file() else path.rglob("*.py")


def rows(begin: str) -> dict[str, str]:
    lines = (ROOT / "docs/invariants.md").read_text().splitlines()
    return {line.split("|")[1].strip(): line for line in lines if line.startswith(f"| {begin}")}


@pytest.mark.parametrize("name", sorted(rows("INV-")))
def test_every_invariant_is_attacked_in_the_gate(name: str) -> None:
    assert any(gate_tests(path) for path in named_files(rows("INV-")[name]))


def test_every_checker_judges_real_runs_in_the_gate() -> None:
    """`check_all` runs each of them that a test does not name as left out."""
    runs: defaultdict[str, int] = defaultdict(int)
    for path in (TESTS / "chaos").rglob("test_*.py"):
        tree = ast.parse(path.read_text())
        left = gate_tests(path)
        for test in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            if test.name in left:
                for checker in CHECKS:
                    text = ast.unparse(test)
                    runs[checker] += "check_all(" in text and f"'{checker}'" not in text
    assert {checker: runs[checker] for checker in CHECKS if runs[checker] < MANY} == {}


def test_every_promise_of_a_contract_is_in_the_gate() -> None:
    suites = sorted((TESTS / "contract").glob("*_suite.py"))
    left = frozenset().union(*map(gate_tests, suites))
    for path in suites:
        promises = set(re.findall(r"def (test_\w+)", path.read_text()))
        assert promises
        assert {name for name in promises - gate_tests(path) if ELSEWHERE.get(name) not in left} == set()


def test_a_mark_would_be_seen(tmp_path: Path) -> None:
    file = tmp_path / "test_x.py"
    file.write_text("@pytest.mark.full\ndef test_a(): ...\nclass TestB:\n    def test_c(self): ...\n")
    assert gate_tests(file) == {"test_c"}
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

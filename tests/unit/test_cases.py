"""The list of cases is true: each one that it calls held is named by tests of the files that it gives."""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LIST = TESTS / "cases.md"
CORPUS = TESTS / "corpus"
OF_OTHERS = r"(?:DBZ|SDC)-\d+|[A-Za-z][A-Za-z-]+#\d+"  # a fault, as the project that had it names it
CASE = re.compile(rf"(?<![A-Za-z\d])(?:T[-_][A-Z]\d{{1,2}}|A-[A-Z]+-\d\d|{OF_OTHERS})(?![\d-])")
ROW = re.compile(rf"^\| ((?:T|A)-[A-Z\d-]+|{OF_OTHERS}) \| (.+) \| (.*) \|$", re.MULTILINE)
COUNTS = re.compile(r"^(\d+) cases: (\d+) held, (\d+) not applicable, (\d+) missing\.$", re.MULTILINE)
NOT_HELD = "not applicable: ", "missing: "


def cases_of(source: str) -> set[str]:
    """The cases that the tests of a file name: in a test's own name, or in its docstring."""
    if not CASE.search(source):
        return set()
    tests = (
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )
    texts = (f"{test.name.removeprefix('test_')} {ast.get_docstring(test) or ''}" for test in tests)
    return {case.replace("_", "-") for text in texts for case in CASE.findall(text)}


def named() -> set[tuple[str, str]]:
    """Every case with each file that has a test of it."""
    return {
        (case, os.path.relpath(file, TESTS))
        for file in [*TESTS.rglob("*.py"), *(TESTS.parent / "testing").rglob("*.py")]
        if file != Path(__file__)
        for case in cases_of(file.read_text())
    }


def listed(text: str) -> Iterator[tuple[str, list[str]]]:
    """Every case with the files that are said to hold it; none where a reason stands."""
    for case, _, cell in ROW.findall(text):
        reason = any(cell.startswith(word) and len(cell) > len(word) for word in NOT_HELD)
        assert reason or re.fullmatch(r"`[^`]+`(, `[^`]+`)*", cell), f"{case} has neither a file nor a reason"
        yield case, [] if reason else re.findall(r"`([^`]+)`", cell)


def test_each_case_that_is_held_is_named_by_a_test_and_each_name_is_listed() -> None:
    said = {(case, file) for case, files in listed(LIST.read_text()) for file in files}
    assert said - named() == set(), "no such test"
    assert named() - said == set(), "not in the list"


def test_no_case_is_listed_twice_and_the_figures_are_those_of_the_rows() -> None:
    text = LIST.read_text()
    assert [case for case, count in Counter(case for case, _ in listed(text)).items() if count > 1] == []
    parts = text.split("\n## ")[1:]
    assert [len(COUNTS.findall(part)) for part in parts] == [1] * len(parts)
    for part in parts:
        cells = [cell for _, _, cell in ROW.findall(part)]
        others = [sum(cell.startswith(word) for cell in cells) for word in NOT_HELD]
        assert [int(n) for n in COUNTS.findall(part)[0]] == [len(cells), len(cells) - sum(others), *others]


def test_a_name_is_found_in_names_and_docstrings_of_tests_alone() -> None:
    assert cases_of("def test_T_P07_a_slot(): ...") == {"T-P07"}
    assert cases_of('def test_x():\n    """A slot (T-S1, A-TLS-03)."""') == {"T-S1", "A-TLS-03"}
    assert cases_of('def test_x():\n    """DBZ-1, flink-cdc#2: SDC-3."""') == {
        "DBZ-1",
        "flink-cdc#2",
        "SDC-3",
    }
    assert cases_of('"""T-P07."""\ndef other():\n    """T-P08."""\n# T-P09') == set()


@pytest.mark.parametrize("cell", ["", "missing: ", "not applicable: ", "unit/test_x.py"])
def test_a_row_without_file_and_reason_is_seen(cell: str) -> None:
    with pytest.raises(AssertionError, match="T-P01 has neither"):
        list(listed(f"| T-P01 | what is tried | {cell} |"))


def test_bad_inputs_are_as_many_as_the_table_says() -> None:
    text = (CORPUS / "README.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| \d+ \| (\d+) \| ((?:`[\w/]+\.jsonl`(?:, )?)+)", text, re.MULTILINE)
    files = [re.findall(r"`([^`]+)`", cell) for _, cell in rows]
    assert [int(count) for count, _ in rows] == [
        sum(len((CORPUS / file).read_text().splitlines()) for file in of) for of in files
    ]
    assert sorted(file for of in files for file in of) == sorted(
        str(file.relative_to(CORPUS)) for file in CORPUS.rglob("*.jsonl")
    )


def paths_of(text: str) -> set[str]:
    """Every path that stands in backticks, without what follows `::`."""
    return {word.partition("::")[0] for word in re.findall(r"`([\w./-]*/[\w./-]*|[\w-]+\.\w+)`", text)}


def lost(text: str) -> list[str]:
    """Those that are no path of the corpus, of the project, or of a folder that the same row names."""
    places = [CORPUS, TESTS.parent]
    places += [place for place in (TESTS.parent / path for path in paths_of(text)) if place.is_dir()]
    return sorted(path for path in paths_of(text) if not any((place / path).exists() for place in places))


def test_each_path_of_the_corpus_is_there_and_each_category_has_a_number() -> None:
    text = (CORPUS / "README.md").read_text()
    assert len(paths_of(text)) > 40
    assert [path for line in text.splitlines() for path in lost(line)] == []
    rows = [
        line.split(" | ") for line in text.partition("## How many")[2].splitlines() if line.startswith("| ")
    ]
    there = [cells[2] for cells in rows[1:]]
    assert there
    assert [cell for cell in there if not cell.isdigit()] == []


def test_a_path_that_is_not_there_is_seen() -> None:
    assert lost("`tests/unit/corpus/test_nothing.py`, `run`, `c4n4ry-…`") == [
        "tests/unit/corpus/test_nothing.py"
    ]
    assert lost("in `tests/unit/corpus/` (`cases.py`, `test_nothing.py`)") == ["test_nothing.py"]

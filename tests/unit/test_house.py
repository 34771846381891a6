"""The house's own laws: who may import whom, how long a file and a function may be."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ["schemas", "producers", "consumers", "control", "bench", "tests"]
MAY_IMPORT = {
    "schemas": {"schemas"},
    "producers": {"schemas", "producers"},
    "consumers": {"schemas", "consumers"},
    "control": {"schemas", "producers", "consumers", "control"},
}
VAGUE = {"utils", "util", "common", "helpers", "helper", "base", "misc"}
MOST_LINES_OF_FILE = 500
MOST_LINES_OF_FUNCTION = 60


def files(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def every_file() -> list[Path]:
    return [ROOT / "setup.py", *(file for folder in FOLDERS for file in files(folder))]


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that a file names in an import, C imports included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""


def broken_law(folder: str, source: str) -> list[str]:
    names = (name.removeprefix("cython.cimports.") for name in imported(ast.parse(source)))
    parts = (name.split(".") for name in names if name.startswith("wrackline"))
    return [".".join(part) for part in parts if len(part) < 2 or part[1] not in MAY_IMPORT[folder]]


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_it_may(folder: str) -> None:
    assert files(folder)
    found = {
        str(file.relative_to(ROOT)): broken
        for file in files(folder)
        if (broken := broken_law(folder, file.read_text()))
    }
    assert not found


def test_the_law_would_see_a_broken_one() -> None:
    assert broken_law("producers", "from wrackline.consumers import read") == ["wrackline.consumers"]
    assert broken_law("schemas", "import wrackline.producers.task") == ["wrackline.producers.task"]
    assert broken_law("consumers", "from cython.cimports.wrackline.producers.x import y")
    assert not broken_law("control", "from wrackline.consumers import read")


def test_no_file_is_too_long() -> None:
    lengths = {str(file.relative_to(ROOT)): len(file.read_text().splitlines()) for file in every_file()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES_OF_FILE} == {}


def test_no_function_is_too_long() -> None:
    found = {}
    for file in every_file():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES_OF_FUNCTION:
                    found[f"{file.relative_to(ROOT)}:{node.name}"] = lines
    assert found == {}


def test_every_module_says_what_it_is_and_has_a_name_that_says_it() -> None:
    for file in every_file():
        assert file.stem not in VAGUE, f"{file} has a name that says nothing"
        if file.name != "__init__.py" or file.parent.parts[-1] not in {"tests"} | {
            part.name for part in (ROOT / "tests").rglob("*")
        }:
            assert ast.get_docstring(ast.parse(file.read_text())), f"{file} has no docstring"


def test_the_project_speaks_of_itself_alone() -> None:
    machine = "/" + "work/", "/" + "root/", "/" + "home/"
    registries = "pypi" + ".org", "python" + "hosted.org", "repo1." + "maven", "repo." + "maven"
    others = [ROOT / name for name in ("run", ".ci/run", "pyproject.toml", "MANIFEST.in")]
    for file in [*every_file(), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*.md"), *others]:
        text = file.read_text()
        assert not [path for path in machine if path in text], f"{file} names a path of one machine"
        assert not [host for host in registries if host in text], f"{file} names a registry's host"

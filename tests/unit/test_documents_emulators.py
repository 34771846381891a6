"""The list of what emulators do wrong: whole, and named wherever a test makes up for an emulator."""

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.unit.test_house import ROOT
from wrackline.testing.targets import drop_suite, keyless_suite, modes_suite, target_suite

FOLDER = ROOT / "tests/integration/targets"
PAGE = FOLDER / "EMULATORS.md"
SERVICES = {"bigquery": "bq", "redshift": "rs", "snowflake": "sf", "spanner": "sp"}
VENDORS = (
    "https://cloud.google.com/",
    "https://docs.snowflake.com/",
    "https://docs.aws.amazon.com/redshift/",
)
ROW = re.compile(r"^\| (?P<item>(?:bq|rs|sf|sp)-[a-z-]+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
NAMED = re.compile(r"EMULATORS\.md: ([a-z-]+(?:,\s+[a-z-]+)*)")
PLACE = re.compile(r"`((?:consumers|control|tests)/[\w/.-]+)`")
TEST = re.compile(r"`(test_\w+)`")
OF_EMULATORS = re.compile(r"\b[Tt]he emulator (?:\w+s|leaves|has) ")
PROMISES = {
    name: {one for one in dir(suite) if one.startswith("test_")}
    for module in (drop_suite, keyless_suite, modes_suite, target_suite)
    for name, suite in inspect.getmembers(module, inspect.isclass)
    if name.endswith(("Promises", "Suite"))
}


@cache
def items() -> Mapping[str, tuple[str, str, str]]:
    rows = ROW.findall(PAGE.read_text())
    assert len({item for item, *_ in rows}) == len(rows)
    return {item: (does, says, met) for item, does, says, met in rows}


def files() -> list[Path]:
    """Where tests have an emulator before them."""
    worlds = [ROOT / f"tests/fakes/{name}_world.py" for name in ("bigquery", "snowflake", "spanner")]
    of_services = [path for name in SERVICES for path in sorted((FOLDER / name).glob("*.py"))]
    return [*of_services, *worlds, ROOT / "tests/e2e/test_demo.py"]


def named(text: str) -> set[str]:
    return {item for found in NAMED.findall(text) for item in re.split(r",\s+", found)}


def unnamed(text: str) -> Iterator[str]:
    """The tests of a file that make up for an emulator, and name no item: promises, skips, remarks."""
    for found in ast.walk(ast.parse(text)):
        if isinstance(found, ast.ClassDef):
            yield from _of_class(found)
        if isinstance(found, ast.FunctionDef):
            said = ast.get_source_segment(text, found) or ""
            skips = any(word in said for word in ("pytest.skip(", "pytest.xfail(", "mark.skip", "mark.xfail"))
            if (skips or OF_EMULATORS.search(ast.get_docstring(found) or "")) and not named(said):
                yield found.name
    for line in text.splitlines():
        if OF_EMULATORS.search(line.partition("  # ")[2]) and not named(line):
            yield line.strip()


def _of_class(made: ast.ClassDef) -> Iterator[str]:
    """Promises that a class has in another form, or in part where its others are whole."""
    inherited = {one for base in made.bases for one in PROMISES.get(ast.unparse(base), ())}
    for one in made.body:
        if isinstance(one, ast.FunctionDef) and one.name in inherited and not named(ast.unparse(one)):
            yield f"{made.name}.{one.name}"
    picked = {ast.unparse(one.value) for one in made.body if isinstance(one, ast.Assign)}
    if inherited and picked and not named(ast.get_docstring(made) or ""):
        yield made.name


def test_the_list_has_what_is_asked_of_it() -> None:
    assert set(SERVICES.values()) == {item.partition("-")[0] for item in items()}
    for item, (_, says, met) in items().items():
        pages = re.findall(r"\[[^\]]{4,}\]\(([^)]+)\)", says + met)
        assert pages, item
        assert [page for page in pages if not page.startswith(VENDORS)] == [], item
        places = [ROOT / place for place in PLACE.findall(met)]
        assert [place for place in places if not place.exists()] == []
        text = "".join(place.read_text() for place in places)
        promises = {name for of in PROMISES.values() for name in of}
        assert [test for test in TEST.findall(met) if test not in text and test not in promises] == [], item
        assert places or met.startswith("Nowhere: "), item


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_makes_up_for_an_emulator_names_an_item(path: Path) -> None:
    text = path.read_text()
    assert list(unnamed(text)) == []
    assert named(text) - set(items()) == set()


@pytest.mark.parametrize("service", SERVICES)
def test_a_promise_that_a_service_leaves_out_is_in_the_list(service: str) -> None:
    """Spanner and the three others have every suite; what a class picks or replaces is not all of one."""
    kept = {
        test
        for path in (FOLDER / service).glob("test_*.py")
        for made in ast.walk(ast.parse(path.read_text()))
        if isinstance(made, ast.ClassDef)
        for test in _promises_of(made)
    }
    without = {name for of in PROMISES.values() for name in of} - kept
    listed = {
        test
        for item, of in items().items()
        if item.startswith(SERVICES[service])
        for test in of[2].split("`")
    }
    assert sorted(without - listed) == []


def _promises_of(made: ast.ClassDef) -> set[str]:
    picked = {
        one.value.attr
        for one in made.body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Attribute)
    }
    return picked | {one for base in made.bases for one in PROMISES.get(ast.unparse(base), ())}


OTHERS = {
    "a promise in another form": "class A(DropSuite):\n    def test_tables_of_every_mode_go(self): pass\n",
    "a promise in part": "class A(DropSuite):\n    test_x = KeyPromises.test_a_key_may_go_and_come_again\n",
    "a skip": 'def test_x():\n    pytest.skip("not here")\n',
    "a remark": 'def test_x():\n    """The emulator says 1970."""\n',
    "a remark behind a line": "x = 1  # the emulator counts in floats\n",
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_names_no_item_would_be_seen(other: str) -> None:
    assert list(unnamed(OTHERS[other]))

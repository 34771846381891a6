"""What the hand-written pages name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMED_PATH = re.compile(r"`((?:schemas|producers|consumers|control|bench|tests|docs)/[\w./-]+)`")
LINK = re.compile(r"\]\((?!http)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text()
    named = {ROOT / path for path in NAMED_PATH.findall(text)}
    linked = {page.parent / path for path in LINK.findall(text)}
    assert not sorted(str(path) for path in named | linked if not path.exists())


def test_the_invariants_are_ten_and_each_has_an_attack() -> None:
    rows = [
        line for line in (ROOT / "docs/invariants.md").read_text().splitlines() if line.startswith("| INV-")
    ]
    assert [row.split("|")[1].strip() for row in rows] == [f"INV-{number}" for number in range(1, 11)]
    assert all("tests/" in row.split("|")[4] for row in rows)


def test_code_cites_only_invariants_that_are_listed() -> None:
    listed = set(re.findall(r"(?:INV|CHK)-\d+", (ROOT / "docs/invariants.md").read_text()))
    cited = {
        number
        for folder in ("schemas", "producers", "consumers", "control", "tests")
        for file in (ROOT / folder).rglob("*.py")
        for number in re.findall(r"\b(?:INV|CHK)-\d+\b", file.read_text())
    }
    assert cited <= listed

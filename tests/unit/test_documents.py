"""What the hand-written pages name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMED_PATH = re.compile(r"`((?:schemas|producers|consumers|control|bench|tests|docs)/[\w./-]+)`")
LINK = re.compile(r"\]\((?!http)([^)#\s]*)(?:#([^)\s]*))?")
CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
BLOCK = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
RULE = re.compile(r"\|(?: *:?-+:? *\|)+")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    text = page.read_text()
    named = {ROOT / path for path in NAMED_PATH.findall(text)}
    assert not sorted(str(path) for path in named if not path.exists())


def anchors(text: str) -> set[str]:
    """Every place of a page that a link can name, as GitHub makes them of headings."""
    blocks = BLOCK.sub("", text)
    found: set[str] = set(re.findall(r'<a (?:id|name)="([^"]+)"', blocks))
    for heading in HEADING.findall(blocks):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = sum(one == slug or re.fullmatch(f"{re.escape(slug)}-\\d+", one) is not None for one in found)
        found.add(f"{slug}-{count}" if count else slug)
    return found


def lost_links(page: Path, text: str) -> list[str]:
    """The links of a page whose file is not there, or that name a place that its file does not have."""
    wrong = []
    for path, place in LINK.findall(CODE.sub("", text)):
        to = (page.parent / path) if path else page
        if not to.exists() or (place and to.suffix == ".md" and place not in anchors(to.read_text())):
            wrong.append(f"{path}#{place}")
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert lost_links(page, page.read_text()) == []


@pytest.mark.parametrize(
    ("link", "lost"),
    [
        ("[x](docs/nothing.md)", ["docs/nothing.md#"]),
        ("[x](docs/exactly-once.md#what-seq-promises)", []),
        ("[x](docs/exactly-once.md#what-it-promises)", ["docs/exactly-once.md#what-it-promises"]),
        ("# Here\n[x](#nowhere)", ["#nowhere"]),
        ("[x](https://example.org/#y) `[x](y)`\n```\n[x](y)\n```\n[x](LICENSE)", []),
    ],
)
def test_a_link_that_leads_nowhere_is_seen(link: str, lost: list[str]) -> None:
    assert lost_links(ROOT / "README.md", link) == lost


def test_two_headings_of_one_text_have_two_places() -> None:
    assert anchors("# A `b.c` (d)\n## X\n## X\n```\n# no heading\n```") == {"a-bc-d", "x", "x-1"}


def broken_rows(text: str) -> list[str]:
    """The rows that no reader sees as rows of a table: below no heading, or with other cells than it has."""
    wrong = []
    for table in TABLE.findall(BLOCK.sub("", text) + "\n"):
        rows = table.splitlines()
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
        if len(rows) < 2 or not RULE.fullmatch(rows[1]):
            wrong.append(rows[0])
        wrong += [row for row, count in zip(rows, cells, strict=True) if count != cells[0]]
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_of_a_page_is_in_a_table(page: Path) -> None:
    assert broken_rows(page.read_text()) == []


def test_a_row_that_is_in_no_table_is_seen() -> None:
    table = "| a | b |\n|---|---|\n| 1 | `x\\|y` |\n"
    assert broken_rows(table) == []
    assert broken_rows(f"{table}\n| 2 | 3 |\n") == ["| 2 | 3 |"]
    assert broken_rows(f"{table}| 2 | `3|4` |\n") == ["| 2 | `3|4` |"]


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

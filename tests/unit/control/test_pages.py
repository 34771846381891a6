"""The committed pages are what the code prints."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from wrackline.control.pages.errors_page import cell, page
from wrackline.control.pages.stages_section import in_page
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.schemas.errors import Definite, ErrorCode

DOCS = Path(__file__).parents[3] / "docs"


PROGRAM = """
import io, json, runpy
from contextlib import redirect_stdout

pages = {}
for name in ("settings", "metrics", "errors"):
    with redirect_stdout(io.StringIO()) as out:
        runpy.run_module(f"wrackline.control.pages.{name}_page", run_name="__main__")
    pages[name] = out.getvalue()
from wrackline.control.pages.errors_page import code_lines
print(json.dumps({**pages, "codes": code_lines()}))
"""


@pytest.fixture(scope="module")
def printed() -> Mapping[str, str]:
    """What each page's program prints, in a process of its own: tests register codes that belong on none."""
    command = [sys.executable, "-c", PROGRAM]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    return dict(json.loads(said))


@pytest.mark.parametrize("name", ["settings", "errors", "metrics"])
def test_the_committed_page_is_what_the_code_prints(printed: Mapping[str, str], name: str) -> None:
    committed = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    remedy = f"run: python -m wrackline.control.pages.{name}_page > docs/{name}.md"
    assert committed == printed[name], remedy


def test_the_console_has_what_the_code_says_of_each_error(printed: Mapping[str, str]) -> None:
    committed = DOCS.parent / "control/console/errors/error_codes.jsonl"
    assert committed.read_text(encoding="utf-8") == printed["codes"], "run: ./run pages"


def test_the_life_of_a_table_is_printed_from_the_code() -> None:
    committed = (DOCS / "snapshots.md").read_text(encoding="utf-8")
    assert in_page(committed) == committed, "run: ./run pages"
    assert all(f"| `{status.value}` |" in committed for status in TableStatus)
    with pytest.raises(ValueError, match="has no part"):
        in_page("a page\n")


def test_a_cell_is_text_and_not_markup() -> None:
    assert cell("a|b <c> *d* _e_\nf") == r"a\|b \<c> \*d\* \_e\_ f"


def test_a_code_is_listed_in_its_part() -> None:
    code = ErrorCode("pg.slot_lost", Definite, "slot {slot} is lost", "take ${{env:X}}")
    printed = page({"pg.slot_lost": code})
    assert "## pg\n" in printed
    assert "| `pg.slot_lost` | Definite | slot {slot} is lost | take ${env:X} |" in printed

"""A reader of the five pages of warehouses and Spanner gets from an empty account to rows and back."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.unit.test_house import ROOT

PAGES = ("bigquery", "redshift", "snowflake", "spanner")
SHAPE = [
    "From an empty account to rows",
    "Read the rows",
    "Modes",
    "What an interval costs",
    "Types",
    "Remove everything",
    "What only an account can show",
]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
REFERENCE = re.compile(r"\$\{env:(\w+)\}")


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text()


def blocks(name: str, language: str) -> list[str]:
    return [text for of, text in BLOCK.findall(page(name)) if of == language]


def out_of_order(text: str) -> list[str]:
    """The parts that a page lacks, or that come before an earlier one."""
    headings, at, wrong = re.findall(r"^## (.*)", text, re.MULTILINE), -1, []
    for part in SHAPE:
        if part in headings and headings.index(part) > at:
            at = headings.index(part)
        else:
            wrong.append(part)
    return wrong


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_of_targets_have_one_shape(name: str) -> None:
    assert out_of_order(page(name)) == []


def test_a_page_without_a_part_would_be_seen() -> None:
    text = "\n".join(f"## {part}" for part in SHAPE if part != "Modes")
    assert out_of_order(text) == ["Modes"]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    "command", ["check pipeline.toml --probe", "worker pipeline.toml", "delete pipeline.toml"]
)
def test_each_page_says_how_to_try_it_run_it_and_remove_it(name: str, command: str) -> None:
    assert any(f"wrackline {command}" in text for text in blocks(name, "console"))


@pytest.mark.parametrize("name", PAGES)
def test_the_file_that_a_page_shows_is_one_that_starts(name: str, tmp_path: Path) -> None:
    [begin] = [text for text in blocks("warehouses", "console") if "wrackline init" in text]
    [target] = [text for text in blocks(name, "toml") if "[target]" in text]
    said = dict.fromkeys([*REFERENCE.findall(target), "WRACKLINE_DB_PASSWORD"], "x")
    here = {**os.environ, "PYTHONPATH": str(ROOT), **said}

    def wrackline(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from wrackline.control.cli import main; main()", *words]
        return subprocess.run(command, cwd=tmp_path, env=here, text=True, capture_output=True, check=False)

    words = shlex.split(begin.split("wrackline ", 1)[1].replace("\\\n", " "))
    made = wrackline(*words)
    assert made.returncode == 0, made.stdout + made.stderr
    with (tmp_path / "pipeline.toml").open("a") as file:
        file.write(target)
    assert tomllib.loads((tmp_path / "pipeline.toml").read_text())["target"]["kind"] == name
    checked = wrackline("check", "--offline", "pipeline.toml")
    assert checked.returncode == 0, checked.stdout + checked.stderr

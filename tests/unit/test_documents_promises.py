"""What the hand-written pages say is true where a test can check it: paths, commands, settings, gaps."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from tests.unit.test_house import MAY_IMPORT, ROOT, files
from wrackline.consumers.contract.target import TARGETS
from wrackline.control.cli.command_line import app
from wrackline.control.cli.commands import doctor
from wrackline.control.cli.commands.explain import all_settings, explain_codes, find_setting
from wrackline.control.runtime.group.group_settings import GROUP
from wrackline.producers.contract.source_plugin import SOURCES
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.plugin_finder import list_folders
from wrackline.schemas.settings.declared.not_yet_settings import NOT_YET

PRINTED = {"errors.md", "settings.md", "metrics.md", "types.md", "conformance.md"}
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    if page.name not in PRINTED and page.name != "CHANGELOG.md"
)
CODE = re.compile(r"```.*?\n(.*?)```|`([^`\n]+)`", re.DOTALL)
COMMAND = re.compile(r"(?<!slot )(?<![\w/.-])(?:\./run |\.venv/bin/)?wrackline ((?:--)?[a-z][^\n#;|)`]*)")
MODULE = re.compile(r"`((?:schemas|producers|consumers|control)/[\w/]+\.py)`")
SETTING = re.compile(r"`\"?([a-z][a-z0-9]*(?:\.[a-z0-9]+)+)\"?(?: ?= ?[^`]*)?`")
CODES = {entry.code for entry in explain_codes(None)}
BEGINS = {setting.name.split(".")[0] for setting in all_settings() if "." in setting.name}
FILE_ENDINGS = (".py", ".toml", ".md", ".json", ".yml", ".conf", ".pem", ".sh")


def code_of(page: Path) -> Iterator[str]:
    for block, inline in CODE.findall(page.read_text()):
        yield block or inline


NO_SETTINGS = {
    *("database.schema.table", "schema.table", "schema.table.column", "source.query"),
    "target.jsonl.folder",  # of the example of a plug-in
}

# -- the path of a row


def on_the_path() -> set[str]:
    """Every file that a module of the product imports."""
    found: set[str] = set()
    for folder in MAY_IMPORT:
        for file in files(folder):
            text = file.read_text().replace("cython.cimports.", "")
            found.update(re.findall(r"^\s*from (wrackline[\w.]+) import", text, re.MULTILINE))
            for package, names in re.findall(
                r"^\s*from (wrackline[\w.]+) import ([\w, ]+)", text, re.MULTILINE
            ):
                found.update(f"{package}.{name.strip().split(' ')[0]}" for name in names.split(","))
    return {name.removeprefix("wrackline.").replace(".", "/") + ".py" for name in found}


def named_as_working(text: str) -> list[str]:
    """The modules which a page's tables give for a step, or as what upholds an invariant."""
    cells = (row.split("|") for row in text.splitlines() if row.startswith("| "))
    return [module for row in cells if len(row) > 3 for module in MODULE.findall("|".join(row[2:4]))]


def of_no_use(text: str) -> set[str]:
    return set(named_as_working(text)) - on_the_path()


@pytest.mark.parametrize("page", ["README.md", "docs/invariants.md", "docs/data-path.md"])
def test_a_module_that_a_page_puts_on_the_path_is_imported_by_the_product(page: str) -> None:
    assert of_no_use((ROOT / page).read_text()) == set()


def test_a_module_that_only_tests_import_would_be_seen() -> None:
    assert of_no_use("| 5 encode | `producers/rows/nobody.py`, `schemas/events/frame.py` | x |") == {
        "producers/rows/nobody.py"
    }


# -- commands


def wrong_command(line: str) -> str | None:
    """What the command line does not know of this call: a verb, or a flag."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    command = get_command(app)
    while (below := getattr(command, "commands", None)) and words and not words[0].startswith("-"):
        for verb in words[0].split("|"):
            if verb not in below:
                return verb
        command = below[words.pop(0).split("|")[0]]
    known = {name for option in command.params for name in [*option.opts, *option.secondary_opts]} | {
        "--help"
    }
    return next((word for word in words if word.startswith("--") and word.split("=")[0] not in known), None)


def commands_of(page: Path) -> list[str]:
    return [found for code in code_of(page) for found in COMMAND.findall(code)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_command_line_knows_every_command_that_a_page_shows(page: Path) -> None:
    assert {line: wrong for line in commands_of(page) if (wrong := wrong_command(line))} == {}


def test_commands_are_found_and_a_wrong_one_would_be_seen() -> None:
    assert sum(len(commands_of(page)) for page in PAGES) > 100
    assert wrong_command("snapshots status pipeline.toml") == "snapshots"
    assert wrong_command("offsets rewind pipeline.toml --too NOW") == "--too"
    assert wrong_command("offsets rewind pipeline.toml --to NOW") is None


# -- settings and codes


OF_A_GROUP = {one.name for one in GROUP.settings}


def is_known(name: str) -> bool:
    try:
        find_setting(name)
    except WracklineError:
        return name in CODES or name in OF_A_GROUP
    return True


def unknown_settings(text: str) -> set[str]:
    """Names that begin as a setting does, and are neither a setting nor the code of an error."""
    named = {name for name in SETTING.findall(text) if not name.endswith(FILE_ENDINGS)}
    return {name for name in named if name.split(".")[0] in BEGINS and not is_known(name)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_that_a_page_names_is_known(page: Path) -> None:
    assert unknown_settings(page.read_text()) - NO_SETTINGS == set()


def test_an_unknown_setting_would_be_seen() -> None:
    assert unknown_settings('`snapshot.mode` and `snapshot.moode = "initial"`') == {"snapshot.moode"}


# -- variables of the environment

VARIABLE = re.compile(r"\bWRACKLINE_[A-Z]+(?:_[A-Z]+)*\b")
REFERENCE = re.compile(r"\$\{env:(\w+)\}")  # a name that the reader chooses
READERS = [ROOT / "run", ROOT / "setup.py", ROOT / "docker-compose.yml", *(ROOT / "deploy").rglob("*")]


def variables_read() -> set[str]:
    """Every variable that the product, its image or its stack has in its text."""
    modules = [file for folder in MAY_IMPORT for file in files(folder)]
    here = [file for file in READERS if file.suffix in {"", ".sh", ".py", ".yml"} and file.is_file()]
    return {name for file in [*modules, *here] for name in VARIABLE.findall(file.read_text())}


def unread_variables(text: str) -> set[str]:
    return set(VARIABLE.findall(REFERENCE.sub("", text))) - variables_read()


def chosen_by_readers() -> set[str]:
    return {name for page in PAGES for name in REFERENCE.findall(page.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_variable_that_a_page_names_is_read(page: Path) -> None:
    assert unread_variables(page.read_text()) - chosen_by_readers() == set()


def test_a_variable_that_nothing_reads_would_be_seen() -> None:
    assert unread_variables("WRACKLINE_STACK=docker WRACKLINE_STAK=docker ${env:WRACKLINE_MINE}") == {
        "WRACKLINE_STAK"
    }


# -- what is not there yet

SOURCE_FOLDERS = {"SQL Server": "sqlserver", "Oracle": "oracle"}
TARGET_FOLDERS = {
    "BigQuery": "bigquery",
    "Snowflake": "snowflake",
    "Redshift": "redshift",
    "Spanner": "spanner",
}


def test_the_changelog_names_each_source_and_target_that_is_missing_and_no_other() -> None:
    missing = (ROOT / "CHANGELOG.md").read_text().split("### Not there yet")[1]
    there = {
        **{name: folder in list_folders(SOURCES) for name, folder in SOURCE_FOLDERS.items()},
        **{name: folder in list_folders(TARGETS) for name, folder in TARGET_FOLDERS.items()},
    }
    assert {name: name not in missing for name in there} == there


def test_the_changelog_names_each_setting_that_has_no_effect_yet_and_no_other() -> None:
    missing = (ROOT / "CHANGELOG.md").read_text().split("### Not there yet")[1]
    [line] = re.findall(r"^- Settings that are known and have no effect yet: (.*)", missing, re.MULTILINE)
    assert set(re.findall(r"`([^`]+)`", line)) == {entry.name for entry in NOT_YET}


# -- figures that stand in several places


def test_the_disk_that_is_needed_is_one_figure() -> None:
    [asked] = re.findall(r"^need_mb=(\d+)", (ROOT / "run").read_text(), re.MULTILINE)
    [said] = re.findall(r"Some (\d+) GB of disk", (ROOT / "README.md").read_text())
    assert int(asked) * 1_000_000 == int(said) * 1_000_000_000 == doctor.LEAST_DISK


def test_no_text_asks_an_index_for_a_package_that_is_not_there() -> None:
    hints = [entry.hint for entry in explain_codes(None)] + [page.read_text() for page in PAGES]
    assert [text for text in hints if re.search(r"install[^`]*'?wrackline\[", text)] == []


OF_DEVELOPERS = {"dev", "fuzz"}


def extras_listed() -> set[str]:
    """The extras in the first column of the table of the page about installing."""
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "docs/installing.md").read_text(), re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}


def test_each_extra_that_a_user_may_need_is_on_the_page_about_installing() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras_listed() == set(declared) - OF_DEVELOPERS

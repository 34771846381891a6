"""What `wrackline check` prints of many databases: what is wrong, and not two hundred times the same."""

from pathlib import Path

import pytest

from wrackline.control.cli.terminal.finding_text import show_findings
from wrackline.control.runtime.check.file_check import Checked
from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.tables.table import TableId

FILE = Path("shop 1.toml")


def finding(number: int, severity: Severity, kind: str, *, alike: bool = False) -> Finding:
    database = "the server" if alike else f"tenant_{number:03}"
    return Finding(kind, "A name", f"{database} is odd", f"USE {database}", "it is slow", severity)


def test_the_worst_is_first_what_is_the_same_is_printed_once_and_notices_alike_are_counted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [
        one
        for number in range(200)
        for one in (
            finding(number, Severity.INFO, "ms.slow"),
            finding(number, Severity.WARNING, "ms.full"),
            finding(number, Severity.ERROR, "ms.login", alike=True),
            *([finding(number, Severity.ERROR, "ms.off")] if number < 5 else []),
        )
    ]
    show_findings(FILE, Checked(tuple(found)))
    said = capsys.readouterr().out.splitlines()
    heads = [line.split()[0] + line.split()[-1] for line in said if line.endswith("]")]
    assert heads == (
        ["ERROR[ms.login]"] + ["ERROR[ms.off]"] * 5 + ["WARNING[ms.full]"] * 3 + ["INFO[ms.slow]"] * 3
    )
    assert said[-3:] == [
        "and 197 more findings of [ms.full]; all: wrackline check 'shop 1.toml' --json",
        "and 197 more findings of [ms.slow]; all: wrackline check 'shop 1.toml' --json",
        "shop 1.toml: errors 6, warnings 200",
    ]


def test_tables_that_are_wrong_in_the_same_way_are_all_named(capsys: pytest.CaptureFixture[str]) -> None:
    tables = [TableId("shop", "dbo", f"t{number}") for number in range(5)]
    found = tuple(Finding("ms.t", "n", "d", "s", "i", Severity.WARNING, table) for table in tables)
    show_findings(FILE, Checked(found))
    said = capsys.readouterr().out
    assert [str(table) in said for table in tables] == [True] * 5

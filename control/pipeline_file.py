"""The pipeline file that a command was given: good, or its findings are shown and the command ends."""

import os
from pathlib import Path

import typer
from rich.text import Text

from wrackline.control.check_file import Checked, check_file
from wrackline.control.exits import Exit
from wrackline.control.installed import Installed
from wrackline.control.logs.lines import Log
from wrackline.control.output import say
from wrackline.schemas.findings import Severity
from wrackline.schemas.pipeline import Pipeline

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def good_pipeline(file: Path, log: Log | None = None) -> Pipeline:
    """Return the pipeline of a file in which nothing stops it; warnings stay with `wrackline check`.

    Where a log is given, what stops it is said there.
    """
    checked = check_file(file, Installed(), os.environ)
    if checked.pipeline is not None and not checked.stops:
        return checked.pipeline
    tell_findings(file, checked, log)
    raise typer.Exit(Exit.FINDINGS)


def tell_findings(file: Path, checked: Checked, log: Log | None) -> None:
    """Say to a log what stops a file; without one it is shown."""
    if log is None:
        show_findings(file, checked)
    else:
        _log_findings(log, file, checked)


def _log_findings(log: Log, file: Path, checked: Checked) -> None:
    for finding in checked.findings:
        if finding.severity is Severity.ERROR:
            line = f"{finding.name}  [{finding.id}]: {finding.description}; {finding.impact}"
            error = {"code": finding.id, "sentence": finding.description, "hint": finding.suggestion}
            log.error("finding", line=f"{line}\n  hint: {finding.suggestion}", file=str(file), error=error)


def show_findings(file: Path, checked: Checked) -> None:
    """Print what a check found, and its verdict."""
    for finding in checked.findings:
        severity = finding.severity
        place = "" if finding.table is None else f"  {finding.table}"
        place += "" if finding.column is None else f".{finding.column}"
        say(
            Text.assemble(
                (f"{severity.value:8}", COLOURS[severity]), (finding.name, "bold"), f"  [{finding.id}]{place}"
            )
        )
        say(f"  {finding.description}; {finding.impact}\n  hint: {finding.suggestion}")
    stopping = sum(finding.severity is Severity.ERROR for finding in checked.findings)
    warnings = sum(finding.severity is Severity.WARNING for finding in checked.findings)
    verdict = f"{file}: errors {stopping}, warnings {warnings}" if stopping or warnings else f"{file}: good"
    say(verdict)

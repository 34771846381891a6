"""The pipeline file that a command was given: good, or the command ends with what a check finds in it."""

import os
from pathlib import Path
from typing import Any

from rich.text import Text

from wrackline.control.check_file import Checked, check_file
from wrackline.control.installed import Installed
from wrackline.control.logs.lines import Log
from wrackline.control.output import say
from wrackline.schemas.findings import Severity
from wrackline.schemas.pipeline import Pipeline

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


class Unfit(Exception):  # noqa: N818 - nothing went wrong: the file is not yet what it must be
    """Nothing starts from this file; `checked` says why."""

    def __init__(self, file: Path, checked: Checked) -> None:
        super().__init__(str(file))
        self.file, self.checked = file, checked


def good_pipeline(file: Path) -> Pipeline:
    """Return the pipeline of a file in which nothing stops it; warnings stay with `wrackline check`."""
    checked = check_file(file, Installed(), os.environ)
    if checked.pipeline is None or checked.stops:
        raise Unfit(file, checked)
    return checked.pipeline


def log_findings(log: Log, file: Path, checked: Checked) -> None:
    """Say to a log what stops a file."""
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


def findings_document(file: Path, checked: Checked) -> dict[str, Any]:
    """Return what a check found, for programs."""
    return {"file": str(file), "ok": not checked.stops, "findings": checked.findings}

"""What a check found, for people and for programs."""

from pathlib import Path
from typing import Any

from rich.text import Text

from wrackline.control.cli.terminal.output import say, text_width
from wrackline.control.cli.terminal.word_wrap import wrap_hint, wrap_sentence
from wrackline.control.runtime.check.file_check import Checked
from wrackline.schemas.language.findings import Severity

COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def show_findings(file: Path, checked: Checked) -> None:
    """Print what a check found, and its verdict."""
    width = text_width()
    for finding in checked.findings:
        severity = finding.severity
        place = "" if finding.table is None else f"  {finding.table}"
        place += "" if finding.column is None else f".{finding.column}"
        say(
            Text.assemble(
                (f"{severity.value:8}", COLOURS[severity]), (finding.name, "bold"), f"  [{finding.id}]{place}"
            )
        )
        say(f"  {wrap_sentence(f'{finding.description}; {finding.impact}', width, 2, 2)}")
        say(f"  hint: {wrap_hint(finding.suggestion, width, 4, 8)}")
    stopping = sum(finding.severity is Severity.ERROR for finding in checked.findings)
    warnings = sum(finding.severity is Severity.WARNING for finding in checked.findings)
    verdict = f"{file}: errors {stopping}, warnings {warnings}" if stopping or warnings else f"{file}: good"
    say(verdict)


def findings_document(file: Path, checked: Checked) -> dict[str, Any]:
    """Return what a check found, for programs."""
    return {"file": str(file), "ok": not checked.stops, "findings": checked.findings}

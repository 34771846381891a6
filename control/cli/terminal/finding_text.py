"""What a check found, for people and for programs."""

import shlex
from collections import Counter
from pathlib import Path
from typing import Any

from rich.text import Text

from wrackline.control.cli.terminal.output import say, text_width
from wrackline.control.cli.terminal.word_wrap import wrap_hint, wrap_sentence
from wrackline.control.runtime.check.file_check import Checked
from wrackline.control.runtime.ground.number_text import count_text
from wrackline.schemas.language.findings import Finding, Severity

_ALIKE = 3  # findings of one kind that are printed, unless each stops the pipeline
COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def show_findings(file: Path, checked: Checked) -> None:
    """Print what a check found, the worst first, and its verdict.

    Of many databases most findings are alike.  What is the same to the letter is printed once, and of notices
    and warnings of one kind only the first few.
    """
    width, orders = text_width(), list(Severity)
    once = {(one.id, one.table, one.column, one.description, one.suggestion): one for one in checked.findings}
    findings = sorted(once.values(), key=lambda one: orders.index(one.severity))
    seen: Counter[str] = Counter()
    for finding in findings:
        alike = finding.severity is not Severity.ERROR and finding.table is None
        seen[finding.id] += alike
        if not alike or seen[finding.id] <= _ALIKE:
            _show(finding, width)
    for kind, count in seen.items():
        if count > _ALIKE:
            left = count_text(count - _ALIKE, "more finding", "more findings")
            more = f"and {left} of [{kind}]; all: wrackline check {shlex.quote(str(file))} --json"
            say(wrap_hint(more, width, 2))
    stopping = sum(one.severity is Severity.ERROR for one in findings)
    warnings = sum(one.severity is Severity.WARNING for one in findings)
    verdict = f"{file}: errors {stopping}, warnings {warnings}" if stopping or warnings else f"{file}: good"
    say(verdict)


def _show(finding: Finding, width: int | None) -> None:
    severity = finding.severity
    place = "" if finding.table is None else f"  {finding.table}"
    place += "" if finding.column is None else f".{finding.column}"
    head, tail = f"{severity.value:8}", f"  [{finding.id}]{place}"
    if width is not None and len(head) + len(finding.name) + len(tail) > width:
        tail = f"\n{tail}"
    say(Text.assemble((head, COLOURS[severity]), (finding.name, "bold"), tail))
    say(f"  {wrap_sentence(f'{finding.description}; {finding.impact}', width, 2, 2)}")
    say(f"  hint: {wrap_hint(finding.suggestion, width, 4, 8)}")


def findings_document(file: Path, checked: Checked) -> dict[str, Any]:
    """Return what a check found, for programs."""
    return {"file": str(file), "ok": not checked.stops, "findings": checked.findings}

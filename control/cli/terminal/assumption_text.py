"""What became of a source's assumptions, for people."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from rich.text import Text

from wrackline.control.cli.terminal.output import say, text_width
from wrackline.control.cli.terminal.word_wrap import wrap_hint, wrap_sentence
from wrackline.producers.contract.assumptions import AssumptionReport, AssumptionVerdict

_WORDS: Final = {
    AssumptionVerdict.HOLDS: ("holds", "green"),
    AssumptionVerdict.FAILS: ("does not hold", "bold red"),
    AssumptionVerdict.UNTRIED: ("not tried", "yellow"),
}


def show_assumptions(file: Path, reports: Sequence[AssumptionReport]) -> None:
    """Print them, and what to report to the project if one does not hold."""
    width = text_width()
    if not reports:
        say("the source relies on nothing that only a server could show")
    for report in reports:
        say(f"{report.database}: {' '.join(report.server.split())}")
        for one in report.assumptions:
            words, style = _WORDS[one.verdict]
            say(Text.assemble((f"{words:14}", style), (one.id, "bold"), f"  {one.sentence}"))
            say(f"  {wrap_sentence(one.seen, width, 2, 2)}")
            if one.advice:
                say(f"  {wrap_sentence(one.advice, width, 2, 2)}")
    if any_fails(reports):
        command = f"wrackline check {file} --probe --json"
        hint = f"an assumption does not hold; report it to the project, with what this prints: {command}"
        say(f"hint: {wrap_hint(hint, width, 2, 6)}")


def any_fails(reports: Iterable[AssumptionReport]) -> bool:
    """Whether one does not hold."""
    return any(one.verdict is AssumptionVerdict.FAILS for report in reports for one in report.assumptions)

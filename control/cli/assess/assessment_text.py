"""An assessment for people: what was tried, what was found and accepted, and the forecast."""

from collections.abc import Iterable
from pathlib import Path

from rich.text import Text

from wrackline.control.cli.terminal.finding_text import show_findings
from wrackline.control.cli.terminal.output import say
from wrackline.control.runtime.check.file_check import Checked
from wrackline.control.runtime.probe.assess import Assessment
from wrackline.control.runtime.probe.forecast import Forecast, size_text
from wrackline.control.runtime.probe.mending import MendResult
from wrackline.control.runtime.probe.trial_runs import TrialResult


def show_mended(mended: Iterable[MendResult]) -> None:
    """Print what became of each fix."""
    for one in mended:
        mark, style = ("mended", "green") if one.gone else ("not mended", "bold red")
        undo = f"\n  undo: {one.fix['undo']}" if one.gone and one.fix["undo"] else ""
        why = "" if one.error is None else f"\n  {one.error}"
        say(Text.assemble((f"{mark:11}", style), f" [{one.finding.id}]  {one.fix['sql']}{undo}{why}"))


def show_assessment(file: Path, found: Assessment) -> None:
    """Print it; the findings come last, because they are what somebody has to act on."""
    for trial in found.trials:
        say(trial_line(trial))
    if found.forecast is not None:
        say(forecast_text(found.forecast))
    there = {one.id for one in found.findings}
    for id_, reason in found.accepted.items():
        unused = "" if id_ in there else "  (not found any more)"
        say(f"accepted  [{id_}]: {reason}{unused}")
    show_findings(file, Checked(tuple(one for one in found.findings if one.id not in found.accepted)))
    say(f"verdict: {found.verdict.value}")


def forecast_text(found: Forecast) -> str:
    """Write the forecast in one line."""
    if found.seconds is None:
        return "forecast: nothing was measured, because no row was read"
    parts = [f"forecast: the first read of about {found.rows:,} rows takes {found.seconds / 60:.1f} min"]
    if found.largest is not None:
        parts.append(f"{found.largest} {100 * found.largest_share:.0f} % of it")
    if found.kafka_bytes is not None:
        parts.append(f"{size_text(found.kafka_bytes)} in Kafka before compression")
    if found.log_bytes is not None:
        limit = "" if found.most_bytes is None else f" of {size_text(found.most_bytes)} that are kept"
        parts.append(f"{size_text(found.log_bytes)} of log meanwhile{limit}")
    return "; ".join(parts)


def trial_line(trial: TrialResult) -> Text:
    """Write what one trial gave in one line."""
    mark, style = ("ok", "green") if trial.ok else ("failed", "bold red")
    measured = ", ".join(f"{name} {value}" for name, value in trial.measures.items() if value is not None)
    more = f"  ({measured})" if measured else ""
    return Text.assemble((f"{mark:7}", style), f"{trial.id:18} {trial.proves}{more}")

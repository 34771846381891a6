"""The last step: what the assessment found, what has to be confirmed, and the forecast.  Pure.

In: an assessment's document.  Out: what the page shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from wrackline.control.console.page_words import Badge
from wrackline.control.runtime.ground.number_text import count_text, duration_text, size_text

_ACCEPT: Final = "accept:"
_BADGES: Final[Mapping[str, Badge]] = {  # the worst first
    "ERROR": Badge("error", "✕", "bad"),
    "WARNING": Badge("warning", "!", "warn"),
    "INFO": Badge("info", "i", "idle"),
}
_ORDER: Final = tuple(_BADGES)


class ShownFinding(NamedTuple):
    """One finding."""

    id: str
    badge: Badge
    name: str
    where: str
    description: str
    impact: str
    suggestion: str
    field: str  # the check box that confirms it; empty: nothing has to be confirmed


class StartPage(NamedTuple):
    """What the last step shows once servers were asked."""

    findings: Sequence[ShownFinding]
    errors: int
    warnings: int
    tables: str
    forecast: Sequence[tuple[str, str]]
    trials: Sequence[tuple[str, str]]


def start_page(found: Mapping[str, Any]) -> StartPage:
    """Show an assessment."""
    confirmed = {one["id"] for one in found["accepted"]}
    findings = sorted(found["findings"], key=lambda one: _ORDER.index(one["severity"]))
    shown = [_finding(one, confirmed) for one in findings]
    counts = [one["severity"] for one in findings]
    return StartPage(
        shown,
        counts.count("ERROR"),
        len({one.field for one in shown if one.field}),
        count_text(len(found["tables"]), "table", "tables"),
        list(_forecast(found["forecast"])),
        [(one["proves"], _trial(one)) for one in found["trials"]],
    )


def accepted_ids(sent: Mapping[str, str]) -> list[str]:
    """Return the warnings that were confirmed."""
    return [field.removeprefix(_ACCEPT) for field in sent if field.startswith(_ACCEPT)]


def _finding(one: Mapping[str, Any], confirmed: set[str]) -> ShownFinding:
    severity = one["severity"]
    needs = severity == "WARNING" and one["id"] not in confirmed
    return ShownFinding(
        one["id"],
        _BADGES[severity],
        one["name"],
        _where(one),
        one["description"],
        one["impact"],
        one["suggestion"],
        _ACCEPT + one["id"] if needs else "",
    )


def _where(one: Mapping[str, Any]) -> str:
    table = one.get("table")
    if not table:
        return ""
    named = ".".join(part for part in table if part) if isinstance(table, list) else str(table)
    return f"{named}, column {one['column']}" if one.get("column") else named


def _forecast(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if told.get("rows") is not None:
        yield "rows to read", f"{told['rows']:,}"
    if told.get("minutes") is not None:
        yield "the first read takes about", duration_text(told["minutes"] * 60_000)
    if told.get("largest") and told.get("minutes") is not None:
        yield "of this, its slowest table", f"{told['largest']}, {told['largestShare']:.0%}"
    if told.get("kafkaBytes") is not None:
        yield "room in Kafka", size_text(told["kafkaBytes"])
    if told.get("logBytes") is not None:
        yield "log that the server writes meanwhile", size_text(told["logBytes"])
    if told.get("logMostBytes") is not None:
        yield "log that the server keeps", size_text(told["logMostBytes"])


def _trial(one: Mapping[str, Any]) -> str:
    return f"yes, {one['seconds']:.1f} s" if one["ok"] else f"no: {one['failed']}"

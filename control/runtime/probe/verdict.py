"""What an assessment comes to: which findings are accepted, and the exit code of a gate.  Pure.

    findings, `assess.accept`  ->  0 start   1 an error   2 a warning that nobody has accepted

An error can't be accepted: the pipeline would not run.
"""

from collections.abc import Mapping, Sequence
from enum import Enum

from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.settings.value_kinds import Value


class GateVerdict(Enum):
    """What the findings come to."""

    GOOD = "good"
    ERRORS = "errors"
    WARNINGS = "warnings"


def accepted_ids(given: Value) -> dict[str, str]:
    """Read `assess.accept`: each id with its reason."""
    listed = given if isinstance(given, tuple) else ()
    return {id_.strip(): reason.strip() for id_, _, reason in (one.partition("=") for one in listed)}


def verdict_of(findings: Sequence[Finding], accepted: Mapping[str, str]) -> GateVerdict:
    """Judge them."""
    if any(one.severity is Severity.ERROR for one in findings):
        return GateVerdict.ERRORS
    if any(one.severity is Severity.WARNING and one.id not in accepted for one in findings):
        return GateVerdict.WARNINGS
    return GateVerdict.GOOD


def acceptances(findings: Sequence[Finding], accepted: Mapping[str, str]) -> list[dict[str, object]]:
    """Return each acceptance with its reason, and whether it still concerns anything."""
    there = {one.id for one in findings}
    return [{"id": id_, "reason": reason, "applies": id_ in there} for id_, reason in accepted.items()]

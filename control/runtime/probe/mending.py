"""Runs the fixes of findings as an administrator, one by one, and looks at each again.

    findings -> the safe fixes of one -> the same check again -> gone, or not

Only fixes of the source's server are run, and only those that change no row, no right of others and no
running session.  The administrator's URL is used for this alone; it is neither kept nor shown.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.producers.contract.trials import SourceTrials
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding, Fix
from wrackline.schemas.redaction import Secret

_STATEMENT: Final = re.compile(r"""(?:"[^"]*"|'[^']*'|`[^`]*`|[^;"'`])+""")


@dataclass(frozen=True, slots=True)
class MendResult:
    """What became of one finding's fix."""

    finding: Finding
    fix: Fix
    gone: bool
    error: WracklineError | None = None

    def document(self) -> dict[str, object]:
        """Return it for programs."""
        table = self.finding.table
        return {
            **self.fix,
            "table": None if table is None else str(table),
            "gone": self.gone,
            "error": None if self.error is None else self.error.document(),
        }


def statements_of(sql: str) -> list[str]:
    """Split a fix into its statements; semicolons in quotes are text."""
    return [one.strip() for one in _STATEMENT.findall(sql) if one.strip()]


def apply_fixes(
    look: Callable[[], Sequence[Finding]], server: SourceTrials, admin: Secret
) -> Iterator[MendResult]:
    """Run the safe fixes; one that was run once is not run again."""
    tried: set[tuple[object, ...]] = set()
    while (chosen := _next_of(look(), tried)) is not None:
        finding, fix = chosen
        tried.add((*_place(finding), fix["sql"]))
        error = None
        try:
            for statement in statements_of(fix["sql"]):
                server.mend(admin, statement)
        except WracklineError as exc:
            error = exc
        gone = error is None and _place(finding) not in map(_place, look())
        yield MendResult(finding, fix, gone, error)


def _next_of(findings: Sequence[Finding], tried: set[tuple[object, ...]]) -> tuple[Finding, Fix] | None:
    for finding in findings:
        for fix in finding.fixes:
            if fix["safe"] and (*_place(finding), fix["sql"]) not in tried:
                return finding, fix
    return None


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.id, finding.table, finding.column

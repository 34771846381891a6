"""A preflight as data: a source lists its probes, and they are run in this order.

    connect  ->  look: what all probes need  ->  Probe, Probe, Probe  ->  findings, the most severe first

A server that can't be reached is one finding.  An error of a probe ends the check, except where the probe
says what follows from it: then the error is a finding too, and the next probes still run.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding, Fix, Severity
from wrackline.schemas.tables.table import TableId

STOPS: Final = "the pipeline does not start"
_ORDER: Final = (Severity.ERROR, Severity.WARNING, Severity.INFO)

C = TypeVar("C", bound=AbstractContextManager[Any])
L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class Probe(Generic[L]):
    """One question to a server or about its tables."""

    find: Callable[[L], Iterable[Finding]]
    needs: Callable[[L], bool] = lambda _: True  # if not, another finding has the reason
    impact: str | None = None  # what an error in it means; None: it ends the check

    def findings(self, look: L) -> Iterator[Finding]:
        """Ask, if what it needs is there."""
        if not self.needs(look):
            return
        try:
            yield from self.find(look)
        except WracklineError as error:
            if self.impact is None:
                raise
            yield error_finding(error, impact=self.impact)


def run_probes(
    connect: Callable[[], C],
    guard: Callable[[C], AbstractContextManager[None]],
    look: Callable[[C], L],
    probes: Iterable[Probe[L]],
) -> Sequence[Finding]:
    """Run all probes over one connection, which is closed; `guard` turns the driver's errors into ours."""
    try:
        connection = connect()
    except WracklineError as error:
        return (error_finding(error),)
    with connection, guard(connection):
        shared = look(connection)
        found = [finding for probe in probes for finding in probe.findings(shared)]
    return sorted(found, key=lambda finding: (_ORDER.index(finding.severity), finding.table or ("", "", "")))


def error_finding(
    error: WracklineError,
    table: TableId | None = None,
    column: str | None = None,
    *,
    severity: Severity = Severity.ERROR,
    impact: str = STOPS,
    fixes: tuple[Fix, ...] = (),
) -> Finding:
    """Show the error that a start or a task would end with."""
    name = error.code.partition(".")[2].replace("_", " ").capitalize()
    return Finding(error.code, name, error.sentence, error.hint, impact, severity, table, column, fixes)

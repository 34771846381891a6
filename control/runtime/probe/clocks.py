"""Which machines' clocks differ from this machine's.  Pure.

    a server's clock, and ours before and after the question  ->  findings

Half of the question's time is not known, so only what is beyond it counts.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from wrackline.schemas.language.findings import Finding, Severity, rule

MOST_MS: Final = 2_000

CLOCK_OFF = rule(
    "assess.clock_off",
    Severity.WARNING,
    "Clocks differ",
    "the clock of {machine} is {seconds:.1f} s {way} this machine's",
    "freshness and lag are wrong by as much, and tombstones are forgotten earlier or later",
    "let both follow one time server, here and there: timedatectl set-ntp true; what they follow:"
    " timedatectl timesync-status",
)


@dataclass(frozen=True, slots=True)
class ClockReading:
    """What a machine's clock showed, between two looks at ours."""

    machine: str
    there_ms: int
    before_ms: int
    after_ms: int

    @property
    def ahead_ms(self) -> int:
        """How far it is certainly ahead of ours; negative: behind."""
        if self.there_ms > self.after_ms:
            return self.there_ms - self.after_ms
        return min(0, self.there_ms - self.before_ms)


def clock_findings(readings: Iterable[ClockReading]) -> Iterator[Finding]:
    """Report clocks that differ by more than the lag of a pipeline that keeps up."""
    for one in readings:
        if abs(one.ahead_ms) > MOST_MS:
            way = "ahead of" if one.ahead_ms > 0 else "behind"
            yield CLOCK_OFF(machine=one.machine, seconds=abs(one.ahead_ms) / 1000, way=way)

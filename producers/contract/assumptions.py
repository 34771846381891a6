"""Assumptions: what a source relies on though no document promises it, tried on a user's own server.

In: settings that were found good.  Out: each assumption as a sentence, whether it holds there, and what was
seen.  Only a real server can answer, so the first users of a source do it for all others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, runtime_checkable

from wrackline.schemas.tables.table import SourcePartition


class AssumptionVerdict(Enum):
    """What became of an assumption."""

    HOLDS = "holds"
    FAILS = "fails"
    UNTRIED = "untried"


@dataclass(frozen=True, slots=True)
class JudgedAssumption:
    """An assumption and what a server showed of it."""

    id: str
    sentence: str
    verdict: AssumptionVerdict
    seen: str  # what the verdict is made of, or why there is none
    advice: str = ""  # what to do if it fails


@dataclass(frozen=True, slots=True)
class AssumptionReport:
    """The assumptions about one database."""

    database: str
    server: str  # as the server describes itself
    assumptions: Sequence[JudgedAssumption]


@runtime_checkable
class Assuming(Protocol):
    """A source that has assumptions; it may be left out."""

    def assumptions(self, partition: SourcePartition) -> AssumptionReport:
        """Try them for about half a minute; what is written for that is removed again."""
        ...

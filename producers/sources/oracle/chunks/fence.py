"""Marks of one kind: a number of the log's own count of commits, the SCN, which is asked for and not written.

A SELECT `AS OF SCN s` shows what was committed up to `s`, and nothing else.  So a fence at `s` is passed when
every commit up to `s` is out, and no commit is ever streamed that a SELECT would not show.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.contract.steps import Commit, Passing
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.mining.position import OraclePosition, last_at

CURRENT_SCN: Final = "SELECT CURRENT_SCN FROM V$DATABASE"


@dataclass(frozen=True, slots=True)
class OracleFence:
    """A place behind all commits up to an SCN."""

    name: str
    scn: int

    def passed(self, step: Passing) -> bool:
        """Whether every commit up to here is out."""
        return isinstance(step.position, OraclePosition) and step.position.place >= last_at(self.scn)


class OracleMarks:
    """Sets marks over the session that reads the chunks."""

    def __init__(self, session: OracleSession) -> None:
        self._session = session

    @property
    def kind(self) -> MarkKind:
        """How these marks are made."""
        return MarkKind.FENCE

    def set(self, name: str, edge: Edge) -> OracleFence:
        """Set a mark for this moment."""
        del edge
        return OracleFence(name, current_scn(self._session, "say where its log is"))

    def unseen(self, streamed: Sequence[Commit]) -> Sequence[Commit]:
        """Return nothing: a SELECT as of now shows each commit that was streamed."""
        del streamed
        return ()


def current_scn(session: OracleSession, doing: str) -> int:
    """Return the SCN of this moment: what is visible now was committed up to there."""
    ((scn,),) = session.ask(CURRENT_SCN, doing)
    return int(scn)

"""Asks why a quiet log is quiet: perhaps nothing was written, perhaps nobody captures.

    a poll without news  ->  does SQL Server Agent run?     no: an error, and the log is tried again
                         ->  how long was nothing listed?   longer than ever happens: a notice

A stopped capture job loses nothing, because the server keeps its log until the job has read it.  But a reader
of change tables can't tell it from a database in which nobody writes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from wrackline.producers.sources.sqlserver.check.facts_sql import AGENT
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define

AGENT_STANDS = define(
    "sqlserver.agent_stands",
    Transient,
    "nothing of {database} is captured: the service {service} is {status}, and it runs the capture job",
    hint="start the service, and let it start with the server; then, if need be: EXEC"
    " {quoted}.sys.sp_cdc_start_job @job_type = N'capture'; nothing is lost meanwhile, but the server's log"
    " grows: DBCC SQLPERF(LOGSPACE);",
)
CAPTURE_SILENT = define(
    "sqlserver.capture_silent",
    Transient,
    "the capture job of {database} has reported nothing for {seconds} s, although {why}",
    hint="nobody has to act while it reads a large transaction; else start it: EXEC"
    " {quoted}.sys.sp_cdc_start_job @job_type = N'capture'; and see its errors: SELECT * FROM"
    " {quoted}.sys.dm_cdc_errors;",
)

LOOK_S: Final = 15.0  # between two questions for the agent
BEAT_S: Final = 30.0  # from a heartbeat until it is captured, at most
QUIET_S: Final = 360.0  # a quiet log is reported every 300 s
_AGAIN_S: Final = 60.0  # between two notices
_HALTED: Final = frozenset({"Stopped", "Paused"})


def halted(services: Iterable[tuple[Any, ...]]) -> tuple[str, str] | None:
    """Return name and status of the agent if it does not run."""
    return next(((name, status) for name, status in services if status in _HALTED), None)


class CaptureWatch:
    """What is known of the capture job of one database; one thread calls it."""

    def __init__(
        self,
        database: str,
        ask: Callable[[str], Sequence[Sequence[tuple[Any, ...]]]] | None,
        tell: Callable[[WracklineError], None],
        beat_s: float | None,
        agent_stands: Callable[[], bool] = lambda: False,
    ) -> None:
        """Take what runs a batch; None: the agent that captures is on another server, or there is none.

        `beat_s`: after so many seconds a heartbeat writes a row that is captured; None: none does.
        `agent_stands`: what somebody else has seen, so that the agent is asked for at the next look.
        """
        self._database, self._ask, self._tell = database, ask, tell
        self._agent_stands = agent_stands
        self._patience = QUIET_S if beat_s is None else min(QUIET_S, beat_s + BEAT_S)
        self._why = (
            "a quiet log is reported about every 300 s" if beat_s is None else "a heartbeat was written"
        )
        self._heard: float | None = None
        self._due = self._notice_at = float("-inf")

    def heard(self, now: float) -> None:
        """Note that a commit was listed, or a place of a quiet log."""
        self._heard, self._due = now, now + LOOK_S

    def look(self, now: float) -> None:
        """Take that nothing new is there; raise if the agent does not run."""
        if self._heard is None:  # the place where the log was opened goes out first
            self._heard = now
            return
        if now < self._due and not self._agent_stands():
            return
        self._due = now + LOOK_S
        if self._ask is not None:
            self._look_for_agent(self._ask)
        if now - self._heard >= self._patience and now - self._notice_at >= _AGAIN_S:
            self._notice_at = now
            seconds, quoted = int(now - self._heard), identifier(self._database)
            self._tell(CAPTURE_SILENT(database=self._database, seconds=seconds, why=self._why, quoted=quoted))

    def rest_s(self, now: float) -> float:
        """Return how long a silent log needs no look, if somebody else asks for the agent."""
        if self._heard is None:
            return 0.0
        return max(self._due, self._heard + self._patience, self._notice_at + _AGAIN_S) - now

    def _look_for_agent(self, ask: Callable[[str], Sequence[Sequence[tuple[Any, ...]]]]) -> None:
        try:
            (found,) = ask(AGENT)
        except OperatorNeeded:  # we may not see it
            self._ask = None
            return
        except WracklineError:  # if the connection is lost, the next poll says so
            return
        if (agent := halted(found)) is not None:
            service, status = agent
            quoted = identifier(self._database)
            raise AGENT_STANDS(database=self._database, service=service, status=status, quoted=quoted)

"""What is tried in a database of a SQL Server before a start.

    login   two sessions at once, with TLS as set
    log     the log's end -> a row of the signal table, or the heartbeat's query -> the log is read

The row is written and removed in one transaction, so a trial that is killed leaves nothing: the server rolls
back what nobody commits.  The change tables have the row all the same, because they have each change of a
transaction; a running pipeline passes it by.

Where marks are places, nothing comes back soon on a quiet database, so the log is only opened and read once.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote, urlsplit

from wrackline.producers.contract.steps import Commit, Message, Progress, Signal
from wrackline.producers.contract.trials import URL_UNREADABLE, LogPace, Measures, Trial, trial_stamp
from wrackline.producers.failpoints import reach
from wrackline.producers.sources.sqlserver.assume.assumption_sql import begun, remove
from wrackline.producers.sources.sqlserver.check import facts_sql
from wrackline.producers.sources.sqlserver.chunks.marks import (
    MarkSettings,
    SqlServerSignalMark,
    savepoint_lsn,
    signal_sql,
)
from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.session.server import (
    OpenedSession,
    SqlServerConnector,
    ask_named,
    ask_values,
)
from wrackline.producers.sources.sqlserver.stream import SqlServerStream
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.signals import WindowEdge, window_row
from wrackline.schemas.redaction import Redactor, Secret
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

LOG_UNSEEN = define(
    "sqlserver.log_unseen",
    OperatorNeeded,
    "nothing came back from the log of {database} within {seconds:g} s, though it was read all the time",
    hint="see whether the capture job runs, and its errors: USE {quoted}; EXEC sys.sp_cdc_help_jobs; SELECT *"
    " FROM sys.dm_cdc_errors; start it: EXEC sys.sp_cdc_start_job @job_type = N'capture';",
)
ADMIN_REFUSED = define(
    "sqlserver.admin_refused",
    OperatorNeeded,
    "the fix could not be run: {reason}",
    hint="check the URL: mssql://<user>:<password>@<host>:<port>; or run the statement by hand",
)

PATIENCE_S: Final = 30.0  # a capture job waits five seconds between its looks at the log
_CLOCK: Final = "SELECT DATEDIFF_BIG(millisecond, CAST('1970-01-01' AS datetime2), SYSUTCDATETIME());"
_LOCKS_SHORTLY: Final = "SET LOCK_TIMEOUT 5000;"
_RAISE: Final = "USE {}; EXEC sys.sp_cdc_change_job @job_type = N'cleanup', @retention = {{minutes}};"


class SqlServerTrials:
    """Tries one database; each trial has connections of its own."""

    def __init__(
        self,
        server: SqlServerConnector,
        settings: Values,
        marks: Callable[[], MarkSettings],
        open_log: Callable[[], SqlServerStream],
        beat: Callable[[], None],
    ) -> None:
        """Take what opens the log at its end, and what writes a heartbeat."""
        self._server, self._settings, self._marks = server, settings, marks
        self._open_log, self._beat = open_log, beat

    def trials(self) -> Sequence[Trial]:
        """Return the trials."""
        return (
            Trial("login", "two log-ins at once, with TLS as set", self._log_in),
            Trial("log", "the change tables are read, and a row of ours is found in them", self._find_row),
        )

    def clock_ms(self) -> int:
        """Ask the server."""
        with OpenedSession(self._server.connect()) as session:
            (((now,),),) = ask_values(session, _CLOCK, "show its clock")
        return int(now)

    def log_pace(self) -> LogPace:
        """Ask how long change tables keep a row; how many bytes are written, no view shows."""
        kept_s = None
        with OpenedSession(self._server.connect()) as session:
            try:
                jobs = ask_named(session, facts_sql.jobs(None), "list the jobs")
            except WracklineError:
                jobs = []  # a right that no pipeline needs
        for job in jobs:
            if job["job_type"] == "cleanup" and job["retention"]:
                kept_s = 60 * int(job["retention"])
        quoted = identifier(self._server.database).replace("{", "{{").replace("}", "}}")
        return LogPace(None, 0.0, most_s=kept_s, raise_limit=_RAISE.format(quoted))

    def mend(self, admin: Secret, statement: str) -> None:
        """Run it in the pipeline's database, with TLS as the pipeline has it."""
        password = Secret("")
        try:
            given = urlsplit(admin.reveal())
            password = Secret(unquote(given.password or ""))
            user, port = unquote(given.username or ""), given.port
            with OpenedSession(self._server.connect_as(user, password, given.hostname, port)) as session:
                session.execute(_LOCKS_SHORTLY, "take a session's settings")
                session.execute(statement, "run the fix")
        except (WracklineError, ValueError) as exc:
            words = exc.sentence if isinstance(exc, WracklineError) else URL_UNREADABLE
            reason = Redactor([admin, password]).clean(words)
        else:
            return
        raise ADMIN_REFUSED(reason=reason)

    def _log_in(self) -> Measures:
        with OpenedSession(self._server.connect()) as first, OpenedSession(self._server.connect()):
            return {"tls": "yes" if first.protected else "no"}

    def _find_row(self) -> Measures:
        table = self._marks().table
        with closing(self._open_log()) as log:
            log.poll(0.0)  # it says where it begins, before it has read anything
            began = time.monotonic()
            if table is None:
                self._look_at_place()
                log.ask()
                self._wait(log, None)
            else:
                self._wait(log, self._write(table))
        seconds = round(time.monotonic() - began, 3)
        return {"seconds": seconds, "written": "no" if table is None else str(table)}

    def _look_at_place(self) -> None:
        """Take a place, as a mark does; and run the heartbeat's query, if there is one and we may write."""
        with OpenedSession(self._server.connect()) as session:
            savepoint_lsn(session)
        if not self._settings.flag("read.only"):
            self._beat()

    def _write(self, table: TableId) -> SqlServerSignalMark:
        """Write a row and remove it; it closes a window that nobody has."""
        name = f"wrackline-trial-{trial_stamp(time.time(), random.getrandbits(32))}"
        at = datetime.now(UTC).isoformat()
        row = window_row(WindowEdge.CLOSE, name, at=at, request=name, table=str(table))
        with OpenedSession(self._server.connect()) as session:
            session.execute(begun(signal_sql(table, row, delete=False)), "write into the signal table")
            reach("probe_signal")
            done = f"{remove(table, [row.id])} COMMIT TRANSACTION;"
            session.execute(done, "remove a row of the signal table")
        return SqlServerSignalMark(name, row.id)

    def _wait(self, log: SqlServerStream, mark: SqlServerSignalMark | None) -> None:
        """Read until the mark comes; without one, until the log reports its place."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            batch = log.poll(deadline)
            for step in batch.steps if batch is not None else ():
                if isinstance(step, Commit | Message | Signal | Progress) and (
                    mark is None or mark.passed(step)
                ):
                    return
        database = self._server.database
        raise LOG_UNSEEN(database=database, quoted=identifier(database), seconds=PATIENCE_S)

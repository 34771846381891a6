"""What is tried in a database of Oracle before a start.

    login   a session in the root and one in the database that is copied, with TLS as set
    log     an SCN of now, or a row of the signal table, or the heartbeat's query -> the log is mined to there

The row is written and removed in one transaction, so a trial that is killed leaves nothing.  The log has both
changes all the same; a running pipeline passes them by.

Where archived logs alone are mined, nothing comes back before a log is full, so the log is only opened and
mined once.
"""

import random
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Final
from urllib.parse import unquote, urlsplit

from wrackline.producers.contract.steps import Commit, Message, Passing, Progress, Signal
from wrackline.producers.contract.trials import URL_UNREADABLE, LogPace, Measures, Trial, trial_stamp
from wrackline.producers.failpoints import reach
from wrackline.producers.kit.polled_stream import PolledStream
from wrackline.producers.sources.oracle.chunks.fence import OracleFence, current_scn
from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.producers.sources.oracle.connect.meanings import DISABLED, archived_only
from wrackline.producers.sources.oracle.connect.quoting import identifier, table_name
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka.signals import WindowEdge, window_row
from wrackline.schemas.redaction import Redactor, Secret
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

LOG_UNSEEN = define(
    "oracle.log_unseen",
    OperatorNeeded,
    "nothing came back from the log of {database} within {seconds:g} s, though it was mined all the time",
    hint="see whether the server writes and archives its log: SELECT THREAD#, SEQUENCE#, STATUS, ARCHIVED"
    " FROM V$LOG; SELECT INSTANCE_NAME, STATUS, ARCHIVER FROM V$INSTANCE;",
)
ADMIN_REFUSED = define(
    "oracle.admin_refused",
    OperatorNeeded,
    "the fix could not be run: {reason}",
    hint="check the URL: oracle://<user>:<password>@<host>:<port>; or run the statement by hand",
)

PATIENCE_S: Final = 30.0
_DAY_S: Final = 86_400
_CLOCK: Final = (
    "SELECT ROUND((CAST(SYS_EXTRACT_UTC(SYSTIMESTAMP) AS DATE) - DATE '1970-01-01') * 86400) FROM DUAL"
)
_WRITTEN: Final = (
    "SELECT DEST_ID, SUM(BLOCKS * BLOCK_SIZE) FROM V$ARCHIVED_LOG"
    " WHERE STANDBY_DEST = 'NO' AND COMPLETION_TIME > SYSDATE - 1 GROUP BY DEST_ID"
)
_KEPT: Final = "SELECT SPACE_LIMIT FROM V$RECOVERY_FILE_DEST WHERE SPACE_LIMIT > 0"
_RAISE: Final = "ALTER SYSTEM SET DB_RECOVERY_FILE_DEST_SIZE = {gigabytes}G SCOPE = BOTH;"
_FIRST_COLUMN: Final = (
    "SELECT COLUMN_NAME FROM ALL_TAB_COLUMNS WHERE OWNER = :owner AND TABLE_NAME = :name AND COLUMN_ID = 1"
)
_LOCKS_SHORTLY: Final = "ALTER SESSION SET DDL_LOCK_TIMEOUT = 5"


class OracleTrials:
    """Tries one database; each trial has connections of its own."""

    def __init__(
        self,
        connector: OracleConnector,
        settings: Values,
        signal_table: TableId | None,
        open_log: Callable[[], PolledStream[None]],
        beat: Callable[[], None],
    ) -> None:
        """Take what opens the log at its end, and what writes a heartbeat."""
        self._connector, self._settings, self._signals = connector, settings, signal_table
        self._open_log, self._beat = open_log, beat

    def trials(self) -> Sequence[Trial]:
        """Return the trials."""
        return (
            Trial("login", "a log-in to the root and one to the database, with TLS as set", self._log_in),
            Trial("log", "the log is mined up to a place of now", self._find_place),
        )

    def clock_ms(self) -> int:
        """Ask the server, which says whole seconds."""
        with closing(self._connector.connect()) as session:
            ((seconds,),) = session.ask(_CLOCK, "show its clock")
        return int(seconds) * 1_000

    def log_pace(self) -> LogPace:
        """Ask how much was archived within a day, and how much there is room for."""
        with closing(self._connector.connect_root()) as session:
            written = [int(size) for _, size in session.ask(_WRITTEN, "say how much it archives")]
            try:
                kept = [int(size) for (size,) in session.ask(_KEPT, "say how much log it keeps")]
            except WracklineError:
                kept = []  # a right that no pipeline needs
        pace = max(written) / _DAY_S if written else None
        return LogPace(pace, _DAY_S, most_bytes=kept[0] if kept else None, raise_limit=_RAISE)

    def mend(self, admin: Secret, statement: str) -> None:
        """Run it in the root, from where its own statements enter another container."""
        password = Secret("")
        try:
            given = urlsplit(admin.reveal())
            password = Secret(unquote(given.password or ""))
            user, port = unquote(given.username or ""), given.port
            with closing(self._connector.connect_admin(user, password, given.hostname, port)) as session:
                session.execute(_LOCKS_SHORTLY, "take a session's settings")
                for part in filter(None, map(str.strip, statement.split(";"))):
                    session.execute(part, "run the fix")
        except (WracklineError, ValueError) as exc:
            words = exc.sentence if isinstance(exc, WracklineError) else URL_UNREADABLE
            reason = Redactor([admin, password]).clean(words)
        else:
            return
        raise ADMIN_REFUSED(reason=reason)

    def _log_in(self) -> Measures:
        with closing(self._connector.connect_root()), closing(self._connector.connect()):
            return {"tls": "no" if self._settings.text("database.ssl.mode") == DISABLED else "yes"}

    def _find_place(self) -> Measures:
        table = None if archived_only(self._settings) else self._signals
        with closing(self._open_log()) as log:
            log.poll(0.0)  # it says where it begins, before it has mined anything
            began = time.monotonic()
            if archived_only(self._settings):
                log.ask()
                self._wait(log, lambda _: True)
            else:
                with closing(self._connector.connect()) as session:
                    passed = self._place(session) if table is None else _written(session, table)
                self._wait(log, passed)
        seconds = round(time.monotonic() - began, 3)
        return {"seconds": seconds, "written": "no" if table is None else str(table)}

    def _place(self, session: OracleSession) -> Callable[[Passing], bool]:
        """Run the heartbeat's query, if there is one, and take the SCN behind it."""
        self._beat()
        return OracleFence("trial", current_scn(session, "say where its log is")).passed

    def _wait(self, log: PolledStream[None], passed: Callable[[Passing], bool]) -> None:
        """Mine until the place comes."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            log.ask()
            batch = log.poll(deadline)
            for step in batch.steps if batch is not None else ():
                if isinstance(step, Commit | Message | Signal | Progress) and passed(step):
                    return
        raise LOG_UNSEEN(database=self._connector.database, seconds=PATIENCE_S)


def _written(session: OracleSession, table: TableId) -> Callable[[Passing], bool]:
    """Write a row and remove it; it closes a window that nobody has."""
    name = f"wrackline-trial-{trial_stamp(time.time(), random.getrandbits(32))}"
    row = window_row(WindowEdge.CLOSE, name, at=datetime.now(UTC).isoformat(), request=name, table=str(table))
    doing, quoted = "write into the signal table", table_name(table)
    ((column,),) = session.ask(_FIRST_COLUMN, doing, {"owner": table.schema, "name": table.name})
    values = {"row_id": row.id, "row_type": row.type, "row_data": row.data}
    session.execute(f"INSERT INTO {quoted} VALUES (:row_id, :row_type, :row_data)", doing, values)  # noqa: S608
    reach("probe_signal")
    session.execute(f"DELETE FROM {quoted} WHERE {identifier(column)} = :row_id", doing, {"row_id": row.id})  # noqa: S608
    session.commit()
    return lambda step: isinstance(step, Signal) and step.id == row.id

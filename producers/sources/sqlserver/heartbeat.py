"""A heartbeat in SQL Server: a row of the signal table, where marks are such rows, and the user's own query.

Nothing holds back a change table.  But on a quiet database the capture job reports its place only about every
five minutes, and until then nobody knows that all is copied; it reports each commit of a captured table soon.
"""

from collections.abc import Callable
from dataclasses import replace

from wrackline.producers.contract.source_plugin import Edge, MarkKind
from wrackline.producers.sources.sqlserver.chunks.marks import MarkSettings, SqlServerMarks
from wrackline.producers.sources.sqlserver.session.server import SqlServerConnector
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.settings.settings_registry import Values

QUERY_FAILED = define(
    "sqlserver.heartbeat_query",
    OperatorNeeded,
    "heartbeat.action.query failed: {reason}",
    hint="run it as the login of database.user by hand, and correct it; it is tried again at each heartbeat",
)
QUERY_FORBIDDEN = define(
    "sqlserver.heartbeat_forbidden",
    OperatorNeeded,
    "read.only is set, but heartbeat.action.query would write to the database",
    hint="remove one of the two lines",
)


class SqlServerHeartbeat:
    """Writes heartbeats; the first one opens the connection."""

    def __init__(
        self,
        server: SqlServerConnector,
        settings: Values,
        marks: Callable[[], MarkSettings],
        now_ms: Callable[[], int],
    ) -> None:
        self._server, self._marks, self._now_ms = server, marks, now_ms
        self._read_only = settings.flag("read.only")
        query = settings["heartbeat.action.query"]
        self._query = str(query) if query else None
        self._session: TdsSession | None = None

    def beat(self) -> None:
        """Write a mark that nobody waits for, then run the query."""
        marks = self._marks()
        if marks.kind is MarkKind.SIGNAL:
            set_by = SqlServerMarks(self._connected(), replace(marks, deletes=True), self._now_ms)
            set_by.set(f"heartbeat-{self._now_ms()}", Edge.CLOSE)
        if self._query is None:
            return
        if self._read_only:
            raise QUERY_FORBIDDEN()  # noqa: RSE102 - a code makes the error
        try:
            self._connected().execute(self._query, "run heartbeat.action.query")
        except OperatorNeeded as error:
            raise QUERY_FAILED(reason=f"{error.sentence} [{error.code}]") from None
        except WracklineError:
            self.close()
            raise

    def close(self) -> None:
        """End the connection; a running statement ends with it."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _connected(self) -> TdsSession:
        if self._session is None or self._session.closed:
            self._session = self._server.connect()
        return self._session

"""A heartbeat in SQL Server: only the user's own query.

Nothing holds back a change table, so we need not write anything.  On a quiet database the capture job reports
its place about every five minutes; a query that writes into a captured table makes it do so at once.
"""

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
    """Runs the query; the first run opens the connection."""

    def __init__(self, server: SqlServerConnector, settings: Values) -> None:
        self._server, self._read_only = server, settings.flag("read.only")
        query = settings["heartbeat.action.query"]
        self._query = str(query) if query else None
        self._session: TdsSession | None = None

    def beat(self) -> None:
        """Run the query once."""
        if self._query is None:
            return
        if self._read_only:
            raise QUERY_FORBIDDEN()  # noqa: RSE102 - a code makes the error
        if self._session is None or self._session.closed:
            self._session = self._server.connect()
        try:
            self._session.execute(self._query, "run heartbeat.action.query")
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

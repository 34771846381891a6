"""A heartbeat in Oracle: only the user's own query.

A reader does not hold back the redo log, and mining itself says where it ends, so we need not write anything.
The query runs on a connection of its own, because it may wait for locks.
"""

from wrackline.producers.sources.oracle.connect.connector import OracleConnector
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.settings.settings_registry import Values

QUERY_FAILED = define(
    "oracle.heartbeat_query",
    OperatorNeeded,
    "heartbeat.action.query failed: {reason}",
    hint="run it as the user of database.user by hand, and correct it; it is tried again at each heartbeat",
)
QUERY_FORBIDDEN = define(
    "oracle.heartbeat_forbidden",
    OperatorNeeded,
    "read.only is set, but heartbeat.action.query would write to the database",
    hint="remove one of the two lines",
)


class OracleHeartbeat:
    """Runs the query; the first run opens the connection."""

    def __init__(self, connector: OracleConnector, settings: Values) -> None:
        self._connector, self._read_only = connector, settings.flag("read.only")
        query = settings["heartbeat.action.query"]
        self._query = str(query) if query else None
        self._session: OracleSession | None = None

    def beat(self) -> None:
        """Run the query once."""
        if self._query is None:
            return
        if self._read_only:
            raise QUERY_FORBIDDEN()  # noqa: RSE102 - a code makes the error
        if self._session is None or self._session.closed:
            self._session = self._connector.connect()
        try:
            self._session.execute(self._query, "run heartbeat.action.query")
            self._session.commit()
        except OperatorNeeded as error:
            self.close()
            raise QUERY_FAILED(reason=f"{error.sentence} [{error.code}]") from None
        except WracklineError:
            self.close()
            raise

    def close(self) -> None:
        """End the connection; a running statement ends with it."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

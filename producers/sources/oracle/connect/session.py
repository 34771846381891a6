"""A session of ours: the texts of its formats, and the server's errors as ours.

In: statements with named binds.  Out: rows of int, str, bytes and None.
`doing` continues the sentence "the server did not".
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Any, Final

from wrackline.producers.sources.oracle.connect.driver import (
    Binds,
    Driver,
    DriverConnection,
    DriverCursor,
    Fields,
)
from wrackline.producers.sources.oracle.connect.server_errors import TEXT_UNDECODED, explain

NO_BINDS: Final[Binds] = MappingProxyType({})
AT_ONCE: Final = 1_000  # rows of one round trip

_PARTING_MS: Final = 5_000  # that the log-off may take
_MOMENT: Final = "SYYYY-MM-DD HH24:MI:SS"
FORMATS: Final = (
    "ALTER SESSION SET"
    " NLS_CALENDAR = 'GREGORIAN'"
    f" NLS_DATE_FORMAT = '{_MOMENT}'"
    f" NLS_TIMESTAMP_FORMAT = '{_MOMENT}.FF9'"
    f" NLS_TIMESTAMP_TZ_FORMAT = '{_MOMENT}.FF9 TZH:TZM'"
    " NLS_NUMERIC_CHARACTERS = '.,'"
    " NLS_SORT = BINARY NLS_COMP = BINARY"
    " TIME_ZONE = '00:00'"
)
"""They shape the texts of SQL_REDO, and the values of a chunk."""
_OF_BYTES: Final = frozenset({"DB_TYPE_BLOB", "DB_TYPE_RAW", "DB_TYPE_LONG_RAW"})


class OracleSession:
    """One connection, with our formats."""

    def __init__(self, driver: Driver, connection: DriverConnection) -> None:
        """Take a connection that is logged in."""
        self._driver, self._connection = driver, connection
        self._calling = False
        self.closed = False
        try:
            connection.outputtypehandler = _stored_document
            self.execute(FORMATS, "take a session's formats")
        except BaseException:
            self.close()
            raise

    def ask(self, sql: str, doing: str, binds: Binds = NO_BINDS) -> list[Fields]:
        """Return all rows of a query."""
        return [row for rows in self.stream(sql, doing, binds) for row in rows]

    def execute(self, sql: str, doing: str, binds: Binds = NO_BINDS) -> int:
        """Run a statement that returns no rows; return how many it changed."""
        with self._explained(doing):
            cursor = self._connection.cursor()
            try:
                cursor.execute(sql, dict(binds), fetch_lobs=False)
                return cursor.rowcount
            finally:
                with suppress(self._driver.Error):
                    cursor.close()

    def stream(
        self, sql: str, doing: str, binds: Binds = NO_BINDS, *, at_once: int = AT_ONCE
    ) -> Iterator[Sequence[Fields]]:
        """Return the rows of a query, as they come."""
        with self._explained(doing):
            cursor = self._connection.cursor()
        try:
            cursor.arraysize = cursor.prefetchrows = at_once
            with self._explained(doing):
                cursor.execute(sql, dict(binds), fetch_lobs=False)
            while True:
                with self._explained(doing):
                    rows = cursor.fetchmany(at_once)
                if not rows:
                    return
                yield rows
        finally:
            with suppress(self._driver.Error):
                cursor.close()

    def commit(self) -> None:
        """Commit what was written."""
        with self._explained("commit"):
            self._connection.commit()

    def rollback(self) -> None:
        """Give up what was written, and the snapshot of a transaction."""
        with self._explained("roll back"):
            self._connection.rollback()

    def cancel(self) -> None:
        """End the call that is under way, with an error there; any thread may ask.

        Without one nothing is sent: the driver would wait for an answer to it within its next call.
        """
        if self._calling:
            with suppress(self._driver.Error, OSError):
                self._connection.cancel()

    def close(self) -> None:
        """End it; twice is harmless."""
        if not self.closed:
            self.closed = True
            with suppress(self._driver.Error, OSError):
                self._connection.call_timeout = _PARTING_MS
                self._connection.close()

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        self._calling = True
        try:
            yield
        except (self._driver.Error, OSError) as error:  # not each error of the network is made the driver's
            raise explain(error, doing) from None
        except UnicodeDecodeError:  # it has the text
            raise TEXT_UNDECODED(doing=doing) from None
        finally:
            self._calling = False


def _stored_document(cursor: DriverCursor, column: Any) -> object:  # noqa: ANN401 - the driver's own
    """Take a document as it is stored: where a constraint says it is JSON, the driver would make objects."""
    if not (column.is_json or column.is_oson):
        return None
    of = bytes if column.type_code.name in _OF_BYTES else str
    return cursor.var(of, column.internal_size or 0, cursor.arraysize)

"""Looks at the catalogue for the thread that mines, over a session of its own.

So a catalogue that answers slowly holds up nobody else, and what ends the stream can cut it.
"""

from collections.abc import Callable

from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.discover.catalogue import OracleCatalogue
from wrackline.producers.sources.oracle.discover.facts import OracleLook
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import TableId


class CatalogueLooks:
    """Looks at all tables, and describes those that are read."""

    def __init__(
        self,
        connect: Callable[[], OracleSession],
        catalogue_over: Callable[[OracleSession], OracleCatalogue],
        reads: Callable[[TableId], bool],
    ) -> None:
        """Ask nothing yet; the first look opens the session."""
        self._connect, self._catalogue_over, self._reads = connect, catalogue_over, reads
        self._session: OracleSession | None = None
        self._catalogue: OracleCatalogue | None = None

    def look(self) -> OracleLook:
        """Look now; behind an error the next look opens another session."""
        if self._session is None or self._catalogue is None:
            self._session = self._connect()
            self._catalogue = self._catalogue_over(self._session)
        try:
            return self._catalogue.look(self._reads)
        except WracklineError:
            self.close()
            raise

    def cancel(self) -> None:
        """End the call that is under way; any thread may ask."""
        if (session := self._session) is not None:
            session.cancel()

    def close(self) -> None:
        """End the session; twice is harmless."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

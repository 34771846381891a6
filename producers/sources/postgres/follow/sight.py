"""What the transactions of a server see, as one text: while it stays the same, no catalogue has changed.

A snapshot names the transactions that it does not see.  Two equal ones see the same rows, in each database of
the server, also those of the catalogue.  A standby's snapshot does not name all of them, so it has no text.
"""

import time
from collections.abc import Callable
from typing import Final

from wrackline.producers.sources.postgres.connect.connect import Connection

_FRESH_S: Final = 1.0
# the start distinguishes a server that was restored to an earlier moment
_VIEW = """
SELECT CASE WHEN pg_is_in_recovery() THEN NULL
       ELSE concat_ws(' ', pg_postmaster_start_time(), pg_current_snapshot()) END"""


class PgSight:
    """The text, asked about once a second for all databases; on any thread.

    Each caller asks on a connection of its own database: it never waits for one that does not answer.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: tuple[float, str | None] | None = None  # when it was asked, and the answer

    def of(self, connection: Connection) -> str | None:
        """Return what was seen within the last second; None where that is not known."""
        last, now = self._last, self._clock()
        if last is None or now - last[0] >= _FRESH_S:
            ((view,),) = connection.execute(_VIEW)
            last = self._last = now, None if view is None else str(view)
        return last[1]

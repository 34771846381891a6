"""Rows whose statement continues in the next row: CSF = 1.  Pure.

A statement of more than 4,000 bytes comes in several rows of one record, one behind the other.  Rows of one
record have one SCN, so no end of a range is between them.
"""

from wrackline.producers.sources.oracle.mining.mined_row import MinedRow
from wrackline.schemas.errors import Definite, define

LOG_INCONSISTENT = define(
    "oracle.log_inconsistent",
    Definite,
    "the mined log contradicts itself at SCN {scn} of thread {thread}: {reason}",
    hint="report it with the server's version: SELECT BANNER_FULL FROM V$VERSION; to copy the tables again:"
    " wrackline offsets reset <pipeline.toml>, and the next start reads all rows",
)


class RowJoiner:
    """Puts the rows of a statement together."""

    def __init__(self) -> None:
        """Begin with none."""
        self._first: MinedRow | None = None
        self._redo: list[str] = []

    def join(self, row: MinedRow) -> MinedRow | None:
        """Return the whole row; None: more of it comes."""
        first = self._first
        if first is None:
            if not row.csf:
                return row
            self._first, self._redo = row, [row.redo]
            return None
        if (row.thread, row.scn, row.xid, row.rs_id, row.ssn) != (
            *(first.thread, first.scn, first.xid, first.rs_id, first.ssn),
        ):
            raise _torn(first)
        self._redo.append(row.redo)
        if row.csf:
            return None
        self._first = None
        return first._replace(csf=False, redo="".join(self._redo))

    def end(self) -> None:
        """Refuse an end inside a statement."""
        if self._first is not None:
            raise _torn(self._first)


def _torn(first: MinedRow) -> Exception:
    return LOG_INCONSISTENT(scn=first.scn, thread=first.thread, reason="a statement has no end")

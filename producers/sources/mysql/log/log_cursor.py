"""The current place in the log, and the other parts of a position there.  Pure.

A file can be larger than 4 GB because of one transaction, but an event contains only the low 32 bits of its
place.  We see every event of the file, so the high bits follow from the order; a heartbeat of the second kind
contains all 64.
"""

from collections.abc import Mapping
from dataclasses import replace

from wrackline.producers.sources.mysql.events.gtids import MariaDbGtid, MariaDbGtids, MySqlGtid
from wrackline.producers.sources.mysql.log.dump_refusals import LOG_ANOTHER
from wrackline.producers.sources.mysql.log.position import (
    MySqlHistory,
    MySqlPosition,
    PreparedXa,
    file_number,
)
from wrackline.schemas.tables.table import TableId

_LOW = 1 << 32


class LogCursor:
    """Follows the events of one dump; `gtids`, `names` and `prepared` include only ended transactions."""

    def __init__(self, start: MySqlPosition, server: str) -> None:
        known = start.history
        self.history = MySqlHistory(server, known.file if known else "", known.begun if known else 0)
        self.number, self.offset = start.file, start.offset
        self.gtids, self.names = start.gtids, start.names
        self.prepared, self._cut = start.prepared, start.cut
        self._epoch = start.epoch
        self._inside = start if start.done else None  # the transaction that is read first

    def names_in(self, table: TableId) -> Mapping[str, str]:
        """Return a table's renamed columns, each with its first name."""
        return self.names.get(str(table), {})

    def moved(self, file: str, offset: int) -> None:
        """Continue in another file; its format description will say when it was begun."""
        begun = self.history.begun if file == self.history.file else 0
        self.history = MySqlHistory(self.history.server, file, begun)
        self.number, self.offset = file_number(file), offset

    def begun(self, when: int) -> None:
        """Take when the file was begun; a file that was begun at another time is another file."""
        known = self.history
        if known.begun and known.begun != when:
            raise LOG_ANOTHER(
                reason=f"{known.file} was created at {when}, but the one that was read was created at"
                f" {known.begun}"
            )
        self.history = MySqlHistory(known.server, known.file, when)

    def passed(self, low: int) -> None:
        """Move to the end of an event, at an offset with these low bits."""
        offset = self.offset - self.offset % _LOW + low
        self.offset = offset if offset >= self.offset else offset + _LOW

    def is_behind(self, at: MySqlPosition) -> bool:
        """Whether this is later than a position between two transactions, or inside one."""
        return (self.number, self.offset) > (at.file, at.offset)

    def here(self) -> MySqlPosition:
        """Return the current place, which is between two transactions."""
        return self._at(self.offset, None)

    def entered(self, gtid: MySqlGtid | MariaDbGtid | None, size: int) -> tuple[MySqlPosition, int]:
        """Return where the current transaction begins, and how many of its changes are published."""
        out = 0
        if self._inside is not None:
            out = self._resumed(self._inside, size)
            self._inside = None
        elif self._cut and str(gtid) in self._cut:
            out = self._cut[str(gtid)]
            self._cut = {other: done for other, done in self._cut.items() if other != str(gtid)}
        return self._at(self.offset - size, None if gtid is None else str(gtid)), out

    def _at(self, offset: int, inside: str | None) -> MySqlPosition:
        return MySqlPosition(
            self._epoch,
            self.number,
            offset,
            0,
            self.history,
            self.gtids,
            self.names,
            self.prepared,
            inside,
            self._cut,
        )

    def _resumed(self, inside: MySqlPosition, size: int) -> int:
        if (self.number, self.offset - size) != (inside.file, inside.offset):
            file = inside.history.file if inside.history else inside.file
            raise LOG_ANOTHER(reason=f"no transaction begins in {file} at {inside.offset}")
        return inside.done

    def prepares(self, xid: str, start: MySqlPosition, gtid: MySqlGtid | MariaDbGtid | None) -> None:
        """Note that the transaction at `start` has the rows of an XA transaction, which wait for its end."""
        after = None
        if isinstance(gtid, MariaDbGtid) and isinstance(start.gtids, MariaDbGtids):
            after = start.gtids.last(gtid.domain)
        made = PreparedXa(
            self.history.file if start.history is None else start.history.file,
            start.offset,
            str(gtid or ""),
            str(after or ""),
        )
        self.prepared = {**self.prepared, xid: made}

    def ended(self, xid: str) -> None:
        """Forget an XA transaction that was committed or rolled back."""
        self.prepared = {other: part for other, part in self.prepared.items() if other != xid}


def position_elsewhere(position: MySqlPosition) -> MySqlPosition | None:
    """Return a position as another server knows it, in the next epoch; None where it lacks a GTID."""
    cut: Mapping[str, int] = position.cut
    if position.done:
        if position.gtid is None:
            return None
        cut = {**cut, position.gtid: position.done}
    if any(part.file and not part.gtid for part in position.prepared.values()):
        return None
    return replace(
        position,
        epoch=position.epoch + 1,
        file=0,
        offset=0,
        done=0,
        history=None,
        gtid=None,
        cut=cut,
        prepared={xid: replace(part, file="", offset=0) for xid, part in position.prepared.items()},
    )

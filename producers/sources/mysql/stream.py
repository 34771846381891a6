"""The log of one server: polled, never waited for.

    poll      read the socket's data -> decoder -> batch
    confirm   nothing: a binlog does not record its readers
    silence   an idle server sends a heartbeat, four in the time that we wait for one
    amid      the first part of a transaction waits for the rest, which follows at once, as long as `poll` may
              wait: MariaDB may log that it rolled all of it back
    metadata  a server that no longer names columns ends the stream, before a table is set aside for it

The rows of an XA transaction come by a dump of their own, while the log's dump waits.  Only `poll` waits on
the socket, until its deadline.  Between polls the server waits with a full socket, for as long as the
session's setting allows (`net_write_timeout`).
"""

import select
from collections.abc import Callable
from typing import NamedTuple

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Batch, Fault, Position
from wrackline.producers.kit.catalogue_poller import CataloguePoller
from wrackline.producers.kit.wakeup import Wakeup
from wrackline.producers.sources.mysql.decode import MySqlDecoder
from wrackline.producers.sources.mysql.events.table_map import METADATA_MINIMAL
from wrackline.producers.sources.mysql.follow.table_tracker import MySqlCatalogueSnapshot
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.producers.sources.mysql.transactions.xa_part_dump import XaPartDump
from wrackline.producers.sources.mysql.transactions.xa_parts import XaPart
from wrackline.schemas.errors import OperatorNeeded, Transient, define

LOG_SILENT = define(
    "mysql.log_silent",
    Transient,
    "the server has been silent on the stream of its log for {seconds:g} s, without even a heartbeat",
    hint="check whether the network between here and the server drops idle connections; the stream is"
    " opened again at the last committed position",
)
METADATA_OFF = define(
    "mysql.metadata_off",
    OperatorNeeded,
    "the server no longer names columns in its log: binlog_row_metadata is {metadata}",
    hint="as an administrator: SET GLOBAL binlog_row_metadata = FULL; and under [mysqld] in the server's"
    " file: binlog_row_metadata=FULL; then start the pipeline again: a table that was changed in the"
    " meantime is set aside, and its error says how to read it again",
)


class StreamServices(NamedTuple):
    """What a stream has to do with its server beside the dump."""

    end: Callable[[], None]  # ends the server's dump, which may not notice for long
    part: Callable[[XaPart], XaPartDump]  # opens another dump
    metadata: Callable[[], str]  # asks how much the log says about columns now


class MySqlStream:
    """One dump, which has begun."""

    def __init__(
        self,
        packets: Packets,
        decoder: MySqlDecoder,
        around: Surroundings,
        watch: CataloguePoller[MySqlCatalogueSnapshot],
        *,
        most_silence: float,
        beside: StreamServices,
    ) -> None:
        """Take the dump, its decoder, and the watch over the catalogue."""
        self._packets, self._decoder, self._around, self._watch = packets, decoder, around, watch
        self._most_silence, self._beside = most_silence, beside
        self._part: XaPartDump | None = None
        self._silent_since: float | None = None  # nothing has arrived since this time
        self._bell = Wakeup()
        self._closed = False
        watch.start(self._bell.set)

    def poll(self, deadline: float) -> Batch | None:
        """Return the available batch; wait for it at most until the deadline."""
        may_wait = self._around.monotonic() < deadline
        while True:
            drained = self._read_ahead()
            if (picture := self._watch.take(self._decoder.passed)) is not None:
                self._decoder.look(picture)
            left = deadline - self._around.monotonic()
            amid = drained and self._decoder.open is not None
            over = may_wait and left <= 0
            if (over or not amid) and (batch := self._decoder.take()) is not None:
                self._mind_metadata(batch)
                return batch
            if left <= 0:
                return None
            if drained:
                self._mind_silence()
                wire, bell = self._flowing().fileno(), self._bell.fileno()
                heard, _, _ = select.select([wire, bell], [], [], min(left, self._most_silence))
                if wire in heard:
                    self._silent_since = None  # also for an incomplete event
                if bell in heard:
                    self._bell.clear()
                    return None

    def wake(self) -> None:
        """End a wait in `poll`, so that its caller looks elsewhere."""
        self._bell.set()

    def confirm(self, position: Position) -> None:
        """Do nothing: the server itself decides how long it keeps its log."""

    def keep_alive(self) -> None:
        """Do nothing: the server needs no answer."""

    def ask(self) -> None:
        """Report the log's place: the server sends all that it has at once, so no question is needed."""
        self._decoder.say()

    def close(self) -> None:
        """End the dump, so that the server releases it now."""
        if not self._closed:
            self._closed = True
            self._watch.close()
            self._packets.close()
            self._bell.close()
            self._close_part()
            self._beside.end()

    def _read_ahead(self) -> bool:
        """Take events until a batch is full, enough was read, or the socket is empty: then true.

        A transaction of a million rows that are not captured makes no batch, and must still return.
        """
        decoder, packets, left = self._decoder, self._flowing(), self._around.most_batch_bytes
        while not decoder.full and left > 0:
            event = packets.take()
            if event is not None:
                data, at, end = event
                left -= end - at
                decoder.feed(data, at, end)
                packets = self._flowing()
            elif packets.fill():
                self._silent_since = None
            else:
                return True
        return False

    def _flowing(self) -> Packets | XaPartDump:
        """Return the packets that the decoder wants."""
        wanted = self._decoder.wanted
        if wanted is None:
            if self._part is not None:
                self._close_part()
            return self._packets
        if self._part is None:
            self._part = self._beside.part(wanted)
        return self._part

    def _close_part(self) -> None:
        if self._part is not None:
            self._part.close()
            self._part = None

    def _mind_metadata(self, batch: Batch) -> None:
        """End the stream while columns have no names: otherwise all tables would be set aside."""
        faults = (step.error for step in batch.steps if isinstance(step, Fault))
        if any(error.code == METADATA_MINIMAL.code for error in faults):
            metadata = self._beside.metadata()
            if metadata != "FULL":
                raise METADATA_OFF(metadata=metadata)

    def _mind_silence(self) -> None:
        """Give up a silent server, but only while we listen to it."""
        now = self._around.monotonic()
        if self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since >= self._most_silence:
            raise LOG_SILENT(seconds=self._most_silence)

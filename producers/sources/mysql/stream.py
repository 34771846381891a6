"""The log of one server: polled, never waited for.

    poll      read what the socket holds -> decoder -> batch
    confirm   nothing: a binlog has no reader's mark
    silence   a server with nothing to say sends a heartbeat, four in the time that we wait for one
    amid      what has come of a transaction waits for the rest, which follows at once, as long as `poll` may
              wait: MariaDB may log that it took it all back
    metadata  a server that names no columns any more ends the stream, before a table is set aside for it

The rows of an XA transaction come by a dump of their own, while the log's waits.  Only `poll` waits, for the
socket, until its deadline.  While nobody polls, the server waits with a full socket, for as long as the
session was told to (`net_write_timeout`).
"""

import select
from collections.abc import Callable
from typing import NamedTuple

from wrackline.producers.bell import Bell
from wrackline.producers.changes import Batch, Fault, Position
from wrackline.producers.plugin import Surroundings
from wrackline.producers.sources.mysql.decode import Decoder
from wrackline.producers.sources.mysql.packets import Packets
from wrackline.producers.sources.mysql.part_dump import PartDump
from wrackline.producers.sources.mysql.prepared import Part
from wrackline.producers.sources.mysql.roll import Picture
from wrackline.producers.sources.mysql.table_map import METADATA_MINIMAL
from wrackline.producers.watch import Watch
from wrackline.schemas.errors import OperatorNeeded, Transient, define

LOG_SILENT = define(
    "mysql.log_silent",
    Transient,
    "the server has said nothing on the stream of its log for {seconds:g} s, not even that it is there",
    hint="see whether the network between here and the server drops connections that it leaves open; "
    "the stream is opened again at the last committed position",
)
METADATA_OFF = define(
    "mysql.metadata_off",
    OperatorNeeded,
    "the server does not name columns in its log any more: binlog_row_metadata is {metadata}",
    hint="as an administrator: SET GLOBAL binlog_row_metadata = FULL; and under [mysqld] in the server's "
    "file: binlog_row_metadata=FULL; then start the pipeline again: a table that was written meanwhile is "
    "set aside, and its error says how it is read anew",
)


class Beside(NamedTuple):
    """What a stream has to do with its server beside the dump."""

    end: Callable[[], None]  # ends the dump there, which may not notice by itself for long
    part: Callable[[Part], PartDump]  # opens another one
    metadata: Callable[[], str]  # asks how much the log says of columns now


class MySqlStream:
    """One dump, which has begun to flow."""

    def __init__(
        self,
        packets: Packets,
        decoder: Decoder,
        around: Surroundings,
        watch: Watch[Picture],
        *,
        most_silence: float,
        beside: Beside,
    ) -> None:
        """Take the dump, what is made of it, and the watch over the catalogue."""
        self._packets, self._decoder, self._around, self._watch = packets, decoder, around, watch
        self._most_silence, self._beside = most_silence, beside
        self._part: PartDump | None = None
        self._silent_since: float | None = None  # nothing has come since we looked at this time
        self._bell = Bell()
        self._closed = False
        watch.start(self._bell.ring)

    def poll(self, deadline: float) -> Batch | None:
        """Return what is there; wait for it until the deadline at most."""
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
                    self._silent_since = None  # also of an event that is still on its way
                if bell in heard:
                    self._bell.hush()
                    return None

    def wake(self) -> None:
        """Have who waits here look elsewhere."""
        self._bell.ring()

    def confirm(self, position: Position) -> None:
        """Nothing is told: the server keeps its log for as long as it likes."""

    def keep_alive(self) -> None:
        """Nothing is asked of us."""

    def ask(self) -> None:
        """Say where the log stands: all that the server has is sent at once, so nothing need be asked."""
        self._decoder.say()

    def close(self) -> None:
        """End the dump, so that the server lets go of it now."""
        if not self._closed:
            self._closed = True
            self._watch.close()
            self._packets.close()
            self._bell.close()
            self._close_part()
            self._beside.end()

    def _read_ahead(self) -> bool:
        """Take events until a batch is full, enough was read, or the socket is empty: then true.

        A transaction of a million rows that nobody captures makes no batch and must let go all the same.
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

    def _flowing(self) -> Packets | PartDump:
        """Return what the decoder wants to be fed from."""
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
        """What is missing from the log stays missing; but while more of it comes, all tables would go."""
        faults = (step.error for step in batch.steps if isinstance(step, Fault))
        if any(error.code == METADATA_MINIMAL.code for error in faults):
            metadata = self._beside.metadata()
            if metadata != "FULL":
                raise METADATA_OFF(metadata=metadata)

    def _mind_silence(self) -> None:
        """Only a server that we listen to can be given up."""
        now = self._around.monotonic()
        if self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since >= self._most_silence:
            raise LOG_SILENT(seconds=self._most_silence)

"""The log of one server: polled, never waited for.

    poll      read what the socket holds -> decoder -> batch
    confirm   nothing: a binlog has no reader's mark
    silence   a server with nothing to say sends a heartbeat, four in the time that we wait for one

Only `poll` waits, for the socket, until its deadline.  While nobody polls, the server waits with a full
socket, for as long as the session was told to (`net_write_timeout`).
"""

import select
from collections.abc import Callable

from wrackline.producers.changes import Batch, Position
from wrackline.producers.plugin import Surroundings
from wrackline.producers.sources.mysql.decode import Decoder
from wrackline.producers.sources.mysql.packets import Packets
from wrackline.schemas.errors import Transient, define

LOG_SILENT = define(
    "mysql.log_silent",
    Transient,
    "the server has said nothing on the stream of its log for {seconds:g} s, not even that it is there",
    hint="see whether the network between here and the server drops connections that it leaves open; "
    "the stream is opened again at the last committed position",
)


class MySqlStream:
    """One dump, which has begun to flow."""

    def __init__(
        self,
        packets: Packets,
        decoder: Decoder,
        around: Surroundings,
        *,
        most_silence: float,
        end: Callable[[], None],
    ) -> None:
        """Take how to end the dump on the server, which may not notice by itself for long."""
        self._packets, self._decoder, self._around = packets, decoder, around
        self._most_silence, self._end = most_silence, end
        self._silent_since: float | None = None  # nothing has come since we looked at this time
        self._closed = False

    def poll(self, deadline: float) -> Batch | None:
        """Return what is there; wait for it until the deadline at most."""
        while True:
            drained = self._read_ahead()
            if (batch := self._decoder.take()) is not None:
                return batch
            left = deadline - self._around.monotonic()
            if left <= 0:
                return None
            if drained:
                self._mind_silence()
                if select.select([self._packets], [], [], min(left, self._most_silence))[0]:
                    self._silent_since = None  # also of an event that is still on its way

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
            self._packets.close()
            self._end()

    def _read_ahead(self) -> bool:
        """Take events until a batch is full, enough was read, or the socket is empty: then true.

        A transaction of a million rows that nobody captures makes no batch and must let go all the same.
        """
        decoder, packets, left = self._decoder, self._packets, self._around.most_batch_bytes
        while not decoder.full and left > 0:
            event = packets.take()
            if event is not None:
                data, at, end = event
                left -= end - at
                decoder.feed(data, at, end)
            elif packets.fill():
                self._silent_since = None
            else:
                return True
        return False

    def _mind_silence(self) -> None:
        """Only a server that we listen to can be given up."""
        now = self._around.monotonic()
        if self._silent_since is None:
            self._silent_since = now
        elif now - self._silent_since >= self._most_silence:
            raise LOG_SILENT(seconds=self._most_silence)

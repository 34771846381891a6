"""The log of one server, as the wire of a polled stream.

    read      events of the socket's data -> decoder, until the batch is full or the socket is empty
    confirm   nothing: a binlog does not record its readers
    silence   an idle server sends a heartbeat, four in the time that we wait for one
    amid      the first part of a transaction waits for the rest, which follows at once, as long as `poll` may
              wait: MariaDB may log that it rolled all of it back
    metadata  a server that no longer names columns ends the stream, before a table is set aside for it

The rows of an XA transaction come by a dump of their own, while the log's dump waits.  Between polls the
server waits with a full socket, for as long as the session's setting allows (`net_write_timeout`).
"""

from collections.abc import Callable
from contextlib import ExitStack
from typing import NamedTuple, TypeAlias

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Batch, Fault, Position
from wrackline.producers.kit.polled_stream import LONGEST_READ_S, PolledStream, ReadState, SilenceWatch
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

MySqlStream: TypeAlias = PolledStream[MySqlCatalogueSnapshot]


class StreamServices(NamedTuple):
    """What a stream has to do with its server beside the dump."""

    end: Callable[[], None]  # ends the server's dump, which may not notice for long
    part: Callable[[XaPart], XaPartDump]  # opens another dump
    metadata: Callable[[], str]  # asks how much the log says about columns now


class MySqlLogWire:
    """One dump, which has begun."""

    def __init__(
        self,
        packets: Packets,
        decoder: MySqlDecoder,
        around: Surroundings,
        *,
        most_silence: float,
        beside: StreamServices,
    ) -> None:
        """Take the dump, and its decoder."""
        self._packets, self._decoder, self._beside = packets, decoder, beside
        self._most_bytes, self._monotonic = around.most_batch_bytes, around.monotonic
        self.longest_wait = most_silence
        self.silence = SilenceWatch(around.monotonic, most_silence)
        self._part: XaPartDump | None = None

    def fileno(self) -> int:
        """Return the socket of the packets that the decoder wants."""
        return self._flowing().fileno()

    def read_ahead(self) -> ReadState:
        """Take events until a batch is full, enough was read, or the socket is empty.

        A transaction of a million rows that are not captured makes no batch, and must still return.  So must
        the first changes of ten thousand tables, each of which asks the catalogue and the registry.
        """
        decoder, packets, left = self._decoder, self._flowing(), self._most_bytes
        until = self._monotonic() + LONGEST_READ_S
        while not decoder.full and left > 0 and self._monotonic() < until:
            event = packets.take()
            if event is not None:
                data, at, end = event
                left -= end - at
                decoder.feed(data, at, end)
                packets = self._flowing()
            elif packets.fill():
                self.silence.hear()
            else:
                return ReadState.DRAINED if decoder.open is None else ReadState.AMID
        return ReadState.MORE

    def passed(self, picture: MySqlCatalogueSnapshot) -> bool:
        """Whether the log has passed all that a picture shows."""
        return self._decoder.passed(picture)

    def look(self, picture: MySqlCatalogueSnapshot) -> None:
        """Take a picture of the catalogue that the log has passed."""
        self._decoder.look(picture)

    def take(self) -> Batch | None:
        """Hand out the steps so far; end the stream while columns have no names.

        Otherwise all tables would be set aside.
        """
        batch = self._decoder.take()
        faults = (step.error for step in batch.steps if isinstance(step, Fault)) if batch else ()
        if any(error.code == METADATA_MINIMAL.code for error in faults):
            metadata = self._beside.metadata()
            if metadata != "FULL":
                raise METADATA_OFF(metadata=metadata)
        return batch

    def mind_silence(self, periods: int) -> None:
        """Give up a silent server: its heartbeats did not come."""
        raise LOG_SILENT(seconds=periods * self.silence.period)

    def confirm(self, position: Position) -> None:
        """Do nothing: the server itself decides how long it keeps its log."""

    def keep_alive(self) -> None:
        """Do nothing: the server needs no answer."""

    def ask(self) -> None:
        """Report the log's place: the server sends all that it has at once, so no question is needed."""
        self._decoder.say()

    def close(self) -> None:
        """End the dump, so that the server releases it now."""
        with ExitStack() as ends:
            ends.callback(self._beside.end)
            ends.callback(self._close_part)
            ends.callback(self._packets.close)  # first, because the last is called first

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

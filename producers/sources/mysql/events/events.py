"""A binlog's events: the frame of every event, and the content of the small events.  Pure.

    time 4 | kind 1 | server 4 | size 4 | next position 4 | flags 2 | body … | checksum 4, if the log has them

In: bytes, and where an event is in them.  Out: the end of its body, the checksum verified; and for all events
except table maps and rows a dataclass.  An event of an unknown kind is an error unless the server marked it
as ignorable (T-M01), so nothing is ever silently left out.

Positions are 32 bits wide here.  The next position of an event that a server makes up (`artificial`: a rotate
at the start of a dump, a format description in the middle of a file) is 0 or means nothing.
"""

import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from wrackline.producers.sources.mysql.events import event_kinds, tagged_gtid
from wrackline.producers.sources.mysql.events.gtids import MariaDbGtid, MariaDbGtids, MySqlGtid, MySqlGtids
from wrackline.producers.sources.mysql.events.packed_numbers import packed_number
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, define
from wrackline.schemas.events.frame import moment

HEADER = 19
CUT_SIZE = HEADER + 8  # what is left of a cut event: for rows, it contains the number of their table
CHECKSUM = 4
_HEADER = struct.Struct("<IBIIIH")
_ARTIFICIAL = 0x20
_MOST_OFFSET = (1 << 63) - 1
_IGNORABLE = 0x80
_WHOLE = 0x2144_DF1C  # the CRC32 of any data with its own CRC32 behind it
_SMALL = 1 << 14  # up to here a copy costs less than a view
_HAS_SECOND_TIMESTAMP = 1 << 55
_START_ALTER, _ROLLBACK_ALTER = 2, 8  # MariaDB's ALTER in two phases

CHECKSUM_WRONG = define(
    "mysql.event_damaged",
    Transient,
    "an event of the kind {kind} before position {position} has a wrong checksum",
    hint="it is requested again automatically; if that fails in the same way, the file is damaged on the"
    " server: mysqlbinlog --verify-binlog-checksum <file>",
)
EVENT_BROKEN = define(
    "mysql.event_broken",
    Definite,
    "an event of the kind {kind} before position {position} has an unknown layout: {reason}",
    hint="report it with the server's version: SELECT version()",
)
EVENT_UNKNOWN = define(
    "mysql.event_unknown",
    Definite,
    "the log has an event of the unknown kind {kind} before position {position}, which may contain changes",
    hint="report it with the server's version: SELECT version(); to continue without its changes:"
    " wrackline offsets reset <pipeline.toml>, then read the tables again",
)
LOG_INCIDENT = define(
    "mysql.log_incident",
    Definite,
    "the server wrote into its log, before position {position}, that changes are missing there",
    hint="see the server's error log for the reason; then start over:"
    " wrackline offsets reset <pipeline.toml>",
)
LOG_ENCRYPTED = define(
    "mysql.log_encrypted",
    OperatorNeeded,
    "the log after position {position} is encrypted",
    hint="read the log from the server itself, which decrypts it; a copy of its files remains encrypted",
)


class Header(NamedTuple):
    """The frame's fields."""

    timestamp: int  # seconds: when the statement began; for a format description, when the file was begun
    kind: int
    server_id: int
    size: int
    next: int
    flags: int

    @property
    def artificial(self) -> bool:
        """Whether the server made up the event while it sent the log."""
        return bool(self.flags & _ARTIFICIAL)

    @property
    def ignorable(self) -> bool:
        """Whether a reader that does not know the kind may skip the event."""
        return bool(self.flags & _IGNORABLE)


def reason_of(exc: Exception) -> str:
    """Say what was wrong in our own words; the words of Python's readers show bytes of the data."""
    return str(exc) if type(exc) is ValueError else type(exc).__name__


def header(data: bytes, at: int) -> Header:
    """Read the frame of the event that begins here."""
    return Header(*_HEADER.unpack_from(data, at))


def is_cut(data: bytes, at: int, end: int) -> bool:
    """Whether only the head of an event is here, because it is larger than our limit."""
    if end - at != CUT_SIZE or data[at + 4] not in event_kinds.CUT:
        return False
    return header(data, at).size > CUT_SIZE + CHECKSUM


class Xid(NamedTuple):
    """The name of an XA transaction."""

    format: int
    gtrid: bytes
    bqual: bytes

    def __str__(self) -> str:
        number = self.format & 0xFFFF_FFFF  # events have no room for more of it, statements do
        return f"X'{self.gtrid.hex()}',X'{self.bqual.hex()}',{number}"


@dataclass(frozen=True, slots=True)
class FormatDescription:
    """The first event of each file; `begun` names the file's history, because `created` is mostly 0."""

    server_version: str
    begun: int
    created: int
    checksums: bool
    post_headers: bytes  # by kind - 1: how long the fixed part of the body is

    def post_header(self, kind: int) -> int:
        """Return how many bytes of a kind's body are fixed; 0 for a kind that this server does not know."""
        return self.post_headers[kind - 1] if kind <= len(self.post_headers) else 0


@dataclass(frozen=True, slots=True)
class RotateEvent:
    """The log continues in another file; an artificial rotate only says where we are."""

    file: str
    offset: int
    artificial: bool


@dataclass(frozen=True, slots=True)
class GtidEvent:
    """MySQL's GTID event, or the anonymous event, whose `gtid` is None; times in microseconds, 0: unknown."""

    gtid: MySqlGtid | None
    committed_us: int
    committed_first_us: int  # on the server where the transaction was first committed
    length: int  # bytes of the whole transaction in the file, this event included; 0: unknown


@dataclass(frozen=True, slots=True)
class MariaDbGtidEvent:
    """MariaDB's GTID event, which replaces BEGIN."""

    gtid: MariaDbGtid
    flags: int
    xid: Xid | None = None
    extra: int = 0  # more flags, from 10.8 on

    @property
    def standalone(self) -> bool:
        """Whether only one event follows, without a COMMIT."""
        return bool(self.flags & 1)

    @property
    def ddl(self) -> bool:
        """Whether it contains a DDL statement."""
        return bool(self.flags & 32)

    @property
    def prepared(self) -> bool:
        """Whether it is the part of an XA transaction up to XA PREPARE."""
        return bool(self.flags & 64)

    @property
    def completed(self) -> bool:
        """Whether it is an XA transaction's end, COMMIT or ROLLBACK."""
        return bool(self.flags & 128)

    @property
    def alters_nothing(self) -> bool:
        """Whether it is an ALTER's beginning, or the end of a failed ALTER: only COMMIT ALTER counts."""
        return bool(self.extra & (_START_ALTER | _ROLLBACK_ALTER))


@dataclass(frozen=True, slots=True)
class GtidList:
    """What MariaDB's log had up to the start of the file; `every` may have several servers of a domain."""

    gtids: MariaDbGtids
    every: tuple[MariaDbGtid, ...]


@dataclass(frozen=True, slots=True)
class PreviousGtids:
    """What MySQL's log had up to the beginning of the file."""

    gtids: MySqlGtids


@dataclass(frozen=True, slots=True)
class QueryEvent:
    """A logged statement, in bytes of its client's charset (a collation's number; None: unknown)."""

    thread: int
    error: int
    database: str
    text: bytes
    charset: int | None
    sql_mode: int | None
    loads_file: bool = False  # LOAD DATA, logged as a statement


@dataclass(frozen=True, slots=True)
class XidEvent:
    """XID: the transaction is committed."""

    xid: int


@dataclass(frozen=True, slots=True)
class XaPrepareEvent:
    """The end of an XA transaction's first part; `one_phase`: this also commits it."""

    one_phase: bool
    xid: Xid


@dataclass(frozen=True, slots=True)
class LogHeartbeatEvent:
    """Nothing to send; the log has been sent up to here."""

    file: str
    offset: int


SmallEvent: TypeAlias = (
    FormatDescription
    | RotateEvent
    | GtidEvent
    | MariaDbGtidEvent
    | GtidList
    | PreviousGtids
    | QueryEvent
    | XidEvent
    | XaPrepareEvent
    | LogHeartbeatEvent
)


class Frames:
    """Removes the checksums from one dump's events, whose format descriptions say whether there are any."""

    def __init__(self) -> None:
        self._checksums = False

    def body_end(self, data: bytes, at: int, end: int) -> int:
        """Verify the event at this place and return where its body ends.

        A format description always has room for a checksum.  A made-up rotate comes before it is known
        whether there are checksums: it has one if its last four bytes are a checksum.
        """
        if end - at < HEADER:
            raise EVENT_BROKEN(kind=0, position=0, reason="it is too short")
        kind = data[at + 4]
        if is_cut(data, at, end):  # its checksum was dropped with its rest
            return end
        if kind == event_kinds.FORMAT_DESCRIPTION:
            self._checksums = bool(data[end - CHECKSUM - 1])
            if not self._checksums:
                return end - CHECKSUM
        elif kind == event_kinds.ROTATE and data[at + 17] & _ARTIFICIAL:
            return end - CHECKSUM if zlib.crc32(data[at:end]) == _WHOLE else end
        elif not self._checksums:
            return end
        if zlib.crc32(memoryview(data)[at:end] if end - at > _SMALL else data[at:end]) != _WHOLE:
            raise CHECKSUM_WRONG(kind=kind, position=header(data, at).next)
        return end - CHECKSUM


def small_event(data: bytes, at: int, end: int) -> SmallEvent | None:
    """Read an event that is not a table map, has no rows and is not packed; None: nothing in it is for us.

    `end` is where its body ends.
    """
    kind = data[at + 4]
    read = _READERS.get(kind)
    if read is not None:
        try:
            return read(data, at, end)
        except (struct.error, LookupError, ValueError, ArithmeticError) as exc:
            raise EVENT_BROKEN(kind=kind, position=header(data, at).next, reason=reason_of(exc)) from None
    found = header(data, at)
    if kind in event_kinds.PASSED_BY or found.ignorable:
        return None
    if kind == event_kinds.INCIDENT:
        raise LOG_INCIDENT(position=found.next)
    if kind == event_kinds.START_ENCRYPTION:
        raise LOG_ENCRYPTED(position=found.next)
    raise EVENT_UNKNOWN(kind=kind, position=found.next)


def _format_description(data: bytes, at: int, end: int) -> FormatDescription:
    version, server, created, header_size = struct.unpack_from("<H50sIB", data, at + HEADER)
    if (version, header_size) != (4, HEADER):
        raise ValueError(f"binlog version {version} with headers of {header_size} bytes")
    (begun,) = struct.unpack_from("<I", data, at)
    text = server.rstrip(b"\0").decode()
    return FormatDescription(text, begun, created, bool(data[end - 1]), data[at + HEADER + 57 : end - 1])


def _rotate(data: bytes, at: int, end: int) -> RotateEvent:
    (offset,) = struct.unpack_from("<Q", data, at + HEADER)
    return RotateEvent(
        data[at + HEADER + 8 : end].decode(), _offset(offset), bool(data[at + 17] & _ARTIFICIAL)
    )


def _gtid(data: bytes, at: int, end: int) -> GtidEvent:
    uuid, number = struct.unpack_from("<x16sq", data, at + HEADER)
    gtid = MySqlGtid(tagged_gtid.source(uuid, ""), number) if data[at + 4] == event_kinds.GTID else None
    place = at + HEADER + 42
    if place + 7 > end:  # 5.7 has no times
        return GtidEvent(gtid, 0, 0, 0)
    committed = int.from_bytes(data[place : place + 7], "little")
    place += 7
    first = committed
    if committed & _HAS_SECOND_TIMESTAMP:
        committed ^= _HAS_SECOND_TIMESTAMP
        first = int.from_bytes(data[place : place + 7], "little")
        place += 7
    length = packed_number(data, place, end)[0] if place < end else 0
    return GtidEvent(gtid, moment(committed), moment(first), length)


def _tagged_gtid(data: bytes, at: int, end: int) -> GtidEvent:
    found = tagged_gtid.fields(data, at + HEADER, end)
    committed, first = moment(found.committed_us), moment(found.committed_first_us)
    return GtidEvent(found.gtid, committed, first, found.length)


def _mariadb_gtid(data: bytes, at: int, end: int) -> MariaDbGtidEvent:
    sequence, domain, flags = struct.unpack_from("<QIB", data, at + HEADER)
    gtid = MariaDbGtid(domain, header(data, at).server_id, sequence)
    made = MariaDbGtidEvent(gtid, flags)
    place = at + HEADER + 13 + (8 if flags & 2 else 0)  # a group commit's number comes first
    xid = None
    if made.prepared or made.completed:
        form, gtrid, bqual = struct.unpack_from("<IBB", data, place)
        place += 6
        xid = _xid(form, data[place:end], gtrid, bqual)
        place += gtrid + bqual
    return MariaDbGtidEvent(gtid, flags, xid, data[place] if place < end else 0)


def _mariadb_gtid_list(data: bytes, at: int, end: int) -> GtidList:
    (count,) = struct.unpack_from("<I", data, at + HEADER)
    count &= (1 << 28) - 1  # above are flags
    place = at + HEADER + 4
    if place + 16 * count > end:
        raise ValueError("more GTIDs than bytes")
    found = [struct.unpack_from("<IIQ", data, place + 16 * number) for number in range(count)]
    every = tuple(MariaDbGtid(domain, server, sequence) for domain, server, sequence in found)
    gtids = MariaDbGtids()
    for gtid in every:  # the last written server of a domain comes last
        gtids = gtids.with_(gtid)
    return GtidList(gtids, every)


def _previous_gtids(data: bytes, at: int, end: int) -> PreviousGtids:
    return PreviousGtids(MySqlGtids.decoded(data[at + HEADER : end]))


def _query(data: bytes, at: int, end: int) -> QueryEvent:
    thread, _, database, error, status = struct.unpack_from("<IIBHH", data, at + HEADER)
    loads_file = data[at + 4] == event_kinds.EXECUTE_LOAD_QUERY
    place = at + HEADER + (26 if loads_file else 13)
    charset, sql_mode = _session(data[place : place + status])
    place += status
    text = place + database + 1
    if text > end:
        raise ValueError("its parts are longer than it is")
    name = data[place : place + database].decode()
    return QueryEvent(thread, error, name, data[text:end], charset, sql_mode, loads_file)


def _session(status: bytes) -> tuple[int | None, int | None]:
    """Find charset and sql_mode, which are among the first values that a server writes."""
    charset = sql_mode = None
    at = 0
    while at < len(status):
        code = status[at]
        at += 1
        if code == 1:
            (sql_mode,) = struct.unpack_from("<Q", status, at)
        elif code == 4:
            (charset,) = struct.unpack_from("<H", status, at)
        if code not in _STATUS_SIZES:
            break
        at += _STATUS_SIZES[code] or 1 + status[at]
    return charset, sql_mode


_STATUS_SIZES = MappingProxyType({0: 4, 1: 8, 3: 4, 4: 6, 6: 0})  # 6, the catalogue, contains its own length


def _committed(data: bytes, at: int, end: int) -> XidEvent:  # noqa: ARG001 as all readers
    return XidEvent(*struct.unpack_from("<Q", data, at + HEADER))


def _xa_prepared(data: bytes, at: int, end: int) -> XaPrepareEvent:
    one_phase, form, gtrid, bqual = struct.unpack_from("<BIII", data, at + HEADER)
    return XaPrepareEvent(bool(one_phase), _xid(form, data[at + HEADER + 13 : end], gtrid, bqual))


def _xid(form: int, parts: bytes, gtrid: int, bqual: int) -> Xid:
    if gtrid + bqual > len(parts):
        raise ValueError("an xid that is longer than its event")
    return Xid(form, parts[:gtrid], parts[gtrid : gtrid + bqual])


def _heartbeat(data: bytes, at: int, end: int) -> LogHeartbeatEvent:
    return LogHeartbeatEvent(data[at + HEADER : end].decode(), header(data, at).next)


def _heartbeat_v2(data: bytes, at: int, end: int) -> LogHeartbeatEvent:
    file, offset = "", 0
    place = at + HEADER
    while place < end:
        field, place = packed_number(data, place, end)
        if field == 0:
            break
        size, place = packed_number(data, place, end)
        if field == 1:
            file = data[place : place + size].decode()
        elif field == 2:
            offset, _ = packed_number(data, place, end)
        place += size
    return LogHeartbeatEvent(file, _offset(offset))


def _offset(offset: int) -> int:
    if offset > _MOST_OFFSET:
        raise ValueError("a position that no file has")
    return offset


_READERS: Mapping[int, Callable[[bytes, int, int], SmallEvent]] = MappingProxyType(
    {
        event_kinds.FORMAT_DESCRIPTION: _format_description,
        event_kinds.ROTATE: _rotate,
        event_kinds.GTID: _gtid,
        event_kinds.ANONYMOUS_GTID: _gtid,
        event_kinds.TAGGED_GTID: _tagged_gtid,
        event_kinds.PREVIOUS_GTIDS: _previous_gtids,
        event_kinds.MARIADB_GTID: _mariadb_gtid,
        event_kinds.MARIADB_GTID_LIST: _mariadb_gtid_list,
        event_kinds.QUERY: _query,
        event_kinds.EXECUTE_LOAD_QUERY: _query,
        event_kinds.XID: _committed,
        event_kinds.XA_PREPARE: _xa_prepared,
        event_kinds.HEARTBEAT: _heartbeat,
        event_kinds.HEARTBEAT_V2: _heartbeat_v2,
    }
)

"""A binlog's events: the frame that all have, and what the small ones say.  Pure.

    time 4 | kind 1 | server 4 | size 4 | next position 4 | flags 2 | body … | checksum 4, if the log has them

In: bytes and where an event lies in them. Out: the end of its body, the checksum verified; and for all but
table maps and rows a dataclass.  An event of a kind that nobody here knows is an error unless the server
marked it as ignorable (T-M01), so nothing is ever left out in silence.

Positions are 32 bits wide here, and the next one of what a server makes up on the way (`artificial`: a rotate
at the start of a dump, a format description in the middle of a file) is 0 or means nothing.
"""

import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from wrackline.producers.sources.mysql import kinds, tagged
from wrackline.producers.sources.mysql.gtids import MariaDbGtid, MariaDbGtids, MySqlGtid, MySqlGtids
from wrackline.producers.sources.mysql.numbers import packed_number
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, define
from wrackline.schemas.frame import moment

HEADER = 19
CHECKSUM = 4
_HEADER = struct.Struct("<IBIIIH")
_ARTIFICIAL = 0x20
_MOST_OFFSET = (1 << 63) - 1
_IGNORABLE = 0x80
_WHOLE = 0x2144_DF1C  # the CRC32 of anything that has its own CRC32 behind it
_SMALL = 1 << 14  # up to here a copy costs less than a view
_HAS_SECOND_TIMESTAMP = 1 << 55
_START_ALTER, _ROLLBACK_ALTER = 2, 8  # MariaDB's ALTER in two phases

CHECKSUM_WRONG = define(
    "mysql.event_damaged",
    Transient,
    "an event of the kind {kind} before position {position} has a wrong checksum",
    hint="it is asked for again by itself; if that ends the same way the file is damaged on the server:"
    " mysqlbinlog --verify-binlog-checksum <file>",
)
EVENT_BROKEN = define(
    "mysql.event_broken",
    Definite,
    "an event of the kind {kind} before position {position} is not laid out as known here: {reason}",
    hint="report it with the server's version: SELECT version()",
)
EVENT_UNKNOWN = define(
    "mysql.event_unknown",
    Definite,
    "the log has an event of the kind {kind} before position {position}, which is not known here and may hold"
    " changes",
    hint="report it with the server's version: SELECT version(); to go on without what it holds:"
    " wrackline offsets reset <pipeline.toml>, then read the tables again",
)
LOG_INCIDENT = define(
    "mysql.log_incident",
    Definite,
    "the server wrote into its log, before position {position}, that changes are missing there",
    hint="see the server's error log for the reason; begin anew: wrackline offsets reset <pipeline.toml>",
)
LOG_ENCRYPTED = define(
    "mysql.log_encrypted",
    OperatorNeeded,
    "what follows position {position} of the log comes encrypted",
    hint="let the server itself send the log: it decrypts on the way, a copy of its files stays as it is",
)


class Header(NamedTuple):
    """The frame's fields."""

    timestamp: int  # seconds: when the statement began; of a format description, when the file was begun
    kind: int
    server_id: int
    size: int
    next: int
    flags: int

    @property
    def artificial(self) -> bool:
        """Whether the server made the event up while it sent the log."""
        return bool(self.flags & _ARTIFICIAL)

    @property
    def ignorable(self) -> bool:
        """Whether who does not know the kind may pass the event by."""
        return bool(self.flags & _IGNORABLE)


def in_short(exc: Exception) -> str:
    """Say what was wrong in our own words; those of Python's readers show bytes of what they read."""
    return str(exc) if type(exc) is ValueError else type(exc).__name__


def header(data: bytes, at: int) -> Header:
    """Read the frame of the event that begins here."""
    return Header(*_HEADER.unpack_from(data, at))


class Xid(NamedTuple):
    """The name of an XA transaction."""

    format: int
    gtrid: bytes
    bqual: bytes

    def __str__(self) -> str:
        number = self.format & 0xFFFF_FFFF  # events have room for no more of it, statements do
        return f"X'{self.gtrid.hex()}',X'{self.bqual.hex()}',{number}"


@dataclass(frozen=True, slots=True)
class FormatDescription:
    """The first event of each file; `begun` names the file's history, for `created` is mostly 0."""

    server_version: str
    begun: int
    created: int
    checksums: bool
    post_headers: bytes  # by kind - 1: how long the fixed part of the body is

    def post_header(self, kind: int) -> int:
        """Return how many bytes of a kind's body are fixed; 0 for one that this server does not know."""
        return self.post_headers[kind - 1] if kind <= len(self.post_headers) else 0


@dataclass(frozen=True, slots=True)
class Rotate:
    """The log goes on in another file; an artificial one says only where we are."""

    file: str
    offset: int
    artificial: bool


@dataclass(frozen=True, slots=True)
class TransactionBegun:
    """MySQL's GTID event, or the anonymous one, whose `gtid` is None; times in microseconds, 0: not told."""

    gtid: MySqlGtid | None
    committed_us: int
    committed_first_us: int  # on the server where the transaction began its life
    length: int  # bytes of the whole transaction in the file, this event included; 0: not told


@dataclass(frozen=True, slots=True)
class GroupBegun:
    """MariaDB's GTID event, which takes the place of BEGIN."""

    gtid: MariaDbGtid
    flags: int
    xid: Xid | None = None
    extra: int = 0  # more flags, from 10.8 on

    @property
    def standalone(self) -> bool:
        """Whether the one event that follows is all: no COMMIT comes."""
        return bool(self.flags & 1)

    @property
    def ddl(self) -> bool:
        """Whether it holds a statement of the schema."""
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
        """Whether it is an ALTER's beginning, or the end of one that failed: only COMMIT ALTER counts."""
        return bool(self.extra & (_START_ALTER | _ROLLBACK_ALTER))


@dataclass(frozen=True, slots=True)
class GtidList:
    """What MariaDB's log had up to the beginning of the file; `every` has several servers of one domain."""

    gtids: MariaDbGtids
    every: tuple[MariaDbGtid, ...]


@dataclass(frozen=True, slots=True)
class PreviousGtids:
    """What MySQL's log had up to the beginning of the file."""

    gtids: MySqlGtids


@dataclass(frozen=True, slots=True)
class Query:
    """A logged statement, in bytes of its client's charset (a collation's number; None: not told)."""

    thread: int
    error: int
    database: str
    text: bytes
    charset: int | None
    sql_mode: int | None
    loads_file: bool = False  # LOAD DATA, logged as a statement


@dataclass(frozen=True, slots=True)
class Committed:
    """XID: the transaction is committed."""

    xid: int


@dataclass(frozen=True, slots=True)
class XaPrepared:
    """The end of an XA transaction's first part; `one_phase`: it is committed by that."""

    one_phase: bool
    xid: Xid


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Nothing to send; the log has been sent up to here."""

    file: str
    offset: int


SmallEvent: TypeAlias = (
    FormatDescription
    | Rotate
    | TransactionBegun
    | GroupBegun
    | GtidList
    | PreviousGtids
    | Query
    | Committed
    | XaPrepared
    | Heartbeat
)


class Frames:
    """Takes the checksums off one dump's events, whose format descriptions say whether there are any."""

    def __init__(self) -> None:
        self._checksums = False

    def body_end(self, data: bytes, at: int, end: int) -> int:
        """Verify the event that lies here and return where its body ends.

        A format description always has room for a checksum.  A made-up rotate comes before anybody has said
        whether there are any: it has one if its last four bytes are one.
        """
        if end - at < HEADER:
            raise EVENT_BROKEN(kind=0, position=0, reason="it is too short")
        kind = data[at + 4]
        if kind == kinds.FORMAT_DESCRIPTION:
            self._checksums = bool(data[end - CHECKSUM - 1])
            if not self._checksums:
                return end - CHECKSUM
        elif kind == kinds.ROTATE and data[at + 17] & _ARTIFICIAL:
            return end - CHECKSUM if zlib.crc32(data[at:end]) == _WHOLE else end
        elif not self._checksums:
            return end
        if zlib.crc32(memoryview(data)[at:end] if end - at > _SMALL else data[at:end]) != _WHOLE:
            raise CHECKSUM_WRONG(kind=kind, position=header(data, at).next)
        return end - CHECKSUM


def small_event(data: bytes, at: int, end: int) -> SmallEvent | None:
    """Read an event that is no table map, holds no rows and is not packed; None: nothing in it is for us.

    `end` is where its body ends.
    """
    kind = data[at + 4]
    read = _READERS.get(kind)
    if read is not None:
        try:
            return read(data, at, end)
        except (struct.error, LookupError, ValueError, ArithmeticError) as exc:
            raise EVENT_BROKEN(kind=kind, position=header(data, at).next, reason=in_short(exc)) from None
    found = header(data, at)
    if kind in kinds.PASSED_BY or found.ignorable:
        return None
    if kind == kinds.INCIDENT:
        raise LOG_INCIDENT(position=found.next)
    if kind == kinds.START_ENCRYPTION:
        raise LOG_ENCRYPTED(position=found.next)
    raise EVENT_UNKNOWN(kind=kind, position=found.next)


def _format_description(data: bytes, at: int, end: int) -> FormatDescription:
    version, server, created, header_size = struct.unpack_from("<H50sIB", data, at + HEADER)
    if (version, header_size) != (4, HEADER):
        raise ValueError(f"binlog version {version} with headers of {header_size} bytes")
    (begun,) = struct.unpack_from("<I", data, at)
    text = server.rstrip(b"\0").decode()
    return FormatDescription(text, begun, created, bool(data[end - 1]), data[at + HEADER + 57 : end - 1])


def _rotate(data: bytes, at: int, end: int) -> Rotate:
    (offset,) = struct.unpack_from("<Q", data, at + HEADER)
    return Rotate(data[at + HEADER + 8 : end].decode(), _offset(offset), bool(data[at + 17] & _ARTIFICIAL))


def _gtid(data: bytes, at: int, end: int) -> TransactionBegun:
    uuid, number = struct.unpack_from("<x16sq", data, at + HEADER)
    gtid = MySqlGtid(tagged.source(uuid, ""), number) if data[at + 4] == kinds.GTID else None
    place = at + HEADER + 42
    if place + 7 > end:  # 5.7 tells no times
        return TransactionBegun(gtid, 0, 0, 0)
    committed = int.from_bytes(data[place : place + 7], "little")
    place += 7
    first = committed
    if committed & _HAS_SECOND_TIMESTAMP:
        committed ^= _HAS_SECOND_TIMESTAMP
        first = int.from_bytes(data[place : place + 7], "little")
        place += 7
    length = packed_number(data, place, end)[0] if place < end else 0
    return TransactionBegun(gtid, moment(committed), moment(first), length)


def _tagged_gtid(data: bytes, at: int, end: int) -> TransactionBegun:
    found = tagged.fields(data, at + HEADER, end)
    committed, first = moment(found.committed_us), moment(found.committed_first_us)
    return TransactionBegun(found.gtid, committed, first, found.length)


def _mariadb_gtid(data: bytes, at: int, end: int) -> GroupBegun:
    sequence, domain, flags = struct.unpack_from("<QIB", data, at + HEADER)
    gtid = MariaDbGtid(domain, header(data, at).server_id, sequence)
    made = GroupBegun(gtid, flags)
    place = at + HEADER + 13 + (8 if flags & 2 else 0)  # a group commit's number goes before
    xid = None
    if made.prepared or made.completed:
        form, gtrid, bqual = struct.unpack_from("<IBB", data, place)
        place += 6
        xid = _xid(form, data[place:end], gtrid, bqual)
        place += gtrid + bqual
    return GroupBegun(gtid, flags, xid, data[place] if place < end else 0)


def _mariadb_gtid_list(data: bytes, at: int, end: int) -> GtidList:
    (count,) = struct.unpack_from("<I", data, at + HEADER)
    count &= (1 << 28) - 1  # above are flags
    place = at + HEADER + 4
    if place + 16 * count > end:
        raise ValueError("more GTIDs than bytes")
    found = [struct.unpack_from("<IIQ", data, place + 16 * number) for number in range(count)]
    every = tuple(MariaDbGtid(domain, server, sequence) for domain, server, sequence in found)
    gtids = MariaDbGtids()
    for gtid in every:  # of a domain's servers the last one written comes last
        gtids = gtids.with_(gtid)
    return GtidList(gtids, every)


def _previous_gtids(data: bytes, at: int, end: int) -> PreviousGtids:
    return PreviousGtids(MySqlGtids.decoded(data[at + HEADER : end]))


def _query(data: bytes, at: int, end: int) -> Query:
    thread, _, database, error, status = struct.unpack_from("<IIBHH", data, at + HEADER)
    loads_file = data[at + 4] == kinds.EXECUTE_LOAD_QUERY
    place = at + HEADER + (26 if loads_file else 13)
    charset, sql_mode = _session(data[place : place + status])
    place += status
    text = place + database + 1
    if text > end:
        raise ValueError("its parts are longer than it is")
    name = data[place : place + database].decode()
    return Query(thread, error, name, data[text:end], charset, sql_mode, loads_file)


def _session(status: bytes) -> tuple[int | None, int | None]:
    """Find charset and sql_mode, which stand among the first that a server writes, in this order at least."""
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


_STATUS_SIZES = MappingProxyType({0: 4, 1: 8, 3: 4, 4: 6, 6: 0})  # 6, the catalogue, tells its own length


def _committed(data: bytes, at: int, end: int) -> Committed:  # noqa: ARG001 as all readers
    return Committed(*struct.unpack_from("<Q", data, at + HEADER))


def _xa_prepared(data: bytes, at: int, end: int) -> XaPrepared:
    one_phase, form, gtrid, bqual = struct.unpack_from("<BIII", data, at + HEADER)
    return XaPrepared(bool(one_phase), _xid(form, data[at + HEADER + 13 : end], gtrid, bqual))


def _xid(form: int, parts: bytes, gtrid: int, bqual: int) -> Xid:
    if gtrid + bqual > len(parts):
        raise ValueError("an xid that is longer than its event")
    return Xid(form, parts[:gtrid], parts[gtrid : gtrid + bqual])


def _heartbeat(data: bytes, at: int, end: int) -> Heartbeat:
    return Heartbeat(data[at + HEADER : end].decode(), header(data, at).next)


def _heartbeat_v2(data: bytes, at: int, end: int) -> Heartbeat:
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
    return Heartbeat(file, _offset(offset))


def _offset(offset: int) -> int:
    if offset > _MOST_OFFSET:
        raise ValueError("a place that no file has")
    return offset


_READERS: Mapping[int, Callable[[bytes, int, int], SmallEvent]] = MappingProxyType(
    {
        kinds.FORMAT_DESCRIPTION: _format_description,
        kinds.ROTATE: _rotate,
        kinds.GTID: _gtid,
        kinds.ANONYMOUS_GTID: _gtid,
        kinds.TAGGED_GTID: _tagged_gtid,
        kinds.PREVIOUS_GTIDS: _previous_gtids,
        kinds.MARIADB_GTID: _mariadb_gtid,
        kinds.MARIADB_GTID_LIST: _mariadb_gtid_list,
        kinds.QUERY: _query,
        kinds.EXECUTE_LOAD_QUERY: _query,
        kinds.XID: _committed,
        kinds.XA_PREPARE: _xa_prepared,
        kinds.HEARTBEAT: _heartbeat,
        kinds.HEARTBEAT_V2: _heartbeat_v2,
    }
)

"""Sets of global transaction ids, of both databases, with one interface.  Pure, and a set never changes.

    MySQL     uuid:1-5:7,uuid:tag:1-3    a source of numbers, and every number that it has given
    MariaDB   0-1-5,7-2-90               the last one of each domain: all of the domain up to here

In: the servers' own text, or MySQL's bytes.  Out: what one set has and another lacks.  A transaction is added
at each commit, so `with_` copies the few entries and changes one.
"""

import re
import struct
import uuid
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol, Self, TypeAlias

from wrackline.producers.sources.mysql.events.packed_numbers import serialised_number

_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}")
_SERVER = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWNER = re.compile(r"#\d+")
_MOST = (1 << 63) - 2  # the highest number that MySQL gives
_MOST_ID, _MOST_SEQUENCE = (1 << 32) - 1, (1 << 64) - 1  # MariaDB's: of a domain or server, and of a sequence
_TAGGED = 1  # the first and the last byte of the count say that tags are there

Intervals: TypeAlias = tuple[tuple[int, int], ...]
"""First and last number of each stretch, in order, none touching the next."""


class MySqlGtid(NamedTuple):
    """One transaction: `source` is `uuid` or `uuid:tag`, in lower case."""

    source: str
    number: int

    def __str__(self) -> str:
        return f"{self.source}:{self.number}"


class MariaDbGtid(NamedTuple):
    """One transaction, or all of its domain up to it."""

    domain: int
    server: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.domain}-{self.server}-{self.sequence}"


class GtidSet(Protocol):
    """What the positions and the stream need from both kinds of sets."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the server's text; anything else is a ValueError."""
        ...

    def __bool__(self) -> bool: ...

    def contains(self, other: Self, /) -> bool:
        """Whether nothing of the other one is missing here."""
        ...

    def missing(self, other: Self, /) -> Self:
        """Return what the other one has and this one lacks."""
        ...


class MySqlGtids:
    """A set of MySQL GTIDs."""

    __slots__ = ("_stretches",)

    def __init__(self, stretches: Mapping[str, Intervals] | None = None) -> None:
        self._stretches: dict[str, Intervals] = dict(stretches or {})

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `uuid:1-5:7:tag:1-3,…`, as @@gtid_executed has it, in any case and spacing."""
        found: dict[str, list[tuple[int, int]]] = {}
        for item in filter(None, (part.strip() for part in text.split(","))):
            server, *parts = (part.strip().lower() for part in item.split(":"))
            source = name = str(uuid.UUID(server))
            if not parts:
                raise ValueError("a GTID set names a server without numbers")
            for part in parts:
                if _TAG.fullmatch(part):
                    source = f"{name}:{part}"
                else:
                    found.setdefault(source, []).append(_interval(part))
        return cls({source: _merged(intervals) for source, intervals in found.items()})

    @classmethod
    def owned(cls, text: str) -> Self:
        """Read `uuid:7#22:9#31uuid:tag:1#5`, as @@gtid_owned has it: with the session that has each one."""
        return cls.parse(_OWNER.sub("", _SERVER.sub(r",\g<0>", text)))

    @classmethod
    def decoded(cls, data: bytes) -> Self:
        """Read the form that previous-GTIDs events and COM_BINLOG_DUMP_GTID have."""
        try:
            return cls(_decoded(data))
        except (struct.error, IndexError) as exc:
            raise ValueError("a GTID set ends too early") from exc

    def encoded(self) -> bytes:
        """Write that form; without a tag in the set, all versions can read it."""
        has_tags = any(":" in source for source in self._stretches)
        count = len(self._stretches)
        made = [struct.pack("<Q", _TAGGED << 56 | count << 8 | _TAGGED if has_tags else count)]
        for source in sorted(self._stretches):
            server, _, tag = source.partition(":")
            made.append(uuid.UUID(server).bytes)
            if has_tags:
                made.append(bytes([len(tag) << 1]) + tag.encode())
            intervals = self._stretches[source]
            made.append(struct.pack("<Q", len(intervals)))
            made += [struct.pack("<QQ", first, last + 1) for first, last in intervals]
        return b"".join(made)

    def __str__(self) -> str:
        made: list[str] = []
        for source in sorted(self._stretches):
            server, _, tag = source.partition(":")
            numbers = ":".join(
                str(first) if first == last else f"{first}-{last}" for first, last in self._stretches[source]
            )
            if tag and made and made[-1].startswith(server):
                made[-1] += f":{tag}:{numbers}"
            else:
                made.append(f"{source}:{numbers}")
        return ",".join(made)

    def __repr__(self) -> str:
        return f"MySqlGtids.parse({str(self)!r})"

    def __bool__(self) -> bool:
        return bool(self._stretches)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MySqlGtids) and self._stretches == other._stretches

    def __hash__(self) -> int:
        return hash(frozenset(self._stretches.items()))

    def with_(self, gtid: MySqlGtid) -> "MySqlGtids":
        """Return the set with one transaction more."""
        source, number = gtid
        stretches = self._stretches.copy()
        made = MySqlGtids.__new__(MySqlGtids)
        made._stretches = stretches  # noqa: SLF001 our own
        held = stretches.get(source, ())
        if held and held[-1][1] + 1 == number:  # nearly always
            stretches[source] = (*held[:-1], (held[-1][0], number))
        else:
            stretches[source] = _merged([*held, (number, number)])
        return made

    def contains(self, other: "MySqlGtids") -> bool:
        """Whether nothing of the other one is missing here."""
        return not self.missing(other)

    def missing(self, other: "MySqlGtids") -> "MySqlGtids":
        """Return what the other one has and this one lacks."""
        found = {}
        for source, intervals in other._stretches.items():  # noqa: SLF001 our own
            if left := tuple(_without(intervals, self._stretches.get(source, ()))):
                found[source] = left
        return MySqlGtids(found)


class MariaDbGtids:
    """A set of MariaDB GTIDs: how far each domain has come."""

    __slots__ = ("_domains",)

    def __init__(self, domains: Mapping[int, tuple[int, int]] | None = None) -> None:
        self._domains: dict[int, tuple[int, int]] = dict(domains or {})  # server and sequence

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `0-1-5,7-2-90`, as @@gtid_binlog_pos has it."""
        domains: dict[int, tuple[int, int]] = {}
        for item in filter(None, (part.strip() for part in text.split(","))):
            if not re.fullmatch(r"\d+-\d+-\d+", item, re.ASCII):
                raise ValueError("a GTID of MariaDB is domain-server-sequence")
            domain, server, sequence = (int(part) for part in item.split("-"))
            if max(domain, server) > _MOST_ID or sequence > _MOST_SEQUENCE:
                raise ValueError("a GTID of MariaDB has numbers that no server gives")
            if domain in domains:
                raise ValueError("a GTID position names a domain twice")
            domains[domain] = server, sequence
        return cls(domains)

    def __str__(self) -> str:
        return ",".join(
            f"{domain}-{server}-{last}" for domain, (server, last) in sorted(self._domains.items())
        )

    def __repr__(self) -> str:
        return f"MariaDbGtids.parse({str(self)!r})"

    def __bool__(self) -> bool:
        return bool(self._domains)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MariaDbGtids) and self._domains == other._domains

    def __hash__(self) -> int:
        return hash(frozenset(self._domains.items()))

    def with_(self, gtid: MariaDbGtid) -> "MariaDbGtids":
        """Return the set after this transaction; the log's order counts, not the number."""
        made = MariaDbGtids(self._domains)
        made._domains[gtid.domain] = gtid.server, gtid.sequence
        return made

    def last(self, domain: int) -> MariaDbGtid | None:
        """Return how far a domain has come."""
        found = self._domains.get(domain)
        return None if found is None else MariaDbGtid(domain, *found)

    def without(self, domain: int) -> "MariaDbGtids":
        """Return the set without a domain."""
        return MariaDbGtids({known: last for known, last in self._domains.items() if known != domain})

    def contains(self, other: "MariaDbGtids") -> bool:
        """Whether each domain has come at least as far here."""
        return not self.missing(other)

    def missing(self, other: "MariaDbGtids") -> "MariaDbGtids":
        """Return the other set's place in the domains that have not come as far here."""
        nowhere = (0, -1)
        return MariaDbGtids(
            {
                domain: (server, last)
                for domain, (server, last) in other._domains.items()  # noqa: SLF001 our own
                if self._domains.get(domain, nowhere)[1] < last
            }
        )


AnyGtids: TypeAlias = MySqlGtids | MariaDbGtids


def _decoded(data: bytes) -> dict[str, Intervals]:
    (count,) = struct.unpack_from("<Q", data)
    has_tags = count >> 56 == _TAGGED
    if has_tags:
        count = count >> 8 & 0xFFFF_FFFF_FFFF
    at, end = 8, len(data)
    found: dict[str, Intervals] = {}
    for _ in range(count):
        source, at = str(uuid.UUID(bytes=data[at : at + 16])), at + 16
        if has_tags:
            size, at = serialised_number(data, at, end)
            tag, at = data[at : at + size].decode("ascii"), at + size
            source = f"{source}:{tag}" if tag else source
        (intervals,) = struct.unpack_from("<Q", data, at)
        numbers = struct.unpack_from(f"<{2 * intervals}Q", data, at + 8) if 16 * intervals < end else ()
        if len(numbers) != 2 * intervals:
            raise ValueError("more intervals than bytes")
        at += 8 + 16 * intervals
        ends = zip(numbers[::2], numbers[1::2], strict=True)
        found[source] = _merged([_numbers(first, behind - 1) for first, behind in ends])
    if at != end:
        raise ValueError("bytes are left behind a GTID set")
    return found


def _interval(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not (first.isascii() and first.isdigit() and (not dash or (last.isascii() and last.isdigit()))):
        raise ValueError("a GTID set has something that is neither number nor tag")
    return _numbers(int(first), int(last or first))


def _numbers(first: int, last: int) -> tuple[int, int]:
    if not 1 <= first <= last <= _MOST:
        raise ValueError("a GTID set has numbers that no server gives")
    return first, last


def _merged(intervals: list[tuple[int, int]]) -> Intervals:
    made: list[tuple[int, int]] = []
    for first, last in sorted(intervals):
        if made and first <= made[-1][1] + 1:
            made[-1] = made[-1][0], max(last, made[-1][1])
        else:
            made.append((first, last))
    return tuple(made)


def _without(intervals: Intervals, taken: Intervals) -> Iterator[tuple[int, int]]:
    for first, last in intervals:
        begin = first
        for low, high in taken:
            if high < begin:
                continue
            if low > last:
                break
            if low > begin:
                yield begin, low - 1
            begin = high + 1
        if begin <= last:
            yield begin, last


def with_one(gtids: AnyGtids | None, gtid: MySqlGtid | MariaDbGtid | None) -> AnyGtids | None:
    """Return the set with one transaction more; without a set or a GTID it is unchanged."""
    match gtids, gtid:
        case MySqlGtids(), MySqlGtid():
            return gtids.with_(gtid)
        case MariaDbGtids(), MariaDbGtid():
            return gtids.with_(gtid)
    return gtids


def before_one(gtids: AnyGtids, gtid: str, after: str) -> AnyGtids:
    """Return the set without one of its transactions, so that the server sends this transaction again.

    MariaDB sends all of its domain behind `after`, the transaction before it; empty if it was the first.
    """
    if isinstance(gtids, MySqlGtids):
        return MySqlGtids.parse(gtid).missing(gtids)
    left = gtids.without(mariadb_gtid(gtid).domain)
    return left.with_(mariadb_gtid(after)) if after else left


def mariadb_gtid(text: str) -> MariaDbGtid:
    """Read the GTID of one transaction."""
    return MariaDbGtid(*map(int, text.split("-")))

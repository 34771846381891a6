"""The first position's set is all that lies before its place, whatever of it the server had executed."""

import itertools
import socket
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.fixtures.written_log import SERVER, WrittenLog
from tests.unit.producers.mysql.test_packets import wire_of
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.gtids import MySqlGtid, MySqlGtids
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.producers.sources.mysql.log.position import MySqlPosition, file_number
from wrackline.producers.sources.mysql.resume.initial_gtids import add_initial_gtids
from wrackline.schemas.errors import Transient

NUMBERS = (1, 2, 3, 4)
LAST_OF_ITS_FILE = 2
PATIENCE = 0.05


def set_of(numbers: Iterable[int]) -> MySqlGtids:
    made = MySqlGtids()
    for number in numbers:
        made = made.with_(MySqlGtid(str(SERVER), number))
    return made


class Told:
    """A log of four transactions in two files, and where each of them ends."""

    def __init__(self) -> None:
        self.log = WrittenLog("mysql")
        self.ends = [self._here()]
        self._parts: list[tuple[int, list[bytes]]] = [(0, self.log.sent())]
        for number in NUMBERS:
            before = len(self.log.events)
            self.log.inserted(number, "t", number)
            self._parts.append((number, self.log.events[before:]))
            self.ends.append(self._here())
            if number == LAST_OF_ITS_FILE:
                self._parts.append((0, self._rotated()))

    def _here(self) -> MySqlPosition:
        return MySqlPosition(1, file_number(self.log.file), self.log.offset)

    def _rotated(self) -> list[bytes]:
        before = len(self.log.events)
        self.log.rotate()
        return self.log.events[before:]

    def without(self, executed: Sequence[int], upto: int = max(NUMBERS)) -> list[bytes]:
        """What a server sends of the log up to a transaction, to a client that has those."""
        found: list[bytes] = []
        skipped: MySqlPosition | None = None
        for number, events in self._parts:
            if number > upto:
                break
            if number in executed:
                skipped = self.ends[number]
                continue
            if skipped is not None:
                found.append(heartbeat(skipped))
            skipped = None
            found += events
        return found if skipped is None else [*found, heartbeat(skipped)]


def heartbeat(at: MySqlPosition) -> bytes:
    """What is said at a place where nothing is to be sent; of each kind in one of the files."""
    name = b"binlog.%06d" % at.file
    kind, place = (event_kinds.HEARTBEAT_V2, 0) if at.file % 2 else (event_kinds.HEARTBEAT, at.offset)
    offset = b"\xfe" + struct.pack("<Q", at.offset)
    body = name if place else bytes([1, len(name)]) + name + bytes([2, len(offset)]) + offset + b"\0"
    event = struct.pack("<IBIIIH", 0, kind, 1, 19 + len(body) + 4, place, 0) + body
    return event + struct.pack("<I", zlib.crc32(event))


@contextmanager
def packets(*events: bytes) -> Iterator[Packets]:
    """A dump that sends these, and then nothing."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(wire_of(list(events)))
        yield Packets(ours, ours.close, user="'me'", most=1 << 20)


@pytest.mark.parametrize("before", [0, *NUMBERS])
def test_whatever_was_executed_by_then_all_before_the_place_is_named_and_nothing_else(before: int) -> None:
    told = Told()
    place = told.ends[before]
    logged = range(1, before + 1)
    for count in range(before + 1):
        for executed in itertools.combinations(logged, count):
            start = MySqlPosition(1, place.file, place.offset, gtids=set_of(executed))
            with packets(*told.without(executed)) as sent:
                made = add_initial_gtids(start, sent, PATIENCE)
            assert made == start
            assert made.gtids == set_of(logged), executed


def test_a_place_that_the_log_does_not_come_to_is_not_waited_for() -> None:
    told = Told()
    start = MySqlPosition(1, 2, told.ends[-1].offset, gtids=set_of([1, 2]))
    sent_all = told.without([1, 2], upto=3)
    end = heartbeat(told.ends[3])
    for events, said in (([*sent_all, end], "nothing comes"), (sent_all, "been silent")):
        with packets(*events) as sent, pytest.raises(Transient, match=said) as raised:
            add_initial_gtids(start, sent, PATIENCE)
        assert raised.value.code == "mysql.log_ended"

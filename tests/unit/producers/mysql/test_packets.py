"""Packets off a socket: whole events whatever the socket's portions are, and errors by their words."""

import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.log.dump_refusals import log_refused
from wrackline.producers.sources.mysql.log.packets import Packets
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError

FULL = 0xFFFFFF


class Wire:
    """A socket that hands out what it was given in portions of its own choice, and then would block."""

    def __init__(self, portions: list[bytes]) -> None:
        self._portions = portions

    def setblocking(self, blocks: object) -> None:
        assert not blocks

    def recv(self, size: int) -> bytes:
        if not self._portions:
            raise BlockingIOError
        portion = self._portions[0]
        self._portions[:1] = [portion[size:]] if len(portion) > size else []
        return portion[:size]


def packets(*portions: bytes, most: int = 1 << 30) -> Packets:
    wire = Wire(list(portions))
    return Packets(wire, lambda: None, user="'me'", most=most)  # type: ignore[arg-type]  # all that it asks of one


def packed(payload: bytes, number: int) -> bytes:
    return struct.pack("<I", len(payload) | (number & 0xFF) << 24) + payload


def wire_of(events: list[bytes]) -> bytes:
    made, number = [], 1
    for event in events:
        left = b"\0" + event
        while True:
            made.append(packed(left[:FULL], number))
            number += 1
            if len(left) < FULL:
                break
            left = left[FULL:]
    return b"".join(made)


def all_of(source: Packets) -> Iterator[bytes]:
    more = True
    while more:
        more = source.fill()
        while taken := source.take():
            data, at, end = taken
            yield data[at:end]


@given(st.lists(st.binary(max_size=40), max_size=30), st.lists(st.integers(1, 60)))
def test_events_come_whole_however_they_arrive(events: list[bytes], sizes: list[int]) -> None:
    data, portions = wire_of(events), []
    for size in sizes:
        portions.append(data[:size])
        data = data[size:]
    assert list(all_of(packets(*filter(None, [*portions, data])))) == events


@pytest.mark.parametrize("size", [FULL - 2, FULL - 1, FULL, 2 * FULL - 1, 2 * FULL + 9])
def test_an_event_of_16_mb_and_more_is_one(size: int) -> None:
    events = [b"before", bytes(size - 4) + b"tail", b"behind"]
    data = wire_of(events)
    portions = [data[at : at + 700_001] for at in range(0, len(data), 700_001)]
    assert list(all_of(packets(*portions))) == events


@pytest.mark.parametrize("most", [1 << 30, 100])
def test_an_event_whose_last_packet_is_empty_does_not_wait_for_the_next_one(most: int) -> None:
    event = bytes(4) + bytes([event_kinds.WRITE_ROWS_V2]) + bytes(FULL - 6)
    data = wire_of([event])
    assert data.endswith(packed(b"", 2))
    (whole,) = all_of(packets(data[:-4], data[-4:], most=most))
    assert whole == event[: len(whole)], "or the head of it, where the rest is dropped"


def test_what_was_handed_out_stays_as_it_is() -> None:
    source = packets(wire_of([b"one", b"two"])[:14], wire_of([b"one", b"two"])[14:])
    source.fill()
    taken = source.take()
    assert taken is not None
    source.fill()
    assert source.take() is not None
    data, at, end = taken
    assert data[at:end] == b"one"


def test_more_than_the_bound_is_refused_before_it_is_read() -> None:
    source = packets(packed(b"\0" + bytes(4) + bytes([event_kinds.QUERY]) + bytes(2000), 1)[:100], most=1000)
    source.fill()
    with pytest.raises(WracklineError) as raised:
        source.take()
    assert raised.value.code == "mysql.log_event_too_long"
    parts = wire_of([bytes(FULL + 10)])
    source = packets(parts, most=FULL)
    with pytest.raises(WracklineError) as raised:
        list(all_of(source))
    assert raised.value.code == "mysql.log_event_too_long"


@given(st.lists(st.integers(1, 60)), st.sampled_from([200, 2 * FULL + 9]))
@settings(max_examples=30, deadline=None)
def test_of_a_rows_event_above_the_bound_the_head_comes_out(sizes: list[int], size: int) -> None:
    head = struct.pack("<IBIIIHQ", 0, event_kinds.WRITE_ROWS_V2, 9, size, 777, 0, 4711)
    large = head + bytes(size - len(head))
    data, portions = wire_of([b"before", large, b"behind"]), []
    for portion in sizes:
        portions.append(data[:portion])
        data = data[portion:]
    most = 100 if size < FULL else FULL + 100
    assert list(all_of(packets(*filter(None, [*portions, data]), most=most))) == [b"before", head, b"behind"]


def test_a_missing_packet_and_a_closed_socket_are_noticed() -> None:
    for portions in (
        [packed(b"\0one", 1), packed(b"\0two", 3)],
        [packed(b"\x07one", 1)],
        [packed(b"\xfe\0\0\2\0", 1)],
    ):
        with pytest.raises(WracklineError) as raised:
            list(all_of(packets(*portions)))
        assert raised.value.code == "mysql.log_ended"
    ours, theirs = socket.socketpair()
    source = Packets(ours, ours.close, user="'me'", most=1000)
    assert source.fileno() == ours.fileno()
    assert not source.fill()
    theirs.sendall(wire_of([b"last"]))
    theirs.close()
    assert source.fill()
    assert source.take() is not None
    with pytest.raises(WracklineError) as raised:
        source.fill()
    assert raised.value.code == "mysql.log_ended"
    source.close()


@pytest.mark.parametrize("number", [1, 0, 7])  # MariaDB starts over at 0 when it is shut down
def test_an_error_packet_is_an_error_by_its_number(number: int) -> None:
    packet = packed(b"\xff" + struct.pack("<H", 1236) + b"#HY000" + b"the source has purged it", number)
    with pytest.raises(WracklineError) as raised:
        list(all_of(packets(packet)))
    assert raised.value.code == "mysql.log_purged"
    assert "the source has purged it" in raised.value.sentence


@pytest.mark.parametrize(
    ("number", "words", "code", "kind"),
    [
        (
            1236,
            "Cannot replicate because the source purged required binary logs. Replicate the missing",
            "mysql.log_purged",
            Definite,
        ),
        (1236, "Could not find first log file name in binary log index file", "mysql.log_purged", Definite),
        (
            1236,
            "Could not find GTID state requested by slave in any binlog files. Probably the slave state",
            "mysql.log_purged",
            Definite,
        ),
        (
            1236,
            "A replica with the same server_uuid/server_id as this replica has connected to the source",
            "mysql.replica_twice",
            Transient,
        ),
        (
            1236,
            "log event entry exceeded max_allowed_packet; Increase max_allowed_packet on source",
            "mysql.packet_too_large",
            OperatorNeeded,
        ),
        (
            1236,
            "Error: connecting slave requested to start from GTID 0-1-9, which is not in the master's binlog",
            "mysql.server_behind",
            Transient,
        ),
        (
            1236,
            "GTID 0-1-9, which is not in the master's binlog. Since it contains higher sequence numbers",
            "mysql.log_another",
            Definite,
        ),
        (
            1236,
            "Client requested source to start replication from position > file size",
            "mysql.log_another",
            Definite,
        ),
        (
            1236,
            "Replica has more GTIDs than the source has, using the source's SERVER_UUID",
            "mysql.log_another",
            Definite,
        ),
        (1236, "Binary log is not open", "mysql.log_missing", OperatorNeeded),
        (1236, "words that nobody here knows", "mysql.log_ended", Transient),
        (1045, "Access denied for user 'x'@'y'", "mysql.log_right_missing", OperatorNeeded),
        (1227, "Access denied; you need REPLICATION SLAVE", "mysql.log_right_missing", OperatorNeeded),
        (1053, "Server shutdown in progress", "mysql.log_ended", Transient),
        (2013, "Lost connection", "mysql.log_ended", Transient),
    ],
)
def test_a_refusal_says_who_acts(number: int, words: str, code: str, kind: type[WracklineError]) -> None:
    error = log_refused(number, words, "'me'")
    assert (error.code, type(error)) == (code, kind)
    assert words in error.sentence

"""A binlog's events, from what three real servers sent for one story (tests/fixtures/binlogs.py)."""

import struct
import zlib

import pytest

from tests.fixtures.binlogs import FAMILY, recorded
from wrackline.producers.sources.mysql.events import event_kinds, events
from wrackline.producers.sources.mysql.events.events import (
    FormatDescription,
    Frames,
    GtidEvent,
    GtidList,
    LogHeartbeatEvent,
    MariaDbGtidEvent,
    PreviousGtids,
    QueryEvent,
    RotateEvent,
    SmallEvent,
    XaPrepareEvent,
    Xid,
    XidEvent,
)
from wrackline.producers.sources.mysql.events.gtids import MariaDbGtid, MariaDbGtids, MySqlGtid, MySqlGtids
from wrackline.producers.sources.mysql.events.packed_events import plain_events
from wrackline.schemas.errors import WracklineError

XA = Xid(7, b"x", b"y")
HAS_BODY = event_kinds.ROWS | event_kinds.PACKED | {event_kinds.TABLE_MAP}


def plain(data: bytes, frames: Frames) -> list[bytes]:
    """An event without its checksum, or those that it holds."""
    end = frames.body_end(data, 0, len(data))
    if data[4] in event_kinds.PACKED:
        return [made[at:behind] for made, at, behind in plain_events(data, 0, end, 1 << 20)]
    return [data[:end]]


def every(name: str) -> list[bytes]:
    frames = Frames()
    return [event for data in recorded(name) for event in plain(data, frames)]


def said(name: str) -> list[SmallEvent]:
    small = [data for data in every(name) if data[4] not in HAS_BODY]
    return [event for data in small if (event := events.small_event(data, 0, len(data))) is not None]


def made(kind: int, body: bytes, *, flags: int = 0, upto: int = 0) -> bytes:
    return struct.pack("<IBIIIH", 1_700_000_000, kind, 9, 19 + len(body), upto, flags) + body


@pytest.mark.parametrize("name", FAMILY)
def test_the_story_s_statements_are_read_word_for_word(name: str) -> None:
    words = [event.text.decode() for event in said(name) if isinstance(event, QueryEvent)]
    assert [text for text in words if text != "BEGIN"] == [
        "CREATE DATABASE story",
        "CREATE TABLE t (id int PRIMARY KEY, v varchar(2000))",
        *(["XA START X'78',X'79',7"] if name.startswith("mysql") else []),
        "XA END X'78',X'79',7",
        "XA COMMIT X'78',X'79',7",
        *([f"ALTER TABLE t COMMENT '{'long ' * 14}long'"] if name.startswith("mariadb") else []),
    ]
    queries = [event for event in said(name) if isinstance(event, QueryEvent)]
    assert {query.database for query in queries} == {"story"}
    assert {(query.charset, query.error, query.loads_file) for query in queries} == {
        (255 if name.startswith("mysql") else 45, 0, False)
    }
    assert all(query.sql_mode for query in queries)


@pytest.mark.parametrize("name", FAMILY)
def test_rows_come_out_plain_with_their_table_before_them(name: str) -> None:
    found = [data[4] for data in every(name) if data[4] in HAS_BODY]
    written, updated, deleted = (30, 31, 32) if name.startswith("mysql") else (23, 24, 25)
    rows = [kind for kind in found if kind != event_kinds.TABLE_MAP]
    inserts = [written] * 6 if name.startswith("mysql") else [written] * 3
    assert rows == (inserts if name.startswith("mysql") else [*inserts, updated, deleted, written, written])
    assert found == [kind for row in rows for kind in (event_kinds.TABLE_MAP, row)]
    wide = [data for data in every(name) if b"z" * 1500 in data]
    assert [data[4] for data in wide] == ([written] if name.startswith("mysql") else [written, updated])
    assert all(events.header(data, 0).size == len(data) for data in wide)


@pytest.mark.parametrize("name", FAMILY)
def test_files_follow_each_other_with_and_without_checksums(name: str) -> None:
    rotates = [event for event in said(name) if isinstance(event, RotateEvent)]
    first = rotates[0].file
    assert [(event.file.removeprefix(first[:-1]), event.artificial) for event in rotates] == [
        (first[-1], True),
        *((str(int(first[-1]) + more), artificial) for more in (1, 2) for artificial in (False, True)),
    ]
    assert {event.offset for event in rotates} == {4}
    formats = [event for event in said(name) if isinstance(event, FormatDescription)]
    assert [event.checksums for event in formats] == [True, False, True]
    assert all(event.server_version.startswith(name.partition("-")[2]) for event in formats)
    assert all(event.begun > 1_700_000_000 for event in formats)
    assert {event.post_header(event_kinds.WRITE_ROWS_V2) for event in formats} == {10}
    assert {event.post_header(200) for event in formats} == {0}


def test_mysql_logs_gtids_with_and_without_a_tag() -> None:
    told = said("mysql-9.7")
    begun = [event for event in told if isinstance(event, GtidEvent)]
    gtids = [event.gtid for event in begun if event.gtid is not None]
    source = gtids[0].source
    assert [gtid.number for gtid in gtids if gtid.source == source] == list(range(1, 9))
    assert [gtid for gtid in gtids if gtid.source != source] == [MySqlGtid(f"{source}:tagged_one", 1)]
    assert all(event.committed_us == event.committed_first_us > 1_700_000_000_000_000 for event in begun)
    held, told_before = MySqlGtids(), []
    for event in told:
        if isinstance(event, GtidEvent) and event.gtid is not None:
            held = held.with_(event.gtid)
        elif isinstance(event, PreviousGtids):
            assert event.gtids == held
            told_before.append(len(str(held)))
    assert len(told_before) == 3


def test_a_transaction_of_mysql_is_as_long_as_it_says() -> None:
    sizes: list[list[int]] = []
    for data in recorded("mysql-9.7"):
        found = events.header(data, 0)
        if found.kind in {event_kinds.GTID, event_kinds.TAGGED_GTID}:
            said_so = events.small_event(data, 0, len(data) - 4)
            assert isinstance(said_so, GtidEvent)
            sizes.append([said_so.length])
        if sizes and found.kind not in {4, 15, 35, 41}:
            sizes[-1].append(found.size)
    assert len(sizes) == 9
    assert [told for told, *_ in sizes] == [sum(parts) for _, *parts in sizes]


@pytest.mark.parametrize("name", ["mariadb-11.4", "mariadb-10.11"])
def test_mariadb_logs_what_each_group_is(name: str) -> None:
    told = said(name)
    groups = [event for event in told if isinstance(event, MariaDbGtidEvent)]
    assert [group.gtid for group in groups] == [MariaDbGtid(0, 1, number) for number in range(1, 12)]
    assert [number for number, group in enumerate(groups, 1) if group.ddl] == [1, 2, 9]
    assert [number for number, group in enumerate(groups, 1) if group.standalone] == [1, 2, 5, 9]
    assert [(number, group.xid) for number, group in enumerate(groups, 1) if group.prepared] == [(4, XA)]
    assert [(number, group.xid) for number, group in enumerate(groups, 1) if group.completed] == [(5, XA)]
    lists = [event for event in told if isinstance(event, GtidList)]
    assert [str(event.gtids) for event in lists] == ["", "0-1-9", "0-1-10"]


@pytest.mark.parametrize("name", FAMILY)
def test_commits_prepares_and_heartbeats_are_decoded(name: str) -> None:
    told = said(name)
    assert [event for event in told if isinstance(event, XaPrepareEvent)] == [XaPrepareEvent(False, XA)]
    assert len([event for event in told if isinstance(event, XidEvent)]) == (5 if name == "mysql-9.7" else 6)
    *_, last = [event for event in told if isinstance(event, RotateEvent)]
    [beat] = [event for event in told if isinstance(event, LogHeartbeatEvent)]
    places = [found.next for data in every(name) if (found := events.header(data, 0)).next]
    assert beat == LogHeartbeatEvent(last.file, places[-2])


@pytest.mark.parametrize("name", FAMILY)
def test_every_changed_byte_is_noticed(name: str) -> None:
    frames = Frames()
    _, description, *rest = recorded(name)
    frames.body_end(description, 0, len(description))
    event = rest[0]
    for at in range(len(event)):
        if at == 4:
            continue  # another kind; the checksum would notice as well, were it not a format description's
        hurt = event[:at] + bytes([event[at] ^ 0x10]) + event[at + 1 :]
        with pytest.raises(WracklineError) as raised:
            frames.body_end(hurt, 0, len(hurt))
        assert raised.value.code == "mysql.event_damaged"


@pytest.mark.parametrize("name", FAMILY)
def test_a_cut_event_is_an_error_of_ours(name: str) -> None:
    codes = []
    for data in every(name):
        if data[4] in HAS_BODY:
            continue
        for end in range(19, len(data)):
            try:
                events.small_event(data[:end], 0, end)
            except WracklineError as exc:
                codes.append(exc.code)
    assert set(codes) == {"mysql.event_broken"}
    assert len(codes) > 500


@pytest.mark.parametrize("kind", [6, 20, 36 + 7, 99, 159, 172, 255])
def test_an_unknown_kind_stops_unless_it_may_be_ignored(kind: int) -> None:
    """T-M01."""
    data = made(kind, b"who knows", upto=1234)
    with pytest.raises(WracklineError) as raised:
        events.small_event(data, 0, len(data))
    assert raised.value.code == "mysql.event_unknown"
    assert f"kind {kind} before position 1234" in raised.value.sentence
    ignorable = made(kind, b"who knows", flags=0x80)
    assert events.small_event(ignorable, 0, len(ignorable)) is None


@pytest.mark.parametrize("kind", sorted(HAS_BODY))
def test_what_holds_rows_is_never_passed_by_here(kind: int) -> None:
    """T-M01."""
    data = made(kind, bytes(40))
    with pytest.raises(WracklineError) as raised:
        events.small_event(data, 0, len(data))
    assert raised.value.code == "mysql.event_unknown"


@pytest.mark.parametrize("kind", sorted(event_kinds.PASSED_BY))
def test_what_says_nothing_is_passed_by(kind: int) -> None:
    assert events.small_event(made(kind, b"words"), 0, 24) is None


def test_an_incident_and_an_encrypted_log_stop() -> None:
    for kind, code in (
        (event_kinds.INCIDENT, "mysql.log_incident"),
        (event_kinds.START_ENCRYPTION, "mysql.log_encrypted"),
    ):
        with pytest.raises(WracklineError) as raised:
            events.small_event(made(kind, bytes(17)), 0, 36)
        assert raised.value.code == code
    # MariaDB decrypts as it sends, and says by this flag that the event is of no concern to us
    assert events.small_event(made(event_kinds.START_ENCRYPTION, bytes(17), flags=0x80), 0, 36) is None


def test_a_rotate_that_is_made_up_has_a_checksum_only_if_its_end_is_one() -> None:
    without = made(event_kinds.ROTATE, struct.pack("<Q", 4) + b"binlog.000009", flags=0x20)
    with_one = without + struct.pack("<I", zlib.crc32(without))
    for data in (without, with_one):
        end = Frames().body_end(data, 0, len(data))
        assert events.small_event(data, 0, end) == RotateEvent("binlog.000009", 4, artificial=True)


def test_the_shortest_event_is_its_header_alone() -> None:
    stop, frames = made(event_kinds.STOP, b""), Frames()
    assert frames.body_end(stop, 0, len(stop)) == len(stop) == events.HEADER
    with pytest.raises(WracklineError) as raised:
        frames.body_end(stop, 0, len(stop) - 1)
    assert raised.value.code == "mysql.event_broken"


def test_an_anonymous_transaction_has_no_gtid_and_old_servers_log_no_times() -> None:
    head = struct.pack("<B16sqBqq", 0, bytes(16), 0, 2, 0, 1)
    times = (5 | 1 << 55).to_bytes(7, "little") + (3).to_bytes(7, "little") + b"\xfc\x00\x01"
    data = made(event_kinds.ANONYMOUS_GTID, head + times)
    assert events.small_event(data, 0, len(data)) == GtidEvent(None, 5, 3, 256)
    old = made(event_kinds.ANONYMOUS_GTID, head)
    assert events.small_event(old, 0, len(old)) == GtidEvent(None, 0, 0, 0)


def test_a_group_commits_number_comes_before_the_xid() -> None:
    xid = struct.pack("<IBB", 7, 1, 1) + b"xy"
    data = made(event_kinds.MARIADB_GTID, struct.pack("<QIBQ", 5, 3, 64 | 2, 99) + xid)
    found = events.small_event(data, 0, len(data))
    assert found == MariaDbGtidEvent(MariaDbGtid(3, 9, 5), 66, XA)


def test_a_list_of_mariadb_keeps_the_last_of_each_domain() -> None:
    gtids = [(0, 1, 7), (0, 2, 9), (5, 1, 3)]
    body = struct.pack("<I", 3 | 1 << 28) + b"".join(struct.pack("<IIQ", *gtid) for gtid in gtids)
    data = made(event_kinds.MARIADB_GTID_LIST, body)
    found = events.small_event(data, 0, len(data))
    assert found == GtidList(MariaDbGtids.parse("0-2-9,5-1-3"), tuple(MariaDbGtid(*gtid) for gtid in gtids))


def test_a_loaded_file_is_a_query_that_says_so() -> None:
    status = (
        b"\x00"
        + bytes(4)
        + b"\x01"
        + struct.pack("<Q", 4)
        + b"\x06\x03std\x04"
        + struct.pack("<HHH", 8, 8, 8)
    )
    head = struct.pack("<IIBHHIIIB", 5, 0, 2, 0, len(status), 1, 0, 0, 0)
    data = made(event_kinds.EXECUTE_LOAD_QUERY, head + status + b"db\0LOAD DATA")
    assert events.small_event(data, 0, len(data)) == QueryEvent(
        5, 0, "db", b"LOAD DATA", 8, 4, loads_file=True
    )


def test_a_new_field_of_a_tagged_gtid_stops_only_if_it_must_be_understood() -> None:
    [data] = [data for data in recorded("mysql-9.7") if data[4] == event_kinds.TAGGED_GTID]
    plain_one, needed = data[:-4], bytearray(data[:-4])
    more = plain_one + bytes([12 << 1, 0xFF, 1])  # of a form that nobody here knows
    assert events.small_event(more, 0, len(more)) == events.small_event(plain_one, 0, len(plain_one))
    needed[21] = 13 << 1
    with pytest.raises(WracklineError) as raised:
        events.small_event(bytes(needed), 0, len(needed))
    assert "field 12 is new" in raised.value.sentence

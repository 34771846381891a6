"""The logs of real servers, asked for by place and by GTID, as they are and as they must not be."""

import itertools
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.fixtures.binlogs import (
    Connection,
    Event,
    Reading,
    at_end,
    connect,
    heartbeat,
    last_file,
    reader,
    run,
    told,
)
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.sources.mysql.connect.connect import is_mariadb
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.producers.sources.mysql.events.events import (
    FormatDescription,
    GtidEvent,
    GtidList,
    LogHeartbeatEvent,
    MariaDbGtidEvent,
    PreviousGtids,
    QueryEvent,
    RotateEvent,
)
from wrackline.producers.sources.mysql.events.gtids import AnyGtids, MariaDbGtids, MySqlGtids
from wrackline.producers.sources.mysql.events.packed_events import plain_events
from wrackline.producers.sources.mysql.log.dump import FIRST_EVENT, DumpReader, dump_after, dump_from
from wrackline.schemas.errors import WracklineError

pytestmark = pytest.mark.servers
_numbers = itertools.count(5000)


class Readers:
    """Reads a server's log, each time as another reader; all connections are closed in the end."""

    def __init__(self, server: MysqlServer) -> None:
        self.server = server
        self._opened: list[Connection] = []

    def connect(self, **more: str | bool) -> Connection:
        self._opened.append(connect(self.server, **more))
        return self._opened[-1]

    def place(self, file: str, offset: int = FIRST_EVENT, who: DumpReader | None = None) -> Reading:
        return Reading(dump_from(self.connect(), who or _somebody(), file, offset))

    def gtids(self, gtids: AnyGtids) -> Reading:
        return Reading(dump_after(self.connect(), _somebody(), gtids))

    def close(self) -> None:
        for connection in self._opened:
            if connection.open:
                connection.close()


@pytest.fixture
def readers(log_server: MysqlServer) -> Iterator[Readers]:
    """A reader of the log."""
    made = Readers(log_server)
    yield made
    made.close()


@pytest.fixture
def admin(log_server: MysqlServer) -> Iterator[Connection]:
    """A connection on a server whose log has just begun."""
    with connect(log_server) as connection:
        run(connection, *_reset(connection), "DROP DATABASE IF EXISTS story", "FLUSH BINARY LOGS")
        yield connection


def _reset(connection: Connection) -> list[str]:
    return ["RESET MASTER" if is_mariadb(connection) else "RESET BINARY LOGS AND GTIDS"]


def _table(admin: Connection) -> None:
    run(admin, "CREATE DATABASE story", "USE story", "CREATE TABLE t (id int PRIMARY KEY, v longblob)")


def _executed(admin: Connection) -> AnyGtids:
    if is_mariadb(admin):
        return MariaDbGtids.parse(str(run(admin, "SELECT @@gtid_binlog_pos")[0][0]))
    return MySqlGtids.parse(str(run(admin, "SELECT @@gtid_executed")[0][0]))


def _somebody(heartbeat_s: float = 0.2) -> DumpReader:
    return reader(next(_numbers), heartbeat_s)


def _held(events: list[Event]) -> set[str]:
    """The GTIDs of the transactions that came."""
    begun = [event.said for event in events]
    return {str(said.gtid) for said in begun if isinstance(said, GtidEvent | MariaDbGtidEvent)}


def _fails(reading: Reading) -> str:
    """Return the code of the error that comes instead of events, or behind them."""
    with pytest.raises(WracklineError) as raised:
        reading.read(lambda _: False)
    return raised.value.code


def test_the_same_comes_by_place_and_by_gtid(readers: Readers, admin: Connection) -> None:
    before, file = _executed(admin), last_file(admin)
    told(admin)
    by_place = readers.place(file).read(at_end(admin))
    by_gtid = readers.gtids(before).read(at_end(admin))
    assert len(_held(by_place)) >= 9
    assert _held(by_gtid) == _held(by_place)
    rows = event_kinds.ROWS | event_kinds.PACKED
    both = [[event.data for event in events if event.header.kind in rows] for events in (by_place, by_gtid)]
    assert both[0] == both[1]
    assert len(both[0]) >= 6


def test_a_set_that_was_read_in_part_brings_the_rest(readers: Readers, admin: Connection) -> None:
    _table(admin)
    run(admin, "INSERT INTO t VALUES (1, '')")
    held = _executed(admin)
    run(admin, "INSERT INTO t VALUES (2, '')", "FLUSH BINARY LOGS", "INSERT INTO t VALUES (3, '')")
    missing = held.missing(_executed(admin))  # type: ignore[arg-type]  # of one kind, as the server is
    events = readers.gtids(held).read(at_end(admin))
    assert len(_held(events)) == 2
    added = held
    for event in events:
        if isinstance(event.said, GtidEvent | MariaDbGtidEvent) and event.said.gtid is not None:
            added = added.with_(event.said.gtid)  # type: ignore[arg-type]
    assert added == _executed(admin)
    assert added.contains(missing)  # type: ignore[arg-type]


def test_a_dump_from_inside_a_file_knows_when_the_file_was_begun(readers: Readers, admin: Connection) -> None:
    file = last_file(admin)
    _table(admin)
    whole = readers.place(file).read(at_end(admin))
    later = [event for event in whole if isinstance(event.said, GtidEvent | MariaDbGtidEvent)][1]
    inside = readers.place(file, later.header.next - later.header.size).read(at_end(admin))
    first, described, begun = inside[:3]
    assert isinstance(first.said, RotateEvent)
    assert (first.said.file, first.said.artificial) == (file, True)
    assert begun.data == later.data
    origin = next(event.said for event in whole if isinstance(event.said, FormatDescription))
    assert isinstance(described.said, FormatDescription)
    assert described.said.begun == origin.begun
    assert abs(origin.begun - time.time()) < 600


def test_a_file_s_beginning_contains_the_earlier_gtids(readers: Readers, admin: Connection) -> None:
    _table(admin)
    before = _executed(admin)
    run(admin, "FLUSH BINARY LOGS")
    events = readers.place(last_file(admin)).read(at_end(admin))
    [said] = [event.said for event in events if isinstance(event.said, PreviousGtids | GtidList)]
    assert isinstance(said, PreviousGtids | GtidList)
    assert said.gtids == before


def test_a_transaction_begins_where_the_one_before_it_ends(readers: Readers, admin: Connection) -> None:
    """Inside one MariaDB 11 logs no places, and what no MariaDB sends (the statements) has a place too."""
    file = last_file(admin)
    told(admin)
    behind, checked = 0, 0
    for event in readers.place(file).read(at_end(admin)):
        found = event.header
        if isinstance(event.said, GtidEvent | MariaDbGtidEvent):
            assert found.next - found.size == behind
            checked += 1
        if not found.artificial:
            behind = found.next
    assert checked >= 9


def test_an_idle_server_reports_how_far_its_log_is(readers: Readers, admin: Connection) -> None:
    file = last_file(admin)
    _table(admin)
    reading = readers.place(file, who=_somebody(0.1))
    beats = [reading.read(heartbeat)[-1].said for _ in range(3)]
    status = "SHOW MASTER STATUS" if is_mariadb(admin) else "SHOW BINARY LOG STATUS"
    [(name, place, *_)] = run(admin, status)
    assert beats == [LogHeartbeatEvent(str(name), int(str(place)))] * 3
    run(admin, "INSERT INTO t VALUES (1, '')")
    events = reading.read(lambda event: event.header.kind == event_kinds.XID)
    assert _held(events)


def test_a_log_without_checksums_and_a_switch_on_the_way(readers: Readers, admin: Connection) -> None:
    run(admin, "SET GLOBAL binlog_checksum = NONE")
    try:
        file = last_file(admin)
        _table(admin)
        plain = readers.place(file).read(at_end(admin))
        assert {event.body_end == len(event.data) for event in plain[2:]} == {True}
    finally:
        run(admin, "SET GLOBAL binlog_checksum = CRC32")
    run(admin, "INSERT INTO t VALUES (1, '')")
    both = readers.place(file).read(at_end(admin))
    said = [event.said.checksums for event in both if isinstance(event.said, FormatDescription)]
    assert said == [False, True]
    assert len(_held(both)) == 3


def test_a_row_of_more_than_16_mb_is_one_event(readers: Readers, admin: Connection) -> None:
    _table(admin)
    file = last_file(admin)
    run(admin, "INSERT INTO t VALUES (1, repeat('ab', 20000000))")
    reading = readers.place(file, FIRST_EVENT)
    events = reading.read(heartbeat)
    [row] = [event for event in events if event.header.kind in event_kinds.ROWS]
    assert row.header.size == len(row.data) > 40_000_000
    assert row.data.endswith(b"ab" * 20_000_000, 0, row.body_end)
    bound = DumpReader(next(_numbers), uuid.uuid4(), 1, most_event_bytes=30_000_000)
    events = readers.place(file, FIRST_EVENT, who=bound).read(heartbeat)
    [row] = [event for event in events if event.header.kind in event_kinds.ROWS]
    assert row.header.size > 40_000_000 > len(row.data), "its head alone"


def test_tls_makes_no_difference(readers: Readers, admin: Connection) -> None:
    if is_mariadb(admin):
        pytest.skip("MariaDB is started without TLS")
    _table(admin)
    file = last_file(admin)
    run(admin, "INSERT INTO t VALUES (1, repeat('ab', 9000000)), (2, '')")
    read = []
    for plain in (True, False):
        connection = readers.connect(ssl_disabled=plain)
        [(_, cipher)] = run(connection, "SHOW STATUS LIKE 'Ssl_cipher'")
        assert bool(cipher) != plain
        reading = Reading(dump_from(connection, _somebody(), file, FIRST_EVENT))
        read.append([event.data for event in reading.read(at_end(admin)) if event.header.timestamp])
    assert read[0] == read[1]
    assert max(len(data) for data in read[0]) > 18_000_000


def test_a_packed_transaction_comes_out_as_a_plain_one(readers: Readers, admin: Connection) -> None:
    _table(admin)
    switch = "GLOBAL log_bin_compress" if is_mariadb(admin) else "binlog_transaction_compression"
    file = last_file(admin)
    run(admin, "INSERT INTO t VALUES (1, repeat('x', 3000))", f"SET {switch} = ON")
    try:
        run(admin, "DELETE FROM t", "INSERT INTO t VALUES (1, repeat('x', 3000))")
    finally:
        run(admin, f"SET {switch} = OFF")
    rows = []
    for event in readers.place(file).read(at_end(admin)):
        if event.header.kind in event_kinds.PACKED:
            held = plain_events(event.data, 0, event.body_end, 1 << 20)
            rows += [made[at:end] for made, at, end in held if made[at + 4] in event_kinds.ROWS]
        elif event.header.kind in event_kinds.ROWS:
            rows.append(event.data[: event.body_end])
    written = [row for row in rows if row[4] in {event_kinds.WRITE_ROWS_V1, event_kinds.WRITE_ROWS_V2}]
    assert len(rows) == 3
    assert written[0][27:] == written[1][27:]  # behind the header, the table's number and the flags


def test_a_tagged_gtid_is_left_out_when_it_is_held(readers: Readers, admin: Connection) -> None:
    """T-M05."""
    if is_mariadb(admin):
        pytest.skip("tags are MySQL's")
    before = _executed(admin)
    _table(admin)
    run(
        admin,
        "SET gtid_next = 'automatic:a_tag'",
        "INSERT INTO t VALUES (1, '')",
        "SET gtid_next = automatic",
    )
    held = _executed(admin)
    assert ":a_tag:1" in str(held)
    run(admin, "INSERT INTO t VALUES (2, '')")
    assert len(_held(readers.gtids(held).read(at_end(admin)))) == 1
    everything = _held(readers.gtids(before).read(at_end(admin)))
    assert [gtid for gtid in everything if gtid.endswith(":a_tag:1")]
    assert len(everything) == 4


@pytest.mark.full
def test_a_purged_file_is_definite(readers: Readers, admin: Connection) -> None:
    nothing, first = _executed(admin), last_file(admin)
    _table(admin)
    run(admin, "FLUSH BINARY LOGS", "INSERT INTO t VALUES (1, '')", "FLUSH BINARY LOGS")
    wait_until(lambda: _purge(admin))
    by_place = _fails(readers.place(first, FIRST_EVENT))
    by_gtid = _fails(readers.gtids(nothing))
    assert (by_place, by_gtid) == ("mysql.log_purged", "mysql.log_purged")


def _purge(admin: Connection) -> bool:
    """Drop all files but the last; the server keeps one that an earlier test's reader has not let go."""
    run(admin, f"PURGE BINARY LOGS TO '{last_file(admin)}'")
    return len(run(admin, "SHOW BINARY LOGS")) == 1


def test_after_a_reset_the_log_is_another(readers: Readers, admin: Connection) -> None:
    _table(admin)
    run(admin, *(f"INSERT INTO t VALUES ({number}, '')" for number in range(9)))
    held, file = _executed(admin), last_file(admin)
    [(_, place, *_)] = run(admin, "SHOW MASTER STATUS" if is_mariadb(admin) else "SHOW BINARY LOG STATUS")
    run(admin, *_reset(admin), "INSERT INTO t VALUES (100, '')")
    gone = _fails(readers.place(file, int(str(place))))
    assert gone == "mysql.log_purged"
    beyond = _fails(readers.place(last_file(admin), int(str(place))))
    assert beyond == "mysql.log_another"
    by_gtid = _fails(readers.gtids(held))
    assert by_gtid == ("mysql.server_behind" if is_mariadb(admin) else "mysql.log_another")


def test_a_second_reader_of_one_name_throws_the_first_off(readers: Readers, admin: Connection) -> None:
    """T-M10."""
    who, file = _somebody(), last_file(admin)
    first = readers.place(file, who=who)
    first.read(heartbeat)
    second = readers.place(file, who=who)
    second.read(heartbeat)
    assert _fails(first) in {"mysql.replica_twice", "mysql.log_ended"}
    second.read(heartbeat)


def test_without_the_right_the_hint_is_its_grant(readers: Readers, admin: Connection) -> None:
    unarmed = {"user": "unarmed", "password": "x"}
    run(admin, "CREATE USER unarmed@'%' IDENTIFIED BY 'x'")
    try:
        with pytest.raises(WracklineError) as raised:
            dump_from(readers.connect(**unarmed), _somebody(), last_file(admin), FIRST_EVENT)
        assert raised.value.code == "mysql.log_right_missing"
        assert "GRANT REPLICATION SLAVE ON *.* TO 'unarmed'" in raised.value.hint
        run(admin, raised.value.hint)
        reading = Reading(dump_from(readers.connect(**unarmed), _somebody(), last_file(admin), FIRST_EVENT))
        assert reading.read(heartbeat)
    finally:
        run(admin, "DROP USER unarmed@'%'")


def test_a_killed_dump_is_tried_again(readers: Readers, admin: Connection) -> None:
    connection = readers.connect()
    [(number,)] = run(connection, "SELECT connection_id()")
    reading = Reading(dump_from(connection, _somebody(), last_file(admin), FIRST_EVENT))
    reading.read(heartbeat)
    run(admin, f"KILL {number}")
    assert _fails(reading) == "mysql.log_ended"


def test_a_logged_statement_comes_with_its_session(readers: Readers, admin: Connection) -> None:
    file = last_file(admin)
    with readers.connect() as latin:
        run(
            latin,
            "SET NAMES latin1",
            "SET sql_mode = 'ANSI_QUOTES'",
            'CREATE DATABASE "sté"',
            'DROP DATABASE "sté"',
        )
    queries = [
        event.said for event in readers.place(file).read(at_end(admin)) if isinstance(event.said, QueryEvent)
    ]
    assert {query.charset for query in queries} == {8}
    assert {query.sql_mode for query in queries} == {4}
    assert queries[0].text == 'CREATE DATABASE "sté"'.encode()

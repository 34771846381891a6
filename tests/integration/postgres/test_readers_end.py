"""A reader ends on request, and detects a server that falls silent in the middle of a chunk."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tests.fixtures.cut_proxy import CutProxy
from tests.fixtures.servers import Database
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.control.local.stack.servers import HOST
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import Edge, Surroundings
from wrackline.producers.reading.readers import ChunkOutcome, FailureOutcome, Readers
from wrackline.producers.snapshot.work_items import Read, Ticket
from wrackline.producers.sources.postgres.chunks.copy_lines import NextLine, copy_rows
from wrackline.producers.sources.postgres.connect import connect
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.errors import Transient
from wrackline.schemas.pipelines import libpq
from wrackline.schemas.tables.table import TableId

WIDE = """CREATE TABLE wide (id int PRIMARY KEY, filler text);
ALTER TABLE wide ALTER filler SET STORAGE EXTERNAL;
INSERT INTO wide SELECT n, repeat('x', 20000) FROM generate_series(1, 2000) n"""
WAITING = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
READERS = """SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'wrackline%' AND state <> 'idle'"""


@pytest.fixture
def admin(database: Database) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(WIDE)
        yield made


def source_of(database: Database, **more: str) -> PgSource:
    around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
    return PgSource(settings_of(database.dsn, **more), around)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)


def test_a_reader_behind_a_lock_leaves_nothing_on_the_server_when_it_is_closed(
    database: Database, admin: psycopg.Connection[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wrackline.producers.sources.postgres.chunks.chunks._LOCKS", "SET lock_timeout = 0")
    source = source_of(database)
    (partition,) = source.partitions()
    readers = Readers(source, partition, 1, time.monotonic)
    try:
        with psycopg.connect(database.dsn) as locking:
            locking.execute("LOCK TABLE wide IN ACCESS EXCLUSIVE MODE")
            request = ChunkRequest(TableId(database.name, "public", "wide"), ("id",))
            readers.begin(Read(Ticket("run/1"), request, ()))
            until(lambda: admin.execute(WAITING).fetchone() is not None)
            readers.close()
            until(lambda: admin.execute(READERS).fetchone() is None)
            assert not any(thread.name == "reader" for thread in threading.enumerate())
    finally:
        source.close()


def test_a_lock_that_is_held_too_long_is_one_reads_trouble(
    database: Database, admin: psycopg.Connection[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "wrackline.producers.sources.postgres.chunks.chunks._LOCKS", "SET lock_timeout = '100ms'"
    )
    source = source_of(database)
    readers = Readers(source, source.partitions()[0], 1, time.monotonic)
    outcomes: list[object] = []

    def came(count: int) -> bool:
        outcomes.extend(readers.outcomes())
        return len(outcomes) >= count

    request = ChunkRequest(TableId(database.name, "public", "wide"), ("id",), most_rows=3)
    try:
        with psycopg.connect(database.dsn) as locking:
            locking.execute("LOCK TABLE wide IN ACCESS EXCLUSIVE MODE")
            readers.begin(Read(Ticket("run/1"), request, ()))
            until(lambda: came(1))
        (failed,) = outcomes
        assert isinstance(failed, FailureOutcome)
        assert isinstance(failed.error, Transient)
        readers.begin(Read(Ticket("run/2"), request, ()))
        until(lambda: came(2))
        assert isinstance(outcomes[1], ChunkOutcome)
        assert admin.execute(WAITING).fetchone() is None
    finally:
        readers.close()
        source.close()


def test_a_server_that_falls_silent_in_the_middle_of_a_chunk_is_found_out(
    database: Database, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    del admin
    with CutProxy(database.server.port) as network:
        source = source_of(
            database, **{"database.port": str(network.port), "wal.receiver.timeout.ms": "1000"}
        )
        server = connect.PgServer(settings_of(database.dsn, **{"database.port": str(network.port)}))
        connection = server.guarded()
        try:
            connection.most_silence = 0.3
            lines: list[bytes] = []

            def take(next_line: NextLine) -> int:
                length, line = next_line(1)
                if length > 0:
                    lines.append(bytes(line))
                    network.swallow()
                return length

            statement = b"COPY (SELECT * FROM public.wide ORDER BY id) TO STDOUT"
            with pytest.raises(psycopg.OperationalError, match="has not answered"):
                copy_rows(connection, statement, take, lambda: False)
            assert lines[0].startswith(b"1\t")
        finally:
            connection.close()
            source.close()


def test_a_chunk_that_ends_early_takes_its_statement_along(
    database: Database, admin: psycopg.Connection[tuple[object, ...]]
) -> None:
    source = source_of(database)
    try:
        reader = source.reader(source.partitions()[0])
        request = ChunkRequest(TableId(database.name, "public", "wide"), ("id",), most_bytes=50_000)
        after, seen = None, 0
        for _ in range(20):
            chunk = reader.read(ChunkRequest(request.table, ("id",), after=after, most_bytes=50_000))
            reader.marks.set("run/1", Edge.CLOSE)  # what a late cancel would hit
            after = chunk.slices[-1].upto
            seen += sum(len(one.rows) for one in chunk.slices)
            assert not chunk.complete
        assert after == (str(seen),)
        until(lambda: admin.execute(READERS).fetchone() is None)
    finally:
        source.close()


def test_a_server_that_lets_in_and_says_nothing_is_not_waited_for_by_the_log(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    beats = 0
    ended = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not ended.wait(0.01):
            beats += 1

    with socket.create_server((HOST, 0)) as silent:
        server = connect.PgServer(
            settings_of(database.dsn, **{"database.port": str(silent.getsockname()[1])})
        )
        monkeypatch.setattr(libpq, "CONNECT_LIMIT_S", 0.5)
        beating = threading.Thread(target=beat)
        beating.start()
        try:
            with pytest.raises(Transient):
                server.replicate()
        finally:
            ended.set()
            beating.join()
    assert beats > 5, "no other thread got a turn"

"""The log continues where we stopped, or the start says why it can't: on real servers, hurt for real."""

import itertools
import os
import shutil
import signal as signals
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest
from psycopg import pq, sql

from tests.fixtures.servers import Database
from tests.fixtures.standbys import standby_of
from tests.integration.postgres.majors import MAJORS, major_of, server_of
from tests.integration.postgres.pipes import PATIENCE, SETUP, Pipe, wait
from tests.integration.postgres.world import settings_of
from wrackline.control.local.stack.postgres import postgres as make_server
from wrackline.control.local.stack.servers import PostgresServer
from wrackline.control.local.stack.stack import Stack
from wrackline.producers.sources.postgres.connect.connect import PgServer
from wrackline.producers.sources.postgres.connect.quoting import own_slot
from wrackline.producers.sources.postgres.follow import publication
from wrackline.producers.sources.postgres.log import slot as slots
from wrackline.producers.sources.postgres.log.continuity import _needed_lsn
from wrackline.producers.sources.postgres.log.position import PgPosition, lsn_number, lsn_text, position_of
from wrackline.producers.sources.postgres.log.slot import log_history
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError
from wrackline.schemas.tables.table import TableId


@pytest.fixture(scope="module", params=MAJORS)
def postgres(stack: Stack, request: pytest.FixtureRequest) -> PostgresServer:
    """The servers of every major."""
    return server_of(stack, request)


@pytest.fixture
def pipe(database: Database) -> Pipe:
    """A pipeline that has published one row."""
    made = Pipe(database.dsn, f"slot_{database.name}")
    made.sql(SETUP)
    source, stream = made.open()
    stream.close()
    source.close()
    made.sql("INSERT INTO orders VALUES (1)")
    made.pull(1)
    return made


def test_a_stream_continues_after_the_saved_position(pipe: Pipe) -> None:
    pipe.sql("INSERT INTO orders VALUES (2)", "INSERT INTO orders VALUES (3)")
    before = pipe.saved
    pipe.pull(2, confirm=False)
    pipe.saved = before
    assert pipe.pull(2).epoch == 1


def test_a_slot_that_is_gone_stops_the_stream(pipe: Pipe) -> None:
    pipe.sql(f"SELECT pg_drop_replication_slot('{pipe.slot}')")
    refused = pipe.refused()
    assert (refused.code, type(refused)) == ("pg.slot_missing", Definite)
    assert pipe.sql("SELECT count(*) FROM pg_replication_slots WHERE database = current_database()") == [(0,)]
    pipe.repairs(refused)


def test_T_P07_a_slot_that_is_created_again_stops_the_stream(pipe: Pipe) -> None:  # noqa: N802 the trap's own id
    pipe.sql(
        f"SELECT pg_drop_replication_slot('{pipe.slot}')",
        "INSERT INTO orders VALUES (2)",
        f"SELECT pg_create_logical_replication_slot('{pipe.slot}', 'pgoutput')",
    )
    refused = pipe.refused()
    assert (refused.code, type(refused)) == ("pg.slot_ahead", Definite)
    assert "wrackline offsets reset" in refused.hint
    pipe.repairs(refused)


def test_T_P08_a_slot_that_another_client_advanced_stops_the_stream(pipe: Pipe) -> None:  # noqa: N802 the same
    pipe.sql(
        "INSERT INTO orders VALUES (2)",
        f"SELECT pg_replication_slot_advance('{pipe.slot}', pg_current_wal_lsn())",
    )
    assert pipe.refused().code == "pg.slot_ahead"


def test_T_P08_a_position_beyond_the_servers_log_stops_the_stream(pipe: Pipe) -> None:  # noqa: N802 the same
    assert pipe.saved is not None
    ahead = lsn_number(str(pipe.sql("SELECT pg_current_wal_lsn()")[0][0])) + (1 << 30)
    pipe.saved = {**pipe.saved, "lsn": lsn_text(ahead), "resume": lsn_text(ahead)}
    refused = pipe.refused()
    assert (refused.code, type(refused)) == ("pg.log_behind", Definite)
    pipe.repairs(refused)


def test_a_position_of_another_system_stops_the_stream(pipe: Pipe) -> None:
    """T-P09."""
    assert pipe.saved is not None
    pipe.saved = {**pipe.saved, "system": "7000000000000000000"}
    refused = pipe.refused()
    assert (refused.code, type(refused)) == ("pg.slot_foreign", Definite)
    pipe.repairs(refused)


def test_a_slot_of_another_database_is_refused(pipe: Pipe, database: Database) -> None:
    with psycopg.connect(database.server.dsn, autocommit=True) as elsewhere:
        elsewhere.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", [f"{pipe.slot}_b"])
        try:
            refused = pipe.refused(**{"slot.name": f"{pipe.slot}_b"})
        finally:
            elsewhere.execute("SELECT pg_drop_replication_slot(%s)", [f"{pipe.slot}_b"])
    assert (refused.code, type(refused)) == ("pg.slot_unfit", OperatorNeeded)
    with closing(pipe.source()) as source:
        assert not source.lost(source.partitions()[0], refused), "an operator must fix that"


def test_T_P23_a_frozen_predecessor_is_ended(pipe: Pipe) -> None:  # noqa: N802 the same
    frozen_source, frozen = pipe.open()
    pipe.sql("INSERT INTO orders VALUES (2)")
    assert pipe.pull(1).epoch == 1
    with pytest.raises(WracklineError) as ended:  # noqa: PT012 it hears of it when it reads
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            frozen.poll(time.monotonic() + 0.2)
    assert isinstance(ended.value, Transient)
    frozen.close()
    frozen_source.close()


def test_another_reader_of_the_slot_is_waited_for_and_named(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slots, "_LOOKS", 4)
    other = pq.PGconn.connect(f"{pipe.dsn} replication=database application_name=stranger".encode())
    start = (
        f"START_REPLICATION SLOT {pipe.slot} LOGICAL 0/0 (proto_version '1', publication_names 'wrackline')"
    )
    deadline = time.monotonic() + PATIENCE  # the server frees the slot a moment after its reader has gone
    while (answer := other.exec_(start.encode())).status != pq.ExecStatus.COPY_BOTH:
        assert time.monotonic() < deadline, answer.error_message
    try:
        refused = pipe.refused()
        assert (refused.code, type(refused)) == ("pg.slot_busy", Transient)
        assert "stranger" in refused.sentence
        assert "slot.name" in refused.hint
        assert f"pid = {other.backend_pid}" in refused.hint
        assert "terminate" not in refused.hint
    finally:
        other.finish()
    pipe.sql("INSERT INTO orders VALUES (2)")
    pipe.pull(1)


def test_two_pipelines_that_name_no_slot_have_one_each(pipe: Pipe) -> None:
    first, second = (Pipe(pipe.dsn, "", {"name": name}) for name in (f"{pipe.slot}_a", f"{pipe.slot}_b"))
    for each in (first, second):
        source, stream = each.open()
        stream.close()
        source.close()
    pipe.sql("INSERT INTO orders VALUES (2)")
    first.pull(1)
    second.pull(1)
    found = pipe.sql(
        "SELECT slot_name FROM pg_replication_slots WHERE slot_name LIKE 'wrackline%' ORDER BY 1"
    )
    assert found == [(own_slot(first.more["name"]),), (own_slot(second.more["name"]),)]


def test_a_stopped_pipelines_slot_is_not_taken_by_another_that_names_it(database: Database) -> None:
    name = f"one-{database.name}"
    first = Pipe(database.dsn, "", {"name": name, "publication.name": "of one"})
    first.sql(SETUP)
    source, stream = first.open()
    stream.close()
    source.close()
    taker = Pipe(database.dsn, own_slot(name), {"name": "two", "publication.name": "of two"})
    refused = taker.refused()
    assert refused.code == "pg.slot_of_another"
    assert name in refused.sentence
    first.sql("INSERT INTO orders VALUES (1)")
    first.pull(1)
    taker.sql(refused.hint[refused.hint.index("COMMENT") :])
    source, stream = taker.open()
    stream.close()
    source.close()


def test_a_slot_that_is_named_no_longer_stays_the_one_of_the_position(pipe: Pipe) -> None:
    pipe.sql("INSERT INTO orders VALUES (2)")
    again = Pipe(pipe.dsn, "", saved=pipe.saved)
    again.pull(1)
    assert again.saved is not None
    assert again.saved["slot"] == pipe.slot


def test_a_failover_slot_is_made_where_the_server_has_them(database: Database) -> None:
    pipe = Pipe(database.dsn, f"slot_{database.name}", {"slot.failover": "true"})
    pipe.sql(SETUP)
    if database.server.major < 17:
        refused = pipe.refused()
        assert (refused.code, type(refused)) == ("pg.failover_unsupported", OperatorNeeded)
        return
    source, stream = pipe.open()
    stream.close()
    source.close()
    assert pipe.sql(f"SELECT failover FROM pg_replication_slots WHERE slot_name = '{pipe.slot}'") == [(True,)]


@pytest.mark.parametrize("prepared", [False, True])
def test_a_new_slot_waits_for_open_transactions_so_long_and_names_the_oldest(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, *, prepared: bool
) -> None:
    monkeypatch.setattr(slots, "MOST_WAIT_MS", 300)
    with closing(psycopg.connect(pipe.dsn, autocommit=True)) as older, psycopg.connect(pipe.dsn) as younger:
        older.execute("BEGIN")
        older.execute("SELECT pg_current_xact_id()")
        younger.execute("SELECT pg_current_xact_id()")
        pid, gid = older.info.backend_pid, f"it's {pipe.slot}"
        if prepared:
            older.execute(sql.SQL("PREPARE TRANSACTION {}").format(gid))
        with PgServer(settings_of(pipe.dsn)).guarded() as connection:
            with pytest.raises(Transient, match=r"pg\.slot_waits") as refused:
                slots.create_slot(connection, f"{pipe.slot}_new", failover=False)
            assert (gid if prepared else f"process {pid} ") in refused.value.sentence
            younger.rollback()
            connection.execute(refused.value.hint.rpartition("wait: ")[2].encode())
            monkeypatch.undo()
            assert slots.create_slot(connection, f"{pipe.slot}_new", failover=False) > 0
            assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)


@dataclass
class Cluster:
    """A server of the test's own, which can be copied, restored and promoted."""

    server: PostgresServer
    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def copy(self) -> Path:
        """Copy the whole cluster, as a snapshot of its disk does, and let it continue."""
        self.server.process.stop()
        copied = self.folder / "copy"
        subprocess.run(["cp", "-a", str(self.data), str(copied)], check=True, timeout=120)
        self.server.process.start()
        return copied

    def restore(self, copied: Path) -> None:
        self.server.process.stop()
        shutil.rmtree(self.data)
        subprocess.run(["cp", "-a", str(copied), str(self.data)], check=True, timeout=120)

    def promote(self) -> int:
        """Start as a standby of nobody, become a primary on the next timeline, and say which we see.

        No checkpoint can end meanwhile, as on a busy server, so the control file knows the old one only.
        """
        self.server.process.stop()
        signal = self.data / "standby.signal"
        signal.touch()
        shutil.chown(signal, self.data.owner(), self.data.group())
        self.server.process.start()
        with PgServer(settings_of(self.server.dsn)).connect() as admin:
            kind = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
            wait(lambda: admin.execute(kind).fetchone() is not None)
            [(pid,)] = admin.execute(kind).fetchall()
            os.kill(int(str(pid)), signals.SIGSTOP)
            try:
                assert admin.execute("SELECT pg_promote(true, 60)").fetchone() == (True,)
                return log_history(admin, "any").timeline
            finally:
                os.kill(int(str(pid)), signals.SIGCONT)


@pytest.fixture(params=MAJORS)
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A server that no other test uses."""
    server = make_server(tmp_path, major_of(request))
    server.process.start()
    yield Cluster(server, tmp_path)
    server.process.stop()


@pytest.fixture
def own(cluster: Cluster) -> Pipe:
    """A pipeline on that server, with one row published."""
    made = Pipe(cluster.server.dsn, "wrackline")
    made.sql(SETUP)
    source, stream = made.open()
    stream.close()
    source.close()
    made.sql("INSERT INTO orders VALUES (1)")
    made.pull(1)
    return made


def test_a_promoted_server_that_has_everything_continues_in_a_new_epoch_and_never_goes_back(
    cluster: Cluster, own: Pipe
) -> None:
    """T-K14."""
    assert own.saved is not None
    own.sql("INSERT INTO orders VALUES (2)")
    copied = cluster.copy()
    assert cluster.promote() == 2
    own.sql("INSERT INTO orders VALUES (3)")
    position = own.pull(2)
    assert (position.epoch, own.saved["timeline"]) == (2, 2)
    own.sql("INSERT INTO orders VALUES (4)")
    assert own.pull(1).epoch == 2

    cluster.restore(copied)  # back on timeline 1
    cluster.server.process.start()
    refused = own.refused()
    assert (refused.code, type(refused)) == ("pg.timeline_back", Definite)
    own.repairs(refused)


def test_T_P11_a_server_promoted_without_what_was_published_stops_the_stream(  # noqa: N802 the same
    cluster: Cluster, own: Pipe
) -> None:
    copied = cluster.copy()
    own.sql("INSERT INTO orders VALUES (2)")
    own.pull(1)
    cluster.restore(copied)
    cluster.promote()
    assert own.saved is not None
    published = position_of(own.saved, own.slot).lsn
    own.sql("INSERT INTO orders VALUES (200)")
    wait(lambda: _grown(own, published))
    refused = own.refused()
    assert (refused.code, type(refused)) == ("pg.timeline_forked", Definite)
    own.repairs(refused)


def test_T_P09_a_restored_copy_of_the_disk_stops_the_stream(cluster: Cluster, own: Pipe) -> None:  # noqa: N802 the same
    copied = cluster.copy()
    own.sql("CREATE TABLE filler AS SELECT generate_series(1, 50000) AS n", "INSERT INTO orders VALUES (2)")
    own.pull(1)
    cluster.restore(copied)
    cluster.server.process.start()
    refused = own.refused()
    assert (refused.code, type(refused)) == ("pg.log_behind", Definite)


def test_T_P10_a_slot_that_held_too_much_log_is_lost(cluster: Cluster, own: Pipe) -> None:  # noqa: N802 the same
    own.sql(
        "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'",
        "SELECT pg_reload_conf()",
        *_segments(4),
        "CHECKPOINT",
    )
    held = f"SELECT wal_status FROM pg_replication_slots WHERE slot_name = '{own.slot}'"
    wait(lambda: own.sql("CHECKPOINT", held) == [("lost",)])
    refused = own.refused()
    assert (refused.code, type(refused)) == ("pg.slot_lost", Definite)
    assert "(wal_removed)" in refused.sentence
    assert "max_slot_wal_keep_size" in refused.hint
    assert cluster.server.process.running
    own.repairs(refused)


def test_log_that_was_deleted_by_hand_stops_the_stream(cluster: Cluster, own: Pipe) -> None:
    """T-P10."""
    own.sql(*_segments(4), "CHECKPOINT")
    [(needed, current)] = own.sql(
        "SELECT pg_walfile_name(restart_lsn), pg_walfile_name(pg_current_wal_lsn()) FROM pg_replication_slots"
    )
    cluster.server.process.stop()
    for segment in sorted((cluster.data / "pg_wal").glob("0000*")):
        if str(needed) <= segment.name < str(current):
            segment.unlink()
    cluster.server.process.start()
    refused = own.refused()
    assert (refused.code, type(refused)) == ("pg.wal_missing", Definite)
    own.repairs(refused)


@pytest.mark.deep
@pytest.mark.parametrize("major", [17, 18])
def test_T_P11_a_synchronised_slot_continues_after_the_primary_died(tmp_path: Path, major: int) -> None:  # noqa: N802 the same
    primary = make_server(tmp_path / "primary", major, settings={"synchronized_standby_slots": "standby"})
    primary.process.start()
    standby = None
    try:
        pipe = Pipe(primary.dsn, "wrackline", {"slot.failover": "true"})
        pipe.sql("SELECT pg_create_physical_replication_slot('standby')", SETUP)
        standby = standby_of(
            primary,
            tmp_path,
            {"primary_slot_name": "standby", "hot_standby_feedback": "on", "sync_replication_slots": "on"},
        )
        source, stream = pipe.open()
        stream.close()
        source.close()
        behind = Pipe(standby.dsn, pipe.slot)
        synced = "SELECT count(*) FROM pg_replication_slots WHERE synced AND NOT temporary"
        ids = itertools.count()

        def advanced() -> bool:
            """Move the primary's slot on: a standby takes it over once it is as far as its own place."""
            pipe.sql("SELECT pg_log_standby_snapshot()", f"INSERT INTO orders VALUES ({next(ids)})")
            pipe.pull(1)
            return behind.sql(synced) == [(1,)]

        wait(advanced)
        pipe.sql(f"INSERT INTO orders VALUES ({next(ids)})")
        end = pipe.sql("SELECT pg_current_wal_flush_lsn()")[0][0]
        wait(lambda: behind.sql(f"SELECT pg_last_wal_replay_lsn() >= '{end}'") == [(True,)])
        primary.process.kill()
        assert behind.sql("SELECT pg_promote(true, 60)") == [(True,)]
        behind.saved = pipe.saved
        behind.sql(f"INSERT INTO orders VALUES ({next(ids)})")
        assert behind.pull(2).epoch == 2
    finally:
        if standby is not None:
            standby.process.stop()
        primary.process.stop()


def test_a_position_inside_a_transaction_needs_its_commit_record() -> None:
    """One byte: a transaction whose commit began where the timelines part is not in the new one."""
    whole = PgPosition(1, 100, 0, 100)
    assert _needed_lsn(whole) == 100
    assert _needed_lsn(replace(whole, done=3)) == 101


def _segments(count: int) -> list[str]:
    """Fill so many files of the log."""
    return ["SELECT pg_logical_emit_message(false, 'x', 'x')", "SELECT pg_switch_wal()"] * count


def _grown(pipe: Pipe, position: int) -> bool:
    """Write until the server's log is longer than it was when we published."""
    [(end,)] = pipe.sql(*_segments(1), "SELECT pg_current_wal_flush_lsn()")
    return lsn_number(str(end)) > position


def test_a_publication_that_would_block_the_tables_own_users_is_not_made(database: Database) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute("CREATE TABLE keyless (a integer)")
        table = TableId(database.name, "public", "keyless")
        for mode in ("filtered", "all_tables"):
            with pytest.raises(OperatorNeeded) as caught:
                publication.ensure_publication(session, "p", [table], mode, resumed=False)
            assert caught.value.code == "pg.publication_would_block"
        session.execute("INSERT INTO keyless VALUES (1)")
        session.execute("UPDATE keyless SET a = 2")
        session.execute("ALTER TABLE keyless REPLICA IDENTITY FULL")
        publication.ensure_publication(session, "p", [table], "filtered", resumed=False)
        session.execute("UPDATE keyless SET a = 3")


@pytest.mark.parametrize("prepared", [False, True], ids=["session", "prepared"])
def test_a_publication_does_not_wait_forever_for_a_table_that_is_being_altered(
    database: Database, monkeypatch: pytest.MonkeyPatch, *, prepared: bool
) -> None:
    monkeypatch.setattr(publication, "_MAKE_LIMIT", "SET LOCAL lock_timeout = '100ms'")
    table = TableId(database.name, "public", 'odd "one')
    other = psycopg.connect(database.dsn)
    with closing(other), psycopg.connect(database.dsn, autocommit=True) as session:
        session.execute('CREATE TABLE "odd ""one" (a integer PRIMARY KEY)')
        other.execute('ALTER TABLE "odd ""one" ADD b integer')
        who = f"process {other.info.backend_pid} of the server"
        if prepared:
            other.execute("PREPARE TRANSACTION 'long'")
            who = "the prepared transaction long"
        with pytest.raises(Transient) as caught:
            publication.ensure_publication(session, "p", [table], "filtered", resumed=False)
        assert caught.value.code == "pg.publication_waits"
        assert who in caught.value.sentence
        session.execute(caught.value.hint.rpartition("wait: ")[2].encode())
        publication.ensure_publication(session, "p", [table], "filtered", resumed=False)

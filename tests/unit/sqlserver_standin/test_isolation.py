"""Readers and writers: who waits, who sees which version, and what ends a wait."""

from threading import Event, Thread

import pytest

from tests.unit.sqlserver_standin.shop import Shop, outcomes, rows, session, shop
from wrackline.control.local.sqlserver_standin.tsql.session import Cancelled, SqlSession
from wrackline.control.local.sqlserver_standin.wire.server_error import ServerError

COUNT = "SELECT COUNT(*) FROM orders"


def stocked() -> Shop:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1, "note": "old"}, {"id": 2, "note": "old"})
    return one


def test_a_locking_read_waits_for_who_writes_a_row_that_it_needs() -> None:
    one = stocked()
    write = one.database.begin()
    write.update("orders", {"note": "new"}, {"id": 2})
    found: list[object] = []
    reads = Thread(
        target=lambda: found.append(rows(session(one.server), "SELECT note FROM orders ORDER BY id"))
    )
    reads.start()
    assert rows(session(one.server), "SELECT note FROM orders WHERE id = 1") == [("old",)]
    assert found == []
    write.commit()
    reads.join()
    assert found == [[("old",), ("new",)]]


def test_a_wait_ends_with_the_time_that_a_test_hands_in() -> None:
    one = stocked()
    write = one.database.begin()
    write.delete("orders", {"id": 1})
    ask = session(one.server)
    outcomes(ask, "SET LOCK_TIMEOUT 10000")
    began, caught = Event(), []
    one.server.plan("COUNT", act=began.set)

    def read() -> None:
        with pytest.raises(ServerError) as error:
            rows(ask, COUNT)
        caught.append(error.value.number)

    reads = Thread(target=read)
    reads.start()
    assert began.wait()
    one.server.advance(seconds=10)
    reads.join()
    assert caught == [1222]
    outcomes(ask, "SET LOCK_TIMEOUT 0")
    with pytest.raises(ServerError, match="Lock request time out"):
        rows(ask, COUNT)
    write.rollback()
    assert rows(ask, COUNT) == [(2,)]


def test_a_wait_ends_when_the_client_cancels() -> None:
    one = stocked()
    write = one.database.begin()
    write.delete("orders", {"id": 1})
    ask = SqlSession(one.server, "sa", "shop", 51, lambda: True)
    with pytest.raises(Cancelled):
        rows(ask, COUNT)


def test_a_versioned_read_does_not_wait_unless_a_hint_says_so() -> None:
    one = stocked()
    one.database.read_committed_snapshot = True
    write = one.database.begin()
    write.insert("orders", {"id": 3})
    ask = session(one.server)
    assert rows(ask, COUNT) == [(2,)]
    outcomes(ask, "SET LOCK_TIMEOUT 0")
    with pytest.raises(ServerError, match="Lock request time out"):
        rows(ask, "SELECT COUNT(*) FROM orders WITH (READCOMMITTEDLOCK)")
    write.commit()
    assert rows(ask, COUNT) == [(3,)]


def test_a_snapshot_sees_its_moment_until_it_ends() -> None:
    one = stocked()
    ask = session(one.server)
    with pytest.raises(ServerError) as caught:
        rows(ask, f"SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN; {COUNT}")
    assert caught.value.number == 3952
    one.database.allows_snapshots = True
    ask = session(one.server)
    outcomes(ask, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT; BEGIN TRAN")
    with one.database.transaction() as write:
        write.insert("orders", {"id": 3})
    assert rows(ask, COUNT) == [(3,)], "a snapshot is taken at the first read, not at BEGIN"
    with one.database.transaction() as write:
        write.delete("orders", {"id": 1})
        write.update("orders", {"note": "new"}, {"id": 2})
    assert rows(ask, COUNT) == [(3,)]
    assert rows(ask, "SELECT note FROM orders WHERE id = 2") == [("old",)]
    with pytest.raises(ServerError, match="update conflict"):
        outcomes(ask, "UPDATE orders SET note = N'x' WHERE id = 2")
    assert rows(ask, COUNT) == [(2,)], "the conflict has rolled the transaction back"


def test_a_table_lock_keeps_writers_out_until_its_transaction_ends() -> None:
    one = stocked()
    ask = session(one.server)
    outcomes(ask, "BEGIN TRAN; SELECT TOP (0) id FROM orders WITH (TABLOCK, HOLDLOCK)")
    writer = session(one.server)
    outcomes(writer, "SET LOCK_TIMEOUT 0")
    with pytest.raises(ServerError, match="Lock request time out"):
        outcomes(writer, "DELETE FROM orders WHERE id = 1")
    outcomes(ask, "COMMIT")
    outcomes(writer, "DELETE FROM orders WHERE id = 1")
    assert rows(ask, COUNT) == [(1,)]


def test_a_table_lock_waits_for_writers() -> None:
    one = stocked()
    write = one.database.begin()
    write.delete("orders", {"id": 1})
    ask = session(one.server)
    outcomes(ask, "SET LOCK_TIMEOUT 0; BEGIN TRAN")
    with pytest.raises(ServerError, match="Lock request time out"):
        outcomes(ask, "SELECT TOP (0) id FROM orders WITH (TABLOCK, HOLDLOCK)")


def test_an_error_ends_the_transaction_where_the_session_says_so() -> None:
    one = stocked()
    ask = session(one.server)
    outcomes(ask, "BEGIN TRAN; DELETE FROM orders WHERE id = 1")
    with pytest.raises(ServerError, match="PRIMARY KEY"):
        outcomes(ask, "INSERT INTO orders (id) VALUES (2)")
    assert rows(ask, COUNT) == [(1,)]
    outcomes(ask, "SET XACT_ABORT ON")
    with pytest.raises(ServerError, match="PRIMARY KEY"):
        outcomes(ask, "INSERT INTO orders (id) VALUES (2)")
    assert rows(ask, COUNT) == [(2,)]


def test_a_transaction_sees_what_it_has_written_itself() -> None:
    one = stocked()
    ask = session(one.server)
    outcomes(ask, "BEGIN TRAN; UPDATE orders SET note = note + N'er', amount = 1.5 WHERE id IN (1)")
    assert rows(ask, "SELECT note, amount FROM orders WHERE id = 1") == [("older", 1.5)]
    outcomes(ask, "SAVE TRAN s; DELETE FROM orders; ROLLBACK TRAN s; COMMIT")
    assert rows(ask, COUNT) == [(2,)]

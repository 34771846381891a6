"""How far the log is complete."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from tests.unit.producers.oracle.mining_world import MiningWorld
from wrackline.producers.sources.oracle.connect.server_errors import UNREACHABLE
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.mining.log_files import RedoThread
from wrackline.producers.sources.oracle.mining.safe_scn import COMMITS_WAIT, CURRENT, ArchivedAlone, LogFlush
from wrackline.schemas.errors import OperatorNeeded, Transient
from wrackline.schemas.tables.table import TableId


def threads(world: MiningWorld) -> Sequence[RedoThread]:
    return [
        RedoThread(one.number, enabled=one.enabled, open=one.open)
        for one in world.model.database.threads.values()
    ]


def test_what_is_safe_is_in_the_files() -> None:
    world = MiningWorld()
    world.model.hold_writer()
    world.model.run("INSERT INTO ORDERS VALUES (1, 'a')")
    committed = world.model.scn
    point = world.safe.take(lambda: threads(world))
    assert point.scn is not None
    assert point.scn >= committed
    held = [record for log in world.model.database.logs() for record in log.records]
    assert committed in {record.scn for record in held}


def test_the_table_is_made_once_and_keeps_no_row() -> None:
    world = MiningWorld()
    for _ in range(3):
        world.safe.take(lambda: threads(world))
    assert [sql for sql in world.model.statements if sql.startswith("CREATE TABLE")] == [
        'CREATE TABLE "C##READER"."LOG_MINING_FLUSH" (LAST_SCN NUMBER(19))'
    ]
    assert world.model.rows('SELECT * FROM "C##READER"."LOG_MINING_FLUSH"') == []
    world.safe.close()
    world.safe.take(lambda: threads(world))
    assert len([sql for sql in world.model.statements if sql.startswith("CREATE TABLE")]) == 1


def test_a_row_of_another_connector_stays() -> None:
    world = MiningWorld(log__mining__flush__table__name="shop.flushed")
    world.model.run("CREATE TABLE FLUSHED (LAST_SCN NUMBER(19,0))", "INSERT INTO FLUSHED VALUES (0)")
    world.model.grant("C##READER", "INSERT ANY TABLE", "DELETE ANY TABLE")
    world.safe.take(lambda: threads(world))
    assert world.model.rows("SELECT LAST_SCN FROM FLUSHED") == [(0,)]


def test_each_open_thread_must_be_written_to() -> None:
    world = MiningWorld(threads=2)
    with pytest.raises(OperatorNeeded, match=r"oracle.thread_unwritten") as caught:
        world.safe.take(lambda: threads(world))
    assert "thread 2 is open" in caught.value.sentence
    assert "rac.nodes" in caught.value.hint


def test_the_lowest_of_the_nodes_is_safe() -> None:
    world = MiningWorld(threads=2, rac__nodes="node1,node2")
    world.model.hold_writer(2)
    world.model.run("INSERT INTO ORDERS VALUES (1, 'a')", thread=2)
    committed = world.model.scn
    point = world.safe.take(lambda: threads(world))
    assert point.scn is not None
    assert committed <= point.scn < world.model.scn
    assert [sql for sql in world.model.statements if "V$INSTANCE" in sql] == (
        ["SELECT THREAD# FROM V$INSTANCE"] * 2
    )


def test_a_node_that_is_down_is_not_needed() -> None:
    world = MiningWorld(threads=2, rac__nodes="node1,node2")
    world.safe.take(lambda: threads(world))
    world.model.stop_instance(2)
    world.model.fail("CONNECT", 12541, times=99)
    for connection in list(world.model.database.sessions.values()):
        if connection.thread == 2:
            connection.end()
    point = world.safe.take(lambda: [one._replace(open=one.number == 1) for one in threads(world)])
    assert point.scn is not None


def test_a_thread_that_is_open_but_not_reached_is_waited_for() -> None:
    world = MiningWorld(threads=2, rac__nodes="node1,node2")
    world.model.stop_instance(2)
    still_open = [RedoThread(1, enabled=True, open=True), RedoThread(2, enabled=True, open=True)]
    with pytest.raises(Transient, match=r"oracle.unreachable"):
        world.safe.take(lambda: still_open)


def test_a_lost_session_is_opened_again() -> None:
    world = MiningWorld()
    world.safe.take(lambda: threads(world))
    world.model.fail("INSERT INTO", 3113)
    assert world.safe.take(lambda: threads(world)).scn is not None
    assert world.model.driver.connections == 1
    world.safe.close()
    assert world.model.driver.connections == 0


def test_threads_are_asked_for_behind_the_writing() -> None:
    world = MiningWorld(rac__nodes="node1,node2")
    world.safe.take(lambda: threads(world))
    asked: list[int] = []

    def opened_meanwhile() -> Sequence[RedoThread]:
        if not asked:
            world.model.add_thread()
        asked.append(world.model.scn)
        return threads(world)

    point = world.safe.take(opened_meanwhile)
    assert len(asked) == 2
    assert point.scn is not None
    assert {thread.number for thread in point.threads} == {1, 2}


def test_archived_logs_alone_need_no_writing() -> None:
    world = MiningWorld(log__mining__archive__log__only__mode="true")
    assert isinstance(world.safe, ArchivedAlone)
    assert world.safe.take(lambda: threads(world)) == (None, threads(world))
    assert world.model.driver.connections == 0


def test_each_question_writes_redo_whose_commit_waits_for_the_log() -> None:
    """Without a row a commit writes nothing, and without the setting it does not wait."""
    world = MiningWorld()
    for _ in range(2):
        world.safe.take(lambda: threads(world))
    table = '"C##READER"."LOG_MINING_FLUSH"'
    writes = (f"INSERT INTO {table}", f"DELETE FROM {table}")
    seen = [sql for sql in world.model.statements if sql in {COMMITS_WAIT, CURRENT} or sql.startswith(writes)]
    flush = [CURRENT, f"{writes[0]} (LAST_SCN) VALUES (:row_scn)", f"{writes[1]} WHERE LAST_SCN = :row_scn"]
    assert seen == [COMMITS_WAIT, *flush, *flush]


class Node:
    """A session of a redo thread that counts how often it is ended; `error` is its first answer."""

    def __init__(self, thread: int, error: Exception | None = None) -> None:
        self.thread, self.error = thread, error
        self.canceled = self.closed = 0

    def connect(self) -> OracleSession:
        return cast("OracleSession", self)

    def ask(self, *_: Any) -> Sequence[tuple[int]]:
        return ((self.thread,),)

    def execute(self, *_: Any) -> None:
        error, self.error = self.error, None
        if error is not None:
            raise error

    def commit(self) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        self.canceled += 1

    def close(self) -> None:
        self.closed += 1


def flush_of(*nodes: Node) -> LogFlush:
    return LogFlush([node.connect for node in nodes], TableId("FREEPDB1", "C##READER", "FLUSH"))


def a_thread(number: int, *, is_open: bool = True) -> RedoThread:
    return RedoThread(number, enabled=True, open=is_open)


def test_calls_that_are_under_way_are_ended_on_each_node_that_has_a_session() -> None:
    one, two = Node(1), Node(2)
    flush = flush_of(one, two)
    flush.cancel()
    assert (one.canceled, two.canceled) == (0, 0)
    assert flush.take(lambda: [a_thread(1), a_thread(2)]).scn == 1
    flush.cancel()
    flush.close()
    flush.cancel()
    assert (one.canceled, two.canceled, one.closed, two.closed) == (1, 1, 1, 1)


def test_a_node_behind_one_that_fails_is_asked() -> None:
    lost = UNREACHABLE(reason="gone")
    flush = flush_of(Node(1, lost), Node(2))
    assert flush.take(lambda: [a_thread(1, is_open=False), a_thread(2)]).scn == 2


def test_only_open_threads_are_named() -> None:
    with pytest.raises(OperatorNeeded) as caught:
        flush_of(Node(1)).take(lambda: [a_thread(1), a_thread(2, is_open=False), a_thread(3)])
    assert "thread 3 is open" in caught.value.sentence


def test_a_session_that_cannot_be_set_up_is_ended() -> None:
    node = Node(1, RuntimeError("no such setting"))
    with pytest.raises(RuntimeError, match="no such setting"):
        flush_of(node).take(lambda: [a_thread(1)])
    assert node.closed == 1

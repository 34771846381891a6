"""Mining range after range, over a model of a database."""

import random
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest

from tests.unit.producers.oracle.mining_world import PDB, MiningWorld, ends, redo
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.discover.facts import OracleTableFacts
from wrackline.producers.sources.oracle.mining.log_files import LogFile
from wrackline.producers.sources.oracle.mining.log_miner import (
    LOOK_S,
    PIECE_BYTES,
    LogMiner,
    MiningSteps,
)
from wrackline.producers.sources.oracle.mining.mined_piece import MinedPiece
from wrackline.producers.sources.oracle.mining.mined_row import COMMIT, DDL, START, MinedRow
from wrackline.producers.sources.oracle.mining.mining_sql import START_MINING
from wrackline.schemas.errors import Definite, Transient
from wrackline.schemas.tables.table import TableId

ADDED = "INSERT INTO ORDERS VALUES ({}, 'n')"


def test_each_change_comes_once_and_up_to_what_is_safe() -> None:
    world = MiningWorld()
    world.model.hold_writer()
    found: list[str] = []
    for number in range(5):
        world.model.run(ADDED.format(number))
        pieces = world.catch_up()
        found += redo(pieces)
        assert len(redo(pieces)) == 1
        assert ends(pieces)[-1] >= pieces[-1].rows[-1].scn
    assert [f"'{number}'" in text for number, text in enumerate(found)] == [True] * 5


def test_a_range_has_an_end_of_its_own_and_none_of_its_neighbours_rows() -> None:
    world = MiningWorld(log__mining__batch__size__min="1", log__mining__batch__size__default="3")
    for number in range(10):
        world.model.run(ADDED.format(number))
    world.begin(after=world.miner._after, steps=MiningSteps(3, 1, 3))
    after, seen = world.miner._after, []
    for _ in range(50):
        for piece in world.mine():
            assert all(row.scn > after for row in piece.rows)
            if piece.upto is not None:
                assert piece.upto <= after + 3
                assert all(row.scn <= piece.upto for row in piece.rows)
                after = piece.upto
            seen += redo([piece])
        if not world.miner.behind:
            break
    assert len(seen) == len(set(seen)) == 10


def test_without_news_a_range_has_no_rows_and_the_same_end() -> None:
    world = MiningWorld(log__mining__archive__log__only__mode="true")
    (piece,) = world.mine()
    assert (list(piece.rows), piece.upto, world.miner.behind) == ([], world.miner._after, False)


def test_archived_logs_alone_are_mined_up_to_their_end() -> None:
    world = MiningWorld(log__mining__archive__log__only__mode="true")
    world.model.run(ADDED.format(1))
    assert redo(world.catch_up()) == []
    world.model.switch_log()
    world.model.run(ADDED.format(2))
    pieces = world.catch_up()
    assert len(redo(pieces)) == 1
    assert ends(pieces)[-1] == world.model.log(1, 1).next_scn - 1  # type: ignore[operator]
    assert not any(sql.startswith(("INSERT", "CREATE")) for sql in world.model.statements)


def test_a_thread_that_is_added_while_logs_are_listed_is_not_passed_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a write of ours, nothing else says that its changes are below what the others archived."""
    world = MiningWorld(log__mining__archive__log__only__mode="true")
    world.model.run(ADDED.format(1))
    real, added = OracleSession.ask, [False]

    def ask(session: OracleSession, sql: str, *rest: Any) -> Any:
        if "V$LOGFILE" in sql and not added[0]:
            added[0] = True
            thread = world.model.add_thread()
            world.model.run(ADDED.format(2), thread=thread)
            world.model.switch_log(1)
        return real(session, sql, *rest)

    monkeypatch.setattr(OracleSession, "ask", ask)
    found = redo(world.catch_up())
    world.model.switch_log(2)
    world.model.switch_log(1)
    found += redo(world.catch_up())
    assert ["'1'" in found[0], "'2'" in found[1]] == [True, True]


def test_a_piece_says_whose_rows_it_has() -> None:
    world = MiningWorld()
    world.model.create_table("STOCK.ITEMS", {"ID": "NUMBER(10)"})
    with_stock = replace(world.look(), tables={1: OracleTableFacts(TableId("DB", "STOCK", "ITEMS"), 1)})
    world.now = LOOK_S
    looks = iter([world.look(), world.look(), *[with_stock] * 9])
    world.miner._looks = looks.__next__
    world.model.run("CREATE TABLE SHOP.LATER (ID NUMBER)")
    owners = [piece.owners for piece in world.mine()]
    assert owners == [{"SHOP"}]
    world.now = 2 * LOOK_S
    world.model.run(ADDED.format(1))
    assert [piece.owners for piece in world.mine()] == [{"STOCK"}]


def test_another_container_is_not_mined() -> None:
    world = MiningWorld()
    world.model.create_pdb("OTHER")
    world.model.create_table("SHOP.ORDERS", {"ID": "NUMBER(10)", "NAME": "VARCHAR2(9)"}, pdb="OTHER")
    world.model.run(ADDED.format(1), pdb="OTHER")
    ours = world.model.run(ADDED.format(2), pdb=PDB)  # both may have one XID
    pieces = world.catch_up()
    assert [row.operation for piece in pieces for row in piece.rows if row.xid == ours][:1] == [START]
    (text,) = redo(pieces)
    assert "'2'" in text


def test_a_database_without_containers_is_mined() -> None:
    world = MiningWorld(pdb=None)
    world.model.run(ADDED.format(1))
    assert len(redo(world.catch_up())) == 1


def test_rows_of_other_owners_are_left_out_but_not_their_transactions() -> None:
    world = MiningWorld()
    world.model.create_table("STOCK.ITEMS", {"ID": "NUMBER(10)"})
    world.catch_up()
    xid = world.model.run("INSERT INTO ITEMS VALUES (1)", user="STOCK")
    rows = [row for piece in world.catch_up() for row in piece.rows if row.xid == xid]
    assert [row.operation for row in rows] == [START, COMMIT]


def test_pieces_are_bounded_and_only_the_last_ends_the_range() -> None:
    world = MiningWorld()
    text = "x" * 3_000
    world.model.run(*[f"INSERT INTO ORDERS VALUES ({number}, '{text}')" for number in range(800)])
    pieces = world.catch_up()
    assert len(pieces) > 2
    assert [piece.upto is None for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    assert all(piece.size <= PIECE_BYTES + 10_000 for piece in pieces)
    assert len(redo(pieces)) == 800


def test_a_log_that_is_switched_and_archived_is_mined_from_its_new_file() -> None:
    world = MiningWorld()
    for number in range(6):
        world.model.run(ADDED.format(number))
        world.model.switch_log()
    assert len(redo(world.catch_up())) == 6


def test_a_log_that_is_switched_between_listing_and_start_is_listed_again() -> None:
    world = MiningWorld()
    world.catch_up()
    world.model.run(ADDED.format(1))
    switched: list[bool] = []

    class Switching(LogMiner):
        def _listed(self, session: OracleSession) -> list[LogFile]:
            found = super()._listed(session)
            if not switched:
                switched.append(True)
                for _ in range(4):  # so that the first group is written over
                    world.model.switch_log()
            return found

    world.miner.__class__ = Switching
    pieces = world.mine()
    assert switched
    assert len(redo(pieces)) == 1
    assert world.model.statements.count("BEGIN SYS.DBMS_LOGMNR.END_LOGMNR; END;") >= 2


def test_a_log_that_is_written_over_before_the_first_piece_is_mined_again() -> None:
    world = MiningWorld()
    world.catch_up()
    world.model.run(ADDED.format(1))
    switched: list[bool] = []

    class Switching(LogMiner):
        def _note(self, row: MinedRow) -> None:
            super()._note(row)
            if not switched:
                switched.append(True)
                for _ in range(4):
                    world.model.switch_log()

    world.miner.__class__ = Switching
    world.model.statements.clear()
    assert len(redo(world.mine())) == 1
    assert world.model.statements.count(START_MINING) == 2


def test_an_error_before_the_first_piece_is_tried_again_and_then_raised() -> None:
    world = MiningWorld()
    world.model.run(ADDED.format(1))
    world.model.fail("START_LOGMNR", 1368, times=2)
    assert len(redo(world.mine())) == 1
    world.model.run(ADDED.format(2))
    world.model.fail("START_LOGMNR", 1368, times=3)
    with pytest.raises(Transient, match=r"oracle.logs_changed"):
        world.mine()


def test_an_error_behind_a_piece_is_raised_at_once() -> None:
    world = MiningWorld()
    text = "x" * 3_000
    world.model.run(*[f"INSERT INTO ORDERS VALUES ({number}, '{text}')" for number in range(800)])
    world.model.fail("V$LOGMNR_CONTENTS", 1368, after_rows=500)
    pieces: list[MinedPiece] = []
    with pytest.raises(Transient, match=r"oracle.logs_changed"):
        pieces.extend(world.miner.mine())
    assert pieces
    assert all(piece.upto is None for piece in pieces)
    assert world.model.statements[-1] == "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR; END;"


def test_a_log_that_was_written_over_while_it_was_read_is_not_believed() -> None:
    world = MiningWorld()
    world.catch_up()
    text = "x" * 3_000
    world.model.run(*[f"INSERT INTO ORDERS VALUES ({number}, '{text}')" for number in range(800)])
    pieces = world.miner.mine()
    assert next(pieces).upto is None
    for _ in range(4):
        world.model.switch_log()
    more: list[MinedPiece] = []
    with pytest.raises(Transient, match=r"oracle.logs_changed"):
        more.extend(pieces)
    assert more == [], "a commit in them may be without its rows"


def test_a_mining_that_is_given_up_ends() -> None:
    world = MiningWorld()
    text = "x" * 3_000
    world.model.run(*[f"INSERT INTO ORDERS VALUES ({number}, '{text}')" for number in range(800)])
    pieces = world.miner.mine()
    next(pieces)
    pieces.close()
    assert world.model.statements[-1] == "BEGIN SYS.DBMS_LOGMNR.END_LOGMNR; END;"
    world.miner.close()
    assert world.model.driver.connections == 0


def test_a_log_that_is_lost_is_an_error_that_names_it() -> None:
    world = MiningWorld()
    world.model.run(ADDED.format(1))
    for _ in range(4):
        world.model.switch_log()
    world.model.lose_log(1, 2)
    with pytest.raises(Definite, match=r"oracle.log_missing") as caught:
        world.mine()
    assert "thread 1 with sequence 2" in caught.value.sentence


def test_another_incarnation_is_an_error() -> None:
    world = MiningWorld()
    world.model.resetlogs()
    with pytest.raises(Definite, match=r"oracle.resetlogs"):
        world.mine()


def test_rows_of_every_node_come() -> None:
    world = MiningWorld(threads=2, rac__nodes="node1,node2")
    world.model.hold_writer(1)
    world.model.hold_writer(2)
    world.model.run(ADDED.format(1), thread=1)
    world.model.run(ADDED.format(2), thread=2)
    pieces = world.catch_up()
    assert {row.thread for piece in pieces for row in piece.rows} == {1, 2}
    assert len(redo(pieces)) == 2
    assert {piece.threads for piece in pieces} == {frozenset({1, 2})}


def test_the_catalogue_is_looked_at_behind_a_ddl_and_from_time_to_time() -> None:
    world = MiningWorld()
    world.catch_up()
    assert world.looked == 1
    world.model.run(ADDED.format(1))
    world.catch_up()
    assert world.looked == 1
    world.now += LOOK_S
    world.catch_up()
    assert world.looked == 2
    world.model.run("ALTER TABLE ORDERS ADD (MORE NUMBER(5))")
    pieces = world.catch_up()
    assert any(row.operation == DDL for piece in pieces for row in piece.rows)
    assert world.looked > 2
    assert pieces[-1].look is not pieces[0].look or len(pieces) == 1


def test_the_catalogue_is_looked_at_again_when_a_transaction_with_a_ddl_ends() -> None:
    world = MiningWorld()
    (piece, *_) = world.catch_up()
    row = piece.rows[-1]
    before = world.looked
    looked = []
    for operation, xid in (
        (DDL, "0A0B000C00000001"),
        (COMMIT, "0A0B000CFFFFFFFF"),  # of another range, so without its sequence
        (COMMIT, "0A0B000C00000002"),
    ):
        world.miner._note(row._replace(operation=operation, xid=xid))
        world.miner._piece([], 0, None)
        looked.append(world.looked - before)
    assert looked == [1, 2, 2]


def test_a_name_that_is_not_resolved_makes_it_look_again() -> None:
    world = MiningWorld()
    world.begin(steps=MiningSteps(1, 1, 1))
    world.model.run(ADDED.format(1))
    world.model.run("ALTER TABLE ORDERS ADD (MORE NUMBER(5))")
    pieces = world.mine()
    assert [row.operation for piece in pieces for row in piece.rows].count(DDL) == 0
    assert '"COL 1"' in redo(pieces)[0]
    assert world.looked == 2


def test_a_step_follows_the_time_of_the_server_and_keeps_its_bounds() -> None:
    world = MiningWorld()
    world.begin(steps=MiningSteps(10, 4, 20))
    for number in range(40):
        world.model.run(ADDED.format(number))
    world.mine()
    assert world.miner._step == 20  # no time passed, and the whole step was mined
    world.mine()
    assert world.miner._step == 20


def test_a_call_that_is_under_way_can_be_cancelled() -> None:
    world = MiningWorld()
    waiting = world.model.stall("START_LOGMNR")
    failed: list[Exception] = []

    def run() -> None:
        try:
            world.mine()
        except Transient as error:
            failed.append(error)

    thread = Thread(target=run)
    thread.start()
    assert waiting.wait(10)
    world.miner.cancel()
    thread.join(10)
    assert not thread.is_alive()
    assert "oracle.call_ended" in str(failed[0])


@pytest.mark.parametrize("seed", range(4))
def test_the_borders_of_ranges_change_nothing(seed: int) -> None:
    """Rows that are mined while they are written are those of one range over all of it, in the same order."""
    chance = random.Random(seed)
    world = MiningWorld(threads=2, rac__nodes="node1,node2")
    after = world.miner._after
    world.begin(after, MiningSteps(chance.randint(1, 9), 1, chance.randint(9, 40)))
    pieces: list[MinedPiece] = []
    for number in range(60):
        thread = chance.choice((1, 2))
        world.model.run(ADDED.format(number), thread=thread)
        if chance.random() < 0.2:
            world.model.hold_writer(thread)
        if chance.random() < 0.2:
            world.model.switch_log(thread, archive=chance.random() < 0.9)
            world.model.archive()
        if chance.random() < 0.4:
            pieces += world.mine()
    pieces += world.catch_up()
    upto = ends(pieces)[-1]
    world.begin(after, MiningSteps(upto - after, 1, upto - after))
    whole = world.mine()
    assert ends(whole) == [upto]
    assert identities(pieces) == identities(whole)
    assert len(redo(pieces)) == 60


def identities(pieces: list[MinedPiece]) -> list[tuple[object, ...]]:
    return [(row.scn, row.thread, row.rba, row.operation, row.redo) for piece in pieces for row in piece.rows]

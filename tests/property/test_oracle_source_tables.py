"""Oracle's whole source over the model: tables that come and go, and what it offers beside its log."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.fixtures.oracle_reading import ORDERS, Make, first, insert, read_until, seen
from tests.fixtures.oracle_world import OWNER, OracleWorld, given_of, read_settings
from wrackline.producers.contract.optional_parts import Buffering, Removable
from wrackline.producers.contract.steps import Appeared, Commit, Fault, Reshaped, Signal, Step
from wrackline.producers.sources.oracle.source import OracleSource
from wrackline.schemas.errors import OperatorNeeded
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import (
    open_stream,
    places,
    read,
    row_changes,
)


@pytest.fixture
def make() -> Iterator[Make]:
    worlds: list[OracleWorld] = []

    def made(**more: Any) -> OracleWorld:
        worlds.append(OracleWorld(**more))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


def news(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if isinstance(step, Appeared | Reshaped | Fault)]


def test_rows_of_before_a_ddl_that_nobody_has_mined_make_their_table_be_read_again(make: Make) -> None:
    """The catalogue has no columns of before, and LogMiner shows such rows without names."""
    world = make()
    stream = open_stream(world, first(world))
    at = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    stream.close()
    world.commit(first(world), row("a", 2))
    world.model.run(f'ALTER TABLE {ORDERS} ADD ("extra" VARCHAR2(20))', user=OWNER)
    again = open_stream(world, first(world), at.saved())
    steps = read(world, again, world.commit(first(world), row("a", 3)))
    assert seen(world, steps) == [("c", 3)]
    (void,) = [step for step in news(steps) if isinstance(step, Reshaped)]
    assert (void.refresh, void.void) == (True, True)
    assert steps.index(void) < steps.index(next(step for step in steps if isinstance(step, Commit)))


def test_a_table_that_is_made_and_dropped_and_made_again(make: Make) -> None:
    world = make(**{"table.include.list": r"SHOP\..*"})
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    world.grant("LATER")
    world.model.create_table(f"{OWNER}.LATER", {"ID": "NUMBER(9) NOT NULL"}, key=("ID",))
    world.model.run("INSERT INTO LATER VALUES (1)", user=OWNER)
    (appeared,) = [step for step in read_until(world, stream, Appeared) if isinstance(step, Appeared)]
    assert (appeared.table.name, appeared.complete) == ("LATER", False)
    name = world.model.run("INSERT INTO LATER VALUES (2)", user=OWNER).lower()
    assert [change[1] for change in row_changes(read(world, stream, name))][-1] == "c"
    world.model.run("DROP TABLE LATER", user=OWNER)
    world.model.create_table(f"{OWNER}.LATER", {"ID": "NUMBER(9) NOT NULL"}, key=("ID",))
    name = world.model.run("INSERT INTO LATER VALUES (3)", user=OWNER).lower()
    steps = read(world, stream, name)
    assert any(isinstance(step, Appeared | Reshaped) and step.table.name == "LATER" for step in steps)


def test_our_own_table_is_never_data(make: Make) -> None:
    world = make(**{"table.include.list": r".*"})
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 1)))
    read(world, stream, world.commit(first(world), row("a", 2)))
    assert world.model.rows("SELECT TABLE_NAME FROM ALL_TABLES WHERE TABLE_NAME = 'LOG_MINING_FLUSH'")
    names = {table.name for table in world.source.tables(first(world))}
    assert names == {"ORDERS", "ELSEWHERE"}
    assert "LOG_MINING_FLUSH" not in {table.name for table in world.oracle.left_out(first(world))}


def test_a_catalogue_that_does_not_answer_holds_up_no_end(make: Make) -> None:
    world = make()
    tables = world.source.tables(first(world))
    asked = world.model.stall("FROM ALL_TABLES t")
    stream = world.source.stream(first(world), tables, None)
    assert asked.wait(10)
    begun = world.now()
    assert stream.poll(begun - 1) is not None, "what is known is said"
    assert stream.poll(begun - 1) is None
    stream.close()
    assert world.now() - begun < 3
    world.model.release()


def test_what_we_have_made_is_named_and_left(make: Make) -> None:
    world = make()
    assert isinstance(world.source, Removable)
    read(world, open_stream(world, first(world)), world.commit(first(world), row("a", 1)))
    named = [one.drop for one in world.source.kept(first(world), None)]
    assert named == [
        'DROP TABLE "WRACKLINE"."LOG_MINING_FLUSH" PURGE;',
        'DROP TABLE "SHOP"."SIGNALS" PURGE;',
    ]
    world.source.remove(first(world), None)
    assert len(world.source.kept(first(world), None)) == 2


def test_a_signal_comes_through_the_log(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    text = """INSERT INTO SHOP.SIGNALS VALUES ('s1', 'execute-snapshot', '{"data-collections": ["it''s"]}')"""
    name = world.model.run(text, user=OWNER).lower()
    (signal,) = [step for step in read(world, stream, name) if isinstance(step, Signal)]
    assert (signal.id, signal.type) == ("s1", "execute-snapshot")
    assert json.loads(signal.data) == {"data-collections": ["it's"]}


def test_a_user_s_transactions_may_be_left_out(make: Make) -> None:
    world = make(**{"log.mining.username.exclude.list": "BATCH"})
    world.model.create_user("BATCH", "", "RESOURCE")
    stream = open_stream(world, first(world))
    world.model.run(insert(1), user="BATCH")
    name = world.commit(first(world), row("a", 2))
    assert seen(world, read(world, stream, name)) == [("c", 2)]


def test_what_is_kept_of_open_transactions_is_said(make: Make) -> None:
    world = make()
    assert isinstance(world.source, Buffering)
    assert world.oracle.open_transactions(first(world)) is None
    world.oracle.most_bytes = 1
    stream = open_stream(world, first(world))
    one = world.model.begin(user=OWNER)
    one.run(*(insert(number) for number in range(9)))
    read(world, stream, world.commit(first(world), row("b", 1)))
    kept = world.oracle.open_transactions(first(world))
    assert kept is not None
    assert kept.count >= 1
    assert kept.file_bytes > 0
    assert kept.oldest_ms == world.model.database.now * 1000
    stream.close()
    assert world.oracle.open_transactions(first(world)) is None


def test_a_node_that_is_not_named_is_an_error_and_one_that_is_down_is_not(make: Make) -> None:
    alone = make(threads=2, **{"rac.nodes": "node1"})
    with pytest.raises(OperatorNeeded) as caught:
        open_stream(alone, first(alone))
    assert caught.value.code == "oracle.node_unasked"
    world = make(threads=2, **{"rac.nodes": "node1,node2"})
    stream = open_stream(world, first(world))
    at = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    stream.close()
    other = OracleSource(read_settings(given_of(**{"rac.nodes": "node1"})), world.around, world.model.driver)
    again = other.stream(first(world), other.tables(first(world)), at.saved())
    with pytest.raises(OperatorNeeded) as caught:
        read(world, again, "never")
    assert caught.value.code == "oracle.thread_unwritten"
    other.close()
    world.model.stop_instance(2)
    fresh = open_stream(world, first(world))
    name = world.model.run(insert(2), user=OWNER, thread=1).lower()
    assert seen(world, read(world, fresh, name)) == [("c", 2)]

"""Transactions of many parts and rows of many megabytes, whole and in order, whatever dies in the middle."""

import signal
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from tests.chaos import evidence as ev
from tests.chaos.checks import check_all, findings
from tests.chaos.memory import MB, allowed, peak
from tests.chaos.world import World
from tests.integration.running.world import PATIENCE, wait_until
from wrackline.control.local.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers

CANARY = "canary-7f3a"


@pytest.fixture
def world(
    tmp_path: Path, postgres: PostgresServer, kafka: Broker, registry: SchemaRegistry
) -> Iterator[World]:
    """A pipeline that also publishes where transactions begin and end."""
    made = World(tmp_path, postgres, kafka, registry, {"provide.transaction.metadata": "true"})
    yield made
    made.close()


def inside(world: World) -> int:
    """How many changes of a transaction are out by the newest position, which lies inside it; else 0."""
    ends = [mark for mark in world.marks() if mark.ends]
    return int(orjson.loads(ends[-1].position)["done"]) if ends else 0


def dies_inside(world: World, armed: str) -> int:
    """Run until the failpoint kills it, between the parts of a transaction; how far it had come."""
    ended = world.run(armed, wait=False).process.wait(PATIENCE)
    assert ended == -signal.SIGKILL, f"{armed} was not reached:\n{world.started[-1].output}"
    wait_until(lambda: ev.settled(world.kafka.bootstrap, [world.offsets]) or not world.alive())
    return inside(world)


def told(world: World, topic: str) -> list[dict[str, object]]:
    """The records of the topic that says where transactions begin and end."""
    decoder = ev.Decoder(world.registry.url)
    records = ev.Reader(world.kafka.bootstrap).read([topic])
    return [decoder.decode(record.value) for record in records if record.value is not None]


def is_whole(world: World, seen: ev.Evidence, rows: int) -> None:
    """The one transaction of this many rows: each once, in its order, nothing between, reported once."""
    [large] = {event.xid for event in seen.events if event.table == "lines"}
    events = [event for event in seen.events if event.xid == large]
    ordinals = sorted(int(event.seq[-8:], 16) for event in events)
    assert ordinals == list(range(ordinals[0], ordinals[0] + rows))
    for partition in {event.partition for event in events}:
        own = [event for event in seen.events if event.table == "lines" and event.partition == partition]
        assert all(before.seq < after.seq for before, after in pairwise(own)), "its rows are out of order"
    about = [
        one for one in told(world, f"{world.prefix}.transaction") if str(one["id"]).startswith(f"{large}:")
    ]
    assert [one["status"] for one in about] == ["BEGIN", "END"]
    assert about[1]["event_count"] == rows


def parts(seen: ev.Evidence) -> int:
    """Into how many Kafka transactions the rows of one topic's partition came."""
    offsets = [event.offset for event in seen.events if event.table == "lines" and event.partition == 0]
    return 1 + sum(after != before + 1 for before, after in pairwise(offsets))


def test_a_large_transaction_is_killed_between_its_parts_and_comes_whole(world: World) -> None:
    first = world.run()
    world.insert("orders", 3)
    world.caught_up()
    assert first.stop() == Exit.OK
    world.insert("lines", 24_000, 1500)
    done = [dies_inside(world, "before_commit=kill@3"), dies_inside(world, "after_commit=kill@2")]
    world.run()
    world.insert("orders", 3)
    world.caught_up()
    seen = check_all(world)
    assert 0 < done[0] < done[1] < 24_000, done
    assert parts(seen) > 3
    is_whole(world, seen, 24_000)


@pytest.mark.full
def test_a_row_of_8_mb_is_carried_through_all_its_changes(world: World) -> None:
    rows_come_and_go(world, 8 * MB)


@pytest.mark.deep
def test_a_row_of_50_mb_is_carried_through_all_its_changes(world: World) -> None:
    rows_come_and_go(world, 50 * MB)


def rows_come_and_go(world: World, size: int) -> None:
    """A table whose log has each row before and after it."""
    running = world.run()
    with world.writing() as writers:
        world.sql("INSERT INTO accounts (id, note) VALUES (-1, repeat('y', %s))", size)
        world.sql("UPDATE accounts SET n = nextval('writes') WHERE id = -1")
        writers.more(20)
        world.sql("DELETE FROM accounts WHERE id = -1")
    world.caught_up()
    assert running.process.poll() is None, running.output
    assert peak(running) < allowed(size), f"{peak(running) / MB:.0f} MB"
    seen = check_all(world)
    large = [event for event in seen.events if event.key == ("accounts", -1)]
    assert [event.op for event in large] == ["c", "u", "d"]
    assert large[1].size > 2 * size


def test_a_row_that_is_too_large_pauses_its_table_alone_and_shows_no_value(world: World) -> None:
    """T-E21."""
    world.settings["max.row.bytes"] = str(MB)
    running = world.run()
    world.sql("INSERT INTO lines (id, note) VALUES (1, 'before it')")
    with world.session() as session, session.transaction():
        session.execute("INSERT INTO orders (id, note) VALUES (1, 'in its transaction')")
        session.execute("INSERT INTO lines (id, note) VALUES (2, repeat(%s, 400000))", [CANARY])
        session.execute("INSERT INTO orders (id, note) VALUES (2, 'in its transaction')")
        session.execute("INSERT INTO lines (id, note) VALUES (3, 'after it')")
    running.says("[kafka.row_too_large]")
    assert f"{world.database}.public.lines is set aside" in running.output
    assert "max.row.bytes" in running.output
    assert CANARY not in running.output
    world.caught_up()
    running.process.kill()
    running.process.wait()
    world.run()
    world.sql("INSERT INTO lines (id, note) VALUES (4, 'after a restart')")
    world.sql("INSERT INTO orders (id, note) VALUES (3, 'after a restart')")
    world.caught_up()
    seen = world.evidence()
    assert [event.id for event in seen.events if event.table == "lines"] == [1]
    assert findings(without(seen, "lines")) == {}


def without(seen: ev.Evidence, table: str) -> ev.Evidence:
    """What is there of all other tables."""
    return replace(
        seen,
        events=[event for event in seen.events if event.table != table],
        writes=[write for write in seen.writes if write.table != table],
        rows={key: n for key, n in seen.rows.items() if key[0] != table},
    )


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_two_million_rows_in_one_transaction_are_killed_again_and_again(world: World) -> None:
    rows = 2_000_000
    first = world.run()
    world.insert("orders", 3)
    world.caught_up()
    assert first.stop() == Exit.OK
    with world.session() as session, session.transaction():
        session.execute("ALTER TABLE lines DISABLE TRIGGER USER")  # what is wanted is counted here
        session.execute(
            "INSERT INTO lines (id, note) SELECT g, 'row ' || g FROM generate_series(1, %s) g", [rows]
        )
    done = [dies_inside(world, f"{place}=kill@{n}") for place, n in KILLS]
    assert done == sorted(done), done
    assert 0 < done[0] < done[-1] < rows, done
    last = world.run()
    world.caught_up(patience=300)
    assert peak(last) < allowed(0), f"{peak(last) / MB:.0f} MB"
    check_lines(world, rows)


KILLS = (("before_commit", 3), ("inside_events", 4), ("after_commit", 3), ("before_confirm", 2))


def check_lines(world: World, rows: int) -> None:
    """Each of the rows once and in its order, by what a reader sees, without keeping them all."""
    decoder = ev.Decoder(world.registry.url)
    records = ev.Reader(world.kafka.bootstrap).read([world.topic("lines")], patience=300)
    last = dict.fromkeys({record.partition for record in records}, 0)
    total = 0
    for record in records:
        assert record.value is not None
        event = decoder.decode(record.value)
        number = event["after"]["id"]
        assert (event["op"], event["after"]["note"]) == ("c", f"row {number}")
        assert number > last[record.partition], f"{number} after {last[record.partition]}"
        last[record.partition] = number
        total += number
    assert len(records) == rows
    assert total == rows * (rows + 1) // 2
    [end] = [one for one in told(world, f"{world.prefix}.transaction") if one["event_count"] == rows]
    assert end["status"] == "END"

"""`wrackline tail` and `wrackline tables` as their users meet them, over all that can lie in a topic."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.fixtures.prepared import Forked
from tests.fixtures.servers import Database
from tests.integration.running.world import World, environment, free_port
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.events.event_looks import EventLook, EventQuestion, look_at_events
from wrackline.control.runtime.events.row_columns import envelope_of
from wrackline.control.runtime.events.shape_looks import look_at_shapes
from wrackline.control.runtime.events.start_offsets import NEWEST
from wrackline.control.runtime.ground.exits import Exit
from wrackline.schemas.errors import WracklineError

pytestmark = pytest.mark.servers

CLEAR = "\x1b[2J\x9b\u202e"  # what a terminal, or the eye, would obey
ROWS = 10_000
UNKNOWN = 2_000_000_000


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with a table that logs old rows whole, and one that the filters leave out."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    made.sql.execute("ALTER TABLE orders REPLICA IDENTITY FULL")
    made.sql.execute('CREATE TABLE "left out" (a int)')
    yield made
    made.close()


def start(world: World, *arguments: str, **environ: str) -> subprocess.Popen[str]:
    """Start `wrackline tail`."""
    return Forked(
        ["tail", str(world.file), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment() | environ,
    )


def tail(world: World, *arguments: str, code: Exit = Exit.OK, **environ: str) -> list[str]:
    """Run it to its end; return its lines."""
    with start(world, *arguments, **environ) as running:
        out, err = running.communicate(timeout=60)
    assert running.returncode == code, out + err
    assert bool(err) == bool(code), err
    return out.splitlines() or err.splitlines()


def objects(world: World, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in tail(world, *arguments, "--json")]


def words(lines: list[str]) -> list[str]:
    """What each line says of its event, without when it was written."""
    return [line[20:].split()[2] for line in lines]


def write(world: World, *values: bytes | None, key: bytes | None = None, abort: bool = False) -> None:
    """Write records as another client than the pipeline."""
    producer = Producer({"bootstrap.servers": world.kafka.bootstrap, "transactional.id": f"{world.prefix}.x"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(world.topic, value, key, headers=[("whence", b"a stranger\x1b")])
    producer.flush(30)
    if abort:
        producer.abort_transaction(30)
    else:
        producer.commit_transaction(30)


def fill(world: World) -> None:
    """Have the pipeline publish one event of each kind."""
    running = world.run()
    world.sql.execute("INSERT INTO orders VALUES (1, %s), (2, NULL)", [CLEAR])
    world.sql.execute("UPDATE orders SET note = 'sent' WHERE id = 1")
    world.sql.execute("DELETE FROM orders WHERE id = 2")
    world.sql.execute("TRUNCATE orders")
    world.arrived(6)
    assert running.stop() == Exit.OK


def test_every_kind_of_event_is_shown_and_nothing_of_a_row_reaches_the_terminal(world: World) -> None:
    assert "[tail.nothing_yet]" in tail(world, code=Exit.TRANSIENT)[0]
    fill(world)
    lines = tail(world)
    assert words(lines) == ["insert", "insert", "update", "delete", "tombstone", "truncate"]
    assert lines[0].endswith(r'id=1  note="\u001b[2J\u009b\u202e"')
    assert lines[1].endswith("id=2  note=null")
    assert lines[2].endswith(r'id=1  note: "\u001b[2J\u009b\u202e" -> "sent"')
    assert "  public.orders  0:0  insert" in lines[0]
    told = objects(world, "public.orders", "--from", "beginning")
    assert [one["value"] and one["value"]["op"] for one in told] == ["c", "c", "u", "d", None, "t"]
    assert told[0]["value"]["after"] == {"id": 1, "note": CLEAR}
    assert told[0]["key"] == {"id": 1}
    assert told[0]["timestamp_ms"] > 0
    assert told[0]["key_schema_id"] != told[0]["value_schema_id"]
    assert objects(world, world.topic, "--from", str(told[3]["offset"])) == told[3:]
    assert objects(world, "-n", "2") == told[-2:]
    assert objects(world, "--from", "2000-01-01") == told
    assert tail(world, "--from", "2100-01-01T00:00:00+02:00") == ["there are no events"]
    assert all(len(line) <= 20 for line in tail(world, COLUMNS="20"))
    coloured = "".join(tail(world, FORCE_COLOR="1", NO_COLOR="", TERM="xterm-256color"))
    assert "\x1b[32m" in coloured
    assert "\x1b[2J" not in coloured
    assert "[tail.no_topic]" in tail(world, "public.nobody", code=Exit.OPERATOR)[0]
    assert "generation=" in tail(world, f"{world.group}-offsets", "-n", "1")[0]


@pytest.mark.full
def test_what_is_no_event_is_shown_with_its_reason_and_ends_nothing(world: World) -> None:
    fill(world)
    key, good = world.events()[0]
    assert good is not None
    unknown = b"\0" + UNKNOWN.to_bytes(4, "big") + b"x"
    write(world, b"plain", unknown, unknown, good[:-3], good + b"x", good, key=key)
    write(world, good, good, abort=True)
    told = objects(world, "-n", "6")
    codes = [one["error"]["code"] if "error" in one else "" for one in told]
    ours, theirs = "tail.not_its_schema", "registry.unknown_id"
    assert codes == ["tail.not_wire_format", theirs, theirs, ours, ours, ""]
    assert all(one["key"] == {"id": 1} for one in told)
    assert told[0]["headers"] == [{"key": "whence", "value": "a stranger\x1b"}]
    assert words(tail(world, "-n", "6")) == [*["broken"] * 5, "insert"]
    write(world, *[good] * 400, key=key, abort=True)
    assert objects(world, "-n", "6") == told, "aborted records are not seen, and what is before them is found"
    away = world.file.read_text().replace(world.registry.url, f"http://127.0.0.1:{free_port()}")
    world.file.write_text(away)
    assert "[registry.unreachable]" in tail(world, code=Exit.TRANSIENT)[0]
    away = away.replace(world.kafka.bootstrap, f"127.0.0.1:{free_port()}")
    world.file.write_text(away)
    assert "[kafka.unreachable]" in "".join(tail(world, code=Exit.TRANSIENT))


@pytest.mark.full
def test_a_reader_of_the_tail_may_leave_at_any_time(world: World) -> None:
    fill(world)
    key, good = world.events()[0]
    write(world, *[good] * ROWS, key=key)
    with start(world, "--from", "beginning") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert len([running.stdout.readline() for _ in range(3)]) == 3
        running.stdout.close()
        assert running.wait(60) == Exit.OK
        assert running.stderr.read() == ""
    assert len(tail(world, "--from", "beginning")) == 6 + ROWS
    with start(world, "-f", "--json") as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert len([running.stdout.readline() for _ in range(NEWEST)]) == NEWEST
        write(world, good, key=key)
        assert json.loads(running.stdout.readline())["key"] == {"id": 1}
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == Exit.OK
        assert running.stderr.read() == ""


@pytest.mark.full
def test_the_tables_that_are_captured_are_listed_with_what_is_in_kafka(world: World) -> None:
    done = world.command("tables", "--json")
    assert done.returncode == Exit.OK, done.stderr
    (table,) = json.loads(done.stdout)["tables"]
    assert (table["topic"], table["partitions"], table["events_at_most"]) == (world.topic, None, None)
    fill(world)
    told = json.loads(world.command("tables", "--all", "--json").stdout)
    (table,) = told["tables"]
    assert table["table"] == f"{world.database.name}.public.orders"
    assert (table["key"], table["key_kind"]) == (["id"], "primary")
    assert [column["name"] for column in table["columns"]] == ["id", "note"]
    assert table["partitions"] == 1
    assert 6 <= table["events_at_most"] <= 20
    assert told["left_out"] == 1
    assert told["left_out_tables"] == [f"{world.database.name}.public.left out"]
    seen = world.command("tables").stdout
    assert "key      id\n" in seen
    assert "captured: 1; not captured: 1 left out by the filters (--all lists them)" in seen
    world.file.write_text(world.file.read_text().replace(world.kafka.bootstrap, f"127.0.0.1:{free_port()}"))
    away = world.command("tables")
    assert away.returncode == Exit.TRANSIENT
    assert "key      id\n" in away.stdout


def test_a_bounded_look_finds_the_same_events_by_place_kind_and_key(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the console and REST show."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    fill(world)
    write(world, b"not ours", abort=True)
    values = good_pipeline(world.file).good()

    def look(table: str = "public.orders", begin: str = "newest", **more: Any) -> EventLook:
        return look_at_events(values, EventQuestion(table, begin, **more))

    def ops(found: EventLook) -> list[object]:
        envelopes = (envelope_of(event.value) for event in found.events)
        return [envelope and envelope["op"] for envelope in envelopes]

    newest = look(world.topic.partition(".")[2])
    assert ops(newest) == ["c", "c", "u", "d", None, "t"]
    assert (newest.next, newest.topics) == ("", [world.topic])
    assert ops(look(most=2)) == [None, "t"]
    first = look(begin="beginning", most=2)
    assert ops(first) == ["c", "c"]
    assert ops(look(begin=first.next)) == ["u", "d", None, "t"]
    assert ops(look(begin="beginning", key="id=2")) == ["c", "d", None]
    assert ops(look(key="1", op="u")) == ["u"]
    assert ops(look(begin="2000-01-01", op="t")) == ["t"]
    assert look(begin="end").events == []
    (shape,) = look_at_shapes(values, "public.orders").shapes
    assert [(one.name, one.type, one.in_key) for one in shape.columns] == [
        ("id", "integer", True),
        ("note", "text", False),
    ]
    others = (
        "public.customers",
        "__consumer_offsets",
        f"{world.prefix}.transaction",
        "wrackline-shop-offsets",
    )
    for table in others:
        with pytest.raises(WracklineError, match=r"tail\.no_topic"):
            look(table)

"""The board on a real Kafka: what a half reports reaches every machine, and its silence too."""

import json
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.fixtures.prepared import Forked
from tests.integration.running.world import CANARY, World, environment, wait_until
from wrackline.consumers.kafka.client_settings import client_settings
from wrackline.consumers.kafka.wish_topic import WishTopic
from wrackline.control.runtime.board.board_changes import HalfLook, LookScope
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.board.board_reader import board_slot, read_records
from wrackline.control.runtime.board.board_writer import written_board
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.control.runtime.logs.sent_lines import logs_topic
from wrackline.control.runtime.logs.trail_writer import open_trail
from wrackline.control.runtime.services.table_wishes import send_wish
from wrackline.producers.kafka.client import Client
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.board_records import BoardKey, Half, HalfBoard, HalfState, encode, parse_key
from wrackline.schemas.kafka.receipts import RequestState
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.kafka.wish_records import TableWish
from wrackline.schemas.settings.settings_registry import Values


@pytest.fixture
def follower(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[BoardFollower]:
    """Another machine, as it were; it follows before the topic is there."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    made = BoardFollower()
    made.follow(world.prefix, good_pipeline(Path(world.file)).good())
    yield made
    made.close()


def source(follower: BoardFollower, name: str) -> HalfBoard:
    with follower.held(name) as halves:
        half = halves[Half.SOURCE]
        return HalfBoard(half.report, half.heard_ms, dict(half.tables))


def test_what_a_half_reports_is_followed_and_survives_its_process(
    world: World, follower: BoardFollower
) -> None:
    table = f"{world.database.name}.public.orders"

    def known() -> HalfBoard:
        return source(follower, world.prefix)

    def through() -> int | None:
        moment: int | None = known().report["databases"][world.database.name]["through_ms"]
        return moment

    first = world.run()
    wait_until(lambda: known().state is HalfState.RUNNING)
    world.insert(1, 3)
    inserted_ms = time.time_ns() // 1_000_000
    wait_until(lambda: known().tables.get(table, {}).get("events") == {"c": 3})
    for _ in range(2):  # nothing happens, and the log is complete through a later moment
        before, inserted_ms = inserted_ms, time.time_ns() // 1_000_000
        wait_until(lambda before=before: (through() or 0) > before)  # type: ignore[misc]
    assert known().report["databases"][world.database.name]["position"]
    assert known().report["pid"] == first.process.pid
    wait_until(lambda: known().report["databases"][world.database.name]["end_bytes"])
    assert follower.receipts(world.prefix) == ()

    assert world.command("snapshot", "start", "public.orders", "--id", "again").returncode == 0
    wait_until(lambda: [one.over for one in follower.receipts(world.prefix)] == [True])
    [receipt] = follower.receipts(world.prefix)
    assert (receipt.id, receipt.state, receipt.tables[0].rows) == ("again", RequestState.SUCCEEDED, 3)

    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    now_ms = time.time_ns() // 1_000_000
    assert not known().is_silent(now_ms)
    assert known().is_silent(now_ms + 16_000), "nothing comes any more, and that shows"

    world.sql.execute("ALTER TABLE orders RENAME TO renamed")
    world.sql.execute("CREATE TABLE orders (id int PRIMARY KEY, note text)")
    second = world.run()
    wait_until(lambda: known().report.get("pid") == second.process.pid)
    assert second.stop() == 0
    wait_until(lambda: known().state is HalfState.STOPPED)
    assert not known().is_silent(now_ms + 3_600_000), "a half that was stopped owes no sign of life"
    told: Any = json.loads(world.command("status", "--json").stdout)
    assert told["log"]["error"]["code"] == "status.has_ended"


def test_a_failure_is_on_the_board_with_its_hint(world: World, follower: BoardFollower) -> None:
    world.run().stop()
    world.sql.execute(f'ALTER ROLE "{world.user}" NOREPLICATION NOSUPERUSER')
    printed = world.folder / "failing"
    with printed.open("wb") as out:
        Forked(["run", "--text", str(world.file)], stdout=out, stderr=out, env=environment()).wait(60)
    wait_until(lambda: source(follower, world.prefix).state is HalfState.FAILED)
    error = source(follower, world.prefix).report["error"]
    assert error["code"] in printed.read_text()
    assert error["hint"]
    told: Any = json.loads(world.command("status", "--json").stdout)
    assert told["log"]["error"]["code"] == error["code"]

    def counts() -> dict[str, str]:
        return {about.code: one.sentence for about, one in follower.errors(world.prefix)[Half.SOURCE]}

    wait_until(lambda: error["code"] in counts())
    assert counts()[error["code"]] == error["sentence"]
    world.sql.execute(f'ALTER ROLE "{world.user}" SUPERUSER')


@pytest.fixture
def values(world: World, follower: BoardFollower) -> Values:
    """The pipeline's settings; the follower's environment has what they refer to."""
    assert follower.pipelines == {world.prefix}
    return good_pipeline(Path(world.file)).good()


def test_a_pipeline_is_known_from_its_own_topic_alone_and_again_after_it_was_left(
    world: World, follower: BoardFollower, values: Values
) -> None:
    world.run()
    wait_until(lambda: source(follower, world.prefix).state is HalfState.RUNNING)
    wait_until(lambda: follower.is_read(world.prefix))
    slot, other = board_slot(values), BoardKey("other", Half.SOURCE)
    mine = BoardKey(world.prefix, Half.TARGET)
    producer = Producer(Client(values.below("kafka."), values.integer("max.row.bytes")).reporter("test"))
    for key in (other, mine):
        producer.produce(slot.topic, encode({"state": "stopped"}, 1), key.encode(), 0)
    producer.flush(10)

    def target(name: str) -> HalfState | None:
        with follower.held(name) as halves:
            return halves[Half.TARGET].state or halves[Half.SOURCE].state

    wait_until(lambda: target(world.prefix) is HalfState.STOPPED)
    assert target("other") is None
    follower.leave(world.prefix)
    follower.follow(world.prefix, values)
    wait_until(lambda: target(world.prefix) is HalfState.STOPPED)
    follower.leave(world.prefix)
    wait_until(lambda: all(one.name != "board-follower" for one in threading.enumerate()))


def test_the_first_wish_counts_and_a_pause_is_known_before_the_first_batch(values: Values) -> None:
    topic, given = (
        internal_topics(group_of(values.text("name"))).wishes,
        client_settings(values.below("kafka.")),
    )
    with closing(WishTopic(given, topic)) as first:
        assert first.paused == frozenset()
        send_wish(values, "d.s.t", TableWish.RETRY, "")
        wait_until(lambda: "d.s.t" in first.take_retries())
        send_wish(values, "d.s.t", TableWish.PAUSE, "")
        wait_until(lambda: first.paused == {"d.s.t"})
    with closing(WishTopic(given, topic)) as second:
        assert second.paused == {"d.s.t"}
        assert second.take_retries() == frozenset(), "it was for the consumer before"


def test_what_a_half_logs_is_followed_and_kept_while_kafka_is_asked(
    world: World, follower: BoardFollower, values: Values
) -> None:
    topic = logs_topic(values)
    assert topic == f"wrackline-{world.prefix}-logs"
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    follower.follow_lines(topic, client)

    def events() -> list[Any]:
        return [json.loads(line)["event"] for line in follower.lines(topic)]

    running = world.run()
    wait_until(lambda: {"connected", "owner"} <= set(events()))
    assert running.stop() == 0
    wait_until(lambda: events()[-1] == "stopped")
    lines = [json.loads(line) for line in follower.lines(topic)]
    assert {one["half"] for one in lines} == {"source"}
    assert CANARY not in str(lines)
    with open_trail(client, topic, 3) as put:
        for number in range(80):
            put({"event": "many", "line": f"line {number}"})
    wait_until(lambda: "left out" in events())
    assert events().count("many") < 80
    follower.leave_lines(topic)
    assert follower.lines(topic) == ()


def test_a_state_is_written_before_the_figures_are_due(values: Values, follower: BoardFollower) -> None:
    name, table = values.text("name"), "shop.public.orders"
    half: dict[str, Any] = {"state": "running", "events": 0}
    looks: list[LookScope] = []
    has_failed = threading.Event()

    def look(scope: LookScope) -> HalfLook:
        """A table fails after the first look; only a look at states is told so until the test has seen it."""
        looks.append(scope)
        if scope is LookScope.STATES:
            failed = len(looks) > 1
            if failed:
                has_failed.set()
            return HalfLook(half, {table: {"state": "failed"}} if failed else {})
        half["events"] += 1
        return HalfLook(half, {table: {"state": "failed" if has_failed.is_set() else "streaming"}})

    def raises(error: WracklineError) -> None:
        raise error

    records: list[tuple[str | None, Any]] = []
    with written_board(values, Half.SOURCE, look, raises):
        wait_until(lambda: source(follower, name).tables.get(table, {}).get("state") == "failed")
        wait_until(lambda: looks.count(LookScope.FIGURES) > 1)
    admin = AdminClient(Client(values.below("kafka."), values.integer("max.row.bytes")).admin())
    for one in read_records(values, admin):
        key, told = parse_key(one.key), json.loads(one.value or b"{}")
        records.append((key.table, told.get("events", told["state"])))
    failed = records.index((table, "failed"))
    assert records[0] == (table, "streaming")
    halves = [told for key, told in records if key is None]
    assert halves == list(range(1, len(halves) + 1)), "a look at states writes no half"
    assert (records[failed - 1][0], records[failed + 1][0]) == (None, None), "no look at figures wrote it"
    assert looks[0] is LookScope.ALL
    assert looks[-1] is LookScope.ALL or looks[-1] is LookScope.FIGURES, "the last word is all"

"""The board on a real Kafka: what a half reports reaches every machine, and its silence too."""

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.prepared import Forked
from tests.integration.running.world import World, environment, wait_until
from wrackline.control.runtime.board.board_follower import BoardFollower
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.schemas.kafka.board_records import Half, HalfBoard, HalfState


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

    first = world.run()
    wait_until(lambda: known().state is HalfState.RUNNING)
    world.insert(1, 3)
    wait_until(lambda: known().tables.get(table, {}).get("events") == {"c": 3})
    assert known().report["databases"][world.database.name]["position"]
    assert known().report["pid"] == first.process.pid

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
    world.sql.execute(f'ALTER ROLE "{world.user}" SUPERUSER')

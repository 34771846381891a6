"""`wrackline run` as a process: streams, is measured, ends cleanly, continues, gives way to a second one."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.fixtures.servers import Database
from tests.integration.running.world import CANARY, World, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.logs.lines import log_to
from wrackline.control.runtime.running import run
from wrackline.schemas.errors import Transient

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    """A database with a table, and a pipeline over it."""
    made = World(tmp_path, database, kafka, registry, topic_prefix, free_port())
    yield made
    made.close()


def kcat(world: World, *arguments: str) -> str:
    """What kcat, as anybody would call it, prints."""
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")
    command = ["kcat", "-b", world.kafka.bootstrap, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_it_says_that_no_table_passes_the_filters(world: World) -> None:
    world.file.write_text(world.file.read_text().replace('"public.orders"', '"public.other"'))
    running = world.run()
    assert "tables: none" in running.output
    assert "run.no_tables" in running.output
    assert running.stop() == Exit.OK


def test_it_streams_ends_cleanly_and_continues_without_loss_or_doubles(world: World) -> None:
    first = world.run()
    assert "tables: 1 (public.orders)" in first.output
    assert "starts with no stored position" in first.output
    world.insert(1, 20)
    world.arrived(20)
    assert first.stop() == Exit.OK
    assert "20 in all" in first.says("stopped\n")

    world.insert(21, 30)  # while nobody reads
    second = world.run()
    assert "generation 2" in second.output
    assert f"replication slot {world.slot} exists" in second.output
    world.sql.execute("UPDATE orders SET note = 'o' WHERE id = 1")
    world.sql.execute("DELETE FROM orders WHERE id = 2")
    world.arrived(33)
    assert second.stop(signal.SIGINT) == Exit.OK
    events = world.events()
    assert len(events) == 33  # 30 inserts, an update, a delete and its tombstone
    assert len({value for _, value in events}) == 33  # each with a seq of its own

    assert f'topic "{world.topic}" with 1 partitions' in kcat(world, "-L")
    told = kcat(world, "-C", "-t", f"{world.group}-offsets", "-p", "0", "-e", "-q", "-K", "\t")
    position = f'["{world.prefix}",{{"database":"{world.database.name}","server":"{world.prefix}"}}]\t'
    assert position + '{"checksum":' in told
    assert '"lsn":"' in told
    whole = [
        record
        for topic in (world.topic, world.prefix, f"{world.group}-offsets", f"{world.group}-offset-history")
        for record in world.events(topic)
    ]
    assert len(whole) > 35
    assert not [record for record in whole if CANARY.encode() in b"".join(part or b"" for part in record)]
    assert CANARY not in first.output + second.output


def test_its_figures_are_served_and_hold_no_secret(world: World) -> None:
    running = world.run()
    world.insert(1, 7)
    world.sql.execute("UPDATE orders SET note = 'o' WHERE id < 3")
    world.sql.execute("DELETE FROM orders WHERE id = 7")
    wait_until(lambda: world.metric('wrackline_events_total operation="d"') == 1)
    assert world.metric('wrackline_events_total operation="c" table="public.orders"') == 7
    assert world.metric('wrackline_events_total operation="u"') == 2
    assert world.metric("wrackline_transactions_total") == 9
    assert world.metric("wrackline_commit_seconds_count") > 0
    assert world.metric("wrackline_running") == 1
    labels = f'name="{world.prefix}" plugin="postgres" task="0" context="streaming"'
    assert world.metric(f"debezium_metrics_TotalNumberOfEventsSeen {labels}") == 10
    assert world.metric("debezium_metrics_Connected") == 1
    assert world.metric("debezium_metrics_MilliSecondsBehindSource") >= 0

    wait_until(lambda: world.metric('wrackline_slot_status status="reserved"') == 1)
    wait_until(lambda: world.metric("wrackline_log_bytes_per_second") >= 0)
    assert world.metric("wrackline_slot_retained_bytes") > 0
    assert world.metric("wrackline_slot_safe_bytes") == float("inf")  # as PostgreSQL comes out of the box
    assert world.metric("wrackline_slot_seconds_until_lost") == float("inf")
    world.sql.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '2GB'")
    world.sql.execute("SELECT pg_reload_conf()")
    try:
        wait_until(lambda: 0 < world.metric("wrackline_slot_safe_bytes") < float("inf"))
    finally:
        world.sql.execute("ALTER SYSTEM RESET max_slot_wal_keep_size")
        world.sql.execute("SELECT pg_reload_conf()")

    served = world.metrics()
    assert CANARY not in served
    assert world.user not in served
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"http://127.0.0.1:{world.port}/", timeout=10)
    assert running.stop() == Exit.OK


def test_a_second_run_fences_the_first_which_says_so_and_ends(world: World) -> None:
    """T-E20."""
    first = world.run()
    world.insert(1, 5)
    world.arrived(5)
    world.port = 0
    world.write()
    second = world.run()
    assert first.process.wait(60) == Exit.DEFINITE
    assert "[kafka.superseded]" in first.output
    assert "generation 2, this is 1" in first.output
    world.insert(6, 10)
    world.arrived(10)
    assert second.process.poll() is None
    assert second.stop() == Exit.OK
    assert len({value for _, value in world.events()}) == len(world.events()) == 10


@pytest.mark.full
def test_it_waits_for_a_missing_server_as_often_as_the_setting_says(world: World) -> None:
    text = world.file.read_text()
    text = text.replace(world.kafka.bootstrap, "127.0.0.1:1").replace(f"port = {world.port}", "port = 0", 1)
    world.file.write_text("errors.max.retries = 1\n" + text)
    with ThreadPoolExecutor() as both:  # each waits for half a minute
        text_run = both.submit(world.command, "run", "--text")
        for_programs = world.command("run")
    ended = text_run.result()
    assert ended.returncode == Exit.TRANSIENT
    assert "recovering: [kafka.unreachable]" in ended.stdout
    assert "[kafka.unreachable]" in ended.stderr
    assert "stopped" not in ended.stdout
    told = [json.loads(line) for line in for_programs.stdout.splitlines()]
    assert for_programs.stderr == ""
    assert all({"ts_ms", "level", "event", "line"} <= one.keys() for one in told)
    by_event = {one["event"]: one for one in told}
    assert (
        by_event["recovering"]["error"]["code"] == by_event["failed"]["error"]["code"] == "kafka.unreachable"
    )
    assert by_event["tables"]["tables"] == 1
    assert {one.get("pipeline") for one in told} == {world.prefix, None}
    assert [one["event"] for one in told if "pipeline" not in one] == ["failed"]
    assert CANARY not in for_programs.stdout


def test_a_task_that_does_not_stop_is_no_success(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LAST_WORD", 0.2)
    monkeypatch.setattr(run, "_begin", lambda *_: threading.Event().wait(60))
    monkeypatch.setenv("WRACKLINE_DB_PASSWORD", CANARY)
    world.port = 0
    world.write()
    threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGTERM]).start()
    with pytest.raises(Transient, match=r"run\.not_stopped"):
        run.run(good_pipeline(world.file), log_to(sys.stdout, for_programs=False))


def test_an_error_ends_it_with_its_code_and_the_exit_code_of_its_kind(world: World) -> None:
    running = world.run()
    world.insert(1, 1)
    world.arrived(1)
    assert running.stop() == Exit.OK
    world.sql.execute("SELECT pg_drop_replication_slot(%s)", [world.slot])
    ended = world.command("run", "--text")
    assert ended.returncode == Exit.DEFINITE, ended.stdout
    assert "[pg.slot_missing]" in ended.stderr
    assert "hint: " in ended.stderr

    world.file.write_text(world.file.read_text().replace("metrics.port", "metrics.prot"))
    refused = world.command("run", "--text")
    assert refused.returncode == Exit.FINDINGS
    assert "metrics.prot" in refused.stdout

"""The lineage of a pipeline that runs: what the events say of its tables, from its start to its end."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.openlineage import faults
from tests.fixtures.servers import Database
from tests.integration.running.world import CANARY, World, environment, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.board.board_reader import read_board
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.exits import Exit
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.kafka.column_maps import ColumnMap, read_map

pytestmark = pytest.mark.servers


@pytest.fixture
def world(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[World]:
    made = World(tmp_path, database, kafka, registry, topic_prefix, 0)
    yield made
    made.close()


def told(file: Path) -> list[dict[str, Any]]:
    """Every whole event of the file; all of them are valid."""
    if not file.exists():
        return []
    events = [json.loads(line) for line in file.read_text().rpartition("\n")[0].splitlines()]
    assert [fault for event in events for fault in faults(event)] == []
    return events


def columns(event: dict[str, Any], side: str) -> dict[str, str | None]:
    (dataset,) = event[side]
    return {one["name"]: one.get("type") for one in dataset["facets"]["schema"]["fields"]}


def recorded(world: World, half: Half) -> list[tuple[int, ColumnMap]]:
    """The maps of the table that the board has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WRACKLINE_DB_PASSWORD", environment()["WRACKLINE_DB_PASSWORD"])
        board = read_board(good_pipeline(world.file).good())
    maps = board.half(world.prefix, half).maps.of(f"{world.database.name}.public.orders")
    return [(one.since_ms, read_map(one.value)) for one in maps]


def test_a_pipeline_reports_its_tables_their_columns_and_its_end(world: World, tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    hides = "column.mask.hash.v2.SHA-256.with.salt.c4n4ry-salt"
    world.file.write_text(
        f'secrets.allow.folders = "{tmp_path}"\nlineage.file = "{file}"\nlineage.namespace = "tests"\n'
        f'"{hides}" = "public.orders.note"\n{world.file.read_text()}'
    )
    running = world.run()
    world.insert(1, 2)
    wait_until(lambda: len(told(file)) == 2)
    world.sql.execute("ALTER TABLE orders ADD COLUMN price numeric(10, 2)")
    world.insert(3, 4)
    wait_until(lambda: len(told(file)) == 3)
    world.sql.execute("INSERT INTO orders VALUES (9, 'c4n4ry-value', 1.5)")
    world.arrived(5)
    assert running.stop() == Exit.OK
    start, first, altered, ended = told(file)
    assert [one["eventType"] for one in (start, first, altered, ended)] == [
        "START",
        "RUNNING",
        "RUNNING",
        "ABORT",
    ]
    server = world.database.server.port
    table = ("postgres://127.0.0.1:" + str(server), f"{world.database.name}.public.orders")
    topic = (f"kafka://{world.kafka.bootstrap}", world.topic)
    for event in (start, first, altered):
        assert [(one["namespace"], one["name"]) for one in event["inputs"]] == [table]
        assert [(one["namespace"], one["name"]) for one in event["outputs"]] == [topic]
    assert columns(first, "inputs") == {"id": "integer", "note": None}
    assert columns(altered, "inputs") == {"id": "integer", "note": None, "price": "numeric(10,2)"}
    assert columns(altered, "outputs") == {"id": "int32", "note": "string", "price": "decimal(10,2)"}
    lines = altered["outputs"][0]["facets"]["columnLineage"]["fields"]
    masked = {name: line["inputFields"][0]["transformations"][0]["masking"] for name, line in lines.items()}
    assert masked == {"id": False, "note": True, "price": False}
    assert {(one["job"]["namespace"], one["job"]["name"]) for one in told(file)} == {
        ("tests", f"{world.prefix}.run")
    }
    assert len({one["run"]["runId"] for one in told(file)}) == 1
    assert "c4n4ry" not in file.read_text()
    assert CANARY not in file.read_text()

    maps = recorded(world, Half.SOURCE)
    assert [[(one.after, one.how) for one in known.columns] for _, known in maps] == [
        [("id", ""), ("note", "salted hash (sha256)")],
        [("id", ""), ("note", "salted hash (sha256)"), ("price", "")],
    ]
    again = world.run()
    world.sql.execute("INSERT INTO orders VALUES (10, 'c4n4ry-value', 2.5)")
    world.arrived(6)
    assert again.stop() == Exit.OK
    assert recorded(world, Half.SOURCE) == maps, "both stay, and the same shape makes no third"

    world.sql.execute("SELECT pg_drop_replication_slot(%s)", [world.slot])
    assert world.command("run", "--text").returncode == Exit.DEFINITE
    failed = told(file)[-1]
    assert (failed["eventType"], "pg.slot_missing" in str(failed["run"]["facets"])) == ("FAIL", True)


def test_a_collector_that_is_away_is_said_and_stops_nothing(world: World) -> None:
    world.file.write_text(f'lineage.url = "http://127.0.0.1:1/api/v1/lineage"\n{world.file.read_text()}')
    running = world.run()
    running.says("[lineage.not_sent] lineage events do not arrive at http://127.0.0.1:1: ")
    world.insert(1, 3)
    world.arrived(3)
    assert running.stop() == Exit.OK
    assert running.output.count("lineage.not_sent") == 1
    assert "[lineage.lost]" in running.output

"""The lineage of the consumer's half: from topics into the target's tables, with their columns."""

from pathlib import Path

import pytest

from tests.integration.consuming.world import COPY, World
from tests.integration.running.test_lineage import columns, recorded, told
from wrackline.control.runtime.ground.exits import Exit
from wrackline.schemas.kafka.board_records import Half

pytestmark = [pytest.mark.servers, pytest.mark.spark]


@pytest.mark.full
def test_a_copy_reports_its_columns_and_how_a_round_ended(world: World, tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    text = world.consumer_file.read_text()
    world.consumer_file.write_text(f'secrets.allow.folders = "{tmp_path}"\nlineage.file = "{file}"\n{text}')
    world.run()
    world.insert(1, 3)
    world.arrived(3)
    code, _ = world.once()
    assert code == Exit.OK
    start, merged, ended = told(file)
    assert [one["eventType"] for one in (start, merged, ended)] == ["START", "RUNNING", "COMPLETE"]
    assert start["job"]["facets"]["jobType"]["processingType"] == "BATCH"
    assert merged["inputs"][0]["name"] == world.topic
    server, name = world.database.server.port, world.database.name
    copy = (f"postgres://127.0.0.1:{server}", f"{name}.{COPY}.orders")
    assert [(one["namespace"], one["name"]) for one in merged["outputs"]] == [copy]
    assert columns(merged, "outputs") == {"id": "int32", "note": "string"}
    assert {one["job"]["name"] for one in told(file)} == {f"{world.prefix}.consume"}

    world.sql.execute("ALTER TABLE orders ADD COLUMN price numeric(10, 2)")
    world.insert(4, 4)
    world.arrived(4)
    assert world.once()[0] == Exit.OK
    *_, before, altered, _ = told(file)
    assert columns(altered, "outputs") == {"id": "int32", "note": "string", "price": "decimal(10,2)"}
    lines = altered["outputs"][0]["facets"]["columnLineage"]["fields"]
    (origin,) = lines["price"]["inputFields"]
    assert (origin["namespace"], origin["name"], origin["field"]) == (
        f"kafka://{world.kafka.bootstrap}",
        world.topic,
        "price",
    )
    first, second = recorded(world, Half.TARGET)
    assert first[1].place == f"{name}.{COPY}.orders"
    assert [one.after for one in first[1].columns] == ["id", "note"]
    assert [(one.before, one.after) for one in second[1].columns][-1] == ("price", "price")
    assert before["run"]["runId"] == altered["run"]["runId"] != merged["run"]["runId"]

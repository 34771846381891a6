"""Every change of shape that a source's table may go through while it is copied (INV-10)."""

from contextlib import closing

import pytest

from tests.integration.consuming.world import COPY, SPARK_PATIENCE, Consuming, World
from tests.integration.running.world import CANARY
from wrackline.control.runtime.check.pipeline_file import good_pipeline
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.running.consume import target_claim
from wrackline.control.runtime.spark.target_access import target_of
from wrackline.schemas.errors import WracklineError

pytestmark = [pytest.mark.servers, pytest.mark.spark]

CHANGES = (
    "ALTER TABLE things ALTER n TYPE bigint; INSERT INTO things VALUES (100, 1::bigint << 40, 'wide', 'x')",
    "ALTER TABLE things ALTER word TYPE text; UPDATE things SET word = repeat('long ', 40) WHERE id = 2",
    "ALTER TABLE things ALTER n DROP NOT NULL; UPDATE things SET n = NULL WHERE id < 5",
    "ALTER TABLE things ADD more numeric(12, 2) DEFAULT 1.5; UPDATE things SET more = -1 WHERE id = 7",
    "ALTER TABLE things DROP gone; DELETE FROM things WHERE id = 8",
    "ALTER TABLE things RENAME word TO said; INSERT INTO things VALUES (101, 1, 'said', 2)",
    "ALTER TABLE things DROP said, ADD said int; UPDATE things SET said = id WHERE id % 2 = 0",
    "TRUNCATE things; INSERT INTO things SELECT i, -i, 0, i FROM generate_series(1, 9) i",
)


@pytest.mark.full
def test_a_copy_takes_every_shape_of_its_source_and_outlives_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-H06."""
    monkeypatch.setenv("WRACKLINE_DB_PASSWORD", CANARY)
    world.sql.execute("CREATE TABLE things (id int PRIMARY KEY, n int NOT NULL, word varchar(8), gone text)")
    world.run()
    world.sql.execute("INSERT INTO things SELECT i, i, 'w' || i, 'g' FROM generate_series(1, 20) i")
    consuming = world.consume()
    world.arrives("things")
    for change in CHANGES:
        world.sql.execute(change)
        world.arrives("things")

    # under its new name it is another table; what it was called stays as it was
    last = world.sql.execute(f"SELECT id, n FROM {COPY}.things ORDER BY id").fetchall()
    world.sql.execute("ALTER TABLE things RENAME TO goods; DELETE FROM goods WHERE id = 1")
    assert (
        world.command("snapshot", "start", "public.goods").returncode == Exit.OK
    )  # this mode reads none by itself
    world.arrives("goods")
    assert world.sql.execute(f"SELECT id, n FROM {COPY}.things ORDER BY id").fetchall() == last

    # a table that is dropped leaves its copy, and the others continue
    world.sql.execute("DROP TABLE goods")
    world.insert(1, 4)
    world.arrives()
    assert world.sql.execute(f"SELECT count(*) FROM {COPY}.goods").fetchone() == (8,)
    assert not [told for told in consuming.events if "error" in told]
    _ends_once_a_newer_one_takes_its_place(world, consuming)


def _ends_once_a_newer_one_takes_its_place(world: World, consuming: Consuming) -> None:
    """The newer one is this process, so no second Java starts."""
    warned: list[WracklineError] = []
    values, kind = target_of(good_pipeline(world.consumer_file))
    with closing(target_claim(values, kind, warned.append)) as newer:
        newer.take()
        world.insert(5, 5)
        assert consuming.process.wait(SPARK_PATIENCE) == Exit.OPERATOR, consuming.output
        assert "consume.fenced" in consuming.output
        newer.hold()
    assert not warned
    assert world.differences("orders")

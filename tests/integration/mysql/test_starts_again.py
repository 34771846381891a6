"""What a pipeline over MySQL or MariaDB does not read again when it starts again."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.mysql.pipes import Pipe
from tests.integration.mysql.world import FLAVOURS
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker, MysqlServer, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = pytest.mark.servers

COLUMNS = "id int PRIMARY KEY, n int, twice int AS (n * 2) STORED, half int AS (n / 2) VIRTUAL"


@pytest.fixture(params=[FLAVOURS[0], pytest.param(FLAVOURS[1], marks=pytest.mark.deep)])
def pipe(
    request: pytest.FixtureRequest,
    started: Callable[[str], MysqlServer],
    tmp_path: Path,
    kafka: Broker,
    registry: SchemaRegistry,
    topic_prefix: str,
) -> Iterator[Pipe]:
    """A pipeline over one database."""
    kind = request.param
    made = Pipe(tmp_path, kind, started(kind), kafka, registry, topic_prefix, ("a",), "initial")
    yield made
    made.close()


def test_a_table_with_generated_columns_is_read_once_however_often_the_pipeline_starts(pipe: Pipe) -> None:
    (database,) = pipe.databases
    pipe.execute(f"CREATE TABLE {database}.made ({COLUMNS})")
    rows = ",".join(f"({row}, {row * 10})" for row in range(1, 21))
    pipe.execute(f"INSERT INTO {database}.made (id, n) VALUES {rows}")
    expected = "r" * 20
    for _ in range(3):
        running = pipe.run()
        wait_until(lambda: "".join(e.op for e in pipe.events(database, "made")) == expected)  # noqa: B023 - at once
        for row in (1, 2):
            pipe.execute(f"UPDATE {database}.made SET n = n + 2 WHERE id = {row}")
        expected += "uu"
        wait_until(lambda: len(pipe.events(database, "made")) >= len(expected))  # noqa: B023 - at once
        assert running.stop() == Exit.OK
    events = pipe.events(database, "made")
    assert "".join(event.op for event in events) == expected
    assert [tuple(event.names) for event in events] == [("id", "n", "twice", "half")] * len(events)
    assert pipe.folded(database, "made") == pipe.table(database, "made")
    assert events[-1].value["after"] == {"id": 2, "n": 26, "twice": 52, "half": 13}

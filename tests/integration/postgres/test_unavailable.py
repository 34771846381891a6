"""What readers of other makers see of a value that the log did not send, on a real server."""

import io
import time
from contextlib import closing

import fastavro
import psycopg
import pytest

from tests.fixtures.servers import Database
from tests.integration.postgres.pipes import PATIENCE
from tests.integration.postgres.world import PgRegistry, settings_of
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import RowChange, Rows
from wrackline.producers.sources.postgres.rows.source_record import CONNECTOR, FIELDS
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.schemas.events.envelope import value_schema

pytestmark = pytest.mark.servers

TABLE = """
CREATE TABLE toast (id int PRIMARY KEY, n int, big text, raw bytea, doc jsonb, words text[], wide numeric);
ALTER TABLE toast ALTER big SET STORAGE EXTERNAL, ALTER raw SET STORAGE EXTERNAL,
  ALTER doc SET STORAGE EXTERNAL, ALTER words SET STORAGE EXTERNAL, ALTER wide SET STORAGE EXTERNAL"""
ROW = """
INSERT INTO toast SELECT 1, 1, repeat('b', 20000), decode(repeat('ab', 20000), 'hex'),
  to_jsonb(repeat('j', 20000)), ARRAY[repeat('w', 20000)], repeat('9', 20000)::numeric"""
LARGE = ("big", "raw", "doc", "words", "wide")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, ("__debezium_unavailable_value", b"__debezium_unavailable_value")),
        ({"unavailable.value.placeholder": "hex:e2889e"}, ("∞", "∞".encode())),
        ({"unavailable.value.placeholder": ""}, (None, None)),
    ],
    ids=["by default", "set", "none"],
)
def test_a_value_that_was_not_sent_is_the_placeholder_where_its_type_can_hold_it(
    database: Database, more: dict[str, str], expected: tuple[str | None, bytes | None]
) -> None:
    with psycopg.connect(database.dsn, autocommit=True) as made:
        made.execute(TABLE)
        around = Surroundings(time.monotonic, lambda: 0, PgRegistry().register)
        with closing(PgSource(settings_of(database.dsn, **more), around)) as source:
            [partition] = source.partitions()
            [table] = tables = source.tables(partition)
            topic = f"server.{table}"
            described = source.describe(partition, table)
            schema = value_schema(described, topic=topic, connector=CONNECTOR, source_fields=FIELDS)
            stream = source.stream(partition, tables, None)
            made.execute(ROW)
            made.execute("UPDATE toast SET n = 2")
            rows: list[RowChange] = []
            deadline = time.monotonic() + PATIENCE
            while len(rows) < 2:
                assert time.monotonic() < deadline
                batch = stream.poll(time.monotonic() + 0.2)
                for step in batch.steps if batch else ():
                    rows += step.rows if isinstance(step, Rows) else ()
    event = fastavro.schemaless_reader(io.BytesIO(rows[1][3][5:]), fastavro.parse_schema(schema), None)
    assert isinstance(event, dict)
    text, raw = expected
    assert tuple(event["source"]["unchanged"]) == LARGE
    assert [event["after"][name] for name in LARGE] == [text, raw, text, text and [text], None]

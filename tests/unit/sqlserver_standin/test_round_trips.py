"""What a database costs its server: round trips, counted over the stand-in."""

from collections.abc import Iterator

import pytest

from tests.fixtures.sqlserver_world import SqlServerWorld
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import read


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The batches that were sent."""
    batches: list[str] = []
    send = TdsSession._send

    def noted(self: TdsSession, sql: str, doing: str) -> None:
        batches.append(sql)
        send(self, sql, doing)

    monkeypatch.setattr(TdsSession, "_send", noted)
    return batches


@pytest.fixture
def world() -> Iterator[SqlServerWorld]:
    made = SqlServerWorld(1, MarkKind.SIGNAL)
    yield made
    made.close()


def test_a_database_is_described_in_one_round_trip_and_only_at_a_start(
    world: SqlServerWorld, sent: list[str]
) -> None:
    (partition,) = world.source.partitions()
    tables = world.source.tables(partition)
    sent.clear()
    stream = world.source.stream(partition, tables, None)
    for number in range(3):
        read(world, stream, world.commit(partition, row("a", number)))
    stream.close()
    polls = [sql for sql in sent if "ddl_lsn" in sql]
    assert len(polls) > 3
    assert all("FROM cdc.change_tables;" in sql and "tran_end_time" in sql for sql in polls), (
        "a whole poll each"
    )
    start = [sql for sql in sent if sql not in polls]
    asked = [sql.split(maxsplit=1)[0] for sql in start]
    assert asked == ["SET", "SET", *["SELECT"] * 5]  # server, database, tables, rights, log
    (described,) = [sql for sql in start if "cdc.captured_columns" in sql]
    assert all(
        part in described for part in ("cdc.change_tables", "sys.tables", "__$command_id", "sys.indexes")
    )

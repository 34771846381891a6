"""A server that was killed while it wrote a transaction into its log: what stands there is passed over."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.tiers import alternatives
from tests.integration.mysql.source_world import MySqlWorld
from tests.integration.mysql.world import FLAVOURS, root
from wrackline.control.local.stack import binlog_server, mariadb, mysql
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.optional_parts import Renewing
from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.mysql.connect.server_facts import Flavour
from wrackline.schemas.errors import Definite, Transient
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, places, read

pytestmark = pytest.mark.servers


@pytest.fixture(params=alternatives(FLAVOURS))
def folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    """Where a server of the test's own lives, by its kind's name."""
    made = Path(tempfile.mkdtemp(prefix="wrackline-crashed-"))
    yield made / request.param
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def server(folder: Path) -> Iterator[MysqlServer]:
    """A server that a test may kill."""
    edition = mariadb.pinned_edition() if folder.name == "mariadb" else mysql.pinned_mysql()
    made = binlog_server.server(folder, edition)
    made.process.start()
    yield made
    made.process.stop()


def crashed(server: MysqlServer, folder: Path, into_event: int) -> tuple[MySqlWorld, Saved, str]:
    """A server that crashed so far into a transaction's second change; a place before it, what comes then."""
    world = MySqlWorld(server)
    [partition] = world.source.partitions()
    stream = open_stream(world, partition)
    start = places(read(world, stream, world.commit(partition, row("a", 1))))[-1].saved()
    stream.close()
    file = world.run(world.facts.log_status)[0]["File"]
    world.commit(partition, row("b", 1), row("b", 2))
    [*_, second] = [
        event["Pos"]
        for event in world.run(f"SHOW BINLOG EVENTS IN '{file}'")
        if str(event["Event_type"]).startswith("Write_rows")
    ]
    world.source.close()
    server.process.kill()
    os.truncate(folder / "data" / file, second + into_event)
    server.process.start()
    world._sql = root(server, database=world.database)
    world._sql.autocommit(False)
    return world, start, world.commit(partition, row("c", 1))


def keys(world: MySqlWorld, start: Saved, last: str) -> list[tuple[object, ...] | None]:
    """What is read from a place to the end of a transaction."""
    [partition] = world.source.partitions()
    stream = open_stream(world, partition, start)
    try:
        return [event.key for event in events(world, read(world, stream, last))]
    finally:
        stream.close()


def test_a_transaction_that_a_crash_cut_off_is_passed_over(server: MysqlServer, folder: Path) -> None:
    world, start, last = crashed(server, folder, 0)
    if world.facts.flavour is Flavour.MARIADB:
        with pytest.raises(Transient) as raised:
            keys(world, start, last)
        assert raised.value.code == "mysql.log_cut_off"
    assert keys(world, start, last) == [("c", 1)]
    world.close()


def test_a_file_that_a_crash_cut_within_an_event_is_a_lost_log(server: MysqlServer, folder: Path) -> None:
    """MariaDB sends nothing that stands behind; MySQL shortens its file."""
    world, start, last = crashed(server, folder, 10)
    if world.facts.flavour is Flavour.MARIADB:
        with pytest.raises(Definite) as raised:
            keys(world, start, last)
        assert raised.value.code == "mysql.log_torn"
        assert isinstance(world.source, Renewing)
        assert world.source.lost(world.source.partitions()[0], raised.value)
    else:
        assert keys(world, start, last) == [("c", 1)]
    world.close()

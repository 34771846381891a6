"""A position behind 4 GB of a file, where the command for a dump can't begin: on each server.

The file is no longer than before on the disk: between its own end and what is put behind 4 GB is a hole.
"""

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.mysql.log_files import CHECKSUM, HEADER, MAGIC
from tests.integration.mysql.source_world import MySqlWorld
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.mysql.events import event_kinds
from wrackline.schemas.errors import OperatorNeeded
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import events, open_stream, places, read

pytestmark = pytest.mark.servers

FAR = (1 << 32) + 100
BEGINS = frozenset({event_kinds.GTID, event_kinds.ANONYMOUS_GTID, event_kinds.MARIADB_GTID})


@pytest.fixture
def world(server: MysqlServer) -> Iterator[MySqlWorld]:
    """A world on each server, whose long file is purged with the test."""
    made = MySqlWorld(server)
    yield made
    made.source.close()
    made.run("FLUSH BINARY LOGS", "ROLLBACK")
    made.run(f"PURGE BINARY LOGS TO '{made.run(made.facts.log_status)[0]['File']}'")
    made.close()


def lengthened(world: MySqlWorld, name: str, *wanted: int) -> None:
    """Put a file's own events of these kinds behind 4 GB of it."""
    path = Path(str(world.run("SELECT @@log_bin_basename AS base")[0]["base"])).parent / name
    own = path.read_bytes()
    with path.open("r+b") as file:
        file.seek(FAR)
        at = MAGIC
        while at < len(own):
            _, kind, _, size, _, _ = HEADER.unpack_from(own, at)
            if kind in wanted:
                event = bytearray(own[at : at + size - CHECKSUM])
                struct.pack_into("<I", event, 13, (file.tell() + size) % (1 << 32))
                file.write(event + struct.pack("<I", zlib.crc32(event)))
            at += size


def far_behind(world: MySqlWorld, *behind: int) -> tuple[Saved, str]:
    """A position behind 4 GB, the last in its file but for these events of it; and what comes next."""
    [partition] = world.source.partitions()
    stream = open_stream(world, partition)
    world.run("FLUSH BINARY LOGS")
    saved = places(read(world, stream, world.commit(partition, row("a", 1))))[-1].saved()
    stream.close()
    world.run("FLUSH BINARY LOGS")
    lengthened(world, str(saved["file"]), *behind)
    return {**saved, "offset": FAR}, world.commit(partition, row("b", 1))


def test_the_next_file_is_gone_on_with(world: MySqlWorld) -> None:
    saved, later = far_behind(world, event_kinds.ROTATE)
    [partition] = world.source.partitions()
    stream = open_stream(world, partition, saved)
    steps = read(world, stream, later)
    stream.close()
    assert [event.key for event in events(world, steps)] == [("b", 1)]
    assert places(steps)[-1].saved()["file"] > saved["file"]  # type: ignore[operator]  # names


def test_a_transaction_that_begins_there_is_never_passed_over(world: MySqlWorld) -> None:
    saved, _ = far_behind(world, *BEGINS, event_kinds.XID, event_kinds.ROTATE)
    [partition] = world.source.partitions()
    with pytest.raises(OperatorNeeded) as raised:
        open_stream(world, partition, saved)
    assert raised.value.code == "mysql.place_too_high"

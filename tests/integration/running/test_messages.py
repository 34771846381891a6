"""Logical messages beside a running pipeline: those that settings leave out, and those that are too large."""

import signal
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo, sql

from tests.chaos.memory import MB, allowed, peak
from tests.integration.running.world import World

pytestmark = pytest.mark.servers

LARGE = 80_000_000  # bytes; 64 MB are allowed


def prefixes(world: World) -> list[bytes]:
    """The prefix of each message that was published: it is the record's key, behind Avro's length."""
    return [(key or b"")[7:] for key, _ in world.events(f"{world.prefix}.message")]


def write(world: World, user: str, prefix: str, size: int) -> None:
    """Write a message of so many bytes, as a user who may log in and no more."""
    dsn = conninfo.make_conninfo(world.database.dsn, user=user)
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("SELECT pg_logical_emit_message(false, %s, repeat('a', %s))", [prefix, size])


def test_a_message_that_is_too_large_is_left_out_with_one_notice_and_the_next_rows_come(
    world: World,
) -> None:
    stranger = f"stranger_{world.prefix}"
    world.sql.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(stranger)))
    try:
        running = world.run()
        write(world, stranger, "x", LARGE)
        world.insert(1, 1)
        world.arrived(1)
        assert running.output.count("[kafka.message_too_large]") == 1
        assert peak(running) < allowed(LARGE), f"{peak(running) / MB:.0f} MB"
        assert running.stop(signal.SIGKILL) < 0
        write(world, stranger, "x", LARGE)
        world.insert(2, 2)
        world.run().says("[kafka.message_too_large]")
        assert len(world.arrived(2)) == 2
        assert prefixes(world) == []
    finally:
        world.sql.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(stranger)))


def test_messages_are_published_but_for_the_prefixes_that_are_excluded(world: World) -> None:
    lines = '[source]\nmessage.prefix.exclude.list = "noise, audit[.].*"\n'
    world.file.write_text(Path(world.file).read_text().replace("[source]\n", lines, 1))
    world.run()
    for prefix in ("noise", "noises", "audit.a", "audit"):
        world.sql.execute("SELECT pg_logical_emit_message(true, %s, 'content')", [prefix])
    world.insert(1, 1)
    world.arrived(1)
    assert prefixes(world) == [b"noises", b"audit"]

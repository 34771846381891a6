"""A registry that takes requests and answers none: the task gives up one try at a time, and nothing is lost.

The loop waits for the registry, and keeps no stream alive meanwhile.  So one try is shorter than the server's
patience (`wal_sender_timeout`), and what it ends in is a new stream at the last committed position.
"""

import pytest

from tests.integration.running.world import World, wait_until
from wrackline.control.runtime.ground.exits import Exit
from wrackline.schemas.kafka import schema_registry as client

pytestmark = pytest.mark.servers


def test_one_try_is_shorter_than_the_patience_of_a_server_as_it_comes() -> None:
    most = (1 + client.RETRIES) * client.TIMEOUT_SECONDS + client.RETRIES * client.RETRY_WAIT_MAX_MS / 1000
    assert most < 60 - 10, "wal_sender_timeout, less the rhythm of our own words"


@pytest.mark.deep
def test_a_frozen_registry_costs_time_and_nothing_else(world: World) -> None:
    running = world.run()
    world.insert(1, 3)
    world.arrived(3)
    world.registry.process.pause()
    try:
        world.sql.execute("ALTER TABLE orders ADD more int")
        world.sql.execute("INSERT INTO orders VALUES (4, 'n', 1), (5, 'n', 1)")
        wait_until(lambda: running.output.count("[registry.unreachable]") == 1)
        wait_until(lambda: running.output.count("running\n") == 2)
    finally:
        world.registry.process.resume()
    world.arrived(5)
    assert running.stop() == Exit.OK
    assert len(world.events()) == 5
    assert "generation 1 " in running.output

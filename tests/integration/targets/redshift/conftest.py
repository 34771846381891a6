"""One moto for the session, a bucket and a database for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from tests.fixtures.servers import Database
from tests.integration.targets.redshift.world import RedshiftWorld


@pytest.fixture(scope="session")
def store_endpoint() -> Iterator[str]:
    """Where S3 is."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def world(database: Database, store_endpoint: str, tmp_path: Path) -> Iterator[RedshiftWorld]:
    """A world of the test's own."""
    made = RedshiftWorld(database.dsn, store_endpoint, tmp_path)
    yield made
    made.close()

"""One Connect worker for all tests here; each makes connectors of its own."""

from collections.abc import Iterator

import pytest

from bench.peers.connect import Connect, worker
from wrackline.control.local.stack.servers import Broker
from wrackline.control.runtime.spark.jars import FETCH_FAILED, fetch
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.versions import INTEROP


@pytest.fixture(scope="module")
def connect(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connect]:
    """A worker with Debezium's source, its sink, its transforms and an Avro converter."""
    try:
        fetch(INTEROP)
    except WracklineError as error:
        if error.code == FETCH_FAILED.code:
            pytest.skip(str(error))
        raise
    with worker(tmp_path_factory.mktemp("connect"), kafka.bootstrap, INTEROP) as running:
        yield running

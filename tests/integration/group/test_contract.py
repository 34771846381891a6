"""The real group keeps what REST is promised: one worker of it, in this process."""

import sys
import uuid
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from tests.contract.group_suite import GroupSuite, MakeCrew
from tests.integration.running.world import wait_until
from wrackline.control.local.stack.servers import Broker
from wrackline.control.runtime.group.group_connectors import GroupConnectors
from wrackline.control.runtime.group.group_settings import WorkerGroup
from wrackline.control.runtime.group.group_worker import join_group
from wrackline.control.runtime.logs.lines import log_to
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.producers.kafka.client import client
from wrackline.schemas.settings.secret_refs import Allowed

pytestmark = pytest.mark.servers


@pytest.fixture(scope="module")
def worker(kafka: Broker) -> Iterator[GroupConnectors]:
    """A worker that is alone in its group."""
    defaults = {
        "kafka.bootstrap.servers": kafka.bootstrap,
        "schema.registry.url": "http://registry.invalid:8081",
    }
    group = WorkerGroup(f"g-{uuid.uuid4().hex}", defaults, client(kafka.bootstrap), Allowed())
    over = Event()
    with join_group(group, over.is_set, log_to(sys.stdout, for_programs=True), RestSettings(0), 2 << 30) as (
        crew,
        supervisor,
    ):
        running = Thread(target=supervisor.run)
        running.start()
        wait_until(lambda: crew.led)
        yield crew
        over.set()
        running.join(60)
    assert not running.is_alive()


class TestGroup(GroupSuite):
    @pytest.fixture
    def make_crew(self, worker: GroupConnectors) -> MakeCrew:
        def emptied() -> GroupConnectors:
            for name in worker.names():
                worker.remove(name)
            return worker

        return emptied

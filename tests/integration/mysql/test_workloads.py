"""Random workloads on real servers: what our stream reports, folded, is what the tables hold and the log has.

The stream is cut by chance, in mid transaction too, and continues from its saved place.  Even seeds are
read now and then; odd ones when all is over, so the catalogue is of another time than most of the log.
"""

import random
import uuid
from collections.abc import Iterator

import pytest

from tests.integration.mysql import peer
from tests.integration.mysql.conftest import SERVERS
from tests.integration.mysql.followed import Followed
from tests.integration.mysql.workload import Workload
from tests.integration.mysql.world import root
from wrackline.control.local.stack.servers import MysqlServer

pytestmark = pytest.mark.servers
_PARTS = 8


@pytest.fixture
def database(server: MysqlServer) -> Iterator[str]:
    """A database of the test's own."""
    name = f"w_{uuid.uuid4().hex[:10]}"
    with root(server) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    yield name
    with root(server) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name}")


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 10))]
)
def test_a_workload_s_log_is_its_tables(server: MysqlServer, database: str, seed: int) -> None:
    attacked(server, database, seed, 200)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("server", "seed"),
    [
        (server, seed)
        for nth, server in enumerate(SERVERS)
        for seed in range(1_000 + nth, 1_500, len(SERVERS))
    ],
    indirect=["server"],
)
def test_a_long_workload_s_log_is_its_tables(server: MysqlServer, database: str, seed: int) -> None:
    attacked(server, database, seed, 2_000)


def attacked(server: MysqlServer, database: str, seed: int, statements: int) -> None:
    """Run it, read it, compare."""
    followed = Followed(server, database, random.Random(seed))
    workload = Workload(server, database, seed)
    for _ in range(_PARTS):
        workload.run(statements // _PARTS)
        if seed % 2 == 0:
            followed.read()
    workload.end()
    followed.read()
    assert followed.faults == []
    assert followed.differences() == []
    seqs = [change.seq for change in followed.changes]
    assert seqs == sorted(seqs)
    assert len(followed.changes) > statements // 4, f"{workload.failed} of {statements} failed"
    rows = peer.logged(server, database, followed.start, followed.log_end())
    assert peer.differences(followed.changes, rows) == []
    followed.close()

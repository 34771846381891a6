"""A stream that continues at a replica, whose log has an order and files of its own."""

import copy
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.fixtures.cut_proxy import CutProxy
from tests.fixtures.tiers import alternatives
from tests.integration.mysql.source_world import MySqlWorld
from tests.integration.mysql.world import root, settings_of
from wrackline.control.local.stack import binlog_server, mariadb, mysql
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Begin, Commit, Rows, Saved, Step
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.schemas.errors import Definite, Transient
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.log_suite import BIG, row
from wrackline.testing.sources.reading import Event, events, open_stream, places, read

pytestmark = pytest.mark.servers

_FOLLOW = {
    "mysql": (
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'root',"
        " SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
    ),
    "mariadb": (
        "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'root',"
        " MASTER_USE_GTID = slave_pos, MASTER_SSL = 0, MASTER_SSL_VERIFY_SERVER_CERT = 0"
    ),
}
_LOGS_ALL = {"mysql": (), "mariadb": ("--log-slave-updates=ON",)}
_OWN = {"mysql": "DO 0", "mariadb": "SET SESSION gtid_domain_id = 7"}  # else they would stand in a row


@dataclass
class Pair:
    """A server and its replica."""

    kind: str
    source: MysqlServer
    replica: MysqlServer

    def follow(self) -> None:
        """Have the replica take what the source has."""
        self._replica("START REPLICA")

    def stop(self) -> None:
        """Have it take nothing more."""
        self._replica("STOP REPLICA")

    def _replica(self, *statements: str) -> None:
        with root(self.replica) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)


@pytest.fixture(scope="module", params=alternatives(["mariadb", "mysql"], by="file"))
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Both of one kind; the replica follows."""
    folder = Path(tempfile.mkdtemp(prefix="wrackline-replica-"))
    edition = mariadb.pinned_edition() if request.param == "mariadb" else mysql.pinned_mysql()
    second = replace(edition, settings=(*edition.settings, "--server-id=2", *_LOGS_ALL[request.param]))
    servers = [
        binlog_server.server(folder / name, one) for name, one in (("source", edition), ("replica", second))
    ]
    for server in servers:
        server.process.start()
    made = Pair(request.param, *servers)
    made._replica(_FOLLOW[request.param].format(port=servers[0].port))
    made.follow()
    yield made
    for server in reversed(servers):
        server.process.stop()
    shutil.rmtree(folder, ignore_errors=True)


class Switched:
    """One database, written at the source and read at either."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.here = MySqlWorld(pair.source)
        self.partition: SourcePartition = self.here.source.partitions()[0]
        self.there = copy.copy(self.here)
        self.there._sql = root(pair.replica)
        self.arrives()
        self.there.run(f"USE {self.here.database}", _OWN[pair.kind])
        self.there._sql.autocommit(False)
        around = Surroundings(
            time.monotonic, lambda: 0, self.here._registry.register, MySqlWorld.most_batch_bytes
        )
        captured = {"table.include.list": f"{self.here.database}.orders"}
        self.there.source = PLUGIN.open(settings_of(pair.replica, **captured), around)

    def arrives(self, shop: str = "") -> None:
        """Wait until the replica has the table, or a shop's rows."""
        database = self.here.database
        asked = f"SELECT 1 FROM information_schema.tables WHERE table_schema = '{database}'"
        asked += " AND table_name = 'orders'"
        if shop:
            asked = f"SELECT 1 FROM {database}.orders WHERE shop = '{shop}' LIMIT 1"
        end = time.monotonic() + 30
        while not self.there.run("ROLLBACK", asked):
            assert time.monotonic() < end
            time.sleep(0.05)

    def begin(self) -> tuple[list[Step], Saved]:
        """Write and read five large rows at the source, which the replica does not get yet."""
        stream = open_stream(self.here, self.partition)
        self.pair.stop()
        first = self.here.commit(self.partition, *(row("a", number, big=BIG) for number in range(5)))
        steps = read(self.here, stream, first)
        stream.close()
        return steps, next(step.upto for step in steps if isinstance(step, Rows)).saved()

    def read(self, saved: Saved, *transactions: str) -> tuple[list[Step], list[Event]]:
        """Read the replica's log from there to the end of these transactions."""
        stream = open_stream(self.there, self.partition, saved)
        steps = read(self.there, stream, *transactions)
        stream.close()
        return steps, events(self.there, steps)

    def close(self) -> None:
        self.pair.follow()
        self.there.source.close()
        self.there.run("ROLLBACK")
        self.there._sql.close()
        self.here.close()


@pytest.fixture
def switched(pair: Pair) -> Iterator[Switched]:
    """A database on both."""
    made = Switched(pair)
    yield made
    made.close()


def test_a_transaction_cut_at_the_source_continues_after_the_replicas_own(switched: Switched) -> None:
    world = switched
    steps, cut = world.begin()
    first = next(step.transaction for step in steps if isinstance(step, Begin))
    out = [event.key for event in events(world.here, steps) if event.upto.saved()["done"] <= cut["done"]]  # type: ignore[operator]
    assert 0 < len(out) < 5
    own = world.there.commit(world.partition, *(row("own", number) for number in range(3)))
    world.pair.follow()
    world.arrives("a")
    last = world.here.commit(world.partition, row("b", 1))
    world.arrives("b")
    found, told = world.read(cut, last)
    begun = [(step.transaction, step.first) for step in found if isinstance(step, Begin)]
    assert begun == [(own, 0), (first, len(out)), (last, 0)]
    rest = [("own", number) for number in range(3)] + [("a", number) for number in range(len(out), 5)]
    assert [event.key for event in told] == [*rest, ("b", 1)]
    assert [event.seq for event in told] == sorted({event.seq for event in told})
    assert min(event.seq for event in told) > max(event.seq for event in events(world.here, steps))
    end = next(step.position for step in found if isinstance(step, Commit) and step.transaction == last)
    for place in places(found):
        if end <= place:
            break
        left = [(event.key, event.seq) for event in told if not event.upto <= place]
        assert [(event.key, event.seq) for event in world.read(place.saved(), last)[1]] == left


def test_a_replica_that_is_behind_is_waited_for(switched: Switched) -> None:
    """T-M05."""
    steps, cut = switched.begin()
    whole = places(steps)[-1].saved()
    with pytest.raises(Transient, match="does not have everything"):
        open_stream(switched.there, switched.partition, whole)
    switched.pair.follow()
    switched.arrives("a")
    last = switched.here.commit(switched.partition, row("b", 1))
    switched.arrives("b")
    assert [event.key for event in switched.read(whole, last)[1]] == [("b", 1)]
    assert len(switched.read(cut, last)[1]) > 1


def test_what_was_prepared_at_the_source_is_committed_at_the_replica(switched: Switched) -> None:
    world, xid = switched, f"'{switched.here.database}'"
    stream = open_stream(world.here, world.partition)
    world.pair.stop()
    world.there.commit(world.partition, row("own", 1))  # stands before the part in the replica's log
    with root(world.pair.source, database=world.here.database) as session, session.cursor() as cursor:
        cursor.execute(f"XA START {xid}")
        cursor.execute("INSERT INTO orders (shop, number) VALUES ('xa', 1), ('xa', 2)")
        cursor.execute(f"XA END {xid}")
        cursor.execute(f"XA PREPARE {xid}")
        between = world.here.commit(world.partition, row("a", 1))
        saved = places(read(world.here, stream, between))[-1].saved()
        stream.close()
        world.pair.follow()
        world.arrives("a")
        cursor.execute(f"XA COMMIT {xid}")
    last = world.here.commit(world.partition, row("b", 1))
    world.arrives("b")
    steps, told = world.read(saved, last)
    keys = [event.key for event in told]
    assert keys[-3:] == [("xa", 1), ("xa", 2), ("b", 1)]
    assert set(keys) == {("own", 1), ("xa", 1), ("xa", 2), ("b", 1)}
    assert "prepared" not in places(steps)[-1].saved()


def test_a_table_without_key_is_read_where_its_log_is_or_not_at_all(switched: Switched) -> None:
    """Its rows have the place of their server's log in their seq, and it means nothing in another log."""
    world = switched
    orders = TableId(world.here.database, world.here.database, "orders")
    with CutProxy(world.pair.source.port) as proxy:
        through = replace(world.pair.source, port=proxy.port)
        source = PLUGIN.open(settings_of(through), world.here.around)
        source.stream(world.partition, [orders], None).close()
        reader = source.reader(world.partition)
        reader.whole(orders).close()
        proxy.lead_to(world.pair.replica.port)
        with pytest.raises(Transient) as raised:
            reader.whole(orders)
        assert raised.value.code == "mysql.read_elsewhere"
        proxy.lead_to(world.pair.source.port)
        reader.whole(orders).close()
        source.close()


def test_what_the_replica_purged_is_definite(switched: Switched) -> None:
    """Comes last: from here on its log lacks what it wrote itself."""
    _, cut = switched.begin()
    switched.pair.follow()
    switched.arrives("a")
    switched.there.run("FLUSH BINARY LOGS")
    end = time.monotonic() + 20
    last = str(switched.there._log()["File"])
    while any(str(one["Log_name"]) < last for one in switched.there.run("SHOW BINARY LOGS")):
        assert time.monotonic() < end
        switched.there.run(f"PURGE BINARY LOGS TO '{last}'")

    last = switched.here.commit(switched.partition, row("b", 1))
    with pytest.raises(Definite) as raised:
        switched.read(cut, last)
    assert raised.value.code == "mysql.log_purged"

"""XA transactions on each server: their rows count when they are committed, none is lost without a word."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tests.integration.mysql.source_world import MySqlWorld
from tests.integration.mysql.world import WITHOUT_GTIDS, root, settings_of
from wrackline.control.local.stack.servers import MysqlServer
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Begin, Commit, Saved, Step
from wrackline.producers.sources.mysql.connect.server_facts import Flavour
from wrackline.producers.sources.mysql.resume import xa_wait
from wrackline.producers.sources.mysql.source import PLUGIN
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.log_suite import BIG, row
from wrackline.testing.sources.reading import Event, events, open_stream, places, read

pytestmark = pytest.mark.servers
ELSEWHERE = "01234567-89ab-cdef-0123-456789abcdef"


class XaWorld(MySqlWorld):
    """A world with branches of one global transaction, each prepared by a session of its own."""

    def __init__(self, server: MysqlServer) -> None:
        super().__init__(server)
        self.server = server
        self.around = Surroundings(time.monotonic, lambda: 0, self._registry.register, self.most_batch_bytes)
        self.partition: SourcePartition = self.source.partitions()[0]
        self._sessions: list[Any] = []
        self._open: set[str] = set()

    def xid(self, branch: str) -> str:
        """As XA's statements write it."""
        return f"'{self.database}','{branch}',3"

    def logged(self, branch: str) -> str:
        """As the log writes it."""
        return f"X'{self.database.encode().hex()}',X'{branch.encode().hex()}',3"

    def prepare(self, branch: str, *numbers: int, session: Sequence[str] = (), big: str = "") -> None:
        """Insert rows of shop `branch` and prepare."""
        rows = ", ".join(f"('{branch}', {number}, '{big}')" for number in numbers)
        insert = f"INSERT INTO orders (shop, number, big) VALUES {rows}"
        self.session(*session, f"XA START {self.xid(branch)}", insert, f"XA END {self.xid(branch)}")
        self.session(f"XA PREPARE {self.xid(branch)}", anew=False)
        self._open.add(branch)

    def end(self, branch: str, how: str = "COMMIT", *, anew: bool = False) -> None:
        """Commit or roll back, in the last session or one that has nothing to do with it."""
        self.session(f"XA {how} {self.xid(branch)}", anew=anew)
        self._open.discard(branch)

    def session(self, *statements: str, anew: bool = True) -> None:
        """Run statements in a session of their own, or in the last one."""
        if anew:
            self._sessions.append(root(self.server, database=self.database))
        with self._sessions[-1].cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def leave(self) -> None:
        """End the sessions; what they prepared stays."""
        for session in self._sessions:
            session.close()
        self._sessions.clear()
        time.sleep(0.1)  # MariaDB lets nobody else end it before the session is gone

    def events(self, saved: Saved | None, *transactions: str) -> tuple[list[Step], list[Event]]:
        """Read from there to the end of these transactions."""
        stream = open_stream(self, self.partition, saved)
        steps = read(self, stream, *transactions)
        stream.close()
        return steps, events(self, steps)

    def close(self) -> None:
        self.leave()
        for branch in list(self._open):
            self.end(branch, "ROLLBACK", anew=True)
        self.leave()
        super().close()


@pytest.fixture
def world(server: MysqlServer) -> Iterator[XaWorld]:
    """A world on each server."""
    made = XaWorld(server)
    yield made
    made.close()


@pytest.fixture
def start(world: XaWorld) -> Saved:
    """The place before all that a test does."""
    return begun(world)


def begun(world: XaWorld) -> Saved:
    """The log's end."""
    stream = open_stream(world, world.partition)
    steps = read(world, stream, world.commit(world.partition, row("first", 0)))
    stream.close()
    return places(steps)[-1].saved()


def keys(found: Sequence[Event]) -> list[tuple[object, ...] | None]:
    """Whose rows they are, in their order."""
    return [event.key for event in found]


def resumes_everywhere(world: XaWorld, start: Saved, last: str) -> list[Event]:
    """Every place that could be saved gives the rest and nothing else, with the same seq."""
    steps, found = world.events(start, last)
    assert [event.seq for event in found] == sorted({event.seq for event in found})
    end = next(step.position for step in steps if isinstance(step, Commit) and step.transaction == last)
    for place in places(steps):
        if end <= place:
            break
        later = world.events(place.saved(), last)[1]
        assert [(event.key, event.seq) for event in later] == [
            (event.key, event.seq) for event in found if not event.upto <= place
        ]
    return found


def test_rows_count_when_they_are_committed_and_not_before(world: XaWorld, start: Saved) -> None:
    """T-M09."""
    world.prepare("xa", 1, 2)
    world.commit(world.partition, row("b", 1))
    world.end("xa")
    last = world.commit(world.partition, row("c", 1))
    found = resumes_everywhere(world, start, last)
    assert keys(found) == [("b", 1), ("xa", 1), ("xa", 2), ("c", 1)]
    steps, _ = world.events(start, last)
    assert [type(step) for step in steps if isinstance(step, Begin | Commit)] == [Begin, Commit] * 3
    assert "prepared" not in places(steps)[-1].saved()


def test_an_open_transaction_is_in_the_saved_position(world: XaWorld, start: Saved) -> None:
    world.prepare("xa", 1)
    between = world.commit(world.partition, row("b", 1))
    steps, found = world.events(start, between)
    assert keys(found) == [("b", 1)]
    saved = places(steps)[-1].saved()
    prepared = saved["prepared"]
    assert isinstance(prepared, dict)
    assert [*prepared] == [world.logged("xa")]
    world.end("xa")
    assert keys(world.events(saved, world.commit(world.partition, row("c", 1)))[1]) == [("xa", 1), ("c", 1)]


def test_a_rollback_leaves_nothing(world: XaWorld, start: Saved) -> None:
    world.prepare("xa", 1)
    world.end("xa", "ROLLBACK")
    world.prepare("again", 1)
    last = world.commit(world.partition, row("b", 1))
    found = resumes_everywhere(world, start, last)
    assert keys(found) == [("b", 1)]
    steps, _ = world.events(start, last)
    assert [*places(steps)[-1].saved()["prepared"]] == [world.logged("again")]  # type: ignore[misc]


def test_one_phase_is_an_ordinary_transaction(world: XaWorld, start: Saved) -> None:
    xid = world.xid("xa")
    rows = ", ".join(f"('xa', {number}, '{BIG}')" for number in range(5))
    insert = f"INSERT INTO orders (shop, number, big) VALUES {rows}"
    world.session(f"XA START {xid}", insert, f"XA END {xid}", f"XA COMMIT {xid} ONE PHASE")
    last = world.commit(world.partition, row("b", 1))
    found = resumes_everywhere(world, start, last)
    assert keys(found) == [*[("xa", number) for number in range(5)], ("b", 1)]
    assert len({event.upto for event in found}) > 2, "no place inside it was tried"


def test_many_are_open_and_end_in_another_order(world: XaWorld, start: Saved) -> None:
    world.prepare("one", *range(5), big=BIG)
    world.prepare("two", 1)
    world.prepare("three", 1)
    world.leave()  # the session that prepared it is gone
    world.run("FLUSH BINARY LOGS")
    world.end("three", anew=True)
    world.commit(world.partition, row("b", 1))
    world.end("one")
    world.end("two", "ROLLBACK")
    last = world.commit(world.partition, row("c", 1))
    found = resumes_everywhere(world, start, last)
    ones = [("one", number) for number in range(5)]
    assert keys(found) == [("three", 1), ("b", 1), *ones, ("c", 1)]
    assert len({event.upto for event in found}) > 4, "no place inside the large one was tried"


def test_packed_rows_are_found(world: XaWorld, start: Saved) -> None:
    mariadb = world.facts.flavour is Flavour.MARIADB
    switch = "GLOBAL log_bin_compress" if mariadb else "SESSION binlog_transaction_compression"
    try:
        world.prepare("xa", 1, 2, 3, session=[f"SET {switch} = ON"], big="z" * 3000)
    finally:
        world.session(f"SET {switch} = OFF")
    world.leave()
    world.end("xa", anew=True)
    last = world.commit(world.partition, row("b", 1))
    found = resumes_everywhere(world, start, last)
    assert keys(found) == [("xa", 1), ("xa", 2), ("xa", 3), ("b", 1)]


def test_a_table_that_is_altered_behind_has_its_rows_as_they_were(world: XaWorld, start: Saved) -> None:
    world.prepare("xa", 1)
    world.run("CREATE TABLE others LIKE orders", "ALTER TABLE others ADD COLUMN more int")
    world.end("xa")
    world.run("ALTER TABLE orders ADD COLUMN more int")
    last = world.commit(world.partition, row("b", 1))
    found = world.events(start, last)[1]
    assert keys(found) == [("xa", 1), ("b", 1)]
    assert ["more" in (event.after or {}) for event in found] == [False, True]


def test_another_server_has_the_rows_at_a_place_of_its_own(world: XaWorld, start: Saved) -> None:
    world.prepare("xa", 1, 2)
    between = world.commit(world.partition, row("b", 1))
    saved = places(world.events(start, between)[0])[-1].saved()
    world.commit(world.partition, row("c", 1))
    world.end("xa")
    last = world.commit(world.partition, row("d", 1))
    steps, found = world.events({**saved, "server": ELSEWHERE}, last)
    assert keys(found) == [("c", 1), ("xa", 1), ("xa", 2), ("d", 1)]
    assert "prepared" not in places(steps)[-1].saved()


def test_a_start_waits_for_those_that_were_open_before(world: XaWorld) -> None:
    world.prepare("before", 1)
    ending = threading.Timer(0.5, world.end, ["before"])
    ending.start()
    stream = open_stream(world, world.partition)
    assert not ending.is_alive(), "the stream was there before the rows were"
    world.prepare("behind", 1)
    world.end("behind")
    last = world.commit(world.partition, row("b", 1))
    steps = read(world, stream, last)
    stream.close()
    assert keys(events(world, steps)) == [("behind", 1), ("b", 1)]
    assert "prepared" not in places(steps)[-1].saved()


def test_one_that_does_not_end_is_named(world: XaWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.prepare("stuck", 1)
    monkeypatch.setattr(xa_wait, "_PATIENCE_S", 0.3)
    fails(lambda: open_stream(world, world.partition), "mysql.xa_open", world.logged("stuck"))


def test_without_the_right_to_look_the_commit_stops_the_stream(
    world: XaWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB lets everybody look."""
    user = world.database
    rights = "REPLICATION SLAVE, REPLICATION CLIENT, SELECT"
    world.run(f"CREATE USER {user}@'%'", f"GRANT {rights} ON *.* TO {user}@'%'")
    world.prepare("before", 1)
    captured = {"table.include.list": f"{world.database}.orders", "database.user": user}
    world.source.close()
    world.source = PLUGIN.open(settings_of(world.server, **captured), world.around)
    monkeypatch.setattr(xa_wait, "_PATIENCE_S", 0.3)
    if world.facts.flavour is Flavour.MARIADB:
        fails(lambda: open_stream(world, world.partition), "mysql.xa_open", world.logged("before"))
    else:
        stream = open_stream(world, world.partition)
        world.end("before")
        last = world.commit(world.partition, row("b", 1))
        fails(lambda: read(world, stream, last), "mysql.xa_unknown", world.logged("before"))
        stream.close()
    world.run(f"DROP USER {user}@'%'")


def test_an_unknown_prepared_transaction_stops_the_stream(world: XaWorld, start: Saved) -> None:
    world.prepare("xa", 1)
    saved = places(world.events(start, world.commit(world.partition, row("b", 1)))[0])[-1].saved()
    unknown = {name: value for name, value in saved.items() if name != "prepared"}
    world.end("xa")
    last = world.commit(world.partition, row("c", 1))
    fails(lambda: world.events(unknown, last), "mysql.xa_unknown", world.logged("xa"))


def test_rows_that_the_server_purged_are_definite(world: XaWorld, start: Saved) -> None:
    world.prepare("xa", 1)
    saved = places(world.events(start, world.commit(world.partition, row("b", 1)))[0])[-1].saved()
    world.run("FLUSH BINARY LOGS")
    last = world.commit(world.partition, row("c", 1))
    saved = places(world.events(saved, last)[0])[-1].saved()
    purge(world, str(saved["file"]))
    world.end("xa")
    last = world.commit(world.partition, row("d", 1))
    fails(lambda: world.events(saved, last), "mysql.xa_purged", world.logged("xa"))


@pytest.fixture
def without_gtids(started: Callable[[str], MysqlServer]) -> Iterator[XaWorld]:
    """A world on a MySQL whose transactions have no names."""
    made = XaWorld(started(WITHOUT_GTIDS))
    yield made
    made.close()


def test_without_gtids_the_place_alone_leads_to_the_rows(without_gtids: XaWorld) -> None:
    world = without_gtids
    assert not world.facts.gtids
    start = begun(world)
    world.prepare("xa", *range(5), big=BIG)
    world.run("FLUSH BINARY LOGS")
    world.commit(world.partition, row("b", 1))
    world.end("xa")
    last = world.commit(world.partition, row("c", 1))
    found = resumes_everywhere(world, start, last)
    assert keys(found) == [("b", 1), *[("xa", number) for number in range(5)], ("c", 1)]
    steps, _ = world.events(start, last)
    between = next(place for place in places(steps) if place.saved().get("prepared"))
    other = {**between.saved(), "server": ELSEWHERE}
    fails(lambda: world.events(other, last), "mysql.server_changed", "GTIDs")


def purge(world: XaWorld, last: str) -> None:
    """Have the log begin with this file; a dump may hold one for a moment after it ended."""
    end = time.monotonic() + 20
    while any(str(one["Log_name"]) < last for one in world.run("SHOW BINARY LOGS")):
        assert time.monotonic() < end
        world.run(f"PURGE BINARY LOGS TO '{last}'")


def fails(act: Callable[[], object], code: str, named: str) -> None:
    """It stops with this error, which names that."""
    with pytest.raises(WracklineError) as raised:
        act()
    assert raised.value.code == code
    assert named in raised.value.sentence

"""Tables are read and read again, paused and stopped, while they are written to and the task is killed.

Requests come through the signal table, so each is in the log that everybody reads.  Afterwards every one of
them has an answer, the topics equal the tables, and no key ever went back.
"""

import json
import random
import signal
import time
from collections import Counter

import pytest

from tests.chaos.checks import check_all
from tests.chaos.conftest import Opened
from tests.chaos.evidence import Reader
from tests.chaos.fold import equal
from tests.chaos.load import TPCB, Load, pgbench
from tests.chaos.marks import NOT_OF_ROWS, SIGNALS
from tests.chaos.memory import MB, allowed, peak
from tests.chaos.world import World
from tests.chaos.writers import TABLES
from tests.integration.running.world import PATIENCE, wait_until

pytestmark = pytest.mark.servers

OVER = {"succeeded", "failed", "cancelled"}


@pytest.fixture
def world(read_in_chunks: Opened) -> World:
    """A database with a signal table, whose rows are read in small chunks."""
    tables = f"public.({'|'.join(TABLES)}|pgbench_.*)"
    more = {"signal.data.collection": f"public.{SIGNALS}", "table.include.list": tables}
    return read_in_chunks(10, more)


class Requests:
    """Asks for reads by chance, and for pauses and ends of them."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._world, self._chance = world, chance
        self.ids: list[str] = []

    def some(self) -> None:
        """Ask for something."""
        chance = self._chance
        kind = chance.choice(("execute", "execute", "execute", "pause", "resume", "stop"))
        table = f"public.{chance.choice(TABLES)}"
        data: dict[str, object] = {"type": chance.choice(("incremental", "blocking"))}
        if kind == "execute":
            data["data-collections"] = [table]
            if chance.random() < 0.3:
                data["additional-conditions"] = [{"data-collection": table, "filter": "id > 40"}]
        self.ask(kind, data)

    def ask(self, kind: str, data: dict[str, object]) -> None:
        """Put a request into the signal table."""
        self.ids.append(f"request-{len(self.ids)}")
        put = f"INSERT INTO {SIGNALS} VALUES (%s, %s, %s)"
        self._world.sql(put, self.ids[-1], f"{kind}-snapshot", json.dumps(data))

    def answered(self, patience: float = PATIENCE) -> None:
        """Wait until each has an end, as receipts say."""
        deadline = time.monotonic() + patience
        while left := self._left():
            assert time.monotonic() < deadline, f"{left}\n{self._world.started[-1].output}"
            time.sleep(1.0)  # each look is a process

    def _left(self) -> dict[str, str | None]:
        """The requests that have no end yet, and how they stand."""
        done = self._world.command("snapshot", "status", "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        found = {one["id"]: one["state"] for one in json.loads(done.stdout)["requests"]}
        return {one: found.get(one) for one in self.ids if found.get(one) not in OVER}


def storm(
    world: World, chance: random.Random, kills: int, load: Load, most: int = 60, patience: float = PATIENCE
) -> None:
    """Kill the task again and again, up to so many transactions after its start, with requests between."""
    requests = Requests(world, chance)
    for kill in range(kills):
        # what is asked before there is a slot, nobody hears
        running = world.run(wait=kill == 0 or chance.random() < 0.7)
        for _ in range(chance.randint(1, 3)):
            requests.some()
        load.more(chance.randint(1, most))
        assert running.process.poll() is None, running.output
        running.process.kill()
        running.process.wait()
    world.run()
    requests.ask("resume", {"type": "incremental"})
    requests.answered(patience)


def come(world: World, table: str) -> Counter[bytes]:
    """How many events each key of a table has."""
    records = Reader(world.kafka.bootstrap).read([world.topic(table)], 300)
    return Counter(record.key or b"" for record in records if record.value is not None)


@pytest.mark.full
def test_a_small_storm(world: World) -> None:
    world.insert("orders", 300)
    with world.writing(count=2, pace=0.05) as writers:
        storm(world, random.Random(4), 3, writers)
    world.caught_up()
    equal(world, TABLES)
    check_all(world, but=NOT_OF_ROWS)


@pytest.mark.deep
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(3))
def test_a_storm_over_pgbench(world: World, seed: int) -> None:
    world.settings["incremental.snapshot.chunk.size"] = "500"  # pgbench has 100,000 accounts
    world.insert("orders", 3_000)
    with pgbench(world) as load:
        storm(world, random.Random(seed), 20, load, most=600, patience=300.0)
    world.caught_up()
    equal(world, [*TABLES, *TPCB])
    check_all(world, but=NOT_OF_ROWS)


@pytest.mark.deep
@pytest.mark.timeout(1200)
def test_a_million_rows_in_parts_while_all_else_continues(world: World) -> None:
    """T-W27."""
    rows = 1_000_000
    world.settings["incremental.snapshot.chunk.size"] = "10000"
    with world.session() as session:
        session.execute("ALTER TABLE lines DISABLE TRIGGER USER")  # the ledger need not hold these
        session.execute("INSERT INTO lines (id) SELECT -g FROM generate_series(1, %s) g", [rows])
        session.execute("ALTER TABLE lines ENABLE TRIGGER USER")
        session.execute("ANALYZE lines")
    with world.writing(count=2) as writers:
        for armed in ("after_slice=kill@20", "after_select=kill@30"):
            running = world.run(armed)
            writers.more(5)
            assert running.process.wait(PATIENCE) == -signal.SIGKILL, running.output
        running = world.run()
        wait_until(lambda: len(come(world, "lines")) >= rows, look=2.0, patience=600)
        writers.more(5)
    assert peak(running) < allowed(0), f"{peak(running) / MB:.0f} MB"
    world.caught_up(patience=300)
    equal(world, TABLES)
    times = Counter(come(world, "lines").values())
    assert times[1] >= rows, "a part was read twice"  # the writers' keys may come more often

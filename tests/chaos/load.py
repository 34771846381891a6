"""Load by PostgreSQL's own pgbench: its TPC-B-like transactions, and a script of all kinds of changes.

In: a world.  Out: transactions, until the block is left.  Each client of the script has keys of its own, so
none of its statements can collide.  Without a pgbench the test that wants one is skipped, and says so.
"""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import pytest

from tests.chaos.world import World
from tests.integration.running.world import PATIENCE, wait_until

TPCB = ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history")
_SCRIPT = r"""
\set id 1 + :client_id + 2 * random(1, 150)
\set to 1 + :client_id + 2 * random(1, 150)
\set what random(1, 10)
\if :what <= 3
INSERT INTO orders (id, note) VALUES (:id, repeat('p', 10)) ON CONFLICT DO NOTHING;
INSERT INTO accounts (id) VALUES (:to) ON CONFLICT DO NOTHING;
\elif :what <= 6
UPDATE orders SET n = nextval('writes') WHERE id = :id;
\elif :what <= 7
DELETE FROM orders WHERE id = :id;
\else
BEGIN;
DELETE FROM orders WHERE id = :to;
UPDATE orders SET id = :to, n = nextval('writes') WHERE id = :id;
UPDATE accounts SET n = nextval('writes') WHERE id = :to;
COMMIT;
\endif
"""


class Load(Protocol):
    """Something that writes."""

    def more(self, transactions: int) -> None:
        """Wait until so many more transactions are committed."""
        ...


class Pgbench:
    """Running pgbenches of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def more(self, transactions: int) -> None:
        """Wait until so many more transactions are committed in the database."""
        wanted = self._committed() + transactions
        wait_until(lambda: self._committed() >= wanted)

    def _committed(self) -> int:
        [[count]] = self._world.sql(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        )
        assert isinstance(count, int)
        return count


@contextmanager
def pgbench(world: World, *, rate: int = 100, scale: int = 1) -> Iterator[Pgbench]:
    """Run both loads beside each other, so many transactions a second each."""
    binary = shutil.which("pgbench")
    if binary is None:
        pytest.skip("there is no pgbench on the path")
    where = ["-h", "127.0.0.1", "-p", str(world.postgres.port), "-U", "postgres", world.database]
    subprocess.run([binary, "-i", "-q", "-s", str(scale), *where], check=True, capture_output=True)
    world.sql("ALTER TABLE pgbench_history ADD COLUMN number bigserial PRIMARY KEY")
    script = world.folder / "changes.sql"
    script.write_text(_SCRIPT)
    always = ["-n", "-c", "2", "-T", "86400", "-R", str(rate)]
    printed = (world.folder / "pgbench").open("wb")
    running = [
        subprocess.Popen([binary, *always, *which, *where], stdout=printed, stderr=subprocess.STDOUT)
        for which in ([], ["-f", str(script)])
    ]
    try:
        yield Pgbench(world)
        assert [one.poll() for one in running] == [None, None], (world.folder / "pgbench").read_text()
    finally:
        for one in running:
            one.terminate()
            one.wait(PATIENCE)
        printed.close()

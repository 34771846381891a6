"""Batches that end where transactions end: readers of the copy see each transaction whole, or not at all.

The source keeps a sum over rows that lie in several partitions, and a batch has room for few of its changes.
What the consumer says of itself is looked at on the way: its metrics, and `wrackline status`.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.fixtures.prepared import run_command
from tests.fixtures.servers import Database
from tests.integration.consuming.world import COPY, SPARK_PATIENCE, TARGET, World
from tests.integration.running.world import PATIENCE, environment, free_port, wait_until
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.runtime.ground.exits import Exit

pytestmark = [pytest.mark.servers, pytest.mark.spark]

ACCOUNTS, MONEY = 20, 2000
EVENTS = 2 * ACCOUNTS + 2 * 11  # each comes, eleven transfers, and all change once more
FEW = "max.offsets.per.trigger = 12\n"  # the first transaction alone is larger
SUM = f"SELECT count(*), sum(balance)::int FROM {COPY}.accounts"


class Bank(World):
    """Accounts over three partitions, with the ENDs of their transactions."""

    consume_port = 0
    target = TARGET

    def write(self) -> None:
        """Write the files, with what is asked of both halves."""
        super().write()
        more = "provide.transaction.metadata = true\ntopic.creation.default.partitions = 3\n"
        for file in (self.file, self.consumer_file):
            file.write_text(more + file.read_text())

    def keep_whole(self, *, wished: bool) -> None:
        """Say whether batches shall end with transactions, and at which port they are reported."""
        lines = f"transaction.boundaries = {str(wished).lower()}\nmetrics.port = {self.consume_port}\n"
        text = self.consumer_file.read_text()
        self.consumer_file.write_text(text.replace("[consume]\n", f"[consume]\n{FEW}{lines}"))

    def status(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Run `wrackline status` over the consumer's file."""
        command = ["status", str(self.consumer_file), *options]
        return run_command(command, timeout=PATIENCE, env=environment())

    def transfer(self, first: int, last: int) -> None:
        """Move money between two accounts, each time in one transaction."""
        for number in range(first, last):
            one, other = number % ACCOUNTS, (number * 7 + 3) % ACCOUNTS
            self.sql.execute(
                f"BEGIN; UPDATE accounts SET balance = balance - {number} WHERE id = {one};"
                f"UPDATE accounts SET balance = balance + {number} WHERE id = {other}; COMMIT"
            )

    def seen(self) -> tuple[int, int | None]:
        """How many accounts a reader of the copy finds, and how much money."""
        there = self.sql.execute("SELECT to_regclass(%s)", [f"{COPY}.accounts"]).fetchone()
        row = (0, None) if there == (None,) else self.sql.execute(SUM).fetchone()
        assert row is not None
        return row[0], row[1]


@pytest.fixture
def bank(
    tmp_path: Path, database: Database, kafka: Broker, registry: SchemaRegistry, topic_prefix: str
) -> Iterator[Bank]:
    """A database of accounts, and a pipeline over it."""
    made = Bank(tmp_path, database, kafka, registry, topic_prefix, 0)
    made.consume_port = free_port()
    made.sql.execute("CREATE TABLE accounts (id int PRIMARY KEY, balance int)")
    made.run()
    made.sql.execute(f"INSERT INTO accounts SELECT i, 100 FROM generate_series(0, {ACCOUNTS - 1}) i")
    made.transfer(1, 8)
    yield made
    made.close()


def sums(bank: Bank, until: int) -> set[tuple[int, int | None]]:
    """Look at the copy until it equals its source, and return all that a reader saw on the way."""
    found: set[tuple[int, int | None]] = set()
    transfers = iter(range(8, until))

    def equal() -> bool:
        found.add(bank.seen())
        if (number := next(transfers, None)) is not None:
            bank.transfer(number, number + 1)
            return False
        return not bank.differences("accounts")

    wait_until(equal, patience=2 * SPARK_PATIENCE)
    return found


def metrics(bank: Bank) -> dict[str, float]:
    """Return what the job serves."""
    with urlopen(f"http://127.0.0.1:{bank.consume_port}/metrics", timeout=10) as answer:
        served = answer.read().decode()
    lines = (line.rpartition(" ") for line in served.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_a_reader_sees_whole_transactions_alone(bank: Bank) -> None:
    """T-K10."""
    bank.keep_whole(wished=True)
    consuming = bank.consume()
    assert sums(bank, 12) <= {(0, None), (ACCOUNTS, MONEY)}
    bank.sql.execute("UPDATE accounts SET balance = balance + CASE WHEN id % 2 = 0 THEN 5 ELSE -5 END")
    assert sums(bank, 0) <= {(ACCOUNTS, MONEY)}

    table = f"{bank.database.name}.public.accounts"
    its = f'server="{bank.prefix}",table="{table}"'
    # what is behind it then is no event; a batch is counted once it is merged
    wait_until(lambda: metrics(bank)[f"wrackline_consume_offsets_behind{{{its}}}"] < 7)
    told = metrics(bank)
    events = [count for name, count in told.items() if name.startswith("wrackline_consume_events_total")]
    # of a key that changed twice in a batch the newest counts; all were merged before all changed again
    assert 2 * ACCOUNTS <= sum(events) <= EVENTS
    assert told[f'wrackline_consume_lag_milliseconds{{{its},stage="merge"}}'] > 0

    def copied() -> Any:
        return json.loads(bank.status("--json").stdout)["target"]["tables"][table]

    wait_until(lambda: sum(copied()["events"].values()) == sum(events))
    done = bank.status("--json")
    assert done.returncode == Exit.OK, done.stdout
    assert json.loads(done.stdout)["source"]["tables"] is not None
    assert (copied()["standing"], set(copied()["offsets"])) == ("going", {"0", "1", "2"})
    assert consuming.stop() == Exit.OK
    done = bank.status()
    assert (done.returncode, "status.has_ended" in done.stdout) == (Exit.TRANSIENT, True)


@pytest.mark.deep
def test_without_it_a_reader_sees_halves(bank: Bank) -> None:
    bank.keep_whole(wished=False)
    bank.consume()
    assert sums(bank, 12) - {(0, None), (ACCOUNTS, MONEY)}

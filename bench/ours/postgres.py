"""Wrackline's whole task on PostgreSQL: log to Kafka exactly once, in Avro, through the registry.

The task has its own process, as Debezium's worker has: the counting consumer's work counts for neither.
"""

import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from bench.address import Address
from bench.cost import metered
from bench.peers.slot import PUBLICATION, connect, copied, held
from bench.score import Outcome
from bench.visible import make_topic, watch
from bench.workloads.orders import TABLE
from wrackline.schemas.errors import Definite, define

NAME = "wrackline"
ON_REQUEST = "wrackline, incremental"
SIGNALS = "signals"
ASK = f"insert into {SIGNALS} values (%s, 'execute-snapshot', %s)"
END_LIMIT_S = 20.0
QUIET_LIMIT_S = 60.0

TASK_ENDED = define(
    "bench.task_ended",
    Definite,
    "our task ended with code {code} before all events were seen",
    hint="what it said stands above; run the bench again with --quick",
)


def stream(metric: str, at: Address, bootstrap: str, registry: str, backlog: str, changes: int) -> Outcome:
    """Read the changes that wait in a slot; a copy of it, so that others can do the same."""
    with copied(at, backlog) as slot:
        return _published(metric, at, bootstrap, registry, changes, {"slot.name": slot})


def snapshot(metric: str, at: Address, bootstrap: str, registry: str, rows: int) -> Outcome:
    """Read the whole table beside a log that is quiet."""
    with held(at) as slot:
        given = {"slot.name": slot, "snapshot.mode": "initial"}
        return _published(metric, at, bootstrap, registry, rows, given)


def make_signals(at: Address) -> None:
    """Make the signal table, published."""
    with connect(at) as session:
        session.execute(f"create table {SIGNALS} (id varchar(42) primary key, type varchar(32), data text)")
        session.execute(f"alter publication {PUBLICATION} add table {SIGNALS}")


def incremental(metric: str, at: Address, bootstrap: str, registry: str, rows: int) -> Outcome:
    """Read the whole table because a row in the signal table, the log's first change, asks for it."""
    with held(at) as slot:
        asked = json.dumps({"data-collections": [f"public.{TABLE}"]})
        with connect(at) as session:
            session.execute(ASK, [secrets.token_hex(8), asked])
        given = {"slot.name": slot, "signal.data.collection": f"public.{SIGNALS}"}
        return _published(metric, at, bootstrap, registry, rows, given)


def _published(
    metric: str, at: Address, bootstrap: str, registry: str, events: int, given: Mapping[str, str]
) -> Outcome:
    """Run a task until this many events of the table are visible."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    topic = f"{prefix}.{at.database}.public.{TABLE}"
    make_topic(bootstrap, topic)
    with (
        watch(bootstrap, topic) as watched,
        running({**settings(at, bootstrap, registry, prefix), **given}) as process,
        metered(process.pid) as meter,
    ):
        seen = watched.until(events, lambda: _check(process))
    return Outcome({metric: seen.rate}, meter.cost)


def settings(at: Address, bootstrap: str, registry: str, prefix: str) -> dict[str, str]:
    """Write a pipeline as its user would, everything else at its default."""
    return {
        "name": prefix,
        "connector.class": "postgres",
        "topic.prefix": prefix,
        "kafka.bootstrap.servers": bootstrap,
        "schema.registry.url": registry,
        "database.hostname": "127.0.0.1",
        "database.port": str(at.port),
        "database.user": at.user,
        "database.dbname": at.database,
        "database.sslmode": "disable",
        "publication.name": PUBLICATION,
        "publication.autocreate.mode": "disabled",
        "table.include.list": f"public.{TABLE}",
        "snapshot.mode": "no_data",
    }


@contextmanager
def running(given: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """Run a task until the block ends; it is loaded when the block begins."""
    command = [sys.executable, "-m", "bench.ours.task"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdin is not None and process.stdout is not None:
                process.stdout.readline()
                process.stdin.write(json.dumps(given) + "\n")
                process.stdin.flush()
            yield process
        finally:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()


def attended(process: subprocess.Popen[str]) -> Callable[[float], None]:
    """Make a check that raises when the task has ended, or nothing has come of it for too long."""

    def check(quiet: float) -> None:
        if process.poll() is not None or quiet > QUIET_LIMIT_S:
            raise TASK_ENDED(code=process.returncode)

    return check


def _check(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        raise TASK_ENDED(code=process.returncode)

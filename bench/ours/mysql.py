"""`wrackline run` on MySQL or MariaDB, as its users start it: log to Kafka exactly once, in Avro.

    wrackline offsets set <file> <position>   wrackline run <file>   ->  events in Kafka

It has its own process, as Debezium's worker has: the counting consumer's work counts for neither.
"""

import json
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.address import Address
from bench.cost import metered
from bench.ours.postgres import END_LIMIT_S, attended
from bench.score import Outcome
from bench.stage import mysql_session
from bench.visible import make_topic, watch
from bench.workloads.orders import TABLE
from wrackline.control.local.processes.launch import launched
from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.mysql.connect.server_facts import facts_of
from wrackline.producers.sources.mysql.resume.log_opening import start_position

NAME = "wrackline"
_FILE = """\
name = "{prefix}"
topic.prefix = "{prefix}"
metrics.port = 0
[source]
connector.class = "{from_.kind}"
snapshot.mode = "{mode}"
database.hostname = "127.0.0.1"
database.port = {from_.at.port}
database.user = "{from_.at.user}"
database.ssl.mode = "disabled"
table.include.list = "{from_.at.database}.{table}"
[kafka]
bootstrap.servers = "{from_.bootstrap}"
[schema.registry]
url = "{from_.registry}"
"""
_COMMAND = (sys.executable, "-m", "wrackline.control")


class Source(NamedTuple):
    """Whose table, and where its events go."""

    kind: str
    at: Address
    bootstrap: str
    registry: str


def name_of(kind: str, what: str = NAME) -> str:
    """Name a contender on a server of this kind; MariaDB's is the one that the report compares with."""
    return f"{what}-mysql" if kind == "mysql" else what


def log_end(at: Address) -> Saved:
    """Return where the log ends now, as our offsets keep it: a backlog will begin there."""
    with closing(mysql_session(at)) as session:
        return start_position(session, facts_of(session), None).saved()


def stream(metric: str, source: Source, start: Saved, changes: int) -> Outcome:
    """Read the changes written to the binlog since `start`."""
    return _published(metric, source, changes, "no_data", start)


def snapshot(metric: str, source: Source, rows: int) -> Outcome:
    """Read the whole table beside a log that is quiet."""
    return _published(metric, source, rows, "initial", None)


def _published(metric: str, source: Source, events: int, mode: str, start: Saved | None) -> Outcome:
    """Run a pipeline until this many events of the table are visible."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    topic = f"{prefix}.{source.at.database}.{source.at.database}.{TABLE}"
    make_topic(source.bootstrap, topic)
    with tempfile.TemporaryDirectory(prefix="wrackline-bench-") as folder:
        file = Path(folder, "pipeline.toml")
        file.write_text(_FILE.format(prefix=prefix, from_=source, mode=mode, table=TABLE))
        if start is not None:
            told = [*_COMMAND, "offsets", "set", str(file), json.dumps(start)]
            subprocess.run(told, check=True, stdout=subprocess.DEVNULL)
        with (
            watch(source.bootstrap, topic) as watched,
            _running(file) as process,
            metered(process.pid) as meter,
        ):
            check = attended(process)
            seen = watched.until(events, lambda: check(0.0))
    return Outcome({metric: seen.rate}, meter.cost)


@contextmanager
def _running(file: Path) -> "Iterator[subprocess.Popen[str]]":
    command = [*_COMMAND, "run", "--text", str(file)]
    with subprocess.Popen(
        launched(command), stdout=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(END_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.kill()

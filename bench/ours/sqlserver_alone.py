"""What SQL Server's source makes of a log, without Kafka or a registry: CPU of this process, per row.

    log_end: where the stand-in's log ends now; a backlog will begin there
    event_cost: the log from there on  ->  batches of events, dropped

The stand-in is another process, so what it costs does not count.
"""

import time
from collections.abc import Mapping
from contextlib import closing

from bench.ours.log_reading import cost_of_events
from bench.peers.tds_replay import CAPTURED, PASSWORD, TABLE, USER
from wrackline.producers.contract.source_plugin import Source, Surroundings, WriterIds
from wrackline.producers.contract.steps import Commit, Progress, Saved
from wrackline.producers.sources.sqlserver import PLUGIN
from wrackline.producers.sources.sqlserver.config import SETTINGS
from wrackline.schemas.settings.declared.core_settings import CORE
from wrackline.schemas.settings.secret_refs import Allowed, Resolver
from wrackline.schemas.settings.settings_registry import SettingsRegistry

_NAME = "wrackline"


def log_end(port: int) -> Saved:
    """Return where the log ends now, as our offsets keep it."""
    with closing(_opened(port)) as source:
        [partition] = source.partitions()
        stream = source.stream(partition, source.tables(partition), None)
        while True:
            stream.ask()
            batch = stream.poll(time.monotonic() + 1)
            found = [step for step in batch.steps if isinstance(step, Commit | Progress)] if batch else []
            if found:
                stream.close()
                return found[-1].position.saved()


def event_cost(metric: str, port: int, start: Saved, rows: int) -> Mapping[str, float]:
    """Poll the stream from `start` on, and let what it hands out go."""
    with closing(_opened(port)) as source:
        return {metric: cost_of_events(source, start, rows)}


def _opened(port: int) -> Source:
    given = {
        "name": _NAME,
        "connector.class": "sqlserver",
        "topic.prefix": _NAME,
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "schema.registry.url": "http://127.0.0.1:1",
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "database.user": USER,
        "database.password": PASSWORD,
        "database.names": CAPTURED,
        "driver.encrypt": "false",
        "table.include.list": TABLE,
        "poll.interval.ms": "20",
    }
    values = SettingsRegistry(CORE, SETTINGS).read(given, Resolver(Allowed(), {})).values
    if values is None:
        raise ValueError(given)
    around = Surroundings(time.monotonic, lambda: time.time_ns() // 1_000_000, lambda _: WriterIds(1, 2))
    return PLUGIN.open(values, around)

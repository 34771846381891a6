"""Starts what the demo is made of: servers, shop, worker, Spark.  Each says what it is for.

In: an empty folder.  Out: running `Parts`, all of them ended when the block ends, the last started first.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from wrackline.control.demo import settings, shop
from wrackline.control.demo.counting import Events
from wrackline.control.demo.lake import Lake
from wrackline.control.demo.worker_process import worker_process
from wrackline.control.stack import cache, postgres
from wrackline.control.stack.jars import fetch, fetched
from wrackline.control.stack.ports import choose
from wrackline.control.stack.process import Process
from wrackline.control.stack.servers import Broker, PostgresServer, SchemaRegistry
from wrackline.control.stack.stack import POSTGRES_DEFAULT, Stack
from wrackline.schemas.topics import table_topic
from wrackline.schemas.versions import APICURIO, KAFKA, POSTGRES_VERSIONS, SPARK

Say = Callable[[str], None]

_JARS = (("Kafka", KAFKA), ("Spark's readers and Iceberg", SPARK))


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that runs."""

    folder: Path
    database: PostgresServer
    kafka: Broker
    registry: SchemaRegistry
    worker: Process
    events: Events
    lake: Lake

    @property
    def dsn(self) -> str:
        """How to connect to the shop."""
        return self.database.database_dsn(shop.DATABASE)


def download(say: Say) -> None:
    """Fetch what is not here yet; the first time takes minutes, later nothing."""
    for name, jars in _JARS:
        if not fetched(jars):
            say(f"downloading {name}; this is done once")
            fetch(jars)
    unpacked = cache.folder()
    if not (unpacked / f"apicurio-{APICURIO.version}").is_dir():
        say("the schema registry is downloaded as it starts; this is done once")
    debian = Path(f"/usr/lib/postgresql/{POSTGRES_DEFAULT}")
    if not (debian.is_dir() or (unpacked / f"postgres-{POSTGRES_VERSIONS[POSTGRES_DEFAULT]}").is_dir()):
        say("getting PostgreSQL; this is done once")
    postgres.programs(POSTGRES_DEFAULT)


@contextmanager
def started(folder: Path, say: Say) -> Iterator[Parts]:
    """Start all parts: Spark and the servers side by side, then what needs them."""
    download(say)
    file = folder / settings.FILE
    with Lake(folder / "lake", file) as lake, Stack(folder / "servers") as stack:
        say("starting PostgreSQL, Kafka, the schema registry and Spark side by side")
        with ThreadPoolExecutor(3) as pool:
            starts = pool.submit(stack.postgres), pool.submit(stack.kafka), pool.submit(stack.registry)
            database = starts[0].result()
            say(f"PostgreSQL holds the shop: {database.address}")
            create_shop(database)
            kafka = starts[1].result()
            say(f"Kafka carries the events: {kafka.address}")
            registry = starts[2].result()
            say(f"the registry keeps their schemas: {registry.address}")
        topic = table_topic(settings.SERVER, settings.ORDERS)
        port = choose(folder / "worker", "metrics")["metrics"]
        settings.write(
            folder, port=database.port, brokers=kafka.bootstrap, registry=registry.url, metrics=port
        )
        worker = worker_process(folder / "worker", file, port)
        with Events(kafka.bootstrap, topic) as events:
            try:
                worker.start()
                say(f"the worker (pid {worker.pid}) made slot and publication, and streams the log")
                lake.await_ready()
                say("Spark is ready to merge the events into an Iceberg table")
                yield Parts(folder, database, kafka, registry, worker, events, lake)
            finally:
                lake.end()  # before the servers that it reads from
                worker.stop()


def create_shop(database: PostgresServer) -> None:
    """Make the shop's database and its table."""
    with psycopg.connect(database.dsn, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {shop.DATABASE}")
    with psycopg.connect(database.database_dsn(shop.DATABASE)) as db:
        db.execute(shop.CREATE)

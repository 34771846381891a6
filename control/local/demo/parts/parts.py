"""Starts the parts of the demo: servers, shop, worker, Spark.  Each reports what it is for.

In: an empty folder, which shop, and which warehouse.  Out: running `Parts`, all of them ended when the block
ends, the last started first.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wrackline.control.local.demo.parts import demo_pipeline
from wrackline.control.local.demo.parts.event_counter import EventCounter
from wrackline.control.local.demo.parts.lake import LakeProcess
from wrackline.control.local.demo.parts.worker_process import console_url, worker_process
from wrackline.control.local.demo.shops.shop import Say, Shop
from wrackline.control.local.demo.warehouses.warehouse import Warehouse
from wrackline.control.local.processes.ports import choose
from wrackline.control.local.processes.process import Process
from wrackline.control.local.stack.servers import Broker, SchemaRegistry
from wrackline.control.local.stack.stack import Stack
from wrackline.control.runtime.spark import cache
from wrackline.control.runtime.spark.jars import are_fetched, fetch
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.versions import APICURIO, KAFKA, SPARK

_JARS = (("Kafka", KAFKA), ("Spark's readers and Iceberg", SPARK))


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that runs."""

    folder: Path
    shop: Shop
    kafka: Broker
    registry: SchemaRegistry
    worker: Process
    events: EventCounter
    lake: LakeProcess
    console: str  # its address


def download_parts(kind: type[Shop], say: Say) -> None:
    """Fetch what is not here yet; the first time takes minutes, later nothing."""
    for name, jars in _JARS:
        if not are_fetched(jars):
            say(f"downloading {name}; this is done once")
            fetch(jars)
    if not (cache.folder() / f"apicurio-{APICURIO.version}").is_dir():
        say("the schema registry is downloaded as it starts; this is done once")
    kind.fetch(say)


@contextmanager
def start_parts(folder: Path, kind: type[Shop], target: type[Warehouse], say: Say) -> Iterator[Parts]:
    """Start all parts: Spark and the servers side by side, then what needs them."""
    for one in (kind.stands_for, target.stands_for):
        if one:
            say(one)
    download_parts(kind, say)
    file = folder / demo_pipeline.FILE
    with LakeProcess(target.kind, folder / "lake", file) as lake, Stack(folder / "servers") as stack:
        say(f"starting {kind.title}, Kafka, the schema registry and Spark side by side")
        with ThreadPoolExecutor(4) as pool:
            starts = pool.submit(kind.started, stack), pool.submit(stack.kafka), pool.submit(stack.registry)
            place = pool.submit(target.started, stack, folder / "lake")
            shop = starts[0].result()
            say(f"{shop.title} holds the shop: {shop.address}")
            kafka = starts[1].result()
            say(f"Kafka carries the events: {kafka.address}")
            registry = starts[2].result()
            say(f"the registry keeps their schemas: {registry.address}")
            settings = place.result().settings
        topic = table_topic(demo_pipeline.SERVER, shop.table, Naming.WRACKLINE)
        port = choose(folder / "worker", "rest")["rest"]
        demo_pipeline.write_pipeline(
            folder, shop, brokers=kafka.bootstrap, registry=registry.url, target=settings
        )
        worker = worker_process(folder / "worker", file, port)
        with EventCounter(kafka.bootstrap, topic) as events:
            try:
                worker.start()
                say(
                    f"wrackline worker (pid {worker.pid}) {shop.streams}; Spark merges it into {target.title}"
                )
                say(f"its console: {console_url(port)}")
                lake.await_ready()
                yield Parts(folder, shop, kafka, registry, worker, events, lake, console_url(port))
            finally:
                lake.end()  # before the servers that it reads from
                worker.stop()

"""A start over 10,000 tables of PostgreSQL of which 20 change: until Kafka has a change of each of them.

The clock runs from the start of the process to the moment when a `read_committed` consumer sees the last of
the twenty; with first reads, `read_s` continues until all tables are read.  Lower is better.  `floor` is the
work that every reader must do: query the catalogue, publish the tables, make twenty topics, produce a message
to each.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from psycopg import sql

from bench import stage
from bench.address import Address
from bench.cost import metered
from bench.ours import postgres as ours
from bench.peers.slot import connect
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.visible import make_topic
from wrackline.producers.kafka import requests_topic
from wrackline.producers.kafka.client import Settings
from wrackline.schemas.kafka.receipts import RequestState

UNITS = {"start_s": "s", "read_s": "s"}
FULL = Size(10_000, 1)
QUICK = Size(1_000, 1)
CHANGING = 20
FIRST_READS = "wrackline, first reads"
_AT_ONCE = 250  # tables made in one transaction: each holds locks
_MAKE = """
DO $$ BEGIN FOR i IN {first}..{last} LOOP
  EXECUTE format('CREATE TABLE t%s (id bigserial PRIMARY KEY, name varchar(40), amount numeric(10,2))', i);
END LOOP; END $$"""
_CATALOGUE = """
SELECT c.oid, c.relname, array_agg(a.attname) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relkind = 'r' AND a.attnum > 0 AND c.relnamespace = 'public'::regnamespace GROUP BY 1, 2"""


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Make the tables once, empty; every contender publishes them again."""
    with stage.servers() as stack:
        at = stage.postgres(stack)
        with connect(at) as session:
            for first in range(0, rows, _AT_ONCE):
                session.execute(_MAKE.format(first=first, last=min(rows, first + _AT_ONCE) - 1).encode())
        bootstrap, registry = stack.kafka().bootstrap, stack.registry().url
        args = (at, bootstrap, registry, rows)
        yield [
            Contender(ours.NAME, start, (*args, "no_data"), ours=True),
            Contender(FIRST_READS, start, (*args, "initial")),
            Contender("floor", floor, (at, bootstrap, rows)),
        ]


def start(at: Address, bootstrap: str, registry: str, tables: int, mode: str) -> Outcome:
    """Start a task over all tables, while twenty of them change."""
    prefix = f"wrackline{secrets.token_hex(4)}"
    given = ours.settings(at, bootstrap, registry, prefix) | {
        "slot.name": prefix,
        "publication.name": prefix,
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.t\\d+",
        "snapshot.mode": mode,
    }
    changing = _changing(tables)
    topics = [f"{prefix}.{at.database}.public.{name}" for name in changing]
    try:
        began = time.perf_counter()
        with ours.running(given) as process, metered(process.pid) as meter, _writing(at, changing):
            check = ours.attended(process)
            values = {"start_s": _waited(lambda: _visible(bootstrap, topics), check, began)}
            if mode != "no_data":
                values["read_s"] = _waited(lambda: _all_read(bootstrap, prefix), check, began)
    finally:
        _drop(at, prefix)
    return Outcome(values, meter.cost)


def floor(at: Address, bootstrap: str, tables: int) -> Outcome:
    """Do what has to be done, and no more."""
    prefix = f"floor{secrets.token_hex(4)}"
    topics = [f"{prefix}.{name}" for name in _changing(tables)]
    with metered() as meter:
        began = time.perf_counter()
        with connect(at) as session:
            names = [str(name) for _, name, _ in session.execute(_CATALOGUE) if str(name)[1:].isdigit()]
            listed = sql.SQL(", ").join(map(sql.Identifier, names))
            session.execute(
                sql.SQL("CREATE PUBLICATION {} FOR TABLE {}").format(sql.Identifier(prefix), listed)
            )
        producer = Producer({"bootstrap.servers": bootstrap})
        for topic in topics:
            make_topic(bootstrap, topic)
            producer.produce(topic, b"x" * 100)
        producer.flush(30)
        seconds = time.perf_counter() - began
    _drop(at, prefix)
    return Outcome({"start_s": seconds}, meter.cost)


def _changing(tables: int) -> list[str]:
    return [f"t{number * tables // CHANGING}" for number in range(CHANGING)]


@contextmanager
def _writing(at: Address, tables: Sequence[str]) -> Iterator[None]:
    """Insert into each of the tables, again and again: a slot shows what comes after it was made."""
    ended = Event()

    def write() -> None:
        with connect(at) as session:
            while not ended.wait(0.2):
                for table in tables:
                    session.execute(f"INSERT INTO {table} (name, amount) VALUES ('n', 1.5)".encode())

    thread = Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _waited(done: Callable[[], bool], check: Callable[[float], None], began: float) -> float:
    while not done():
        check(0.0)
        time.sleep(0.1)
    return time.perf_counter() - began


def _visible(bootstrap: str, topics: Sequence[str]) -> bool:
    """Whether each topic has an event that is committed."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bench-many", "isolation.level": "read_committed"}
    known = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3}).list_topics(timeout=30).topics
    if any(topic not in known for topic in topics):
        return False
    consumer = Consumer(settings)
    try:
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) for topic in topics]
        return all(end[1] > 0 for end in ends)
    except KafkaException:  # a topic just made is not known everywhere at once
        return False
    finally:
        consumer.close()


def _all_read(bootstrap: str, name: str) -> bool:
    """Whether the receipt of the first read says that it is over."""
    time.sleep(1.0)  # it is a long text
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    reader: Settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "bench-many",
        "client.id": "bench-many",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "fetch.message.max.bytes": 1 << 26,
    }
    found = requests_topic.read_receipts(admin, reader, "bench-requests", print, fenced=False)
    return any(key.connector == name and one.state is RequestState.SUCCEEDED for key, one in found)


def _drop(at: Address, name: str) -> None:
    with connect(at) as session:
        session.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.Identifier(name)))
        session.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
            " WHERE slot_name = %s AND NOT active",
            [name],
        )

"""The raw limit of Kafka: produce messages of the rows' sizes, without a transaction.

the rows' text tuples, made in advance  ->  acknowledged by the broker, lz4, idempotent
"""

import secrets
import time
from itertools import cycle, islice

from confluent_kafka import Producer

from bench.cost import metered
from bench.score import Outcome
from bench.visible import make_topic
from bench.workloads.orders import orders, pgoutput_tuple
from wrackline.schemas.errors import Definite, define

NAME = "produce"
DISTINCT = 10_000  # rows made before the clock starts; then they come again
FLUSH_LIMIT_S = 120

LEFT_BEHIND = define(
    "bench.produce_left",
    Definite,
    "{left} of {rows} messages were not acknowledged within {limit} s",
    hint="run the bench again; look whether the broker has enough memory and disk",
)


def produce(metric: str, bootstrap: str, rows: int) -> Outcome:
    """Send one message a row."""
    topic = f"produce-{secrets.token_hex(4)}"
    make_topic(bootstrap, topic)
    messages = [(order.id.to_bytes(8, "big"), pgoutput_tuple(order)) for order in orders(1, DISTINCT)]
    settings = {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "compression.type": "lz4",
        "linger.ms": 20,
        "batch.size": 2**20,
        "queue.buffering.max.messages": 500_000,
    }
    producer = Producer(settings)
    with metered() as meter:
        began = time.perf_counter()
        for key, value in islice(cycle(messages), rows):
            _send(producer, topic, key, value)
        left = producer.flush(FLUSH_LIMIT_S)
        seconds = time.perf_counter() - began
    if left:
        raise LEFT_BEHIND(left=left, rows=rows, limit=FLUSH_LIMIT_S)
    return Outcome({metric: rows / seconds}, meter.cost)


def _send(producer: Producer, topic: str, key: bytes, value: bytes) -> None:
    while True:
        try:
            producer.produce(topic, value, key)
        except BufferError:  # the queue is full: wait for acknowledgements
            producer.poll(0.05)
        else:
            return

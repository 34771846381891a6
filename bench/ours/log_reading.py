"""A source's log read alone, without Kafka or a registry.

a stream, or an open source and a place  ->  batches of events, dropped; their CPU of this process
"""

import time

from wrackline.producers.contract.source_plugin import LogStream, Source
from wrackline.producers.contract.steps import Rows, Saved
from wrackline.producers.task.memory_tuning import collect_rarely


def take_rows(stream: LogStream, rows: int) -> None:
    """Poll until so many rows were handed out."""
    seen = 0
    while seen < rows:
        batch = stream.poll(time.monotonic() + 1)
        if batch is not None:
            seen += sum(len(step.rows) for step in batch.steps if isinstance(step, Rows))


def cost_of_events(source: Source, start: Saved, rows: int) -> float:
    """Read so many rows from a place on; return the microseconds of CPU for each."""
    [partition] = source.partitions()
    stream = source.stream(partition, source.tables(partition), start)
    spent = time.process_time()
    with collect_rarely():
        take_rows(stream, rows)
    cost = (time.process_time() - spent) * 1e6 / rows
    stream.close()
    return cost

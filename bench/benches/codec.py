"""Only the codec, on one core: pgoutput's tuple to a whole event, decode and encode together.

`fastavro` gets rows that are Python values already, so it has nothing to decode; `plain` is our
own build without a compiler, `values` our path from Python values (for drivers that return values).
"""

import gc
import io
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bench.plain_build import prefer_source
from bench.runner import Contender, Size
from bench.score import Outcome
from bench.workloads.envelopes import SOURCE, TABLE, key_schema, source_bytes, value_schema
from bench.workloads.orders import Order, orders, pgoutput_tuple

METRIC = "rows_per_s"
UNITS = {METRIC: "rows/s"}
FULL = Size(1_000_000, 5)
QUICK = Size(100_000, 2)
BATCH = 1_000  # events that are held at a time, as a task holds them

SEQ = "0001" + "00000000016be2bf" + "ff"


@contextmanager
def contenders(rows: int) -> Iterator[Sequence[Contender]]:
    """Every contender makes its rows before its clock starts."""
    few = max(rows // 20, 1)  # of the slow ones, so that a round stays short; rates do not depend on it
    yield [
        Contender("wrackline", compiled, (rows,), ours=True),
        Contender("wrackline-values", from_values, (few,)),
        Contender("wrackline-plain", plain, (few,)),
        Contender("fastavro", reference, (few,)),
    ]


def compiled(rows: int) -> Outcome:
    """Run the build that is installed."""
    return _decode(rows)


def plain(rows: int) -> Outcome:
    """Run the same files as plain Python."""
    prefer_source()
    return _decode(rows)


def _decode(rows: int) -> Outcome:
    from wrackline.producers.contract.steps import RowChange  # noqa: PLC0415 - after `plain` has chosen the build
    from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder  # noqa: PLC0415 - the same
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415 - the same
    from wrackline.schemas.events.projection import project_all  # noqa: PLC0415 - the same

    decoder = PgRowDecoder(1, project_all(TABLE), 1, 2)
    frame = Frame(source_bytes(), SEQ.encode(), ts_ms=1_760_000_000_001)
    head = b"I" + struct.pack(">I", 16_384) + b"N"
    began = spent = 0.0
    for batch in _batches(rows):
        messages = [head + pgoutput_tuple(order) for order in batch]
        events: list[RowChange] = []
        began = time.process_time()
        for ordinal, message in enumerate(messages):
            decoder.decode(message, 0, frame, ordinal, events)
        spent += time.process_time() - began
    return Outcome({METRIC: rows / spent})


def from_values(rows: int) -> Outcome:
    """Encode rows that a driver has handed out as Python values."""
    from wrackline.producers.rows.python_rows import RowEncoder  # noqa: PLC0415 - a process of its own
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415 - the same

    encoder = RowEncoder(TABLE, 1, 2)
    frame = Frame(source_bytes(), SEQ.encode(), ts_ms=1_760_000_000_001)
    spent = 0.0
    for batch in _batches(rows):
        began = time.process_time()
        events = [
            (encoder.key(row), encoder.head(None, row) + frame.tail("c", ordinal))
            for ordinal, row in enumerate(batch)
        ]
        spent += time.process_time() - began
        del events
    return Outcome({METRIC: rows / spent})


def reference(rows: int) -> Outcome:
    """Encode the same events with fastavro, nullable unions and all."""
    import fastavro  # noqa: PLC0415 - only this contender pays for it

    value = fastavro.parse_schema(value_schema())
    key = fastavro.parse_schema(key_schema())
    names = [column.name for column in TABLE.columns]
    spent = 0.0
    for batch in _batches(rows):
        records = [dict(zip(names, order, strict=True)) for order in batch]
        for record, order in zip(records, batch, strict=True):
            record["placed_at"] = order.placed_at.isoformat().replace("+00:00", "Z")
        events = []
        began = time.process_time()
        for ordinal, record in enumerate(records):
            out, key_out = io.BytesIO(b"\0\0\0\0\2"), io.BytesIO(b"\0\0\0\0\1")
            out.seek(5)
            key_out.seek(5)
            event = {
                "before": None, "after": record, "source": SOURCE, "op": "c", "ts_ms": 1_760_000_000_001,
                "transaction": None, "seq": f"{SEQ}{ordinal:08x}",
            }  # fmt: skip
            fastavro.schemaless_writer(out, value, event)
            fastavro.schemaless_writer(key_out, key, record)
            events.append((key_out.getvalue(), out.getvalue()))
        spent += time.process_time() - began
    return Outcome({METRIC: rows / spent})


def _batches(rows: int) -> Iterator[list[Order]]:
    gc.collect()
    for first in range(1, rows + 1, BATCH):
        yield list(orders(first, min(first + BATCH - 1, rows)))

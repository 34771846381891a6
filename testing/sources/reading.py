"""Read a stream for the source suite: until something was seen, with every event decoded."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from wrackline.producers.contract.source_plugin import LogStream
from wrackline.producers.contract.steps import (
    Batch,
    Commit,
    Message,
    Passing,
    Position,
    Progress,
    RowChange,
    Rows,
    Saved,
    Shape,
    Signal,
    Step,
    Truncate,
)
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.source_world import SourceWorld

PATIENCE = 30.0  # seconds on the world's clock; only a broken source needs them


@dataclass(frozen=True)
class Event:
    """A row change or truncate, as a reader of its topic sees it."""

    op: str
    key: tuple[object, ...] | None
    after: dict[str, object] | None
    seq: str
    unchanged: tuple[str, ...]
    upto: Position = field(compare=False)  # where the step ends, which differs with the batches


def open_stream(world: SourceWorld, partition: SourcePartition, saved: Saved | None = None) -> LogStream:
    """Open the log of the partition's table; the position goes through JSON, as it does in Kafka."""
    tables = world.source.tables(partition)
    return world.source.stream(partition, tables, None if saved is None else json.loads(json.dumps(saved)))


def read_batches(
    world: SourceWorld, stream: LogStream, enough: Callable[[Sequence[Step]], bool]
) -> list[Batch]:
    """Poll until enough was seen."""
    batches: list[Batch] = []
    steps: list[Step] = []
    end = world.now() + PATIENCE
    while not enough(steps):
        now = world.now()
        assert now < end, f"not seen in {PATIENCE:.0f} s; seen were {steps}"
        batch = stream.poll(now + 0.2)
        if batch is not None:
            assert batch.steps, "a batch without steps is None"
            batches.append(batch)
            steps.extend(batch.steps)
    return batches


def committed(*transactions: str) -> Callable[[Sequence[Step]], bool]:
    """Whether all of these transactions were handed out to their end."""
    wanted = set(transactions)
    return lambda steps: wanted <= {step.transaction for step in steps if isinstance(step, Commit)}


def read(world: SourceWorld, stream: LogStream, *transactions: str) -> list[Step]:
    """Poll until these transactions are complete."""
    batches = read_batches(world, stream, committed(*transactions))
    return [step for batch in batches for step in batch.steps]


def row_changes(steps: Iterable[Step]) -> list[RowChange]:
    """All row changes of all steps."""
    return [row for step in steps if isinstance(step, Rows) for row in step.rows]


def events(world: SourceWorld, steps: Iterable[Step]) -> list[Event]:
    """Decode all row changes and truncates."""
    made = []
    for step in steps:
        if isinstance(step, Rows):
            made += [_event(world, row[1], row[2], row[3], step.upto) for row in step.rows]
        elif isinstance(step, Truncate):
            made.append(_event(world, "t", None, step.value, step.upto))
    return made


def places(steps: Iterable[Step]) -> list[Position]:
    """Every place that a resume could begin at, in the order it was named."""
    return [
        step.upto if isinstance(step, Rows | Truncate) else step.position
        for step in steps
        if isinstance(step, Rows | Truncate | Commit | Progress)
    ]


def passing(steps: Iterable[Step]) -> list[Passing]:
    """The steps that can reveal a mark."""
    return [step for step in steps if isinstance(step, Commit | Message | Signal | Progress)]


def shapes(steps: Iterable[Step]) -> list[Shape]:
    """All shapes that were announced."""
    return [step for step in steps if isinstance(step, Shape)]


def _event(world: SourceWorld, op: str, key: bytes | None, value: bytes, upto: Position) -> Event:
    decoded = world.value(value)
    assert decoded["op"] == op, "the tuple and the event disagree about what happened"
    source, after = decoded["source"], decoded["after"]
    assert isinstance(source, dict)
    assert after is None or isinstance(after, dict)
    return Event(
        op,
        None if key is None else tuple(world.key(key).values()),
        after,
        str(decoded["seq"]),
        tuple(source["unchanged"] or ()),
        upto,
    )

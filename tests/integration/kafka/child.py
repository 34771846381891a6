"""A task in a process of its own, over a database that is the same in every run, so that it can be killed.

    python -m tests.integration.kafka.child '{"bootstrap": …, "prefix": …, "folder": …, "generation": 1}'

It ends when everything is confirmed to its databases.  Each confirmation is a line in a file, the newest
generation is a file too, and an error that stops the task is its last line on stdout.
"""

import json
import sys
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tests.fakes.database import Database
from tests.fakes.place import Place
from tests.fakes.source import FakeSource
from tests.fakes.stream import FakeStream
from tests.fakes.wire import Registry
from tests.integration.kafka.world import CONNECTOR, Names, NoControl, Notes, chance, made_publisher
from wrackline.producers.contract.first_reads import NO_READS
from wrackline.producers.contract.source_plugin import MarkKind, Surroundings
from wrackline.producers.contract.steps import Batch, Position, Rows, Saved
from wrackline.producers.cutting.cutter import CutPolicy
from wrackline.producers.cutting.record_buffer import Record
from wrackline.producers.cutting.table_topics import TableTopics
from wrackline.producers.kafka.topic_creation import TopicGroup
from wrackline.producers.task.partition_opener import SnapshotOptions, SourcePartitionOpener
from wrackline.producers.task.task_limits import Clocks, TaskLimits
from wrackline.producers.task.task_loop import Task
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.tables.table import SourcePartition, TableId
from wrackline.testing.sources.source_world import Change, Delete, Insert, Update, orders

Databases: TypeAlias = dict[SourcePartition, Database]

PARTITIONS = 3
KEYS = 12
BATCH_BYTES = 3_000
POLICY = CutPolicy(most_bytes=4_000, most_events=30, linger=0.001, quiet=0.5)


@dataclass(frozen=True)
class Orders:
    """What a child is to do."""

    bootstrap: str
    prefix: str
    folder: str
    generation: int
    transactions: int = 60

    @property
    def told(self) -> Path:
        """What was confirmed to this generation's databases."""
        return Path(self.folder) / f"told-{self.generation}"

    @property
    def newest(self) -> Path:
        """The newest generation."""
        return Path(self.folder) / "generation"


class Stream(FakeStream):
    """Waits as a real one does."""

    def __init__(
        self, database: Database, tables: frozenset[TableId], start: Place, around: Surroundings
    ) -> None:
        super().__init__(database, tables, start, around)
        self._woken = threading.Event()

    def poll(self, deadline: float) -> Batch | None:
        batch = super().poll(deadline)
        if batch is None and self._woken.wait(max(0.0, deadline - time.monotonic())):
            self._woken.clear()
        return batch

    def wake(self) -> None:
        self._woken.set()


class Source(FakeSource):
    """Has its log from the beginning."""

    stream_of: type[FakeStream] = Stream

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> FakeStream:
        return super().stream(partition, tables, saved or Place(0, 1).saved(), aside, fresh)


def history(number: int, transactions: int) -> list[list[Change]]:
    """Transactions over a few keys, each write with a counter; every tenth will be cut."""
    there: set[int] = set()
    made: list[list[Change]] = []
    version = 0
    for transaction in range(transactions):
        changes: list[Change] = []
        for step in range(70 if transaction % 10 == 7 else 1 + (transaction + number) % 4):
            key = (7 * transaction + 5 * step + number) % KEYS
            version += 1
            if key not in there:
                changes.append(Insert({"shop": "a", "number": key, "label": f"{version}", "big": "b" * 50}))
                there.add(key)
            elif version % 6 == 0:
                changes.append(Delete(("a", key)))
                there.remove(key)
            else:
                changes.append(Update(("a", key), {"label": f"{version}", "big": f"b{version}" * 9}))
        made.append(changes)
    return made


def databases(prefix: str, transactions: int) -> Databases:
    """The same databases for the same arguments."""
    made: Databases = {}
    for number in range(PARTITIONS):
        partition = SourcePartition(prefix, f"db{number}")
        made[partition] = Database(orders(partition))
        for changes in history(number, transactions):
            made[partition].commit(*changes)
    return made


def source(made: Databases) -> Source:
    """A source whose events are the same bytes in every run."""
    registry = Registry()
    for database in made.values():
        registry.register(database.shape)
    return Source(
        made, MarkKind.FENCE, Surroundings(time.monotonic, lambda: 0, registry.register, BATCH_BYTES)
    )


def events(prefix: str, transactions: int) -> dict[str, list[Record]]:
    """What the topics are to hold, each in the log's order."""
    made = databases(prefix, transactions)
    reading = source(made)
    found: dict[str, list[Record]] = {}
    for partition, database in made.items():
        topic = table_topic(prefix, database.shape.id, Naming.WRACKLINE)
        stream = reading.stream(partition, [database.shape.id], None)
        records = found.setdefault(topic, [])
        while Place(0, database.end) > stream._at:
            batch = FakeStream.poll(stream, 0.0)
            assert batch is not None
            for step in batch.steps:
                for _, op, key, value, _ in step.rows if isinstance(step, Rows) else ():
                    records.append((topic, key, value))
                    records.extend([(topic, key, None)] if op == "d" else [])
        stream.close()
    return found


class Telling(Stream):
    """Writes down what is confirmed to its database."""

    file: Path

    def confirm(self, position: Position) -> None:
        super().confirm(position)
        assert isinstance(position, Place)
        with self.file.open("a") as told:
            told.write(f"{self._database.shape.id.database} {position.lsn} {position.done}\n")


def task(
    given: Orders,
    made: Databases,
    notes: Notes,
    stopping: threading.Event,
    stream_of: type[FakeStream] | None = None,
    *,
    limits: TaskLimits | None = None,
    policy: CutPolicy = POLICY,
    group: TopicGroup | None = None,
    groups: tuple[TopicGroup, ...] = (),
) -> Task:
    """The task over all databases."""
    reading = source(made)
    Telling.file = given.told
    reading.stream_of = stream_of or Telling
    publisher = made_publisher(
        given.bootstrap,
        Names(given.prefix),
        generation=given.generation,
        newest=lambda: int(given.newest.read_text()),
        group=group or TopicGroup(2),
        groups=groups,
    )
    lanes = SourcePartitionOpener(
        reading,
        CONNECTOR,
        policy,
        SnapshotOptions(NO_READS),
        topics=TableTopics(given.prefix, Naming.WRACKLINE),
        control_of=lambda _: NoControl(),
        moments=Clocks(time.monotonic, lambda: 0, chance),
    )
    return Task(
        lanes,
        publisher,
        notes,
        limits or TaskLimits(),
        clock=time.monotonic,
        chance=chance,
        stopping=stopping,
    )


def main() -> None:
    """Run until everything is confirmed."""
    given = Orders(**json.loads(sys.argv[1]))
    made = databases(given.prefix, given.transactions)
    stopping = threading.Event()

    def watch() -> None:
        while not all(d.told == Place(0, d.end) for d in made.values()):
            time.sleep(0.01)
        stopping.set()

    threading.Thread(target=watch, daemon=True).start()
    try:
        task(given, made, Notes(), stopping).run()
    except WracklineError as error:
        sys.stdout.write(f"{error.code}\n")


if __name__ == "__main__":
    main()

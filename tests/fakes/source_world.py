"""The fake source's world: its databases, its registry, and a clock that never waits."""

from collections.abc import Callable

from tests.fakes.database import Database
from tests.fakes.source import FakeSource
from tests.fakes.wire import Registry
from wrackline.producers.contract.source_plugin import MarkKind, Source, Surroundings
from wrackline.producers.contract.steps import Position
from wrackline.schemas.tables.table import SourcePartition, TableSchema
from wrackline.testing.sources.source_world import Ability, Change, orders


class Clock:
    """Time passes when it is looked at, or when a test moves it."""

    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        self.time += 0.01
        return self.time


class FakeSourceWorld:
    """Some databases of one server."""

    abilities = frozenset(Ability)
    most_batch_bytes = 6_000

    def __init__(
        self,
        partitions: int = 1,
        kind: MarkKind = MarkKind.FENCE,
        source_of: Callable[..., FakeSource] = FakeSource,
    ) -> None:
        names = [SourcePartition("server", f"db{number}") for number in range(partitions)]
        self.databases = {name: Database(orders(name), frozenset({"big"})) for name in names}
        self.registry = Registry()
        self.clock = Clock()
        around = Surroundings(
            self.clock, lambda: int(self.clock.time * 1000), self.registry.register, self.most_batch_bytes
        )
        self.source: Source = source_of(self.databases, kind, around)

    def orders(self, partition: SourcePartition) -> TableSchema:
        return orders(partition)

    def now(self) -> float:
        return self.clock()

    def commit(self, partition: SourcePartition, *changes: Change, hidden: bool = False) -> str:
        return self.databases[partition].commit(*changes, hidden=hidden)

    def show(self, partition: SourcePartition, transaction: str) -> None:
        self.databases[partition].hidden.remove(transaction)

    def key(self, raw: bytes) -> dict[str, object]:
        return self.registry.decode(raw)

    def value(self, raw: bytes) -> dict[str, object]:
        return self.registry.decode(raw)

    def told(self, partition: SourcePartition) -> Position | None:
        return self.databases[partition].told

"""The fake target's world: its storage outlives it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.fakes.target import FakeTarget, Storage
from wrackline.consumers.contract.plan import MergePlan, TableMode
from wrackline.consumers.contract.target import Target
from wrackline.schemas.tables.table import TableId
from wrackline.testing.targets.history_model import events_seen, reader, versions
from wrackline.testing.targets.merge_model import (
    Change,
    Content,
    Key,
    Stored,
    Values,
    copies,
    latest,
    visible,
)


class FakeTargetWorld:
    """A target in memory."""

    crash_points: tuple[str, ...] = ("before the commit", "after the commit")

    def __init__(self, target_of: Callable[[Storage], FakeTarget] = FakeTarget) -> None:
        self._target_of = target_of
        self._storage = Storage()
        self.target: Target[Any, Any] = target_of(self._storage)

    def frame(self, changes: Sequence[Change], plan: MergePlan) -> object:
        return latest(changes, plan.floor)

    def stored(self, table: TableId) -> Mapping[Key, Stored]:
        found = self._storage.tables.get(table)
        return {} if found is None else found.rows

    def visible(self, table: TableId) -> Mapping[Key, Values]:
        return visible(self.stored(table))

    def labels_at(self, name: str) -> Sequence[object]:
        (found,) = (table for at, table in self._storage.aside.items() if at.name == name)
        return [row.values["label"] for row in found.rows.values()]

    def seen(self, table: TableId) -> Sequence[Mapping[str, object]]:
        found = self._storage.tables[table]
        if found.mode is TableMode.APPEND:
            return events_seen(found.rows, found.of_source, "_wl_seq", "_wl_op")
        key = [name for name in found.key if name in found.of_source]
        return reader(versions(found.rows, found.of_source, key, found.tracked))

    def copies(self, table: TableId, columns: tuple[str, ...]) -> Mapping[Content, int]:
        return copies(self.stored(table), columns)

    def crash_next_apply(self, point: str) -> None:
        self._storage.crash = point

    def restart(self) -> None:
        self.target = self._target_of(self._storage)

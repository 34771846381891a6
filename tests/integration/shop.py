"""A stream over a database whose tables come and go: read, closed and opened again, and what it said.

A source's own `Shop` extends `Opened`: it makes the database, and says how its log is opened.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from wrackline.producers.contract.source_plugin import LogStream, Source, Surroundings
from wrackline.producers.contract.steps import (
    Appeared,
    Commit,
    Fault,
    Found,
    Progress,
    Renamed,
    Reshaped,
    Saved,
    Shape,
    Step,
    Truncate,
    Vanished,
)
from wrackline.testing.sources.reading import row_changes
from wrackline.testing.sources.schema_ids import SchemaIds

PATIENCE = 30.0
ABOUT_TABLES = (Appeared, Vanished, Renamed, Reshaped, Truncate, Fault, Found)


class Opened(ABC):
    """A pipeline whose stream is open; what was read counts as published."""

    def __init__(self, registry: SchemaIds) -> None:
        self.registry = registry
        self.around = Surroundings(time.monotonic, lambda: 0, registry.register, 1 << 20)
        self.saved: Saved | None = None
        self.steps: list[Step] = []
        self.source, self.stream = self.start()

    @abstractmethod
    def start(self) -> tuple[Source, LogStream]:
        """Open the log where it was left, with the tables of now."""

    def stop(self) -> None:
        """Close it."""
        self.stream.close()
        self.source.close()

    def go_on(self) -> None:
        """Open it again."""
        self.stop()
        self.source, self.stream = self.start()

    def read_until(self, enough: Callable[[Sequence[Step]], bool]) -> list[Step]:
        """Read on until this is met; return what came."""
        came: list[Step] = []
        end = time.monotonic() + PATIENCE
        while not enough(came):
            assert time.monotonic() < end, came
            batch = self.stream.poll(time.monotonic() + 0.2)
            for step in batch.steps if batch else ():
                came.append(step)
                if isinstance(step, Commit | Progress):
                    self.saved = step.position.saved()
        self.steps += came
        return came

    def until(self, *wanted: type[Step]) -> list[Step]:
        """Read on until each kind of step has come, and return the steps about tables."""
        came = self.read_until(lambda steps: set(wanted) <= {type(step) for step in steps})
        return [step for step in came if isinstance(step, ABOUT_TABLES)]

    def rows(self, steps: Sequence[Step]) -> list[tuple[str, dict[str, object]]]:
        """Each row, with the table that it is of."""
        names = {step.ref: step.table.id.name for step in self.steps if isinstance(step, Shape)}
        found = []
        for ref, _, _, value, _ in row_changes(steps):
            after = self.registry.decode(value)["after"]
            assert isinstance(after, dict)
            found.append((names[ref], {name: cell for name, cell in after.items() if cell is not None}))
        return found

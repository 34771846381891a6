"""The tasks of a pipeline: first those of its source half, then its target half where a worker runs that too.

    shop           task 0, which reads the first databases, or the only one
    shop:1         task 1, if there are so many
    shop:target    the next number

In: a pipeline's settings.  Out: its tasks, and the keys by which a supervisor and a log know them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from wrackline.control.runtime.rest.model.connect_documents import ConnectorState, state_of_tasks
from wrackline.producers.kafka.takeover import DEAL_DIFFERS
from wrackline.schemas.pipelines.deal import Deal, TaskShare, names_of, shares_of, source_tasks
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.settings.value_kinds import Value


@dataclass(frozen=True, slots=True)
class PipelineTasks:
    """How many tasks a pipeline has."""

    sources: int = 1
    target: bool = False

    def __iter__(self) -> Iterator[int]:
        """Yield their numbers."""
        return iter(range(self.sources + self.target))

    def key(self, pipeline: str, number: int) -> str:
        """Return what a task is called in a worker, and in its log; no pipeline's name has a colon."""
        if number >= self.sources:
            return f"{pipeline}:target"
        return f"{pipeline}:{number}" if number else pipeline


def standing_of(tasks: PipelineTasks, state: Callable[[int], ConnectorState]) -> ConnectorState:
    """Return the states of all tasks, put together."""
    known = [state(number) for number in tasks]
    return state_of_tasks(known[: tasks.sources], known[tasks.sources] if tasks.target else None)


class TaskPlace(NamedTuple):
    """Which task of a pipeline a process is: its number, the count of source tasks, and of which deal."""

    number: int = 0
    sources: int = 1
    deal: int = 0
    chosen: tuple[tuple[str, Value], ...] = ()  # settings that were dealt; none: as the process reads them

    def dealt(self, pipeline: Pipeline) -> Pipeline:
        """Return a pipeline with the databases that were dealt, though its file may name others by now."""
        values = pipeline.good()
        kept = {name: value for name, value in self.chosen if name in values}
        return replace(pipeline, values=values.replaced(kept)) if kept else pipeline

    def share(self, pipeline: Pipeline) -> TaskShare | None:
        """Return what it reads; None: it is the target half."""
        if self.number >= self.sources:
            return None
        values = pipeline.good()
        deal = Deal(self.deal, shares_of(names_of(values), self.sources))
        if deal.tasks < self.sources:
            raise DEAL_DIFFERS(connector=values.text("name"), task=self.number)
        return TaskShare(deal, self.number)


def pipeline_of(key: str) -> str:
    """Return the pipeline of a task."""
    return key.partition(":")[0]


def runs_target(pipeline: Pipeline) -> bool:
    """Whether the worker that runs the source half runs the target half too."""
    return pipeline.target is not None and pipeline.good().text("target.run") == "worker"


def tasks_of(pipeline: Pipeline) -> PipelineTasks:
    """Return the tasks that a worker runs for a pipeline."""
    return PipelineTasks(source_tasks(pipeline.good()), runs_target(pipeline))


def asks_for_target(settings: Mapping[str, str]) -> bool:
    """Whether settings that were found good ask for the target half."""
    return bool(settings.get("target.kind")) and settings.get("target.run", "worker") == "worker"

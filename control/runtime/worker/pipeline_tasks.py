"""The tasks of a pipeline: its source half is task 0, its target half task 1 where a worker runs that too.

In: a pipeline's settings.  Out: the keys by which a supervisor knows its tasks.
"""

from collections.abc import Mapping
from typing import Final

from wrackline.control.runtime.rest.model.connect_documents import SOURCE_TASK, TARGET_TASK
from wrackline.schemas.pipelines.pipeline import Pipeline

_TARGET: Final = ":target"  # no pipeline's name has a colon


def task_key(pipeline: str, number: int) -> str:
    """Return what a task is called in a worker, and in its log."""
    return pipeline if number == SOURCE_TASK else pipeline + _TARGET


def task_of(key: str) -> tuple[str, int]:
    """Return the pipeline of a task, and the task's number."""
    pipeline = key.removesuffix(_TARGET)
    return pipeline, SOURCE_TASK if pipeline == key else TARGET_TASK


def runs_target(pipeline: Pipeline) -> bool:
    """Whether the worker that runs the source half runs the target half too."""
    return pipeline.target is not None and pipeline.good().text("target.run") == "worker"


def task_numbers(pipeline: Pipeline) -> tuple[int, ...]:
    """Return the numbers of the tasks that a worker runs for a pipeline."""
    return (SOURCE_TASK, TARGET_TASK) if runs_target(pipeline) else (SOURCE_TASK,)


def asks_for_target(settings: Mapping[str, str]) -> bool:
    """Whether settings that were found good ask for the target half."""
    return bool(settings.get("target.kind")) and settings.get("target.run", "worker") == "worker"

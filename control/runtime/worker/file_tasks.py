"""The tasks of pipelines' files: dealt when the worker starts, and again when a connector is restarted.

In: the files, and the pipelines as they were read.  Out: how each task's process is started, for the
supervisor.  A restart of a connector reads its file again.  If that names other databases, or has another
count of tasks, the deal gets a new number, so that the tasks take their databases over from those before.  A
task that is restarted alone, or after a crash, is given the databases of the last deal: it reads its file
again, but its neighbours still have their shares.  A file that is no longer good changes nothing here: each
task reports by itself what is wrong with it.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Final

from wrackline.control.runtime.check.pipeline_file import UnfitFile, good_pipeline
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.worker.pipeline_tasks import TaskPlace, tasks_of
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.schemas.errors import Definite, WracklineError, define
from wrackline.schemas.pipelines.deal import chosen_databases, names_of
from wrackline.schemas.pipelines.pipeline import Pipeline

SAME_NAME = define(
    "worker.same_name",
    Definite,
    "{file} and {other} are both named {name}: they would be one pipeline, and fence each other",
    hint="give each a name of its own, or leave one of the files out",
)

_REDACTORS: Final = 2  # of a pipeline: a process that ends may still print a secret of before


class FileTasks:
    """The tasks of all files; `restart` may be called on any thread, one call at a time."""

    def __init__(self, pipelines: Mapping[Path, Pipeline], way: Callable[[Path, TaskPlace], Begin]) -> None:
        """Deal for the first time; `way` returns how the process of a task is started."""
        self.files: dict[str, Path] = {}
        self.named: dict[str, Pipeline] = {}
        for file, pipeline in pipelines.items():
            name = pipeline.good().text("name")
            if name in self.files:
                raise SAME_NAME(file=file, other=self.files[name], name=name)
            self.files[name], self.named[name] = file.absolute(), pipeline
        self._way = way
        self._deals = dict.fromkeys(self.files, now_ms())
        self._redactors = {name: [one.good().redactor] for name, one in self.named.items()}

    def begins(self) -> Mapping[str, Begin]:
        """Return how each task is started, by the supervisor's keys."""
        return {key: begin for name in self.named for key, begin in self._begins(name).items()}

    def clean(self, text: str) -> str:
        """Remove the secrets of all pipelines from a text."""
        known = [one for redactors in list(self._redactors.values()) for one in redactors]
        return reduce(lambda left, redactor: redactor.clean(left), known, text)

    def restart(self, supervisor: Supervisor, name: str, rests: Callable[[str], bool]) -> Pipeline:
        """Restart the tasks that do not rest as the file says now; return what it says."""
        before = self._begins(name)
        self._take(name)
        begins = self._begins(name)
        for key in before.keys() - begins.keys():
            supervisor.let_go(key)
        for key, begin in begins.items():
            supervisor.give(key, begin, DesiredState.PAUSE if rests(key) else DesiredState.RUN)
        return self.named[name]

    def _take(self, name: str) -> None:
        """Read a file again, and deal again if it says something else of the deal."""
        before = self.named[name]
        now: Pipeline | None = None
        with suppress(UnfitFile, WracklineError):
            now = good_pipeline(self.files[name])
        if now is None or now.good().text("name") != name:  # another name is another pipeline
            return
        if _dealt(now) != _dealt(before):
            self._deals[name] = max(now_ms(), self._deals[name] + 1)  # the clock may have been set back
        self.named[name] = now
        self._redactors[name] = [*self._redactors[name], now.good().redactor][-_REDACTORS:]

    def _begins(self, name: str) -> Mapping[str, Begin]:
        tasks, chosen = tasks_of(self.named[name]), chosen_databases(self.named[name].good())
        places = [TaskPlace(number, tasks.sources, self._deals[name], chosen) for number in tasks]
        return {tasks.key(name, one.number): self._way(self.files[name], one) for one in places}


def _dealt(pipeline: Pipeline) -> tuple[int, tuple[str, ...]]:
    return tasks_of(pipeline).sources, names_of(pipeline.good())

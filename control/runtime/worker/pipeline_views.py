"""Views of a worker's pipelines: what `view_routes.py` needs, by the functions of the command line."""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Protocol

from wrackline.control.runtime.check.assessment import assess
from wrackline.control.runtime.services.status import PipelineStatus, gather_status
from wrackline.producers.connect.child import Begin
from wrackline.schemas.pipelines.pipeline import Pipeline


class KnownPipelines(Protocol):
    """Knows pipelines by their names."""

    def names(self) -> Sequence[str]:
        """Return their names."""
        ...

    def pipeline(self, name: str) -> Pipeline:
        """Return a pipeline, checked."""
        ...


class WorkerViews:
    """Looks at these pipelines; any thread may ask."""

    def __init__(self, pipelines: KnownPipelines, assessing: Callable[[str], Begin]) -> None:
        """Take also what starts the process that checks a pipeline."""
        self._pipelines, self._assessing = pipelines, assessing

    def names(self) -> Container[str]:
        """Return the pipelines' names."""
        return self._pipelines.names()

    def status(self, name: str) -> PipelineStatus:
        """Ask both sides; if the settings are no longer good here, raise their fault."""
        return gather_status(self._pipelines.pipeline(name))

    def assess(self, name: str) -> Mapping[str, Any]:
        """Check it in a separate process."""
        return assess(name, self._assessing(name))

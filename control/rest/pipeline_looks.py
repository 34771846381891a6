"""A worker's pipelines, looked at: what `looks.py` asks for, by the functions of the command line."""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Protocol

from wrackline.control.assessing import assessed
from wrackline.control.status import Status, gather
from wrackline.producers.connect.child import Begin
from wrackline.schemas.pipeline import Pipeline


class Pipelines(Protocol):
    """Knows pipelines by their names."""

    def names(self) -> Sequence[str]:
        """Name them."""
        ...

    def pipeline(self, name: str) -> Pipeline:
        """Return one, checked."""
        ...


class PipelineLooks:
    """Looks at these; any thread may ask."""

    def __init__(self, pipelines: Pipelines, assessing: Callable[[str], Begin]) -> None:
        """Take also how the process is begun that checks one."""
        self._pipelines, self._assessing = pipelines, assessing

    def names(self) -> Container[str]:
        """Name the pipelines."""
        return self._pipelines.names()

    def status(self, name: str) -> Status:
        """Ask both sides; of settings that are no longer good here, their fault is the answer."""
        return gather(self._pipelines.pipeline(name))

    def assess(self, name: str) -> Mapping[str, Any]:
        """Check it in a process of its own."""
        return assessed(name, self._assessing(name))

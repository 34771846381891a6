"""The requests of pipelines, from the Kafka of each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from wrackline.control.runtime.services import requests
from wrackline.control.runtime.services.signalling import send_signal
from wrackline.control.runtime.worker.pipeline_views import KnownPipelines
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.pipeline import Pipeline


class PipelineRequests:
    """Sends signals to a pipeline, and reads its receipts; any thread may ask."""

    def __init__(self, pipeline: Pipeline, tell: Callable[[WracklineError], None]) -> None:
        """Take the pipeline, and what gets a receipt that can't be read."""
        self._values, self._tell = pipeline.good(), tell

    def send(self, body: bytes) -> None:
        """Send a signal that was found good."""
        send_signal(self._values, body)

    def receipts(self) -> Sequence[Mapping[str, Any]]:
        """Return each request's state, ordered by when it got that state."""
        return requests.request_documents(requests.read_receipts(self._values, self._tell))


class RequestsByName(Mapping[str, PipelineRequests]):
    """The requests of each pipeline, with the settings that it has now."""

    def __init__(self, pipelines: KnownPipelines, tell: Callable[[str, WracklineError], None]) -> None:
        """Take what gets a receipt that can't be read, and the pipeline's name."""
        self._pipelines, self._tell = pipelines, tell

    def __getitem__(self, name: str) -> PipelineRequests:
        if name not in self._pipelines.names():
            raise KeyError(name)
        return PipelineRequests(self._pipelines.pipeline(name), partial(self._tell, name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._pipelines.names())

    def __len__(self) -> int:
        return len(self._pipelines.names())

"""One pipeline's requests, from its Kafka."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wrackline.control.runtime.services import requests
from wrackline.control.runtime.services.signalling import send_signal
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

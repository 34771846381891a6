"""One pipeline's requests, as its Kafka has them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wrackline.control import requests
from wrackline.control.signalling import send
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipeline import Pipeline


class PipelineDesk:
    """Sends signals to a pipeline, and reads its receipts; any thread may ask."""

    def __init__(self, pipeline: Pipeline, tell: Callable[[WracklineError], None]) -> None:
        """Take the pipeline, and who hears of a receipt that can't be read."""
        self._values, self._tell = pipeline.good(), tell

    def send(self, body: bytes) -> None:
        """Send a signal that was found good."""
        send(self._values, body)

    def receipts(self) -> Sequence[Mapping[str, Any]]:
        """Where each request stands, in the order in which they came to stand so."""
        return requests.listed(requests.found(self._values, self._tell))

"""The one call that the tests of deploy/ make of PyYAML, which brings no types of its own."""

from typing import IO, Any

def safe_load(stream: str | IO[str]) -> Any: ...  # noqa: ANN401 - a document is what it says

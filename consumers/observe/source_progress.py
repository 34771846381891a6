"""What the source half says of Kafka: through which moment its tables are there, and which of them are not.

In: what the board knows.  Out: a value that was true before anybody asked for the topics' ends.
"""

from typing import NamedTuple


class SourceProgress(NamedTuple):
    """All commits up to `at_ms` are in Kafka, for the `whole` tables."""

    at_ms: int
    whole: frozenset[str]  # by their topics' names without the server
    lacking: frozenset[str]  # tables that lack rows: they are read, or set aside

"""The lines of a half, sent to its pipeline's topic beside standard error: `logs.topic`.

In: a pipeline's settings, and which half this process is.  Out: every line that it logs meanwhile, as JSON.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from wrackline.control.runtime.ground.pipeline_access import group_of
from wrackline.control.runtime.logs.lines import also_hear
from wrackline.control.runtime.logs.trail_writer import open_trail
from wrackline.producers.kafka.client import Client
from wrackline.schemas.kafka.board_records import Half
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.settings.settings_registry import Values

_DAYS: Final = 3


def logs_topic(values: Values) -> str | None:
    """Return the topic of a pipeline's lines; None: they are not sent."""
    return None if values.text("logs.topic") == "off" else internal_topics(group_of(values.text("name"))).logs


@contextmanager
def sent_lines(values: Values, half: Half) -> Iterator[None]:
    """Send every line that is logged until the block ends."""
    topic = logs_topic(values)
    if topic is None:
        yield
        return
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    with open_trail(client, topic, _DAYS) as put, also_hear(lambda line: put({**line, "half": half.value})):
        yield

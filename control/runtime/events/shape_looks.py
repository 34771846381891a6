"""The newest shapes of a table, from the schema registry.

In: a pipeline that was found good, and a table's name.  Out: its shapes, the oldest first.  The registry does
not keep when a version came, so no time is known here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from wrackline.control.runtime.events.table_shapes import TableShape, read_shape
from wrackline.control.runtime.events.topic_choice import choose_topics
from wrackline.schemas.kafka.schema_registry import RegistryClient, registry_access
from wrackline.schemas.kafka.topic_names import is_of_table
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values

MOST: Final = 50  # versions that are read
_SUFFIX: Final = "-value"


@dataclass(frozen=True, slots=True)
class ShapeLook:
    """What was found; `left_out` counts older versions."""

    subject: str
    server: str  # the registry that was asked
    shapes: Sequence[TableShape]
    left_out: int


def look_at_shapes(values: Values, table: str) -> ShapeLook:
    """Ask the registry for a table's shapes."""
    server, naming, access = values.text("topic.prefix"), naming_of(values), registry_access(values)
    with RegistryClient(access) as registry:
        topics = {
            topic
            for subject in registry.subjects()
            if subject.endswith(_SUFFIX) and is_of_table(server, topic := subject[: -len(_SUFFIX)], naming)
        }
        subject = choose_topics(server, [table], topics, naming)[0] + _SUFFIX
        versions = registry.versions(subject)
        read = (read_shape(version, *registry.version(subject, version)) for version in versions[-MOST:])
        shapes = [shape for shape in read if shape is not None]
        return ShapeLook(subject, access.shown, shapes, max(0, len(versions) - MOST))

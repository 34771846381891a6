"""What several parts read of a pipeline's settings, and all must read alike."""

from wrackline.schemas.kafka.topic_names import Naming
from wrackline.schemas.settings.settings_registry import Values


def naming_of(settings: Values) -> Naming:
    """Return how tables' topics are named."""
    return Naming(settings.text("topic.naming"))


def skipped_letters(settings: Values) -> bytes:
    """Return the operations that are not published, as an event's `op` names them."""
    return "".join(op for op in settings.listed("skipped.operations") if len(op) == 1).encode()

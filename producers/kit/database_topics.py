"""Whether tables of several databases would share a topic.  Pure."""

from collections.abc import Sequence

from wrackline.schemas.kafka.topic_names import Naming


def shared_topics(names: Sequence[str], naming: Naming) -> str | None:
    """Say why they would, None if they do not."""
    if len(names) > 1 and naming.parts < 4:
        return f'topic.naming = "{naming.value}" leaves the database out'
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(naming.part(name).replace(".", "_"), name)  # Kafka takes both for one
        if other != name:
            return f"{other} and {name} are written alike in a topic's name"
    return None

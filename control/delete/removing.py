"""Takes away what was found, in an order that any crash may cut: the same command finishes it.

    fence -> source's server -> target's tables -> topics of tables -> internal topics, the positions last

Why this order: what the source's server keeps grows while it stands.  The positions say what is the
pipeline's own, so they go when nothing is left that they could tell of.  The fence is a claim of the task's
generation: a task that lives after all, between two connections, finds itself superseded, or its positions
gone, before it would make anything anew.
"""

import time
from collections.abc import Callable

from wrackline.consumers.plugin import Dropping
from wrackline.control.delete.finding import Found, Places, saved_of
from wrackline.producers.kafka import offsets_topic, removal
from wrackline.producers.kafka.ownership import LOST
from wrackline.producers.plugin import Removable
from wrackline.schemas.errors import Definite


def remove(at: Places, found: Found, tell: Callable[[str], None]) -> None:
    """Remove all that goes, and say so as it goes."""
    state = at.ownership.state(over_broken=True)
    if offsets_topic.exists(at.admin, at.offsets):
        _fence(at)
    source: object = at.source
    if isinstance(source, Removable):
        for partition, kept in found.source.items():
            source.remove(partition, saved_of(state, at.name, partition))
            for one in kept:
                tell(one.name)
    target: object = at.target
    if isinstance(target, Dropping):
        for table in found.tables:
            target.drop(table)
            tell(f"table {table} of the target")
    for topics in (found.topics, *((topic,) for topic in found.internal)):
        removal.delete(at.admin, topics, time.monotonic, time.sleep)
        for topic in topics:
            tell(f"topic {topic}")


def _fence(at: Places) -> None:
    try:
        at.ownership.claim(time.monotonic)
    except Definite as error:
        if error.code != LOST.code:  # without positions the claim is refused, after it has fenced
            raise

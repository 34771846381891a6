"""Removes what was found, in an order that any crash may interrupt: the same command finishes it.

    fence -> source's server -> target's tables -> topics of tables -> internal topics, the positions last

Why this order: what the source's server keeps grows as long as it exists.  The positions say what belongs to
the pipeline, so they go when nothing is left that they describe.  The fence is a claim of the task's
generation: a task that is alive after all, between two connections, finds that it is superseded, or that its
positions are gone, before it could make anything again.
"""

import time
from collections.abc import Callable

from wrackline.consumers.contract.target import Dropping
from wrackline.control.runtime.services.deletion_plan import DeletionPlan, PipelineParts, saved_position
from wrackline.producers.contract.optional_parts import Removable
from wrackline.producers.kafka import offsets_topic, topic_deletion
from wrackline.producers.kafka.ownership import LOST
from wrackline.schemas.errors import Definite


def delete_planned(at: PipelineParts, found: DeletionPlan, tell: Callable[[str], None]) -> None:
    """Remove all that goes, and report each removal."""
    state = at.ownership.state(over_broken=True)
    if offsets_topic.slot_exists(at.admin, at.offsets):
        _fence(at)
    source: object = at.source
    if isinstance(source, Removable):
        for partition, kept in found.source.items():
            source.remove(partition, saved_position(state, at.name, partition))
            for one in kept:
                tell(one.name)
    target: object = at.target
    if isinstance(target, Dropping):
        for table in found.tables:
            target.drop(table)
            tell(f"table {table} of the target")
    for topics in (found.topics, *((topic,) for topic in found.internal)):
        topic_deletion.delete_topics(at.admin, topics, time.monotonic, time.sleep)
        for topic in topics:
            tell(f"topic {topic}")


def _fence(at: PipelineParts) -> None:
    try:
        at.ownership.claim(time.monotonic)
    except Definite as error:
        if error.code != LOST.code:  # without positions the claim is refused, after it has fenced
            raise

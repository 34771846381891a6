"""How a pipeline is reached: the name of its group, its partition of the offsets, and what its source needs.

In: a pipeline's settings, or its source.  Out: the same answers for `wrackline run` and for every command
that works beside it, so that all of them use the same partition of the same topic.
"""

import time
from collections.abc import Callable

import orjson

from wrackline.control.runtime.ground.times import now_ms
from wrackline.producers.contract.optional_parts import Attended
from wrackline.producers.contract.source_plugin import Source, Surroundings, WriterIds
from wrackline.producers.contract.steps import Saved
from wrackline.producers.kafka.client import Client
from wrackline.producers.kafka.login_check import check_login
from wrackline.producers.kafka.ownership import Ownership
from wrackline.schemas.pipelines.deal import TaskShare
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableSchema

BYSTANDER = 0  # the number of a caller that is no task

PositionText = Callable[[SourcePartition, Saved], str]


def group_of(name: str) -> str:
    """Return the name of a pipeline's own group, which its run's topics and transactional ids have."""
    return f"wrackline-{name}"


def surroundings(share: TaskShare | None = None) -> Surroundings:
    """What a source needs that writes no events here; of several databases, all or those of a task."""
    names = None if share is None else share.names
    return Surroundings(time.monotonic, now_ms, _registers_nothing, share=names)


def position_text(source: Source) -> PositionText:
    """Return how this source's people write a position."""
    return source.place if isinstance(source, Attended) else lambda _, saved: orjson.dumps(saved).decode()


def ownership_of(values: Values, task: int = BYSTANDER) -> Ownership:
    """Return a pipeline's offsets, for a task or for a bystander, once Kafka has let us in."""
    name = values.text("name")
    client = Client(values.below("kafka."), values.integer("max.row.bytes"))
    check_login(client, time.monotonic)
    return Ownership(client, group_of(name), name, task)


def _registers_nothing(table: TableSchema) -> WriterIds:
    raise TypeError(f"no event of {table.id} is written here")

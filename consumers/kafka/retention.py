"""How near a table's unread events are to being dropped by their topic: pure.

In: by partition, what is applied, and the topic's first and end offsets.  Out: the part of what a partition
keeps that is merged already, for the partition where that is least.  A partition that has dropped nothing yet
says nothing: how much it may keep is not known from its offsets.
"""

from collections.abc import Mapping
from typing import Final

from wrackline.schemas.errors import Transient, define

NEAR: Final = 0.1  # below this part the operator should know

SOON_GONE = define(
    "consume.offsets_soon_gone",
    Transient,
    "{table} is {behind} offsets behind, and topic {topic} is about to drop what it has not merged",
    hint="keep events longer: kafka-configs --bootstrap-server <brokers> --alter --entity-type topics"
    " --entity-name '{topic}' --add-config retention.ms=<longer>,retention.bytes=-1; then see why the table"
    " is behind: wrackline status <pipeline.toml>",
)


def retained_ratio(
    applied: Mapping[int, int], firsts: Mapping[int, int], ends: Mapping[int, int]
) -> float | None:
    """Return the least part; None where nothing was dropped, or all is merged."""
    parts = [
        max(0, applied[partition] - first) / (ends[partition] - first)
        for partition, first in firsts.items()
        if first > 0 and partition in applied and applied[partition] < ends.get(partition, 0)
    ]
    return min(parts, default=None)

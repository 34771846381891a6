"""How far a table has come, as a text that a commit carries.

In: what is applied.  Out: JSON, and back.  A form that a later version wrote is refused, not guessed at.
"""

import json
from typing import Any

from wrackline.consumers.plan import Applied, TopicPartition, Written
from wrackline.schemas.errors import Definite, define

_VERSION = 2

UNREADABLE = define(
    "target.progress_unreadable",
    Definite,
    "table {target} says how far it has come in a form that this version does not know",
    hint="a newer version wrote it; use that one: pip install --upgrade wrackline",
)


def text(applied: Applied) -> str:
    """Write what is applied."""
    offsets: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(applied.offsets.items()):
        offsets.setdefault(topic, {})[str(partition)] = offset
    newest = applied.newest and [applied.newest.seq, applied.newest.key_id, applied.newest.value_id]
    said = {"version": _VERSION, "offsets": offsets, "floor": applied.floor, "newest": newest}
    return json.dumps({**said, "topic_ids": dict(sorted(applied.topic_ids.items()))})


def parse(written: str, target: str) -> Applied:
    """Read it back."""
    found: dict[str, Any] = json.loads(written)
    if found.get("version") != _VERSION:
        raise UNREADABLE(target=target)
    offsets = {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in found["offsets"].items()
        for partition, offset in partitions.items()
    }
    newest = found["newest"] and Written(*found["newest"])
    return Applied(offsets, found["floor"], newest, found.get("topic_ids", {}))  # older texts have none

"""How far a table has come, as a text that a commit carries.

In: what is applied.  Out: JSON, and back.  A form that a later version wrote is refused, not guessed at; so
is a text that is broken, because any writer to the table may have written it.
"""

import json
from collections.abc import Mapping
from typing import Any

from wrackline.consumers.contract.plan import Applied, NewestChange, Offsets, TopicPartition
from wrackline.schemas import untrusted
from wrackline.schemas.errors import Definite, OperatorNeeded, define

_VERSION = 2

UNREADABLE = define(
    "target.progress_unreadable",
    Definite,
    "table {target} says how far it has come in a form that this version does not know",
    hint="a newer version of Wrackline wrote it; install that version where wrackline consume runs",
)
BROKEN = define(
    "target.progress_broken",
    OperatorNeeded,
    "how far {target} has come can't be read: the text in a commit of its log is not as Wrackline writes it",
    hint="set the table back to a version from before that commit; or start over: {drop};"
    " then: wrackline snapshot start <pipeline.toml> '<table>'",
)


def text(applied: Applied) -> str:
    """Write what is applied."""
    offsets: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(applied.offsets.items()):
        offsets.setdefault(topic, {})[str(partition)] = offset
    newest = applied.newest and [applied.newest.seq, applied.newest.key_id, applied.newest.value_id]
    said = {"version": _VERSION, "offsets": offsets, "floor": applied.floor, "newest": newest}
    return json.dumps({**said, "topic_ids": dict(sorted(applied.topic_ids.items()))})


def parse(written: str, target: str, drop: str) -> Applied:
    """Read it back; `drop` takes the table away."""
    try:
        found: dict[str, Any] = json.loads(written)
        version = untrusted.number(found["version"])
        applied = _read_applied(found) if version == _VERSION else None
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        refused = BROKEN(target=target, drop=drop)
        raise refused from None  # the first error shows the text
    if applied is None:
        raise UNREADABLE(target=target)
    return applied


def make_applied(offsets: Offsets, floor: object, newest: object, topic_ids: Mapping[str, object]) -> Applied:
    """Make what is applied from plain values that somebody may have changed."""
    at = {
        TopicPartition(untrusted.text(one.topic), untrusted.number(one.partition)): untrusted.number(to)
        for one, to in offsets.items()
    }
    ids = {untrusted.text(topic): untrusted.text(one) for topic, one in topic_ids.items()}
    return Applied(at, None if floor is None else untrusted.text(floor), _read_newest(newest), ids)


def _read_applied(found: Mapping[str, Any]) -> Applied:
    offsets = {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in found["offsets"].items()
        for partition, offset in partitions.items()
    }
    ids = found.get("topic_ids", {})  # older texts have none
    return make_applied(offsets, found["floor"], found["newest"], ids)


def _read_newest(found: object) -> NewestChange | None:
    if found is None:
        return None
    if not isinstance(found, list):
        raise TypeError("no list")
    seq, key_id, value_id = found
    return NewestChange(
        untrusted.text(seq), None if key_id is None else untrusted.number(key_id), untrusted.number(value_id)
    )

"""How late each change became visible in its table: computed afterwards from the records of both sides.

In: of each change its offset and the times of its commit and its record, from Kafka; of each commit of
the table its time and the offset that it reached.  Out: milliseconds, by change.  None of it runs
while the pipeline is measured.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from wrackline.consumers.contract.applied_text import parse
from wrackline.consumers.contract.plan import TopicPartition
from wrackline.consumers.targets.iceberg.direct.snapshot_history import APPLIED_PROPERTY

_VERSION = re.compile(r"v(\d+)\.metadata\.json$")


class Change(NamedTuple):
    """One event of a topic's one partition."""

    offset: int
    committed_ms: int  # at the source
    published_ms: int  # when its record was made


class Commit(NamedTuple):
    """One commit of the table."""

    upto: int  # offset of the first event that is not in it
    at_ms: int


def commits(table: Path, topic: str) -> list[Commit]:
    """Read an Iceberg table's commits from its newest metadata file."""
    files = {
        int(found[1]): file for file in table.glob("metadata/*") if (found := _VERSION.search(file.name))
    }
    if not files:
        return []
    said: dict[str, Any] = json.loads(files[max(files)].read_text())
    return list(_commits(said.get("snapshots", []), topic, str(table)))


def _commits(snapshots: Iterable[dict[str, Any]], topic: str, table: str) -> Iterator[Commit]:
    for one in sorted(snapshots, key=lambda one: int(one["sequence-number"])):
        text = one["summary"].get(APPLIED_PROPERTY)
        upto = None if text is None else parse(text, table, "").offsets.get(TopicPartition(topic, 0))
        if upto is not None:
            yield Commit(upto, int(one["timestamp-ms"]))


def late_ms(changes: Iterable[Change], made: Sequence[Commit]) -> list[int]:
    """Return how long after its own commit each change stood in the table; all of them must by now."""
    reached = [one.upto for one in made]
    return [made[bisect_right(reached, one.offset)].at_ms - one.committed_ms for one in changes]

"""Takes the copy of a table away that is gone at the source, once all of its rows are merged.

    held            this consumer is the one that merges
    asked again     the departure is still due: the table is not back
    written ends    of the topic, with what no reader may see yet; the copy itself says that it has all of it,
                    and that it has nothing of another topic: another pipeline may merge into it
    dead letters    there are none: each is a row that is not merged
    drop, rename    by the target, which refuses a table that it did not make

In: a departure that is due.  Out: what became of the copy, or why nothing did.  Why no row is lost: the
source half reports that a table is gone after its last rows are committed, and the ends are asked for later.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from wrackline.consumers.contract.drop_rules import DropBehaviour
from wrackline.consumers.contract.target import Dropping, SparkTarget
from wrackline.consumers.drive.departures import Departure, Departures
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.kafka.topic_names import table_of

LETTERS_LEFT = define(
    "drop.letters_left",
    OperatorNeeded,
    "{table} is gone at the source, and its copy stays as it is, because it has dead letters",
    hint="see them: wrackline letters list <pipeline.toml> '{table}'; once they are merged or deleted:"
    " wrackline table retry <pipeline.toml> '{table}'; or keep the copy: wrackline table keep <pipeline.toml>"
    " '{table}'",
)
SHARED = define(
    "drop.shared",
    OperatorNeeded,
    "{table} is gone at the source, and its copy stays as it is, because it also has rows of {topic}",
    hint="keep it: wrackline table keep <pipeline.toml> '{table}'; or, if nothing merges that topic any more,"
    " drop it by hand",
)
NOT_LEFT = define(
    "drop.failed",
    Transient,
    "the copy of topic {topic}, whose table is gone at the source, could not be dropped or renamed"
    " ({condition})",
    hint="it is tried again; if it keeps failing, read Spark's log: wrackline consume <pipeline.toml>"
    " --spark-log spark.log",
)
DROPPED: Final = "dropped"
ABSENT: Final = "absent"

Written = Callable[[str, Collection[int]], Mapping[int, int]]  # a topic's ends, with open transactions


@dataclass(frozen=True, slots=True)
class CopyRemover:
    """Takes copies away; each call is one table's, on a thread of the pool."""

    policy: Departures
    target: SparkTarget
    written: Written
    hold: Callable[[], None]

    def is_there(self, topic: str) -> bool:
        """Whether the target has a copy."""
        return self.target.held(table_of(topic)) is not None

    def leave(self, topic: str, ends: Mapping[int, int], departure: Departure) -> str | None:
        """Take a copy away, and say what it became; None: not now."""
        table, target = table_of(topic), self.target
        if not isinstance(target, Dropping):
            return None
        if not self.is_there(topic):
            return ABSENT
        name, written = topic.partition(".")[2], self.written(topic, list(ends))
        merged = target.applied(table)
        applied = merged.of_topic(topic)
        if others := sorted({at.topic for at in merged.offsets} - {topic}):
            raise SHARED(table=name, topic=others[0])
        whole = bool(applied) and all(applied.get(partition, 0) >= end for partition, end in written.items())
        if not whole or written.keys() < ends.keys():
            return None
        if target.letters.spots(table):
            raise LETTERS_LEFT(table=name)
        self.hold()
        if self.policy.due(name) is None:
            return None
        if departure.behaviour is DropBehaviour.DROP:
            return DROPPED if target.drop(table) else ABSENT
        day = datetime.fromtimestamp(departure.since_ms / 1000, UTC)
        return target.set_aside(table, f"__dropped_{day:%Y%m%d}") or ABSENT

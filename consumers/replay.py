"""Dead letters tried again: what can be read by now is merged, and the rest stays.

In: a table's letters, and the same rules as a batch has.  Out: how many went in, and why the others did not.
They go the way of every record, and an older event never wins, so a replay is safe whenever it comes.  No
offset moves.  A letter is removed once its row is committed: a crash in between merges it again, and that
changes nothing (INV-5).  Letters of one key are merged one after the other: between them lie events that the
table has, and what one letter says must not be carried over those into the next.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.account import Stopwatch
from wrackline.consumers.batch import merge_records, our_errors
from wrackline.consumers.letters import Letter, LetterBox, Spot, blocks
from wrackline.consumers.planning import Rules
from wrackline.consumers.plugin import SparkTarget
from wrackline.consumers.rounds import Range
from wrackline.consumers.sift import in_the_way, merged_without, only
from wrackline.consumers.spark_letters import as_frame
from wrackline.schemas.table import TableId

MergeBlock = Callable[[str, list[Letter]], Mapping[Spot, str]]  # topic, letters -> why some can't be merged


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a table's letters."""

    merged: int
    left: Mapping[str, int]  # by reason, with its code


def replay(session: SparkSession, table: TableId, target: SparkTarget, rules: Rules) -> Replayed:
    """Merge what can be merged of a table's letters."""
    return replayed(
        target.letters,
        table,
        lambda topic, block: _block(session.newSession(), table, topic, block, target, rules),
    )


def replayed(box: LetterBox, table: TableId, merge: MergeBlock) -> Replayed:
    """Have a table's letters merged, block by block; those that are go out of the box."""
    done: list[Spot] = []
    left = Counter[str]()
    for topic, of_topic in groupby(box.kept(table), key=lambda letter: letter.spot.topic):
        for block in blocks(of_topic):
            why = merge(topic, block)
            done += [letter.spot for letter in block if letter.spot not in why]
            left.update(why.values())
    box.remove(table, done)  # once all are read: what is removed takes its files along
    return Replayed(len(done), left)


def turns(letters: Iterable[Letter]) -> list[set[Spot]]:
    """Cut letters so that no key is in a part twice; of each key the earlier one comes first."""
    parts: list[set[Spot]] = []
    met = Counter[bytes | None]()
    for letter in letters:
        if met[letter.key] == len(parts):
            parts.append(set())
        parts[met[letter.key]].add(letter.spot)
        met[letter.key] += letter.key is not None  # a truncate has none, and is in nobody's way
    return parts


def _block(
    session: SparkSession, table: TableId, topic: str, block: list[Letter], target: SparkTarget, rules: Rules
) -> dict[Spot, str]:
    """Merge a block; return why some of it can't be."""
    why: dict[Spot, str] = {}
    nowhere = Range(topic, {}, {})

    def set_aside(found: DataFrame) -> frozenset[Spot]:
        rows = found.select("topic", "partition", "offset", "code", "reason").collect()
        heads = {Spot(*row[:3]): f"{row['reason']} ({row['code']})" for row in rows}
        why.update(heads)
        return frozenset(heads)

    with our_errors(topic, table):
        before = target.applied(table)
        records = as_frame(session, block).withColumnRenamed("kept_at", "timestamp")

        def attempt(left: DataFrame) -> None:
            for spots in turns([letter for letter in block if letter.spot not in why]):
                with our_errors(topic, table):
                    part, now = only(left, spots), target.applied(table)
                    merge_records(part, nowhere, now, target, rules, Stopwatch())

        def find(left: DataFrame) -> DataFrame | None:
            return in_the_way(left, nowhere, before, target, rules)

        merged_without(records, topic, attempt, find, set_aside)
    return why

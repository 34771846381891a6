"""Dead letters tried again: what can be read by now is merged, and the rest stays.

In: a table's letters, and the same rules as a batch has.  Out: how many went in, and why the others did not.
They go the way of every record, and an older event never wins, so a replay is safe whenever it comes.  A
consumer may run beside it, and may have altered the table for what it merges next, so a replay only adds or
widens columns.  No offset moves.  A letter is removed once its row is committed: a crash in between merges it
again, and that changes nothing (INV-5).  Letters of one key are merged one after the other: between them lie
events that the table has, and what one letter says must not be carried over those into the next.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.batch.batch import merge_records, translate_errors
from wrackline.consumers.batch.dead_letter_filter import find_bad_records, merge_without, select_records
from wrackline.consumers.batch.evolve import SchemaChangeBehaviour
from wrackline.consumers.batch.planning import BatchRules
from wrackline.consumers.batch.report import Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.letters import DeadLetter, LetterBox, RecordPosition, blocks
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.lake.letters_table import letters_frame
from wrackline.schemas.tables.table import TableId

_DROPS = frozenset({SchemaChangeBehaviour.EVOLVE, SchemaChangeBehaviour.TRY_EVOLVE})

MergeBlock = Callable[
    [str, list[DeadLetter]], Mapping[RecordPosition, str]
]  # topic, letters -> why some can't be merged


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The outcome for a table's letters."""

    merged: int
    left: Mapping[str, int]  # by reason, with its code


def replay(session: SparkSession, table: TableId, target: SparkTarget, rules: BatchRules) -> ReplayResult:
    """Merge what can be merged of a table's letters."""
    if rules.behaviour in _DROPS:
        rules = replace(rules, behaviour=SchemaChangeBehaviour.LENIENT)
    return replay_blocks(
        target.letters,
        table,
        lambda topic, block: _block(session.newSession(), table, topic, block, target, rules),
    )


def replay_blocks(box: LetterBox, table: TableId, merge: MergeBlock) -> ReplayResult:
    """Merge a table's letters, block by block; those that are merged are removed from the box."""
    done: list[RecordPosition] = []
    left = Counter[str]()
    for topic, of_topic in groupby(box.kept(table), key=lambda letter: letter.spot.topic):
        for block in blocks(of_topic):
            why = merge(topic, block)
            done += [letter.spot for letter in block if letter.spot not in why]
            left.update(why.values())
    box.remove(table, done)  # once all are read: what is removed takes its files along
    return ReplayResult(len(done), left)


def split_by_key(letters: Iterable[DeadLetter]) -> list[set[RecordPosition]]:
    """Cut letters so that no part has a key twice; of each key the earlier letter comes first."""
    parts: list[set[RecordPosition]] = []
    met = Counter[bytes | None]()
    for letter in letters:
        if met[letter.key] == len(parts):
            parts.append(set())
        parts[met[letter.key]].add(letter.spot)
        met[letter.key] += letter.key is not None  # a truncate has none, and is in nobody's way
    return parts


def _block(
    session: SparkSession,
    table: TableId,
    topic: str,
    block: list[DeadLetter],
    target: SparkTarget,
    rules: BatchRules,
) -> dict[RecordPosition, str]:
    """Merge a block; return why some of it can't be."""
    why: dict[RecordPosition, str] = {}
    nowhere = BatchRange(topic, {}, {})

    def set_aside(found: DataFrame) -> frozenset[RecordPosition]:
        rows = found.select("topic", "partition", "offset", "code", "reason").collect()
        heads = {RecordPosition(*row[:3]): f"{row['reason']} ({row['code']})" for row in rows}
        why.update(heads)
        return frozenset(heads)

    with translate_errors(topic, table):
        before = target.applied(table)
        records = letters_frame(session, block).withColumnRenamed("kept_at", "timestamp")

        def attempt(left: DataFrame) -> None:
            for spots in split_by_key([letter for letter in block if letter.spot not in why]):
                with translate_errors(topic, table):
                    part, now = select_records(left, spots), target.applied(table)
                    merge_records(part, nowhere, now, target, rules, Stopwatch())

        def find(left: DataFrame) -> DataFrame | None:
            return find_bad_records(left, nowhere, before, target, rules)

        merge_without(records, topic, attempt, find, set_aside)
    return why

"""What stands in a batch's way is set aside, and the rest is merged.

    attempt -> an error that may be some records' own -> `in_the_way` finds them -> set aside -> again

Batches are merged strictly, so a good one pays nothing for this; only where one fails is it looked through.
The letters are durable before the batch without them commits: a crash in between does both again, and a
letter twice is a letter once (INV-4).  How many a table may have at a time is bounded, so that a wrong schema
can't move a whole topic into the bin.
"""

from collections.abc import Callable, Collection
from functools import reduce
from typing import TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.decode import BROKEN, VALUE_UNFIT, Writers, refused, strange
from wrackline.consumers.evolve import reshape
from wrackline.consumers.letters import TOO_MANY, Letter, LetterBox, Spot
from wrackline.consumers.plan import Applied, plan_merge
from wrackline.consumers.planning import KEY_MISSING, NOT_WIRE_FORMAT, Rules, look, planned, writer_of
from wrackline.consumers.plugin import CHARACTER_REFUSED, SparkTarget
from wrackline.consumers.rounds import Range
from wrackline.consumers.unheld import unheld
from wrackline.consumers.writers import NOT_OUR_SCHEMA, table_id
from wrackline.schemas import registry
from wrackline.schemas.errors import WracklineError

T = TypeVar("T")

OF_RECORDS = frozenset(
    {
        BROKEN,
        VALUE_UNFIT,
        KEY_MISSING.code,
        NOT_WIRE_FORMAT.code,
        NOT_OUR_SCHEMA.code,
        CHARACTER_REFUSED.code,
        registry.UNKNOWN_ID.code,
    }
)
_SHOWN = 3  # reasons in a sentence


def merged_without(
    records: DataFrame,
    topic: str,
    attempt: Callable[[DataFrame], T],
    find: Callable[[DataFrame], DataFrame | None],
    set_aside: Callable[[DataFrame], frozenset[Spot]],
    of_records: Collection[str] = OF_RECORDS,
) -> tuple[T, frozenset[Spot]]:
    """Merge a batch without the records that are in its way; return which those were."""
    aside: frozenset[Spot] = frozenset()
    while True:
        left = _without(records, aside)
        try:
            return attempt(left), aside
        except WracklineError as error:
            found = find(left) if error.code in of_records else None
            spots = frozenset() if found is None else set_aside(found.withColumn("topic", F.lit(topic)))
            if not spots:  # the records have no part in it
                raise
            aside |= spots


def in_the_way(
    records: DataFrame, wanted: Range, before: Applied, target: SparkTarget, rules: Rules
) -> DataFrame | None:
    """Return the records that can't become rows: partition, offset, code, reason, key, value.

    Those whose schemas can't be had come first: only without them does a batch have a plan.
    """
    seen = look(wanted.topic, records, before, rules.schema_text)
    if seen.strange:
        parts = [strange(records, pair, one.code, one.sentence) for pair, one in seen.strange.items()]
        return reduce(DataFrame.union, parts)
    writers: Writers = {
        one.pair: writer_of(wanted.topic, one.pair, rules.schema_text) for one in seen.outlines
    }
    if not writers:
        return None
    made = planned(seen, wanted, before, target.can.identifiers, rules)
    if made is None:  # not one change can be read, and none came before
        table = next(iter(writers.values())).table
        plan = plan_merge(table, target.can.identifiers, before, prefix=rules.prefix)
    else:
        plan = made.plan
    plan, _ = reshape(plan, target.held(plan.table.id), target.can, rules.behaviour)
    found = refused(records, writers, plan, seen.lacking_key)
    unheld_there = target.can.unheld
    return found.union(unheld(records, writers, plan, unheld_there)) if unheld_there else found


def keep(found: DataFrame, topic: str, box: LetterBox, most: int, now_ms: int) -> frozenset[Spot]:
    """Keep what was found as letters; a table never has more than so many at a time."""
    table = table_id(topic)
    heads = found.select("topic", "partition", "offset", "code", "reason").limit(most + 1).collect()
    spots = frozenset(Spot(*head[:3]) for head in heads)
    if len(spots | box.spots(table)) > most:
        reasons = dict.fromkeys(f"{head['reason']} ({head['code']})" for head in heads)
        raise TOO_MANY(topic=topic, table=table, limit=most, reasons="; ".join(list(reasons)[:_SHOWN]))
    rows = found.select("topic", "partition", "offset", "code", "reason", "key", "value").toLocalIterator()
    box.keep(
        table,
        (
            Letter(Spot(*row[:3]), row[3], row[4], _bytes(row["key"]), _bytes(row["value"]), now_ms)
            for row in rows
        ),
    )
    return spots


def _without(records: DataFrame, spots: frozenset[Spot]) -> DataFrame:
    for partition in {spot.partition for spot in spots}:
        offsets = [spot.offset for spot in spots if spot.partition == partition]
        records = records.where((F.col("partition") != partition) | ~F.col("offset").isin(offsets))
    return records


def only(records: DataFrame, spots: Collection[Spot]) -> DataFrame:
    """Return the records that stand there."""
    return reduce(
        DataFrame.union,
        (
            records.where(
                (F.col("partition") == at)
                & F.col("offset").isin([s.offset for s in spots if s.partition == at])
            )
            for at in sorted({spot.partition for spot in spots})
        ),
    )


def _bytes(part: bytearray | None) -> bytes | None:
    return None if part is None else bytes(part)

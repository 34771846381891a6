"""Records that make a batch fail are set aside, and the rest is merged.

    attempt -> an error that some records may have caused -> `find` finds them -> set aside -> again

Batches are merged strictly, so a good one pays nothing for this; only a batch that fails is searched.
The letters are durable before the batch without them commits: after a crash in between both are done again,
and the same letter twice changes nothing (INV-4).  How many a table may have at a time is bounded, so that a
wrong schema can't make letters of a whole topic.
"""

from collections.abc import Callable, Collection
from functools import reduce
from typing import TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.batch.evolve import reshape
from wrackline.consumers.batch.planning import (
    KEY_MISSING,
    NOT_WIRE_FORMAT,
    BatchRules,
    plan_batch,
    survey,
    writer_schema_of,
)
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.letters import TOO_MANY, DeadLetter, LetterBox, RecordPosition
from wrackline.consumers.contract.plan import Applied, plan_merge
from wrackline.consumers.contract.target import CHARACTER_REFUSED, ROW_REFUSED, VALUE_REFUSED, SparkTarget
from wrackline.consumers.records.decode import (
    BROKEN,
    VALUE_UNFIT,
    WriterSchemas,
    unknown_schema_records,
    unreadable_records,
)
from wrackline.consumers.records.unfit_values import find_unfit_values
from wrackline.consumers.records.writer_schema import NOT_OUR_SCHEMA
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka import schema_registry
from wrackline.schemas.kafka.topic_names import table_of

T = TypeVar("T")

OF_RECORDS = frozenset(
    {
        BROKEN,
        VALUE_UNFIT,
        KEY_MISSING.code,
        NOT_WIRE_FORMAT.code,
        NOT_OUR_SCHEMA.code,
        CHARACTER_REFUSED.code,
        VALUE_REFUSED.code,
        ROW_REFUSED.code,
        schema_registry.UNKNOWN_ID.code,
    }
)
_SHOWN = 3  # reasons in a sentence


def merge_without(
    records: DataFrame,
    topic: str,
    attempt: Callable[[DataFrame], T],
    find: Callable[[DataFrame], DataFrame | None],
    set_aside: Callable[[DataFrame], frozenset[RecordPosition]],
    of_records: Collection[str] = OF_RECORDS,
) -> tuple[T, frozenset[RecordPosition]]:
    """Merge a batch without the records that make it fail; return which they were."""
    aside: frozenset[RecordPosition] = frozenset()
    while True:
        left = _drop_records(records, aside)
        try:
            return attempt(left), aside
        except WracklineError as error:
            found = find(left) if error.code in of_records else None
            spots = frozenset() if found is None else set_aside(found.withColumn("topic", F.lit(topic)))
            if not spots:  # the records have no part in it
                raise
            aside |= spots


def find_bad_records(
    records: DataFrame, wanted: BatchRange, before: Applied, target: SparkTarget, rules: BatchRules
) -> DataFrame | None:
    """Return the records that can't become rows: partition, offset, code, reason, key, value.

    Records whose schemas can't be had come first: only without them does a batch have a plan.
    """
    seen = survey(wanted.topic, records, before, rules.schema_text)
    if seen.strange:
        parts = [
            unknown_schema_records(records, pair, one.code, one.sentence)
            for pair, one in seen.strange.items()
        ]
        return reduce(DataFrame.union, parts)
    writers: WriterSchemas = {
        one.pair: writer_schema_of(wanted.topic, one.pair, rules.schema_text) for one in seen.outlines
    }
    if not writers:
        return None
    made = plan_batch(seen, wanted, before, target.can.identifiers, rules)
    if made is None:  # not one change can be read, and none came before
        table = next(iter(writers.values())).table
        plan = plan_merge(table, target.can.identifiers, before, prefix=rules.prefix)
    else:
        plan = made.plan
    plan, _ = reshape(
        plan, target.held(plan.table.id), target.can, rules.behaviour, rules.excluded(plan.table.id)
    )
    found = unreadable_records(records, writers, plan, seen.lacking_key)
    unfit = find_unfit_values(records, writers, plan, target.can)
    return found if unfit is None else found.union(unfit)


def keep_letters(
    found: DataFrame, topic: str, box: LetterBox, most: int, now_ms: int
) -> frozenset[RecordPosition]:
    """Keep what was found as letters; a table never has more than `most` at a time."""
    table = table_of(topic)
    heads = found.select("topic", "partition", "offset", "code", "reason").limit(most + 1).collect()
    spots = frozenset(RecordPosition(*head[:3]) for head in heads)
    if len(spots | box.spots(table)) > most:
        reasons = dict.fromkeys(f"{head['reason']} ({head['code']})" for head in heads)
        raise TOO_MANY(topic=topic, table=table, limit=most, reasons="; ".join(list(reasons)[:_SHOWN]))
    rows = found.select("topic", "partition", "offset", "code", "reason", "key", "value").toLocalIterator()
    box.keep(
        table,
        (
            DeadLetter(
                RecordPosition(*row[:3]), row[3], row[4], _bytes(row["key"]), _bytes(row["value"]), now_ms
            )
            for row in rows
        ),
    )
    return spots


def _drop_records(records: DataFrame, spots: frozenset[RecordPosition]) -> DataFrame:
    for partition in {spot.partition for spot in spots}:
        offsets = [spot.offset for spot in spots if spot.partition == partition]
        records = records.where((F.col("partition") != partition) | ~F.col("offset").isin(offsets))
    return records


def select_records(records: DataFrame, spots: Collection[RecordPosition]) -> DataFrame:
    """Return the records at these positions."""
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

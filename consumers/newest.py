"""The newest change of each key of a batch, as a target merges it.

In: a batch's records, those of them that are not superseded, and their outlines.  Out: the frame that a
target stages, one row a key.  Where some event lacks a value that an older one of the batch may have, every
record is read, as it is where a row is no key's, or an event has a row of its own.

    one key, other bytes   -0.0 and 0.0, or one value under two schemas: dedupe.py takes the newer
    truncates              have no key; what they say, the outlines have said
"""

from collections.abc import Collection, Mapping

from pyspark.sql import DataFrame

from wrackline.consumers.decode import decode, partial_columns
from wrackline.consumers.dedupe import dedupe, single
from wrackline.consumers.events import event_rows
from wrackline.consumers.plan import MergePlan, Mode, Written
from wrackline.consumers.rounds import Outline
from wrackline.consumers.writers import Writer
from wrackline.schemas.types import Kind

_OF_ONE_FORM = frozenset(  # other bytes are another value, for Spark too
    {Kind.BOOLEAN, Kind.INT16, Kind.INT32, Kind.INT64, Kind.STRING, Kind.UUID, Kind.DATE}
)
Writers = Mapping[tuple[int | None, int], Writer]


def latest(
    records: DataFrame,
    current: DataFrame,
    known: Written | None,
    outlines: Collection[Outline],
    writers: Writers,
    plan: MergePlan,
) -> DataFrame:
    """Return the newest change of each key, as dedupe.py describes it; where events are kept, all of them.

    `current` is what planning.py made of the records by what is known; the outlines are of it.
    """
    if plan.mode is not Mode.UPSERT:
        return event_rows(records, writers, plan)
    columns = [column.target for column in plan.columns]
    partial = partial_columns({one.pair: one.unsent for one in outlines}, writers, plan)
    if partial or plan.keyless:
        return dedupe(decode(records, writers, plan), columns, plan.key, partial)
    truncated = any(one.floor for one in outlines if one.pair in writers)
    of_opened = None if known is None else (known.key_id, known.value_id)
    changes = decode(current, writers, plan, truncated=truncated, of_opened=of_opened)
    if _as_known(known, outlines) and _one_form(writers, plan):
        return single(changes)
    return dedupe(changes, columns, plan.key, partial)


def _as_known(known: Written | None, outlines: Collection[Outline]) -> bool:
    """Whether all was written as superseded.py knew, so that it has left one record a key."""
    if known is None or any(one.widths - {len(known.seq)} for one in outlines):
        return False
    return all(one.pair.key_id is not None and one.pair.value_id == known.value_id for one in outlines)


def _one_form(writers: Writers, plan: MergePlan) -> bool:
    """Whether each key has been written in one way only, and is planned as it was written."""
    kinds = {column.target: column.type.kind for column in plan.columns}
    planned = tuple(kinds[name] for name in plan.key)
    written = {tuple(column.type.kind for column in one.table.key_columns) for one in writers.values()}
    one_schema = len({key_id for key_id, _ in writers}) == 1
    return one_schema and written == {planned} and _OF_ONE_FORM.issuperset(planned)

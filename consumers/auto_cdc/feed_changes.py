"""A feed's frame as typed changes, as decode.py makes them of our own events.

    prepare_feed   frame -> _seq, _op (u, d or t) and the columns that are kept; nothing is run
    summarize      how many rows have no sequence or no key, the newest change, the newest truncate
    changes        -> row (struct of the plan's columns), seq, op, commit_ts, unsent, offset

An event's seq is its sequence, followed by a hash of its content.  So two events of one sequence have an
order that is the same in every batch, and the same event twice is one: the table does not depend on how the
feed was cut.  A feed says nothing of a commit's time: it is the time of the batch.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it
from pyspark.sql.types import StructField

from wrackline.consumers.auto_cdc.feed_sequence import ordered_text, sequence_of
from wrackline.consumers.auto_cdc.flow import ARGUMENTS, AutoCdcFlow, ColumnChoice, Named
from wrackline.consumers.contract.plan import ROW, MergePlan
from wrackline.consumers.contract.sequences import PARTS, FeedSequence
from wrackline.consumers.lake.merge_sql import quote
from wrackline.schemas.tables.types import spark_type

DELETE, TRUNCATE, UPSERT = "d", "t", "u"
_OURS = ("_wl_feed_seq", "_wl_feed_op")
_SEQ, _OP = _OURS


@dataclass(frozen=True, slots=True)
class PreparedFeed:
    """A feed with its sequence as text; it has the columns of both kinds."""

    frame: DataFrame
    keys: tuple[str, ...]
    fields: tuple[StructField, ...]  # what is kept, keys among them
    sequence: FeedSequence

    @property
    def names(self) -> list[str]:
        """What is kept."""
        return [field.name for field in self.fields]

    def chosen(self, choice: ColumnChoice) -> list[str]:
        """Return the names of those that are chosen."""
        return choose_columns(self.frame.select(*map(_column, self.names)), choice)


@dataclass(frozen=True, slots=True)
class FeedSummary:
    """What a batch of a feed holds, in a few numbers."""

    rows: int
    without_sequence: int
    without_key: int
    newest: str | None
    floor: str | None


def prepare_feed(feed: DataFrame, flow: AutoCdcFlow) -> PreparedFeed:
    """Return what the flow wants of a feed."""
    keys = names_of(feed, flow.keys)
    kept = choose_columns(feed, flow.columns)
    if lost := [name for name in keys if name not in kept]:
        raise ARGUMENTS(
            target=flow.target,
            why=f"its key {lost[0]!r} is not among the columns that are kept",
            fix="name it in column_list, or take it out of except_column_list",
        )
    sequence_type = feed.select(flow.sequence_by.alias("it")).schema["it"].dataType
    seq = ordered_text(flow.sequence_by, sequence_type)
    whole = F.to_json(F.struct(*map(_column, feed.columns)), {"ignoreNullFields": "false"})
    op = F.when(_holds(flow.truncates), TRUNCATE).when(_holds(flow.deletes), DELETE).otherwise(UPSERT)
    behind = F.when(op == TRUNCATE, "").otherwise(F.concat(F.lit(PARTS), F.lower(F.hex(F.xxhash64(whole)))))
    frame = feed.select(F.concat(seq, behind).alias(_SEQ), op.alias(_OP), *map(_column, kept))
    return PreparedFeed(frame, keys, tuple(feed.schema[name] for name in kept), sequence_of(sequence_type))


def summarize(of: PreparedFeed) -> FeedSummary:
    """Run over the batch once."""
    change = F.col(_OP) != TRUNCATE
    no_key = F.greatest(*(_column(name).isNull() for name in of.keys), F.lit(False))
    row = of.frame.agg(
        F.count(F.lit(1)),
        F.count_if(F.col(_SEQ).isNull()),
        F.count_if(change & no_key),
        F.max(F.when(change, F.col(_SEQ))),
        F.max(F.when(~change, F.col(_SEQ))),
    ).first()
    if row is None:
        raise ValueError("an aggregate of everything has a row")
    return FeedSummary(*row)


def changes(of: PreparedFeed, flow: AutoCdcFlow, plan: MergePlan) -> DataFrame:
    """Return the changes from the plan's floor on."""
    sent = set(of.names)
    silent = set() if flow.null_is_unsent is None else set(of.chosen(flow.null_is_unsent))
    values, unsent = [], []
    for column in plan.columns:
        if column.identity == ROW:
            values.append(_column(_SEQ).alias(column.target))
            continue
        name, its_type = column.source, spark_type(column.type)
        value = _column(name) if name in sent else F.lit(None)
        values.append(value.cast(its_type).alias(column.target))
        if name not in sent:
            unsent.append(F.lit(column.target))
        elif name in silent and column.target not in plan.key:
            unsent.append(F.when(value.isNull(), column.target))
    lacking = F.array_compact(F.array(*unsent)) if unsent else F.array()
    found = of.frame.where(F.col(_OP) != TRUNCATE).select(
        F.struct(*values).alias("row"),
        F.col(_SEQ).alias("seq"),
        F.col(_OP).alias("op"),
        F.current_timestamp().alias("commit_ts"),
        lacking.cast("array<string>").alias("unsent"),
        F.lit(0).cast("bigint").alias("offset"),
    )
    return found if plan.floor is None else found.where(F.col("seq") >= plan.floor)


def names_of(frame: DataFrame, named: Iterable[Named]) -> tuple[str, ...]:
    """Return the names of columns that are given by name or as `col(...)`."""
    found = frame.select(*(_column(one) if isinstance(one, str) else one for one in named)).columns
    return tuple(found)


def choose_columns(frame: DataFrame, choice: ColumnChoice) -> list[str]:
    """Return the names of what is chosen, in the frame's order."""
    if choice.only is not None:
        only = names_of(frame, choice.only)
        return [name for name in frame.columns if name in only]
    but = () if choice.but is None else names_of(frame, choice.but)
    return [name for name in frame.columns if name not in but]


def _holds(condition: Column | None) -> Column:
    return F.lit(False) if condition is None else F.coalesce(condition, F.lit(False))


def _column(name: str) -> Column:
    """Return the column of a name, in which a dot does not begin a field."""
    return F.col(quote(name))

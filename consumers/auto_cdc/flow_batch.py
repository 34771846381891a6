"""One batch of one flow: from its topic's records to one commit of rows and offsets.

    records -> view -> changes -> newest a key -> staged -> applied

What a view can't read, and what lacks an order or a key, stops the flow with a reason; or, where dead letters
are allowed, it is found (bad_records.py) and kept, and the rest is merged (batch/dead_letter_filter.py).
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.auto_cdc.bad_records import RecordSpan, bad_records
from wrackline.consumers.auto_cdc.feed_changes import PreparedFeed, changes, prepare_feed, summarize
from wrackline.consumers.auto_cdc.feed_shape import table_schema_of
from wrackline.consumers.auto_cdc.flow import AutoCdcFlow
from wrackline.consumers.batch.batch import ROUND_FAILED, VALUE_UNFIT, translate_errors
from wrackline.consumers.batch.dead_letter_filter import keep_letters, merge_without
from wrackline.consumers.batch.evolve import SchemaChangeBehaviour, reshape
from wrackline.consumers.batch.report import Step, Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.letters import TOO_MANY, RecordPosition
from wrackline.consumers.contract.plan import (
    Applied,
    MergePlan,
    NewestChange,
    TableMode,
    TopicPartition,
    plan_merge,
)
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.kafka.topic_offsets import OFFSETS_GONE, TOPIC_CUT
from wrackline.consumers.records.dedupe import dedupe
from wrackline.consumers.records.event_rows import drop_repeats
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.tables.table import TableId

NO_SEQUENCE = define(
    "auto_cdc.no_sequence",
    Definite,
    "{rows} events of {flow} have no sequence: sequence_by is null",
    hint="leave them out in the view, or give them one: coalesce(...); or have their records set aside:"
    ' errors.tolerance = "all"; nothing of the batch is merged',
)
NO_KEY = define(
    "auto_cdc.no_key",
    Definite,
    "{rows} events of {flow} have a key that is null",
    hint="leave them out in the view: .where('{key} IS NOT NULL'); or have their records set aside:"
    ' errors.tolerance = "all"; nothing of the batch is merged',
)
UNREADABLE = define(
    "auto_cdc.unreadable",
    OperatorNeeded,
    "the view of a flow into {table} fails for a record ({condition})",
    hint="let it give null for what it can't read, or leave that out; or set such records aside:"
    ' errors.tolerance = "all"; nothing of the batch is merged',
)
BEGIN_ANEW = define(
    "auto_cdc.begin_anew",
    Definite,
    "{table} can't continue: {why}",
    hint="drop {table} in the target, then run the script again: it is built from what the topic still has",
)
TOO_MANY_LETTERS = define(
    "auto_cdc.too_many_letters",
    OperatorNeeded,
    "{why}",
    hint="see what they are: flows.letters('{table}'); once the view can read them: flows.replay('{table}');"
    " to allow more: errors.dead.letters.max",
)
FLOW_FAILED = define(
    "auto_cdc.flow_failed",
    Transient,
    "{why}",
    hint='it is tried again; if that does not help, look into Spark\'s log: feeds("feeds.toml",'
    ' spark_log=Path("spark.log"))',
)
OF_RECORDS = frozenset({NO_SEQUENCE.code, NO_KEY.code, UNREADABLE.code})

View = Callable[[DataFrame], DataFrame]
_NO_SCHEMA = 0  # of a registry, whose ids begin at 1
_OF_VIEWS = (  # Spark's names for errors that the same records give again
    "ARITHMETIC_OVERFLOW",
    "CANNOT_PARSE",
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "INVALID_ARRAY_INDEX",
    "MALFORMED_",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "USER_RAISED_EXCEPTION",
)
_BY_COMMAND = "start it again: wrackline consume <pipeline.toml>"  # as hints of tables of a pipeline end


@dataclass(frozen=True, slots=True)
class FlowReadSettings:
    """How the topics are read."""

    kafka: Mapping[str, str]  # options of Spark's source
    prefix: str = "_wl_"
    most_offsets: int = 2**63 - 1  # of one batch
    most_letters: int = 0  # dead letters of one table; 0: a record that can't be read stops its flow


@dataclass(frozen=True, slots=True)
class FlowBatch:
    """Makes batches of one flow."""

    flow: AutoCdcFlow
    view: View
    target: SparkTarget
    reading: FlowReadSettings

    def merge_sound(
        self, records: DataFrame, wanted: BatchRange, before: Applied, watch: Stopwatch
    ) -> tuple[Applied, int]:
        """Merge a batch, and set aside what can't become rows, where that is allowed; return how many."""
        most = self.reading.most_letters

        def attempt(left: DataFrame) -> Applied:
            with flow_errors(self.flow.target, wanted.topic):
                return self.merge(left, wanted, before, watch)

        def find(left: DataFrame) -> DataFrame | None:
            found = bad_records(wanted, lambda span: self.wrong(_within(left, span)), most) if most else {}
            return _with_reasons(left, found) if found else None

        def set_aside(found: DataFrame) -> frozenset[RecordPosition]:
            return keep_letters(found, self.flow.key, self.target.letters, most, time.time_ns() // 1_000_000)

        merged, aside = merge_without(records, wanted.topic, attempt, find, set_aside, OF_RECORDS)
        return merged, len(aside)

    def merge(self, records: DataFrame, wanted: BatchRange, before: Applied, watch: Stopwatch) -> Applied:
        """Merge a batch and commit its end; before a table's first row there is nothing to commit to."""
        ready = prepare_feed(self.view(records), self.flow)
        ready = replace(ready, frame=ready.frame.persist())  # looked at twice, fetched once
        try:
            newest, floor = self._summarize(ready)
            watch.lap(Step.READ)
            offsets = {TopicPartition(wanted.topic, partition): end for partition, end in wanted.end.items()}
            written = None if newest is None else NewestChange(newest, None, _NO_SCHEMA)
            upto = before.then(Applied(offsets, floor, written))
            if upto.newest is None:
                return before
            plan = replace(self._shaped(ready, upto), since=before)
            watch.lap(Step.SHAPE)
            self.target.apply(self.target.stage(self._newest(ready, plan), plan), plan)
            watch.lap(Step.APPLY)
        finally:
            ready.frame.unpersist()
        return upto

    def wrong(self, records: DataFrame) -> WracklineError | None:
        """Return why records can't become changes; None: they can."""
        try:
            with flow_errors(self.flow.target, self.flow.source):
                self._summarize(prepare_feed(self.view(records), self.flow))
        except WracklineError as error:
            if error.code not in OF_RECORDS:
                raise
            return error
        return None

    def _summarize(self, ready: PreparedFeed) -> tuple[str | None, str | None]:
        """Run over the batch once; return the newest change and the newest truncate."""
        told = summarize(ready)
        if told.without_sequence:
            raise NO_SEQUENCE(rows=told.without_sequence, flow=self.flow.name)
        if told.without_key:
            raise NO_KEY(rows=told.without_key, flow=self.flow.name, key=ready.keys[0])
        return told.newest, told.floor

    def _newest(self, ready: PreparedFeed, plan: MergePlan) -> DataFrame:
        """Return what a target is given: for a history each event, else the newest change of each key."""
        found = changes(ready, self.flow, plan)
        if plan.mode is TableMode.HISTORY:
            return drop_repeats(found, plan)
        silence = self.flow.null_is_unsent
        silent = set() if silence is None else set(ready.chosen(silence))
        lack = {one.target for one in plan.columns if one.source in silent or one.source not in ready.names}
        columns = [column.target for column in plan.columns]
        return dedupe(found, columns, plan.key, lack, told_late=plan.told_late)

    def _shaped(self, ready: PreparedFeed, upto: Applied) -> MergePlan:
        flow, target, prefix = self.flow, self.target, self.reading.prefix
        held = target.held(flow.target)
        table = table_schema_of(flow.target, ready.fields, ready.keys, held)
        plan = plan_merge(table, target.can.identifiers, upto, prefix=prefix, mode=flow.mode)
        tracked = None if flow.tracked is None else frozenset(ready.chosen(flow.tracked))
        late = flow.mode is TableMode.UPSERT and flow.null_is_unsent is not None
        plan = replace(plan, tracked=_targets(plan, tracked), lacking_is_null=True, told_late=late)
        if flow.mode is TableMode.HISTORY:
            plan = replace(plan, ours=plan.ours.of_feed(prefix, ready.sequence))
        plan, alterations = reshape(plan, held, target.can, SchemaChangeBehaviour.LENIENT)
        target.ensure_table(plan)
        if alterations:
            target.alter(plan, alterations)
        return plan


@contextmanager
def flow_errors(table: TableId, topic: str) -> Iterator[None]:
    """Let no error through whose text may show values; say what repairs an error of a view."""
    try:
        with translate_errors(topic, table):
            yield
    except WracklineError as error:
        if error.code in (TOPIC_CUT.code, OFFSETS_GONE.code):
            raise BEGIN_ANEW(table=table, why=error.sentence) from error
        if error.code == TOO_MANY.code:
            raise TOO_MANY_LETTERS(table=table, why=error.sentence) from error
        if error.code in (VALUE_UNFIT.code, ROUND_FAILED.code):
            text = str(error.__cause__)
            condition = next((name for name in _OF_VIEWS if f"[{name}" in text), None)
            if condition is not None:
                raise UNREADABLE(table=table, condition=condition.rstrip("_")) from error
        if error.code == ROUND_FAILED.code:
            raise FLOW_FAILED(why=error.sentence) from error.__cause__
        if _BY_COMMAND in error.hint:
            hint = error.hint.replace(_BY_COMMAND, "run the script again")
            raise type(error)(error.code, error.sentence, hint) from error.__cause__
        raise


def _within(records: DataFrame, span: RecordSpan) -> DataFrame:
    at = (F.col("partition") == span.partition) & F.col("offset").between(span.start, span.end - 1)
    return records.where(at)


def _with_reasons(records: DataFrame, found: Mapping[tuple[int, int], WracklineError]) -> DataFrame:
    """Return bad records with what is wrong with each, as letters are kept."""
    alike = defaultdict[tuple[int, str, str], list[int]](list)
    for (partition, offset), error in found.items():
        alike[partition, error.code, error.sentence].append(offset)
    parts = []
    for (partition, code, sentence), offsets in alike.items():
        literals = (F.lit(code).alias("code"), F.lit(sentence).alias("reason"))
        its = records.where((F.col("partition") == partition) & F.col("offset").isin(offsets))
        parts.append(its.select("partition", "offset", *literals, "key", "value"))
    return reduce(DataFrame.union, parts)


def _targets(plan: MergePlan, sources: Collection[str] | None) -> frozenset[str] | None:
    return None if sources is None else frozenset(c.target for c in plan.columns if c.source in sources)

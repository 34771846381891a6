"""One batch of one flow: from its topic's records to one commit of rows and offsets.

    records -> view -> changes -> newest a key -> staged -> applied

What a view can't read, and what has neither order nor key, stops the flow with a reason; or, where dead
letters are wished, is found (bad_records.py), kept, and the rest is merged (sift.py).
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.account import Step, Stopwatch
from wrackline.consumers.auto_cdc.bad_records import Span, bad_records
from wrackline.consumers.auto_cdc.changes import Prepared, changes, prepared, summary
from wrackline.consumers.auto_cdc.flow import Flow
from wrackline.consumers.auto_cdc.shape import table_of
from wrackline.consumers.batch import ROUND_FAILED, VALUE_UNFIT, our_errors
from wrackline.consumers.dedupe import dedupe
from wrackline.consumers.events import once
from wrackline.consumers.evolve import Behaviour, reshape
from wrackline.consumers.letters import TOO_MANY, Spot
from wrackline.consumers.plan import Applied, MergePlan, Mode, TopicPartition, Written, plan_merge
from wrackline.consumers.plugin import SparkTarget
from wrackline.consumers.rounds import Range
from wrackline.consumers.sift import keep, merged_without
from wrackline.consumers.topics import OFFSETS_GONE, TOPIC_CUT
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.table import TableId

NO_SEQUENCE = define(
    "auto_cdc.no_sequence",
    Definite,
    "{rows} events of {flow} have no sequence: sequence_by is null",
    hint="leave them out in the view, or give them one: coalesce(...); or have their records set aside:"
    " errors.tolerance=all; nothing of the batch is merged",
)
NO_KEY = define(
    "auto_cdc.no_key",
    Definite,
    "{rows} events of {flow} have a key that is null",
    hint="leave them out in the view: .where('{key} IS NOT NULL'); or have their records set aside:"
    " errors.tolerance=all; nothing of the batch is merged",
)
UNREADABLE = define(
    "auto_cdc.unreadable",
    OperatorNeeded,
    "the view of a flow into {table} fails for a record ({condition})",
    hint="let it give null for what it can't read, or leave that out; or have such records set aside:"
    " errors.tolerance=all; nothing of the batch is merged",
)
BEGIN_ANEW = define(
    "auto_cdc.begin_anew",
    Definite,
    "{table} can't go on: {why}",
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
_OF_VIEWS = (  # Spark's names for what the same records give again
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
class Reading:
    """How the topics are read."""

    kafka: Mapping[str, str]  # options of Spark's source
    prefix: str = "_wl_"
    most_offsets: int = 2**63 - 1  # of one batch
    most_letters: int = 0  # dead letters of one table; 0: a record that can't be read stops its flow


@dataclass(frozen=True, slots=True)
class FlowBatch:
    """Makes batches of one flow."""

    flow: Flow
    view: View
    target: SparkTarget
    reading: Reading

    def merge_sound(
        self, records: DataFrame, wanted: Range, before: Applied, watch: Stopwatch
    ) -> tuple[Applied, int]:
        """Merge a batch, and set aside what can't become rows, where that is wished; say how many."""
        most = self.reading.most_letters

        def attempt(left: DataFrame) -> Applied:
            with flow_errors(self.flow.target, wanted.topic):
                return self.merge(left, wanted, before, watch)

        def find(left: DataFrame) -> DataFrame | None:
            found = bad_records(wanted, lambda span: self.wrong(_within(left, span)), most) if most else {}
            return _told(left, found) if found else None

        def set_aside(found: DataFrame) -> frozenset[Spot]:
            return keep(found, self.flow.key, self.target.letters, most, time.time_ns() // 1_000_000)

        merged, aside = merged_without(records, wanted.topic, attempt, find, set_aside, OF_RECORDS)
        return merged, len(aside)

    def merge(self, records: DataFrame, wanted: Range, before: Applied, watch: Stopwatch) -> Applied:
        """Merge a batch and commit its end; before a table's first row there is nothing to commit to."""
        ready = prepared(self.view(records), self.flow)
        ready = replace(ready, frame=ready.frame.persist())  # looked at twice, fetched once
        try:
            newest, floor = self._looked(ready)
            watch.lap(Step.READ)
            offsets = {TopicPartition(wanted.topic, partition): end for partition, end in wanted.end.items()}
            written = None if newest is None else Written(newest, None, _NO_SCHEMA)
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
        """Say why records can't become changes, if so."""
        try:
            with flow_errors(self.flow.target, self.flow.source):
                self._looked(prepared(self.view(records), self.flow))
        except WracklineError as error:
            if error.code not in OF_RECORDS:
                raise
            return error
        return None

    def _looked(self, ready: Prepared) -> tuple[str | None, str | None]:
        """Run over the batch once; return the newest change and the newest truncate."""
        told = summary(ready)
        if told.without_sequence:
            raise NO_SEQUENCE(rows=told.without_sequence, flow=self.flow.name)
        if told.without_key:
            raise NO_KEY(rows=told.without_key, flow=self.flow.name, key=ready.keys[0])
        return told.newest, told.floor

    def _newest(self, ready: Prepared, plan: MergePlan) -> DataFrame:
        """Return what a target is given: of a history each event, else the newest change a key."""
        found = changes(ready, self.flow, plan)
        if plan.mode is Mode.HISTORY:
            return once(found, plan)
        silence = self.flow.null_is_unsent
        silent = set() if silence is None else set(ready.chosen(silence))
        lack = {one.target for one in plan.columns if one.source in silent or one.source not in ready.names}
        return dedupe(found, [column.target for column in plan.columns], plan.key, lack)

    def _shaped(self, ready: Prepared, upto: Applied) -> MergePlan:
        flow, target, prefix = self.flow, self.target, self.reading.prefix
        held = target.held(flow.target)
        table = table_of(flow.target, ready.fields, ready.keys, held)
        plan = plan_merge(table, target.can.identifiers, upto, prefix=prefix, mode=flow.mode)
        tracked = None if flow.tracked is None else frozenset(ready.chosen(flow.tracked))
        plan = replace(plan, tracked=_targets(plan, tracked), lacking_is_null=True)
        if flow.mode is Mode.HISTORY:
            plan = replace(plan, ours=plan.ours.of_feed(prefix, ready.sequence))
        plan, alterations = reshape(plan, held, target.can, Behaviour.LENIENT)
        target.ensure_table(plan)
        if alterations:
            target.alter(plan, alterations)
        return plan


@contextmanager
def flow_errors(table: TableId, topic: str) -> Iterator[None]:
    """Let no error through whose text may show values; say of a view's own what mends it."""
    try:
        with our_errors(topic, table):
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


def _within(records: DataFrame, span: Span) -> DataFrame:
    at = (F.col("partition") == span.partition) & F.col("offset").between(span.start, span.end - 1)
    return records.where(at)


def _told(records: DataFrame, found: Mapping[tuple[int, int], WracklineError]) -> DataFrame:
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

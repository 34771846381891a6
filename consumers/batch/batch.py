"""One batch of one table: from its topic's bytes to one commit of rows and offsets.

    applied (in the table) -> range -> outlines -> plan -> shape -> newest -> staged -> applied

A batch that may be written as the table's newest change was is tried as such: its plan is made first, and its
outline counted with its newest changes; if it is not, only that look is lost (records/fast_path.py).

Of two consumers of one table only the newer one merges: `rules.hold` (drive/claim.py) comes before each
change, and a target refuses a batch that does not begin where its table is.

It is right at any interruption because nothing is remembered outside the table: a batch that did not commit
is done again.  It knows no target, only the contract of target.py, and its frames live in a session of
their own.  An error of Spark becomes one of ours without its text, which may show values.
"""

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.batch.as_known import plan_as_known
from wrackline.consumers.batch.dead_letter_filter import find_bad_records, keep_letters, merge_without
from wrackline.consumers.batch.direct import merge_directly
from wrackline.consumers.batch.evolve import kind_of_change, reshape
from wrackline.consumers.batch.key_range import bound_columns, key_ranges
from wrackline.consumers.batch.planning import BatchRules, BatchSurvey, plan_batch, survey
from wrackline.consumers.batch.report import BatchReport, Step, Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange, applied_after
from wrackline.consumers.contract.counts import BatchCounts, operation_counts, read_operation_counts
from wrackline.consumers.contract.direct import DirectTarget
from wrackline.consumers.contract.letters import RecordPosition
from wrackline.consumers.contract.plan import Applied, MergePlan
from wrackline.consumers.contract.target import Alteration, SparkTarget
from wrackline.consumers.failpoints import reach
from wrackline.consumers.kafka.read_range import read_range
from wrackline.consumers.kafka.topic_offsets import TopicOffsets
from wrackline.consumers.kafka.transactions import WholeTransactions
from wrackline.consumers.records.fast_path import (
    fast_newest_changes,
    fits_fast_path,
    outline_columns,
    read_outline,
)
from wrackline.consumers.records.slow_path import slow_newest_changes
from wrackline.consumers.spark.forbidden_path import existing_part, find_forbidden_path
from wrackline.consumers.spark.sessions import is_gone
from wrackline.schemas.errors import ErrorCode, OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.tables.table import TableId
from wrackline.schemas.tables.types import MOST_DIGITS
from wrackline.schemas.versions import SPARK_AVRO

VALUE_UNFIT = define(
    "consume.value_unfit",
    OperatorNeeded,
    "a row of topic {topic} does not fit its column in the target, or can't be read ({condition})",
    hint="drop the table in the target, then read its rows again: wrackline snapshot start <pipeline.toml>"
    " '{table}'; and start it again: wrackline consume <pipeline.toml>",
)
ROUND_FAILED = define(
    "consume.round_failed",
    Transient,
    "a batch of topic {topic} could not be merged ({condition})",
    hint="it is tried again; if it keeps failing, read Spark's log: wrackline consume <pipeline.toml>"
    " --spark-log spark.log",
)
OVERTAKEN = define(
    "consume.overtaken",
    Transient,
    "another consumer has merged newer changes of {table}, so its shape is not changed back",
    hint="the batch is done again for the table as it is; if this keeps happening, stop the second driver",
)
STORAGE_FULL = define(
    "consume.storage_full",
    Transient,
    "a batch of topic {topic} could not be written: {sign}",
    hint="nothing of it is there, and it is tried again; make room where the target's files lie, and where"
    " Spark keeps its own (spark.local.dir): df -h",
)
TARGET_FORBIDDEN = define(
    "consume.target_forbidden",
    OperatorNeeded,
    "a batch of topic {topic} could not be written to {path}: {why}",
    hint="see who may write there, and whether it is mounted read-only: ls -ld {quoted}; findmnt -T {quoted};"
    " let the user of this process write there; then start it again: wrackline consume <pipeline.toml>",
)
AVRO_MISSING = define(
    "consume.avro_missing",
    OperatorNeeded,
    "the Spark that is to read topic {topic} can't read Avro",
    hint="start that Spark with its jar: spark-submit --packages "
    f"{SPARK_AVRO.group}:{SPARK_AVRO.artifact}:{SPARK_AVRO.version} ...",
)
TOO_MANY_DIGITS = define(
    "consume.too_many_digits",
    OperatorNeeded,
    "the Avro schema of topic {topic} has a decimal of more digits than Spark's {most}",
    hint="let the writer of the topic send such columns as text (Debezium: decimal.handling.mode=string);"
    " or give from_avro a reader's schema without them",
)
SPARK_GONE = define(
    "consume.spark_gone",
    Transient,
    "the Spark driver does not answer any more",
    hint="nothing is lost; start it again: wrackline consume <pipeline.toml>; if this keeps happening, give"
    " it more memory: spark.driver.memory",
)

_FIRST_OFFSETS = 5_000  # Spark makes a table and its first rows; the reader is faster from then on
_FULL = ("No space left on device", "Disk quota exceeded", "File too large")  # as systems say it
_UNFIT = frozenset(  # the same rows give the same error
    {
        "ARITHMETIC_OVERFLOW",
        "CAST_INVALID_INPUT",
        "CAST_OVERFLOW",
        "CAST_OVERFLOW_IN_TABLE_INSERT",
        "MALFORMED_AVRO_MESSAGE",
        "NUMERIC_VALUE_OUT_OF_RANGE",
    }
)


class Batches:
    """Makes the batches of a pipeline; each call is one of one table, on any thread."""

    def __init__(
        self,
        spark: SparkSession,
        topics: TopicOffsets,
        target: SparkTarget,
        rules: BatchRules,
        tell: Callable[[BatchReport], None] = lambda _: None,
        whole: WholeTransactions | None = None,
    ) -> None:
        """Take what batches need, what gets each report, and what keeps transactions whole, if anything.

        All of it is called on the thread of the batch.
        """
        self._spark, self._topics, self._target, self._rules = spark, topics, target, rules
        self._tell, self._whole = tell, whole

    def merge(self, topic: str, ends: Mapping[int, int]) -> BatchRange:
        """Merge the next batch of a topic's table, towards these ends; return what was read."""
        watch = Stopwatch()
        with translate_errors(topic, table_of(topic)):
            before = self._target.applied(table_of(topic))
            before = self._topics.with_topic_id(topic, before)
            wanted = self._next_range(topic, before, ends)
            watch.lap(Step.ASK)
            if wanted.empty:
                self._tell(BatchReport(wanted, before))
                return wanted
            merged = merge_directly(
                wanted, before, self._target, self._rules, watch, may_end_early=self._whole is None
            )
            if merged is not None:
                self._tell(watch.account(*merged, direct=True))
                return merged.range
            session = self._spark.newSession()
            records = read_range(session, self._rules.kafka, wanted)
            (upto, counted), letters = merge_sound(records, wanted, before, self._target, self._rules, watch)
            self._tell(watch.account(wanted, upto, counted, letters))
            return wanted

    def _next_range(self, topic: str, before: Applied, ends: Mapping[int, int]) -> BatchRange:
        applied, most = before.of_topic(topic), self._rules.most_offsets
        is_direct = self._rules.reader is not None and isinstance(self._target, DirectTarget)
        if is_direct and before.newest is None:
            most = min(most, _FIRST_OFFSETS)
        if self._whole is not None:
            return self._whole.next_range(topic, applied, ends, most)
        return self._topics.range_of(topic, applied, ends).at_most(most)


def merge_sound(
    records: DataFrame,
    wanted: BatchRange,
    before: Applied,
    target: SparkTarget,
    rules: BatchRules,
    watch: Stopwatch,
) -> tuple[tuple[Applied, BatchCounts], int]:
    """Merge a batch, and set aside what can't become rows, where that is allowed; return how many."""
    topic = wanted.topic

    def attempt(left: DataFrame) -> tuple[Applied, BatchCounts]:
        with translate_errors(topic, table_of(topic)):
            return merge_records(left, wanted, before, target, rules, watch)

    def find(left: DataFrame) -> DataFrame | None:
        return find_bad_records(left, wanted, before, target, rules) if rules.most_letters else None

    def set_aside(found: DataFrame) -> frozenset[RecordPosition]:
        return keep_letters(found, topic, target.letters, rules.most_letters, time.time_ns() // 1_000_000)

    merged, aside = merge_without(records, topic, attempt, find, set_aside)
    return merged, len(aside)


def merge_records(
    records: DataFrame,
    wanted: BatchRange,
    before: Applied,
    target: SparkTarget,
    rules: BatchRules,
    watch: Stopwatch,
) -> tuple[Applied, BatchCounts]:
    """Merge one batch and commit its end; before a table's first row there is nothing to commit to.

    Return what is applied now, and what was merged.
    """
    merging = _prepare_fast(records, wanted, before, target, rules, watch)
    if merging is None:
        merging = _prepare_slow(records, wanted, before, target, rules, watch)
    if merging is None:
        return before, BatchCounts()
    try:
        tally = _commit(merging, target, rules, watch)
    finally:
        merging.newest.unpersist()
    reach("after_apply")
    return merging.plan.upto, tally


@dataclass(frozen=True, slots=True)
class _PreparedMerge:
    """The newest changes of a batch, kept in memory, what was counted of them, and how they are merged."""

    newest: DataFrame
    counts: Row  # by operation
    ends: Sequence[Row]  # of the keys, as key_range.py asks for them
    seen: BatchSurvey
    plan: MergePlan
    alterations: Sequence[Alteration] = ()


def _prepare_fast(
    records: DataFrame,
    wanted: BatchRange,
    before: Applied,
    target: SparkTarget,
    rules: BatchRules,
    watch: Stopwatch,
) -> _PreparedMerge | None:
    """Try the batch as one that is written as the newest change was; None: it is not, or can't be."""
    expected = plan_as_known(wanted, before, target, rules, fits_fast_path)
    if expected is None:
        return None
    known, writer, plan = expected
    watch.lap(Step.SHAPE)
    found = fast_newest_changes(records, known, writer, plan)
    newest, (asked, counts, *ends) = _persist(found, plan, outline_columns())
    watch.lap(Step.READ)
    seen = read_outline(asked, known)
    if seen is None:
        newest.unpersist()
        return None
    upto = plan.upto.then(applied_after(before, wanted.topic, wanted.end, [seen]))
    return _PreparedMerge(newest, counts, ends, BatchSurvey([seen]), replace(plan, upto=upto))


def _prepare_slow(
    records: DataFrame,
    wanted: BatchRange,
    before: Applied,
    target: SparkTarget,
    rules: BatchRules,
    watch: Stopwatch,
) -> _PreparedMerge | None:
    """Look at the batch before it is planned; None: before a table's first row there is nothing to merge."""
    records.persist()
    try:  # looked at twice, fetched once
        seen = survey(wanted.topic, records, before, rules.schema_text)
        watch.lap(Step.READ)
        seen.check(wanted.topic)
        made = plan_batch(seen, wanted, before, target.can.identifiers, rules)
        if made is None:
            return None
        plan, alterations = _fit_shape(made.plan, target, rules, rekeyed=made.rekeyed)
        watch.lap(Step.SHAPE)
        newest, (counts, *ends) = _persist(
            slow_newest_changes(records, seen.outlines, made.writers, plan), plan
        )
        return _PreparedMerge(newest, counts, ends, seen, plan, alterations)
    finally:
        records.unpersist()


def _persist(newest: DataFrame, plan: MergePlan, *asked: Column) -> tuple[DataFrame, Row]:
    """Compute the newest changes once, to be counted, and keep them for the merge."""
    newest.persist()
    try:
        return newest, newest.agg(*asked, F.struct(*operation_counts()), *bound_columns(plan)).collect()[0]
    except BaseException:
        newest.unpersist()
        raise


def _commit(merging: _PreparedMerge, target: SparkTarget, rules: BatchRules, watch: Stopwatch) -> BatchCounts:
    """Merge the newest changes, unless a newer consumer merges here."""
    plan, seen = merging.plan, merging.seen
    merged = read_operation_counts(merging.counts, seen.truncates, halved=plan.keyless)
    plan = replace(plan, loads=set(merged) == {"r"}, within=key_ranges(merging.ends, plan))
    reach("before_stage")
    staged = target.stage(merging.newest, plan)
    watch.lap(Step.STAGE)
    rules.hold()
    reach("before_apply")
    target.apply(staged, plan)
    watch.lap(Step.APPLY)
    shape = Counter(kind_of_change(one).value for one in merging.alterations)
    return BatchCounts(merged, seen.latest, shape)


def _fit_shape(
    plan: MergePlan, target: SparkTarget, rules: BatchRules, *, rekeyed: bool
) -> tuple[MergePlan, Sequence[Alteration]]:
    """Bring the target's table and the plan together; return also how the table was altered."""
    held = target.held(plan.table.id)
    plan, alterations = reshape(plan, held, target.can, rules.behaviour, rules.excluded(plan.table.id))
    plan = rules.keeping.watching(plan, held)
    if held is None or alterations:
        rules.hold()  # after the look: so what a newer consumer has added is never dropped
    reach("before_shape")
    target.ensure_table(plan)
    if alterations or rekeyed:
        newest, now = plan.upto.newest, target.applied(plan.table.id).newest
        if newest is not None and now is not None and now.seq > newest.seq:
            raise OVERTAKEN(table=plan.table.id)
        target.alter(plan, alterations)
    return plan, alterations


@contextmanager
def translate_errors(topic: str, table: TableId, unknown: ErrorCode = ROUND_FAILED) -> Iterator[None]:
    """Let no error through whose text may show values; one that has no name of its own becomes `unknown`."""
    try:
        yield
    except WracklineError:
        raise
    except Exception as exc:  # one table's fault is not the others'; its text may show values
        if is_gone(exc):
            gone = SPARK_GONE()
            raise gone from exc
        text = str(exc)  # what ended a task may come as the cause of another, and only the text names it
        unfit = next((name for name in _UNFIT if f"[{name}" in text), None)
        if unfit is not None:
            raise VALUE_UNFIT(topic=topic, table=table, condition=unfit) from exc
        if "AVRO_NOT_LOADED" in text:
            missing = AVRO_MISSING(topic=topic)
            raise missing from exc
        if "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION" in text:
            raise TOO_MANY_DIGITS(topic=topic, most=MOST_DIGITS) from exc
        full = next((sign for sign in _FULL if sign in text), None)
        if full is not None:
            raise STORAGE_FULL(topic=topic, sign=full) from exc
        denied = find_forbidden_path(text)
        if denied is not None:
            path, why = denied
            there = shlex.quote(existing_part(path))
            raise TARGET_FORBIDDEN(topic=topic, path=path, why=why, quoted=there) from exc
        condition = exc.getCondition() if isinstance(exc, PySparkException) else None
        raise unknown(topic=topic, condition=condition or type(exc).__name__) from exc

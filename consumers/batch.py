"""One batch of one table: from its topic's bytes to one commit of rows and offsets.

    applied (in the table) -> range -> outlines -> plan -> shape -> newest -> staged -> applied

A batch that may be as the table's newest change was is taken for one: its plan is made first, and its outline
counted with its newest changes; if it is none, nothing is lost but that look (as_known.py).

It is right at any interruption because nothing is remembered beside the table: a batch that did not commit
is done again.  It knows no target, only the contract of plugin.py, and its frames live in a session of
their own.  An error of Spark becomes one of ours without its text, which may show values.
"""

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every user of PySpark writes it

from wrackline.consumers.account import Account, Step, Stopwatch
from wrackline.consumers.as_known import can_be, counted, newest_as_known, outline
from wrackline.consumers.evolve import reshape
from wrackline.consumers.failpoints import reach
from wrackline.consumers.forbidden import forbidden
from wrackline.consumers.key_range import bounds, key_ranges
from wrackline.consumers.letters import Spot
from wrackline.consumers.newest import latest
from wrackline.consumers.plan import Applied, MergePlan, Mode
from wrackline.consumers.planning import Look, Rules, look, planned
from wrackline.consumers.plugin import SparkTarget
from wrackline.consumers.read import read
from wrackline.consumers.rounds import Outline, Pair, Range, after
from wrackline.consumers.sift import in_the_way, keep, merged_without
from wrackline.consumers.spark import is_gone
from wrackline.consumers.superseded import told_by_bytes
from wrackline.consumers.tally import Tally, by_operation, operations
from wrackline.consumers.topics import Topics
from wrackline.consumers.transactions import WholeTransactions
from wrackline.consumers.writers import table_id
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.table import TableId
from wrackline.schemas.types import MOST_DIGITS
from wrackline.schemas.versions import SPARK_AVRO

VALUE_UNFIT = define(
    "consume.value_unfit",
    OperatorNeeded,
    "a row of topic {topic} does not fit its column in the target, or can't be read ({condition})",
    hint="drop the table in the target, then have its rows read: wrackline snapshot start <pipeline.toml>"
    " '{table}'; and start it again: wrackline consume <pipeline.toml>",
)
ROUND_FAILED = define(
    "consume.round_failed",
    Transient,
    "a batch of topic {topic} could not be merged ({condition})",
    hint="it is tried again; if it goes on, look into Spark's log: wrackline consume <pipeline.toml>"
    " --spark-log spark.log",
)
OVERTAKEN = define(
    "consume.overtaken",
    Transient,
    "somebody else has merged newer changes of {table}, so its shape is not changed to an older one",
    hint="the batch is made again for the table as it is; if it goes on, stop the second driver",
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
    hint="have whoever writes the topic send such columns as text (Debezium: decimal.handling.mode=string);"
    " or give from_avro a reader's schema without them",
)
SPARK_GONE = define(
    "consume.spark_gone",
    Transient,
    "the Spark driver does not answer any more",
    hint="nothing is lost; start it again: wrackline consume <pipeline.toml>; if it goes on, give it more"
    " memory: spark.driver.memory",
)

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
        topics: Topics,
        target: SparkTarget,
        rules: Rules,
        tell: Callable[[Account], None] = lambda _: None,
        whole: WholeTransactions | None = None,
    ) -> None:
        """Take what batches need, who hears of each that is over, and who keeps transactions whole, if any.

        All of it is called on the thread of the batch.
        """
        self._spark, self._topics, self._target, self._rules = spark, topics, target, rules
        self._tell, self._whole = tell, whole

    def merge(self, topic: str, ends: Mapping[int, int]) -> Range:
        """Merge the next batch of a topic's table, towards these ends; return what was read."""
        watch = Stopwatch()
        with our_errors(topic, table_id(topic)):
            before = self._target.applied(table_id(topic))
            before = self._topics.known_by(topic, before)
            wanted = self._next_range(topic, before.of_topic(topic), ends)
            watch.lap(Step.ASK)
            if wanted.empty:
                self._tell(Account(wanted, before))
                return wanted
            session = self._spark.newSession()
            records = read(session, self._rules.kafka, wanted)
            (upto, counted), letters = merge_sound(records, wanted, before, self._target, self._rules, watch)
            self._tell(watch.account(wanted, upto, counted, letters))
            return wanted

    def _next_range(self, topic: str, applied: Mapping[int, int], ends: Mapping[int, int]) -> Range:
        most = self._rules.most_offsets
        if self._whole is not None:
            return self._whole.next_range(topic, applied, ends, most)
        return self._topics.range_of(topic, applied, ends).at_most(most)


def merge_sound(
    records: DataFrame,
    wanted: Range,
    before: Applied,
    target: SparkTarget,
    rules: Rules,
    watch: Stopwatch,
) -> tuple[tuple[Applied, Tally], int]:
    """Merge a batch, and set aside what can't become rows, where that is wished; say how many."""
    topic = wanted.topic

    def attempt(left: DataFrame) -> tuple[Applied, Tally]:
        with our_errors(topic, table_id(topic)):
            return merge_records(left, wanted, before, target, rules, watch)

    def find(left: DataFrame) -> DataFrame | None:
        return in_the_way(left, wanted, before, target, rules) if rules.most_letters else None

    def set_aside(found: DataFrame) -> frozenset[Spot]:
        return keep(found, topic, target.letters, rules.most_letters, time.time_ns() // 1_000_000)

    merged, aside = merged_without(records, topic, attempt, find, set_aside)
    return merged, len(aside)


def merge_records(
    records: DataFrame,
    wanted: Range,
    before: Applied,
    target: SparkTarget,
    rules: Rules,
    watch: Stopwatch,
) -> tuple[Applied, Tally]:
    """Merge one batch and commit its end; before a table's first row there is nothing to commit to.

    Return what is applied now, and what was merged.
    """
    merging = _as_known(records, wanted, before, target, rules, watch)
    if merging is None:
        merging = _looked_at(records, wanted, before, target, rules, watch)
    if merging is None:
        return before, Tally()
    try:
        tally = _commit(merging, target, watch)
    finally:
        merging.newest.unpersist()
    reach("after_apply")
    return merging.plan.upto, tally


@dataclass(frozen=True, slots=True)
class _Merging:
    """The newest changes of a batch, kept in memory, what was counted of them, and how they are merged."""

    newest: DataFrame
    counts: Row  # by operation
    ends: Sequence[Row]  # of the keys, as key_range.py asks for them
    seen: Look
    plan: MergePlan


def _as_known(
    records: DataFrame, wanted: Range, before: Applied, target: SparkTarget, rules: Rules, watch: Stopwatch
) -> _Merging | None:
    """Take the batch for one that is as the newest change was; None: it is not, or can't be."""
    known = told_by_bytes(before.newest)
    if known is None or rules.keeping.mode is not Mode.UPSERT:
        return None
    pair = Pair(known.key_id, known.value_id)
    expected = Look([Outline(pair, known.seq, None, 1)])
    made = planned(expected, wanted, before, target.can.identifiers, rules)
    if made is None or not can_be(made.plan):
        return None
    plan = _as_it_is(made.plan, target, rules)
    if plan is None:
        return None
    watch.lap(Step.SHAPE)
    found = newest_as_known(records, known, made.writers[pair], plan)
    newest, (asked, counts, *ends) = _kept(found, plan, counted())
    watch.lap(Step.READ)
    seen = outline(asked, known)
    if seen is None:
        newest.unpersist()
        return None
    upto = plan.upto.then(after(before, wanted.topic, wanted.end, [seen]))
    return _Merging(newest, counts, ends, Look([seen]), replace(plan, upto=upto))


def _looked_at(
    records: DataFrame, wanted: Range, before: Applied, target: SparkTarget, rules: Rules, watch: Stopwatch
) -> _Merging | None:
    """Look at the batch before it is planned; None: before a table's first row there is nothing to merge."""
    records.persist()
    try:  # looked at twice, fetched once
        seen = look(wanted.topic, records, before, rules.schema_text)
        watch.lap(Step.READ)
        seen.check(wanted.topic)
        made = planned(seen, wanted, before, target.can.identifiers, rules)
        if made is None:
            return None
        plan = _shaped(made.plan, target, rules, rekeyed=made.rekeyed)
        watch.lap(Step.SHAPE)
        newest, (counts, *ends) = _kept(latest(records, seen.outlines, made.writers, plan), plan)
        return _Merging(newest, counts, ends, seen, plan)
    finally:
        records.unpersist()


def _kept(newest: DataFrame, plan: MergePlan, *asked: Column) -> tuple[DataFrame, Row]:
    """Compute the newest changes once, to be counted, and keep them for the merge."""
    newest.persist()
    try:
        return newest, newest.agg(*asked, F.struct(*by_operation()), *bounds(plan)).collect()[0]
    except BaseException:
        newest.unpersist()
        raise


def _commit(merging: _Merging, target: SparkTarget, watch: Stopwatch) -> Tally:
    """Have the newest changes merged."""
    plan, seen = merging.plan, merging.seen
    merged = operations(merging.counts, seen.truncates, halved=plan.keyless)
    plan = replace(plan, loads=set(merged) == {"r"}, within=key_ranges(merging.ends, plan))
    reach("before_stage")
    staged = target.stage(merging.newest, plan)
    watch.lap(Step.STAGE)
    reach("before_apply")
    target.apply(staged, plan)
    watch.lap(Step.APPLY)
    return Tally(merged, seen.latest)


def _as_it_is(plan: MergePlan, target: SparkTarget, rules: Rules) -> MergePlan | None:
    """Fit the plan to the table's shape of now; None: it has another, and the batch may tell why.

    A batch that ended between its alteration and its merge leaves a shape behind that it brings again.
    """
    held = target.held(plan.table.id)
    try:
        plan, alterations = reshape(plan, held, target.can, rules.behaviour)
    except OperatorNeeded:
        return None
    if held is None or alterations:
        return None
    reach("before_shape")
    target.ensure_table(plan)
    return plan


def _shaped(plan: MergePlan, target: SparkTarget, rules: Rules, *, rekeyed: bool) -> MergePlan:
    """Bring the target's table and the plan together."""
    held = target.held(plan.table.id)
    plan, alterations = reshape(plan, held, target.can, rules.behaviour)
    plan = rules.keeping.watching(plan, held)
    reach("before_shape")
    target.ensure_table(plan)
    if alterations or rekeyed:
        newest, now = plan.upto.newest, target.applied(plan.table.id).newest
        if newest is not None and now is not None and now.seq > newest.seq:
            raise OVERTAKEN(table=plan.table.id)
        target.alter(plan, alterations)
    return plan


@contextmanager
def our_errors(topic: str, table: TableId) -> Iterator[None]:
    """Let no error through whose text may show values."""
    try:
        yield
    except WracklineError:
        raise
    except Exception as exc:  # one table's fault is not the others'; its text may show values
        if is_gone(exc):
            gone = SPARK_GONE()
            raise gone from exc
        text = str(exc)  # what ended a task may come as the cause of another, whose text alone names it
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
        denied = forbidden(text)
        if denied is not None:
            path, why = denied
            raise TARGET_FORBIDDEN(topic=topic, path=path, why=why, quoted=shlex.quote(path)) from exc
        condition = exc.getCondition() if isinstance(exc, PySparkException) else None
        raise ROUND_FAILED(topic=topic, condition=condition or type(exc).__name__) from exc

"""One batch of one table: from its topic's bytes to one commit of rows and offsets.

    applied (in the table) -> range -> outlines -> plan -> shape -> typed -> newest a key -> staged -> applied

It is right at any interruption because nothing is remembered beside the table: a batch that did not commit
is done again.  It knows no target, only the contract of plugin.py, and its frames live in a session of
their own.  An error of Spark becomes one of ours without its text, which may show values.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.account import Account, Step, Stopwatch
from wrackline.consumers.decode import decode, outlines, partial_columns
from wrackline.consumers.dedupe import dedupe
from wrackline.consumers.evolve import Behaviour, reshape
from wrackline.consumers.failpoints import reach
from wrackline.consumers.plan import Applied, MergePlan, Written, plan_merge
from wrackline.consumers.plugin import SparkTarget
from wrackline.consumers.read import read
from wrackline.consumers.rekeyed import floor_of_keys
from wrackline.consumers.rounds import Outline, Pair, Range, after, pairs
from wrackline.consumers.tally import Tally, tally, total
from wrackline.consumers.topics import Topics
from wrackline.consumers.writers import Writer, table_id, writer
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.table import TableId

NOT_WIRE_FORMAT = define(
    "consume.not_wire_format",
    OperatorNeeded,
    "topic {topic} holds records that do not begin with a schema id",
    hint="something else writes to the topic too; stop it; look at them: kcat -C -t '{topic}' -o -5 -e",
)
BROKEN = define(
    "consume.broken_records",
    OperatorNeeded,
    "{broken} records of topic {topic} are not what their schemas say",
    hint="something else writes to the topic too; stop it; look at them: kcat -C -t '{topic}' -o -5 -e",
)
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
SPARK_GONE = define(
    "consume.spark_gone",
    Transient,
    "the Spark driver does not answer any more",
    hint="nothing is lost; start it again: wrackline consume <pipeline.toml>; if it goes on, give it more"
    " memory: spark.driver.memory",
)

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


@dataclass(frozen=True, slots=True)
class Rules:
    """What the batches of one pipeline have in common."""

    kafka: Mapping[str, str]  # options of Spark's source
    schema_text: Callable[[int], str]
    behaviour: Behaviour = Behaviour.EVOLVE
    prefix: str = "_wl_"
    most_offsets: int = 2**63 - 1  # of one batch


class Batches:
    """Makes the batches of a pipeline; each call is one of one table, on any thread."""

    def __init__(
        self,
        spark: SparkSession,
        topics: Topics,
        target: SparkTarget,
        rules: Rules,
        tell: Callable[[Account], None] = lambda _: None,
    ) -> None:
        """Take what batches need, and who hears of each that is over; on the thread that made it."""
        self._spark, self._topics, self._target, self._rules = spark, topics, target, rules
        self._tell = tell

    def merge(self, topic: str, ends: Mapping[int, int]) -> Range:
        """Merge the next batch of a topic's table, towards these ends; return what was read."""
        watch = Stopwatch()
        with our_errors(topic, table_id(topic)):
            before = self._target.applied(table_id(topic))
            applied = {at.partition: offset for at, offset in before.offsets.items() if at.topic == topic}
            wanted = self._topics.range_of(topic, applied, ends).at_most(self._rules.most_offsets)
            watch.lap(Step.ASK)
            if wanted.empty:
                self._tell(Account(wanted, before))
                return wanted
            session = self._spark.newSession()
            records = read(session, self._rules.kafka, wanted).persist()  # looked at twice, fetched once
            try:
                upto, counted = merge_records(records, wanted, before, self._target, self._rules, watch)
            finally:
                records.unpersist()
            self._tell(watch.account(wanted, upto, counted))
            return wanted


def merge_records(
    records: DataFrame,
    wanted: Range,
    before: Applied,
    target: SparkTarget,
    rules: Rules,
    watch: Stopwatch,
) -> tuple[Applied, Tally]:
    """Merge one batch and commit its end; before a table's first row there is nothing to commit to.

    Return what is applied now, and what was counted.
    """
    topic = wanted.topic
    seen = _seen(topic, records, before, rules.schema_text)
    watch.lap(Step.READ)
    counted = total(one.tally for one in seen)
    upto = after(before, topic, wanted.end, seen)
    if upto.newest is None:
        return before, counted
    used = pairs(upto, seen) | pairs(before, ())
    writers = {pair: _writer(topic, pair, rules.schema_text) for pair in used}
    newest = writers[_pair(upto.newest)]
    told = {Written(one.newest, *one.pair) for one in seen if one.changes} | {upto.newest}
    told |= set() if before.newest is None else {before.newest}
    upto = upto.then(Applied(floor=floor_of_keys(told, lambda one: _key(writers[_pair(one)]))))
    rekeyed = before.newest is not None and _key(writers[_pair(before.newest)]) != _key(newest)
    plan = plan_merge(newest.table, target.can.identifiers, upto, prefix=rules.prefix)
    plan = _shaped(plan, target, rules, rekeyed=rekeyed)
    # what was told under another key lies below the floor
    alike: Mapping[Any, Writer] = {
        pair: one for pair, one in writers.items() if pair in pairs(upto, seen) and _key(one) == _key(newest)
    }
    columns = [column.target for column in plan.columns]
    partial = partial_columns({one.pair: one.unsent for one in seen}, alike, plan)
    watch.lap(Step.SHAPE)
    reach("before_stage")
    staged = target.stage(dedupe(decode(records, alike, plan), columns, plan.key, partial), plan)
    watch.lap(Step.STAGE)
    reach("before_apply")
    target.apply(staged, plan)
    watch.lap(Step.APPLY)
    reach("after_apply")
    return upto, counted


def _shaped(plan: MergePlan, target: SparkTarget, rules: Rules, *, rekeyed: bool) -> MergePlan:
    """Bring the target's table and the plan together."""
    plan, alterations = reshape(plan, target.held(plan.table.id), target.can, rules.behaviour)
    reach("before_shape")
    target.ensure_table(plan)
    if alterations or rekeyed:
        target.alter(plan, alterations)
    return plan


def _seen(
    topic: str, records: DataFrame, before: Applied, schema_text: Callable[[int], str]
) -> list[Outline]:
    """Return the outlines of the batch by pair of schemas, all of them readable."""
    known = before.newest
    texts = {} if known is None else {known.value_id: schema_text(known.value_id)}
    while True:  # twice at most: once more when the batch was written with schemas not seen before
        rows = outlines(records, texts).collect()
        strange = {row["value_id"] for row in rows if row["newest"] is None}
        if None in strange:
            raise NOT_WIRE_FORMAT(topic=topic)
        if not strange:
            break
        for value_id in strange:
            texts[value_id] = schema_text(value_id)
            writer(topic, None, texts[value_id])  # raises if it is not one of ours
    if broken := sum(row["broken"] for row in rows):
        raise BROKEN(topic=topic, broken=broken)
    return [
        Outline(
            Pair(row["key_id"], row["value_id"]),
            row["newest"],
            row["floor"],
            row["changes"],
            frozenset(row["unsent"]),
            tally(row),
        )
        for row in rows
    ]


def _writer(topic: str, pair: Pair, schema_text: Callable[[int], str]) -> Writer:
    key_text = None if pair.key_id is None else schema_text(pair.key_id)
    return writer(topic, key_text, schema_text(pair.value_id))


def _pair(written: Written) -> Pair:
    return Pair(written.key_id, written.value_id)


def _key(of: Writer) -> list[int]:
    return [column.identity for column in of.table.key_columns]


@contextmanager
def our_errors(topic: str, table: TableId) -> Iterator[None]:
    """Let no error through whose text may show values."""
    try:
        yield
    except Py4JNetworkError as exc:
        gone = SPARK_GONE()
        raise gone from exc
    except WracklineError:
        raise
    except Exception as exc:  # one table's fault is not the others'; its text may show values
        condition = exc.getCondition() if isinstance(exc, PySparkException) else None
        if condition is not None and condition.partition(".")[0] in _UNFIT:
            raise VALUE_UNFIT(topic=topic, table=table, condition=condition) from exc
        raise ROUND_FAILED(topic=topic, condition=condition or type(exc).__name__) from exc

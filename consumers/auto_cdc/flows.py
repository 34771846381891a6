"""The flows of one pipeline: feeds from Kafka's topics into a target, each batch exactly once.

    view     what a topic's records are, as a frame of columns
    flow     which view becomes which table
    look     how far each flow's topic may be read
    merge    applied (in the table) -> range -> records -> flow_batch.py

The last two are what consumers/drive/driver.py drives, by the flow's key.  As for our own topics, the applied
offsets in the table are all that is remembered, so a batch that did not commit is done again; a topic that
was made again is not taken for the one that was read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from pyspark.sql import SparkSession

from wrackline.consumers.auto_cdc.flow import ARGUMENTS, AutoCdcFlow, FlowArguments, Named, flow
from wrackline.consumers.auto_cdc.flow_batch import FlowBatch, FlowReadSettings, View, flow_errors
from wrackline.consumers.auto_cdc.flow_replay import replay_letters
from wrackline.consumers.batch.replay import ReplayResult
from wrackline.consumers.batch.report import BatchReport, Step, Stopwatch
from wrackline.consumers.contract.batch_scope import BatchRange
from wrackline.consumers.contract.counts import BatchCounts
from wrackline.consumers.contract.letters import DeadLetter
from wrackline.consumers.contract.target import SparkTarget
from wrackline.consumers.kafka.read_range import read_range
from wrackline.consumers.kafka.topic_offsets import Ends, TopicOffsets
from wrackline.schemas.errors import Transient, define
from wrackline.schemas.tables.table import TableId

NO_TOPIC = define(
    "auto_cdc.no_topic",
    Transient,
    "there is no topic {topic} yet",
    hint="look for its name: kcat -b <brokers> -L | grep -F '{topic}'; the flow waits for it",
)


class Flows:
    """Holds views and flows, and makes the flows' batches; `merge` may be called on any thread."""

    def __init__(
        self,
        spark: SparkSession,
        topics: TopicOffsets,
        target: SparkTarget,
        reading: FlowReadSettings,
        tell: Callable[[BatchReport], None] = lambda _: None,
    ) -> None:
        """Take what batches need, and what gets each report, by its flow's key."""
        self._spark, self._topics, self._target, self._reading = spark, topics, target, reading
        self._tell = tell
        self._views: dict[str, tuple[str, View]] = {}
        self._flows: dict[str, AutoCdcFlow] = {}

    def view(self, *, topic: str, name: str | None = None) -> Callable[[View], View]:
        """Name what turns a topic's records into columns; its source's name is the function's own."""

        def named(view: View) -> View:
            self._views[name or view.__name__] = (topic, view)
            return view

        return named

    def create_auto_cdc_flow(
        self,
        target: str,
        source: str,
        keys: Sequence[Named],
        sequence_by: Named,
        **more: Unpack[FlowArguments],
    ) -> AutoCdcFlow:
        """Add a flow; flow.py says what the arguments mean."""
        made = flow(target, source, keys, sequence_by, **more)
        if source not in self._views:
            raise ARGUMENTS(
                target=target,
                why=f"there is no view {source!r}",
                fix="define it before: @flows.view(topic=...)",
            )
        if made.key in self._flows:
            raise ARGUMENTS(target=target, why=f"a flow {made.name!r} is there", fix="give it another name=")
        self._flows[made.key] = made
        return made

    def look(self) -> Ends:
        """Return each flow's ends; none where there is no such topic."""
        topics = {key: self._views[one.source][0] for key, one in self._flows.items()}
        ends = self._topics.ends_of(set(topics.values()).__contains__)
        return {key: ends.get(topic, {}) for key, topic in topics.items()}

    def merge(self, key: str, ends: Mapping[int, int]) -> BatchRange:
        """Merge the next batch of a flow, towards these ends; return what was read."""
        made, watch = self._flows[key], Stopwatch()
        topic, batch = self._batch(made)
        with flow_errors(made.target, topic):
            if not ends:
                raise NO_TOPIC(topic=topic)
            before = self._topics.with_topic_id(topic, self._target.applied(made.target))
            rest = self._topics.range_of(topic, before.of_topic(topic), ends)
            wanted = rest.at_most(self._reading.most_offsets)
            told = replace(wanted, topic=key)
            watch.lap(Step.ASK)
            if wanted.empty:
                self._tell(BatchReport(told, before))
                return wanted
            records = read_range(self._spark.newSession(), self._reading.kafka, wanted)
            upto, letters = batch.merge_sound(records, wanted, before, watch)
        self._tell(watch.account(told, upto, BatchCounts(), letters))
        return wanted

    def letters(self, target: str) -> list[DeadLetter]:
        """Return a table's dead letters: the place of each record, the reason, and its bytes."""
        return list(self._target.letters.kept(TableId(*target.split("."))))

    def replay(self, target: str) -> ReplayResult:
        """Merge what can be read by now of a table's dead letters; the rest of them stays."""
        table = TableId(*target.split("."))
        batches = [self._batch(one) for one in self._flows.values() if one.target == table]
        return replay_letters(self._spark, table, self._target.letters, batches)

    def drop_letters(self, target: str) -> int:
        """Forget a table's dead letters; return how many there were."""
        table = TableId(*target.split("."))
        spots = self._target.letters.spots(table)
        self._target.letters.remove(table, spots)
        return len(spots)

    def _batch(self, made: AutoCdcFlow) -> tuple[str, FlowBatch]:
        topic, view = self._views[made.source]
        return topic, FlowBatch(made, view, self._target, self._reading)

"""The flows of one pipeline: feeds from Kafka's topics into a target, each batch exactly once.

    view     what a topic's records are, as a frame of columns
    flow     which view becomes which table
    look     how far each flow's topic may be read
    merge    applied (in the table) -> range -> view -> changes -> newest a key -> staged -> applied

The last two are what consumers/driver.py drives, by the flow's key.  As for our own topics the applied
offsets in the table are all that is remembered, so a batch that did not commit is done again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from pyspark.sql import DataFrame, SparkSession

from wrackline.consumers.auto_cdc.changes import Prepared, changes, prepared, summary
from wrackline.consumers.auto_cdc.flow import ARGUMENTS, Arguments, Flow, Named, flow
from wrackline.consumers.auto_cdc.shape import table_of
from wrackline.consumers.batch import our_errors
from wrackline.consumers.dedupe import dedupe
from wrackline.consumers.events import once
from wrackline.consumers.evolve import Behaviour, reshape
from wrackline.consumers.plan import Applied, MergePlan, Mode, TopicPartition, Written, plan_merge
from wrackline.consumers.plugin import SparkTarget
from wrackline.consumers.read import read
from wrackline.consumers.rounds import Range
from wrackline.consumers.topics import Ends, Topics
from wrackline.schemas.errors import Definite, Transient, define

NO_SEQUENCE = define(
    "auto_cdc.no_sequence",
    Definite,
    "{rows} events of {flow} have no sequence: sequence_by is null",
    hint="leave them out in the view, or give them one: coalesce(...); nothing of the batch is merged",
)
NO_KEY = define(
    "auto_cdc.no_key",
    Definite,
    "{rows} events of {flow} have a key that is null",
    hint="leave them out in the view: .where('{key} IS NOT NULL'); nothing of the batch is merged",
)

NO_TOPIC = define(
    "auto_cdc.no_topic",
    Transient,
    "there is no topic {topic} yet",
    hint="look for its name: kcat -L | grep {topic}; the flow waits for it",
)

View = Callable[[DataFrame], DataFrame]
_NO_SCHEMA = 0  # of a registry, whose ids begin at 1


@dataclass(frozen=True, slots=True)
class Reading:
    """How the topics are read."""

    kafka: Mapping[str, str]  # options of Spark's source
    prefix: str = "_wl_"
    most_offsets: int = 2**63 - 1  # of one batch


class Flows:
    """Holds views and flows, and makes the flows' batches; each call of `merge` is on any thread."""

    def __init__(self, spark: SparkSession, topics: Topics, target: SparkTarget, reading: Reading) -> None:
        self._spark, self._topics, self._target, self._reading = spark, topics, target, reading
        self._views: dict[str, tuple[str, View]] = {}
        self._flows: dict[str, Flow] = {}

    def view(self, *, topic: str, name: str | None = None) -> Callable[[View], View]:
        """Name what turns a topic's records into columns; its source's name is the function's own."""

        def named(view: View) -> View:
            self._views[name or view.__name__] = (topic, view)
            return view

        return named

    def create_auto_cdc_flow(
        self, target: str, source: str, keys: Sequence[Named], sequence_by: Named, **more: Unpack[Arguments]
    ) -> Flow:
        """Add a flow; what the arguments mean is told in flow.py."""
        made = flow(target, source, keys, sequence_by, **more)
        if source not in self._views:
            raise ARGUMENTS(
                target=target,
                why=f"there is no view {source!r}",
                mend="define it before: @flows.view(topic=...)",
            )
        if made.key in self._flows:
            raise ARGUMENTS(target=target, why=f"a flow {made.name!r} is there", mend="give it another name=")
        self._flows[made.key] = made
        return made

    def look(self) -> Ends:
        """Return each flow's ends; none where there is no such topic."""
        topics = {key: self._views[one.source][0] for key, one in self._flows.items()}
        ends = self._topics.ends_of(set(topics.values()).__contains__)
        return {key: ends.get(topic, {}) for key, topic in topics.items()}

    def merge(self, key: str, ends: Mapping[int, int]) -> Range:
        """Merge the next batch of a flow, towards these ends; return what was read."""
        made = self._flows[key]
        topic, view = self._views[made.source]
        with our_errors(topic, made.target):
            if not ends:
                raise NO_TOPIC(topic=topic)
            before = self._target.applied(made.target)
            rest = self._topics.range_of(topic, before.of_topic(topic), ends)
            wanted = rest.at_most(self._reading.most_offsets)
            if not wanted.empty:
                records = read(self._spark.newSession(), self._reading.kafka, wanted)
                ready = prepared(view(records), made)
                ready = replace(ready, frame=ready.frame.persist())  # looked at twice, fetched once
                try:
                    self._merge(ready, made, wanted, before)
                finally:
                    ready.frame.unpersist()
            return wanted

    def _merge(self, ready: Prepared, made: Flow, wanted: Range, before: Applied) -> None:
        told = summary(ready)
        if told.without_sequence:
            raise NO_SEQUENCE(rows=told.without_sequence, flow=made.name)
        if told.without_key:
            raise NO_KEY(rows=told.without_key, flow=made.name, key=ready.keys[0])
        offsets = {TopicPartition(wanted.topic, partition): end for partition, end in wanted.end.items()}
        newest = None if told.newest is None else Written(told.newest, None, _NO_SCHEMA)
        upto = before.then(Applied(offsets, told.floor, newest))
        if upto.newest is None:
            return  # there is no row yet, and nothing to commit to
        plan = self._shaped(ready, made, upto)
        found = changes(ready, made, plan)
        if plan.mode is Mode.HISTORY:
            found = once(found, plan)
        else:
            columns = [column.target for column in plan.columns]
            found = dedupe(found, columns, plan.key, _may_lack(ready, made, plan))
        self._target.apply(self._target.stage(found, plan), plan)

    def _shaped(self, ready: Prepared, made: Flow, upto: Applied) -> MergePlan:
        held = self._target.held(made.target)
        table = table_of(made.target, ready.fields, ready.keys, held)
        plan = plan_merge(
            table, self._target.can.identifiers, upto, prefix=self._reading.prefix, mode=made.mode
        )
        tracked = None if made.tracked is None else frozenset(ready.chosen(made.tracked))
        plan = replace(plan, tracked=_targets(plan, tracked), lacking_is_null=True)
        if made.mode is Mode.HISTORY:
            plan = replace(plan, ours=plan.ours.of_feed(self._reading.prefix, ready.sequence))
        plan, alterations = reshape(plan, held, self._target.can, Behaviour.LENIENT)
        self._target.ensure_table(plan)
        if alterations:
            self._target.alter(plan, alterations)
        return plan


def _may_lack(ready: Prepared, made: Flow, plan: MergePlan) -> set[str]:
    """Return the target's columns that some change may not send."""
    silent = set() if made.null_is_unsent is None else set(ready.chosen(made.null_is_unsent))
    return {one.target for one in plan.columns if one.source in silent or one.source not in ready.names}


def _targets(plan: MergePlan, sources: Collection[str] | None) -> frozenset[str] | None:
    return None if sources is None else frozenset(c.target for c in plan.columns if c.source in sources)

"""Tries the servers of one pipeline, in the order in which a start needs them.

    source: log-in, log, clock, rows -> Kafka, with a record as large as a row -> registry -> target -> end

Where log-in or log fail, no row is read; the other servers are tried all the same.
"""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Final

from wrackline.control.runtime.check.server_check import start_error_finding
from wrackline.control.runtime.check.target_check import check_target
from wrackline.control.runtime.ground.pipeline_access import surroundings
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.probe.clocks import ClockReading, clock_findings
from wrackline.control.runtime.probe.forecast import Forecast, forecast, forecast_findings
from wrackline.control.runtime.probe.kafka_trial import KafkaTrial, limit_findings
from wrackline.control.runtime.probe.registry_trial import RegistryTrial
from wrackline.control.runtime.probe.rows_trial import RowsTrial, choose_tables
from wrackline.control.runtime.probe.target_trial import TargetTrial
from wrackline.control.runtime.probe.trial_runs import TrialResult, run_trial
from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.contract.optional_parts import Sizing, Surveying, TableSize
from wrackline.producers.contract.source_plugin import Source, WriterIds, load
from wrackline.producers.contract.trials import LogPace, SourceTrials, Trial, Trying, trial_stamp
from wrackline.producers.kafka.client import Client
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import assign, table_of
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.pipelines.pipeline import Pipeline
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

_IDS: Final = WriterIds(1, 1)  # of schemas that no registry has


class PipelineTrials:
    """Tries them once."""

    def __init__(self, pipeline: Pipeline, values: Values) -> None:
        self._pipeline, self._values, self._name = pipeline, values, values.text("name")
        self.results: list[TrialResult] = []
        self.forecast: Forecast | None = None
        self._clocks: list[ClockReading] = []
        self._more: list[Finding] = []
        self._topics: dict[TableId, str] = {}
        self._sizes: dict[TableId, TableSize] = {}
        self._pace = LogPace(None, 0.0)
        self._rows = RowsTrial(FirstReads.of(values))
        self._stamp = trial_stamp(time.time(), random.getrandbits(32))
        self._kafka = KafkaTrial(values, self._stamp, lambda: self._rows.widest)
        self._target: TargetTrial | None = None

    def findings(self) -> Iterator[Finding]:
        """Return what the trials found."""
        yield from (one.finding for one in self.results if one.finding is not None)
        yield from clock_findings(self._clocks)
        yield from self._more

    def run(self) -> None:
        """Try all of them."""
        try:
            self.try_source()
            self.try_kafka()
            self.try_registry()
            self.try_target()
        finally:
            self.end()

    def end(self) -> None:
        """Delete the topic once nothing else is left; also those of assessments that were killed."""
        passed = {one.id for one in self.results if one.ok}
        wanted = {"transaction", "versions", *(["merge"] if self._pipeline.target else [])}
        try:
            self._kafka.end(own=self._target is None or not self._target.is_left, others=wanted <= passed)
        except WracklineError as error:
            self._more.append(start_error_finding(self._name, error))

    def try_source(self) -> None:
        """Try the source's log and some rows, and reckon the first read."""
        source = load(self._pipeline.source or "").open(self._values, replace(surroundings(), register=_ids))
        try:
            for partition in source.partitions():
                self._try_partition(source, partition)
        except WracklineError as error:  # between two trials
            self._more.append(start_error_finding(self._name, error))
        finally:
            source.close()
        self._more += forecast_findings(self._reckon(1), self._pace)

    def try_kafka(self) -> None:
        """Try a transaction, with a record as large as the largest row that was read."""
        kafka = self._kafka
        passed = self._try(kafka.trial())
        self._more += kafka.findings
        if not passed:
            return
        self._clocks += filter(None, [kafka.clock])
        self._reckon(kafka.replicas)
        tried = [topic for table, topic in self._topics.items() if table in self._rows.measured]
        client = Client(self._values.below("kafka."), self._values.integer("max.row.bytes"))
        self._more += limit_findings(client, tried, self._rows.widest)

    def try_registry(self) -> None:
        """Try two versions of a schema."""
        self._try(RegistryTrial(self._values, self._stamp, self._kafka.left).trial())

    def try_target(self) -> None:
        """Try a merge with Spark; without Spark, only look at the target."""
        topics = sorted(self._topics.values())
        if self._pipeline.target is None or find_spec("pyspark") is None:
            self._more += check_target(self._pipeline, topics)
            return
        tables = list(map(table_of, topics))
        self._target = TargetTrial(self._values, self._pipeline.target, tables, self._stamp, self._kafka.left)
        self._try(self._target.trial())
        self._more += self._target.findings

    def _reckon(self, replicas: int) -> Forecast:
        self.forecast = forecast(self._sizes, self._rows.measured, self._pace, replicas)
        return self.forecast

    def _try_partition(self, source: Source, partition: SourcePartition) -> None:
        """Learn what the forecast needs on the way."""
        tables = source.tables(partition)
        self._topics |= assign(partition.server, tables, naming=naming_of(self._values)).topics
        if not isinstance(source, Trying):
            return
        server = source.trying(partition)
        passed = [self._try(trial) for trial in server.trials()]
        if not all(passed):
            return
        self._read_clock(server)
        self._pace = server.log_pace()
        sizes = source.sizes(partition) if isinstance(source, Sizing) else {}
        captured = set(tables)
        self._sizes |= {table: size for table, size in sizes.items() if table in captured}
        shapes = _shapes_of(source, partition, tables)
        for table, which in choose_tables(self._sizes, shapes, random.choice).items():
            self._try(self._rows.trial(source, partition, shapes[table], which))

    def _read_clock(self, server: SourceTrials) -> None:
        before = now_ms()
        there = server.clock_ms()
        self._clocks.append(ClockReading("the source's server", there, before, now_ms()))

    def _try(self, trial: Trial) -> bool:
        result = run_trial(self._name, trial)
        self.results.append(result)
        return result.ok


def _shapes_of(
    source: Source, partition: SourcePartition, tables: Sequence[TableId]
) -> dict[TableId, TableSchema]:
    """Describe the tables; the check has said which can't be described."""
    if not isinstance(source, Surveying):
        return {}
    found = source.described(partition, tables).items()
    return {table: shape for table, shape in found if isinstance(shape, TableSchema)}


def _ids(table: TableSchema) -> WriterIds:
    return _IDS if table.key else _IDS._replace(key=None)

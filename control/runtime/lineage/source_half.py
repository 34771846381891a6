"""The source half of a pipeline, as its lineage sees it: tables into topics.

In: which tables are captured, and each shape whose schemas are registered.  Out: flows for a `Run`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from wrackline.control.runtime.lineage.flows import At, kafka_at, publish_flow
from wrackline.control.runtime.lineage.run_events import Dataset, LineageFlow, RunState
from wrackline.control.runtime.lineage.runs import LineageRun, report_run
from wrackline.control.runtime.logs.lines import Log
from wrackline.producers.contract.source_plugin import SourcePlugin
from wrackline.schemas.kafka.topic_names import table_topic
from wrackline.schemas.pipelines.lineage_names import Located, Locating
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema


class SourceHalf:
    """Tables into topics; the task's thread and its readers call."""

    def __init__(self, run: LineageRun, values: Values, at: At) -> None:
        self._run, self._at = run, at
        self._rules, self._server = ColumnRules.of(values), values.text("topic.prefix")
        self._naming = naming_of(values)
        self._kafka = kafka_at(values.text("kafka.bootstrap.servers"))
        self._captured: dict[SourcePartition, Sequence[TableId]] = {}

    def sees(self, partition: SourcePartition, tables: Sequence[TableId]) -> None:
        """Take what is captured of one database."""
        self._captured[partition] = tables

    def begins(self) -> None:
        """Report that it streams, and from where to where."""
        topics = {
            table: Located(self._kafka, table_topic(self._server, table, self._naming))
            for tables in self._captured.values()
            for table in tables
        }
        self._run.begins([LineageFlow(Dataset(self._at(table)), Dataset(at)) for table, at in topics.items()])

    def completed(self) -> None:
        """Take note that it has done what it was there for."""
        self._run.outcome = RunState.COMPLETE, None

    def shaped(self, table: TableSchema, topic: str) -> None:
        """Take a shape with which a table's events are written from now on."""
        self._run.knows(publish_flow(table, self._rules, self._at(table.id), Located(self._kafka, topic)))


@contextmanager
def report_source_run(plugin: SourcePlugin, values: Values, log: Log) -> Iterator[SourceHalf | None]:
    """Report a source half until the block ends; None: no lineage is set, or its tables' place is unknown."""
    if not isinstance(plugin, Locating):
        yield None
        return
    with report_run(values, "run", log) as run:
        yield None if run is None else SourceHalf(run, values, partial(plugin.located, values))

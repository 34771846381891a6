"""The source half of a pipeline, as its lineage sees it: tables into topics.

In: which tables are captured, and each shape whose schemas are registered.  Out: flows for a `Run`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from wrackline.control.lineage.events import Became, Dataset, Flow
from wrackline.control.lineage.flows import At, kafka_at, published
from wrackline.control.lineage.runs import Run, told
from wrackline.control.logs.lines import Log
from wrackline.producers.plugin import SourcePlugin
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.located import Located, Locating
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition, TableId, TableSchema
from wrackline.schemas.topics import table_topic


class SourceHalf:
    """Tables into topics; the task's thread and its readers call."""

    def __init__(self, run: Run, values: Values, at: At) -> None:
        self._run, self._at = run, at
        self._rules, self._server = ColumnRules.of(values), values.text("topic.prefix")
        self._kafka = kafka_at(values.text("kafka.bootstrap.servers"))
        self._captured: dict[SourcePartition, Sequence[TableId]] = {}

    def sees(self, partition: SourcePartition, tables: Sequence[TableId]) -> None:
        """Take what is captured of one database."""
        self._captured[partition] = tables

    def begins(self) -> None:
        """Say that it streams, and from where to where."""
        topics = {
            table: Located(self._kafka, table_topic(self._server, table))
            for tables in self._captured.values()
            for table in tables
        }
        self._run.begins([Flow(Dataset(self._at(table)), Dataset(at)) for table, at in topics.items()])

    def completed(self) -> None:
        """Take note that it has done what it was there for."""
        self._run.outcome = Became.COMPLETE, None

    def shaped(self, table: TableSchema, topic: str) -> None:
        """Take a shape with which a table's events are written from now on."""
        self._run.knows(published(table, self._rules, self._at(table.id), Located(self._kafka, topic)))


@contextmanager
def source_told(plugin: SourcePlugin, values: Values, log: Log) -> Iterator[SourceHalf | None]:
    """Tell of a source half until the block ends; None: nobody wants to know, or where its tables are."""
    if not isinstance(plugin, Locating):
        yield None
        return
    with told(values, "run", log) as run:
        yield None if run is None else SourceHalf(run, values, partial(plugin.located, values))

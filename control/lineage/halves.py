"""The two halves of a pipeline, as their lineage sees them.

    `run`       begins with the tables that are captured; each shape that is registered is a flow
    `consume`   a batch whose newest change was written with another schema may have changed the copy

In: what the halves tell their witnesses.  Out: flows for a `Run`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from wrackline.consumers import plugin
from wrackline.consumers.account import Account
from wrackline.consumers.plan import PlannedColumn
from wrackline.consumers.writers import table_id
from wrackline.control.lineage.events import Became, Dataset, Flow
from wrackline.control.lineage.flows import At, kafka_at, merged, published
from wrackline.control.lineage.runs import Run, told
from wrackline.control.logs.lines import Log
from wrackline.producers.plugin import SourcePlugin
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.located import Located, Locating
from wrackline.schemas.settings import Values
from wrackline.schemas.table import SourcePartition, TableId, TableSchema
from wrackline.schemas.topics import table_topic

Held = Callable[[TableId], Sequence[PlannedColumn] | None]


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


class TargetHalf:
    """Topics into tables; the threads of the batches call."""

    def __init__(self, run: Run, values: Values, at: At, held: Held) -> None:
        """Take who says which columns the target's table has."""
        self._run, self._at, self._held = run, at, held
        self._kafka = kafka_at(values.text("kafka.bootstrap.servers"))
        self._seen: dict[str, int] = {}  # the newest change's schema, by topic

    def batch(self, account: Account) -> None:
        """Look at the table after a batch that may have changed its shape."""
        newest, topic = account.applied.newest, account.read.topic
        if newest is None or self._seen.get(topic) == newest.value_id:
            return
        with suppress(Exception):  # a look that fails is no batch's failure; the next batch looks again
            columns = self._held(table_id(topic))
            if columns:
                at = self._at(table_id(topic))
                self._run.knows(merged(columns, Located(self._kafka, topic), at))
            self._seen[topic] = newest.value_id


def heard(
    run: Run | None,
    target: plugin.TargetPlugin,
    values: Values,
    held: Held,
    then: Callable[[Account], None],
) -> Callable[[Account], None]:
    """Begin, and return who hears of each batch that is over; where nobody wants to know, `then` alone."""
    if run is None or not isinstance(target, Locating):
        return then
    half = TargetHalf(run, values, partial(target.located, values), held)
    run.begins()

    def both(account: Account) -> None:
        then(account)
        half.batch(account)

    return both

"""The consumer's half of a pipeline, as its lineage sees it: topics into tables.

In: batches that are over.  Out: maps of columns, and flows for a `Run` if lineage is sent.  A batch whose
newest change was written with another schema may have changed the copy, so the target is asked which columns
it has.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from wrackline.consumers.batch.report import BatchReport
from wrackline.consumers.contract.plan import PlannedColumn
from wrackline.consumers.contract.target import TargetPlugin
from wrackline.control.runtime.lineage.column_maps import Knows, merge_map, name_of
from wrackline.control.runtime.lineage.flows import At, kafka_at, merge_flow
from wrackline.control.runtime.lineage.runs import LineageRun
from wrackline.schemas.kafka.topic_names import table_of
from wrackline.schemas.pipelines.lineage_names import Located, Locating
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import TableId

Held = Callable[[TableId], Sequence[PlannedColumn] | None]


class TargetHalf:
    """Topics into tables; the threads of the batches call."""

    def __init__(
        self, run: LineageRun | None, values: Values, at: At | None, held: Held, knows: Knows
    ) -> None:
        """Take what returns the columns of the target's table; `at` is None where its place has no name."""
        self._run, self._at, self._held, self._knows = run, at, held, knows
        self._kafka = kafka_at(values.text("kafka.bootstrap.servers"))
        self._seen: dict[str, int] = {}  # the newest change's schema, by topic

    def batch(self, account: BatchReport) -> None:
        """Look at the table after a batch that may have changed its shape."""
        newest, topic = account.applied.newest, account.read.topic
        if newest is None or self._seen.get(topic) == newest.value_id:
            return
        with suppress(Exception):  # a look that fails does not fail the batch; the next batch looks again
            columns = self._held(table_of(topic))
            if columns:
                at = None if self._at is None else self._at(table_of(topic))
                self._knows(name_of(topic), merge_map(columns, name_of(topic) if at is None else at.name))
                if self._run is not None and at is not None:
                    self._run.knows(merge_flow(columns, Located(self._kafka, topic), at))
            self._seen[topic] = newest.value_id


def report_batches(
    run: LineageRun | None,
    target: TargetPlugin,
    values: Values,
    held: Held,
    knows: Knows,
    then: Callable[[BatchReport], None],
) -> Callable[[BatchReport], None]:
    """Begin, and return what gets each batch that is over."""
    at = partial(target.located, values) if isinstance(target, Locating) else None
    half = TargetHalf(run, values, at, held, knows)
    if run is not None and at is not None:
        run.begins()

    def both(account: BatchReport) -> None:
        then(account)
        half.batch(account)

    return both

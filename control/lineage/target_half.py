"""The consumer's half of a pipeline, as its lineage sees it: topics into tables.

In: batches that are over.  Out: flows for a `Run`: a batch whose newest change was written with another
schema may have changed the copy, so the target is asked which columns it has.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from wrackline.consumers import plugin
from wrackline.consumers.account import Account
from wrackline.consumers.plan import PlannedColumn
from wrackline.consumers.writers import table_id
from wrackline.control.lineage.flows import At, kafka_at, merged
from wrackline.control.lineage.runs import Run
from wrackline.schemas.located import Located, Locating
from wrackline.schemas.settings import Values
from wrackline.schemas.table import TableId

Held = Callable[[TableId], Sequence[PlannedColumn] | None]


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

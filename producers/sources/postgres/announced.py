"""What a relation message announces, as soon as the catalogue can explain it; asked by the decoder.

The log may be ahead of the catalogue, and nothing waits here: `NotVisible` ends the reading of the log until
the stream asks again.  After a second a lock that explains nothing is no obstacle any more; after ten the
stream is opened anew, for then nobody can say what the rows mean.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from wrackline.producers.plugin import Surroundings
from wrackline.producers.sources.postgres.decode import Writers
from wrackline.producers.sources.postgres.discover import Catalogue, NotOurs, NotVisible
from wrackline.producers.sources.postgres.facts import TableFacts
from wrackline.producers.sources.postgres.messages import Relation
from wrackline.producers.sources.postgres.roll import Roll
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.table import TableSchema

CATALOGUE_BEHIND = define(
    "pg.catalogue_behind",
    Transient,
    "the log tells of {table} as the server does not show it, and {seconds:g} s did not change that",
    hint="a commit may be waiting for a standby, or somebody holds the table: SELECT pid, wait_event, query"
    " FROM pg_stat_activity WHERE wait_event = 'SyncRep' OR pid IN (SELECT pid FROM pg_locks"
    " WHERE mode = 'AccessExclusiveLock')",
)
LONG_S: Final = 1.0
TOO_LONG_S: Final = 10.0


class Announced:
    """The shapes of one stream."""

    def __init__(
        self, asking: Callable[[], AbstractContextManager[Catalogue]], roll: Roll, around: Surroundings
    ) -> None:
        self._asking, self._roll, self._around = asking, roll, around
        self._since: float | None = None  # when what is asked now was asked first

    def writers(self, relation: Relation, behind: int | None) -> Writers | None:
        """Return what a relation is written with; None where it is none of our tables."""
        now = self._around.monotonic()
        since = now if self._since is None else self._since
        said, exact = self._roll.facts(relation.oid)
        try:
            with self._asking() as catalogue:
                shape, facts = catalogue.shape_of(
                    relation,
                    said,
                    exact=exact,
                    long=now - since >= LONG_S,
                    behind=behind,
                )
        except NotVisible:
            self._since = since
            if now - since >= TOO_LONG_S:
                named = f"{relation.schema}.{relation.name}"
                raise CATALOGUE_BEHIND(table=named, seconds=TOO_LONG_S) from None
            raise
        except NotOurs:
            self._since = None
            return None
        self._since = None
        ids = self._around.register(shape.table)
        return Writers(shape, ids.key or 0, ids.value, facts)

    def told(self, facts: TableFacts) -> tuple[TableFacts, TableSchema | None] | None:
        """Return a table as a DDL message shows it, and what goes out; None where its rows are refused.

        None at all without our event trigger: somebody else has written the message.
        """
        with self._asking() as catalogue:
            if not catalogue.triggered():
                return None
            carried = catalogue.carried(facts)
            try:
                return carried, catalogue.projected(carried).table
            except OperatorNeeded:
                return carried, None

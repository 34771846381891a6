"""What a relation message announces, as soon as the catalogue can explain it; called by the decoder.

The log may be ahead of the catalogue, and nothing waits here: `NotVisible` stops the reading of the log until
the stream asks again.  After one second a lock that explains nothing no longer matters.  After ten seconds
the stream is opened again, because the meaning of the rows is then unknown.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import inf
from typing import Final

from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.kit.notice_throttle import NoticeThrottle
from wrackline.producers.sources.postgres.discover.discover import NotOurs, NotVisible, PgCatalogue
from wrackline.producers.sources.postgres.discover.facts import PgRegisteredShape, PgTableFacts
from wrackline.producers.sources.postgres.follow.table_tracker import PgTableTracker
from wrackline.producers.sources.postgres.rows.messages import Relation
from wrackline.schemas.errors import OperatorNeeded, Transient, define
from wrackline.schemas.tables.table import TableSchema

CATALOGUE_BEHIND = define(
    "pg.catalogue_behind",
    Transient,
    "the log describes {table} differently from the server's catalogue, and {seconds:g} s of waiting did"
    " not change that",
    hint="a commit may be waiting for a standby, or another session has locked the table: SELECT pid,"
    " wait_event, query FROM pg_stat_activity WHERE wait_event = 'SyncRep' OR pid IN (SELECT pid FROM"
    " pg_locks WHERE mode = 'AccessExclusiveLock')",
)
DDL_REFUSED = define(
    "pg.ddl_message_refused",
    OperatorNeeded,
    "messages with the prefix wrackline.ddl were ignored, {count} in all, because they do not carry the"
    " secret of our event trigger; schema changes are found by looking at the catalogue",
    hint="run wrackline check <pipeline.toml>: if the event trigger is an old one, it prints the SQL that"
    " installs the new one; if the trigger was installed again a moment ago, these messages are older, and"
    " nothing needs to be done; otherwise they are forged, and the check prints the SQL that lets only"
    " named roles write messages",
)
LONG_S: Final = 1.0
SECRET_HOLDS_S: Final = 1.0
TOO_LONG_S: Final = 10.0


class PgTableResolver:
    """The shapes of one stream."""

    def __init__(
        self,
        asking: Callable[[], AbstractContextManager[PgCatalogue]],
        roll: PgTableTracker,
        around: Surroundings,
    ) -> None:
        self._asking, self._roll, self._around = asking, roll, around
        self._since: float | None = None  # when the current question was first asked
        self._secret: bytes | None = None
        self._secret_until = -inf  # when it is read again
        self._refused = NoticeThrottle(around.now_ms, around.tell)

    def writers(self, relation: Relation, behind: int | None) -> PgRegisteredShape | None:
        """Return the shape and schema ids of a relation; None where it is not one of our tables."""
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
        return PgRegisteredShape(shape, ids.key or 0, ids.value, facts)

    def genuine(self, secret: bytes) -> bool:
        """Whether a DDL message with this secret is of our event trigger; others are counted and reported.

        The secret is read at most once a second, so that forged messages cost no more.  The secret of a
        trigger that was just installed again counts a second later; the catalogue shows the missed changes.
        """
        now = self._around.monotonic()
        if now >= self._secret_until:
            with self._asking() as catalogue:
                self._secret, self._secret_until = catalogue.secret(), now + SECRET_HOLDS_S
        if self._secret is not None and secret == self._secret:
            return True
        self._refused.tell(DDL_REFUSED)
        return False

    def revision(self, facts: PgTableFacts) -> tuple[PgTableFacts, TableSchema | None]:
        """Return a table as a DDL message shows it, and its published shape; None if its rows are refused."""
        with self._asking() as catalogue:
            carried = catalogue.carried(facts)
            try:
                return carried, catalogue.projected(carried).table
            except OperatorNeeded:
                return carried, None

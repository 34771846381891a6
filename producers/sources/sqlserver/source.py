"""A SQL Server as a source: a partition for each database of `database.names`.

In: the settings.  Out: a source.  Decides nothing: it passes each call to the database that it is about.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from math import inf
from typing import Final

from wrackline.producers.contract.assumptions import AssumptionReport
from wrackline.producers.contract.optional_parts import LogRecount, ServerObject, TableSize
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Position, Saved
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.kit.database_topics import shared_topics
from wrackline.producers.kit.lent_connection import UnusedConnections
from wrackline.producers.sources.sqlserver.chunks import log_end_survey
from wrackline.producers.sources.sqlserver.chunks.chunks import SqlServerReader
from wrackline.producers.sources.sqlserver.chunks.marks import SqlServerFence
from wrackline.producers.sources.sqlserver.database import SqlServerDatabase
from wrackline.producers.sources.sqlserver.poll.news_watch import REFUSED_S, NewsWatch
from wrackline.producers.sources.sqlserver.session.server import SqlServerConnector
from wrackline.producers.sources.sqlserver.session.shared_question import SharedQuestion
from wrackline.producers.sources.sqlserver.stream import SqlServerStream
from wrackline.producers.sources.sqlserver.trials import SqlServerTrials
from wrackline.producers.sources.sqlserver.wire.login import MASTER
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

NOT_NAMED = define(
    "sqlserver.database_not_named",
    OperatorNeeded,
    "database {database} is not one that the pipeline reads",
    hint="add it to database.names, or name one of: {names}",
)
READERS_UNSEEN = define(
    "sqlserver.readers_unseen",
    OperatorNeeded,
    "a SQL Server does not show who reads the change tables of {database}",
    hint="nothing to do: it is waited until the pipeline has written nothing for half a minute",
)
SAME_TOPICS = define(
    "sqlserver.databases_share_topics",
    OperatorNeeded,
    "tables of several databases would share a topic: {why}",
    hint="read each database in a pipeline of its own, with a topic.prefix of its own",
)
_TASK_BYTES: Final = 64 << 20  # that were read ahead, of all databases of a task
_DATABASE_BYTES: Final = 8 << 20
_SURVEY_S: Final = 5.0


class SqlServerSource:
    """Databases with valid settings."""

    def __init__(self, settings: Values, around: Surroundings) -> None:
        server, names = settings.text("topic.prefix"), settings.listed("database.names")
        if (why := shared_topics(names, naming_of(settings))) is not None:
            raise SAME_TOPICS(why=why)
        own = [name for name in names if around.share is None or name in around.share]
        share = min(_DATABASE_BYTES, _TASK_BYTES // max(len(own), 1))
        connector = SqlServerConnector(settings, MASTER)
        self._news = NewsWatch(
            connector.connect, settings.integer("poll.interval.ms") / 1000, around.monotonic
        )
        self._ends = SharedQuestion(connector.connect, log_end_survey.log_ends, around.monotonic)
        # a secondary is chosen by the database that is entered, so no connection can be asked about all
        self._surveys_from, self._clock = inf if connector.reads_only else -inf, around.monotonic
        news = None if len(own) == 1 or connector.reads_only else self._news
        self._unused = UnusedConnections()
        if connector.reads_only:
            self._keep_connections(len(own))
        self._databases = {
            SourcePartition(server, name): SqlServerDatabase(
                settings, around, name, share, news, self._unused
            )
            for name in own
        }

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the databases, in the order of their names in the settings."""
        return list(self._databases)

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """List the tables that change data capture and the filters capture."""
        return self._of(partition).tables()

    def left_out(self, partition: SourcePartition) -> Mapping[TableId, UncapturedReason]:
        """Say why each other table is left out."""
        return self._of(partition).left_out()

    def sizes(self, partition: SourcePartition) -> Mapping[TableId, TableSize]:
        """Return how many rows each table has."""
        return self._of(partition).sizes()

    def describe(self, partition: SourcePartition, table: TableId) -> TableSchema:
        """Return a table's current shape."""
        return self._of(partition).describe(table)

    def described(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, TableSchema | WracklineError]:
        """Return the current shapes of many tables."""
        return self._of(partition).described(tables)

    def unproven(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, Sequence[str]]:
        """Name the keys by message.key.columns that no unique index proves."""
        return self._of(partition).unproven(tables)

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> SqlServerStream:
        """Open a database's log after `saved`; a table's log is complete from its instance's start on."""
        return self._of(partition).stream(partition.server, tables, saved, aside)

    def reader(self, partition: SourcePartition) -> SqlServerReader:
        """Open a connection for chunks."""
        return self._of(partition).reader(partition.server)

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return the findings; change nothing."""
        return self._of(partition).check(tables)

    def assumptions(
        self, partition: SourcePartition, rest: Callable[[float], None] = time.sleep
    ) -> AssumptionReport:
        """Watch a database, and judge what the source relies on."""
        return self._of(partition).assumptions(rest)

    def trying(self, partition: SourcePartition) -> SqlServerTrials:
        """Return what can be tried in a database."""
        return self._of(partition).trying(partition.server)

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say for every copied column how far it is carried."""
        return self._of(partition).support(table)

    def log_end(self, partition: SourcePartition) -> SqlServerFence:
        """Mark a place above all that is committed."""
        return self._of(partition).log_end()

    @property
    def survey_s(self) -> float | None:
        """Seconds between two questions about all logs; None: one connection may not enter all databases.

        Each database is entered for it and its log written to, and a capture job reads a log no more often.
        """
        return _SURVEY_S if self._clock() >= self._surveys_from else None

    def log_ends(self) -> Mapping[SourcePartition, SqlServerFence]:
        """Mark the end of each log, in one round trip."""
        try:
            ends = self._ends.answers([one.database for one in self._databases])
        except OperatorNeeded:
            self._surveys_from = self._clock() + REFUSED_S  # as Azure does, or to a user of one database
            self._keep_connections(len(self._databases))
            raise
        return {
            one: SqlServerFence("end", ends[one.database]) for one in self._databases if one.database in ends
        }

    def log_states(self) -> Mapping[SourcePartition, None]:
        """Return nothing about each, as `log_state` does."""
        return dict.fromkeys(self._databases)

    def recount(self, partition: SourcePartition) -> LogRecount | None:
        """Say how many ranges of a database's log were counted again, and when."""
        return self._of(partition).recount()

    def beat(self, partition: SourcePartition) -> None:
        """Write a heartbeat."""
        self._of(partition).beat()

    def place(self, partition: SourcePartition, saved: Saved) -> str:
        """Write a position in a readable form."""
        return self._of(partition).place(saved)

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Raise unless the log still reaches back to this position."""
        self._of(partition).resumable(saved)

    def log_state(self, partition: SourcePartition, confirmed: Position | None = None) -> None:
        """Return nothing: the server keeps changes for a time, and no reader holds them back."""

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[ServerObject]:
        """Name the pipeline's objects in a database; we made none of them."""
        return self._of(partition).server_objects()

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Do nothing: we made no objects."""

    def log_reader(self, partition: SourcePartition) -> str | None:
        """Raise: a server shows a login only its own session."""
        raise READERS_UNSEEN(database=partition.database)

    def anew(self, partition: SourcePartition, saved: Saved | None, newest: Saved | None) -> Saved:
        """Put a position into an epoch of its own."""
        return self._of(partition).anew(saved, newest)

    def lost(self, partition: SourcePartition, error: WracklineError) -> bool:
        """Whether a database's log is another log, or lacks a part."""
        return self._of(partition).lost(error)

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        """Return an epoch of its own, which begins at the log's end."""
        return self._of(partition).anew(None, saved)

    def close(self) -> None:
        """End all databases' connections."""
        with ExitStack() as ends:
            ends.callback(self._ends.close)
            ends.callback(self._news.close)
            for database in self._databases.values():
                ends.callback(database.close)

    def _keep_connections(self, databases: int) -> None:
        """Keep one of each database: where one can't ask for all, each is asked again and again."""
        self._unused.most = max(self._unused.most, databases)

    def _of(self, partition: SourcePartition) -> SqlServerDatabase:
        if (found := self._databases.get(partition)) is None:
            names = ", ".join(one.database for one in self._databases)
            raise NOT_NAMED(database=partition.database, names=names)
        return found

"""Several databases of one server as one source: each is a `PgSource` of its own.

In: the settings, with `database.names`.  Out: a source with a partition for each name.  Decides nothing: it
passes each call to the database that it is about.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from typing import Final, TypeVar

from wrackline.producers.contract.optional_parts import LogState, ServerObject, TableSize
from wrackline.producers.contract.source_plugin import Surroundings
from wrackline.producers.contract.steps import Position, Saved
from wrackline.producers.contract.uncaptured import UncapturedReason
from wrackline.producers.kit.database_topics import shared_topics
from wrackline.producers.kit.lent_connection import UnusedConnections
from wrackline.producers.sources.postgres.chunks.chunks import PgReader
from wrackline.producers.sources.postgres.chunks.marks import PgFence
from wrackline.producers.sources.postgres.follow.sight import PgSight
from wrackline.producers.sources.postgres.source import PgSource
from wrackline.producers.sources.postgres.stream import PgStream
from wrackline.producers.sources.postgres.trials import PgTrials
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.language.findings import ColumnSupport, Finding
from wrackline.schemas.pipelines.publication_settings import naming_of
from wrackline.schemas.settings.settings_registry import Values
from wrackline.schemas.tables.table import SourcePartition, TableId, TableSchema

T = TypeVar("T")

_TRIES: Final = 3  # databases that are asked the same before it is an error

NOT_NAMED = define(
    "pg.database_not_named",
    OperatorNeeded,
    "database {database} is not one that the pipeline reads",
    hint="add it to database.names, or name one of: {names}",
)


SAME_TOPICS = define(
    "pg.databases_share_topics",
    OperatorNeeded,
    "tables of several databases would share a topic: {why}",
    hint="read each database in a pipeline of its own, with a topic.prefix of its own",
)


class PgDatabases:
    """Databases with valid settings."""

    def __init__(self, settings: Values, around: Surroundings) -> None:
        names = settings.listed("database.names")
        if (why := shared_topics(names, naming_of(settings))) is not None:
            raise SAME_TOPICS(why=why)
        own = [name for name in names if around.share is None or name in around.share]
        sight, unused = PgSight(around.monotonic), UnusedConnections()
        made = [PgSource(settings.replaced({"database.dbname": name}), around, sight, unused) for name in own]
        self._next = 0  # the database to ask about what concerns all
        self._opened: set[SourcePartition] = set()  # whose log was opened: the others may refuse us
        self._sources = {partition: source for source in made for partition in source.partitions()}

    def partitions(self) -> Sequence[SourcePartition]:
        """Return the databases, in the order of their names in the settings."""
        return list(self._sources)

    def tables(self, partition: SourcePartition) -> Sequence[TableId]:
        """List a database's tables that the role can read and the filters capture."""
        return self._of(partition).tables(partition)

    def left_out(self, partition: SourcePartition) -> Mapping[TableId, UncapturedReason]:
        """Say why each uncaptured table is left out."""
        return self._of(partition).left_out(partition)

    def sizes(self, partition: SourcePartition) -> Mapping[TableId, TableSize]:
        """Return the catalogue's estimates."""
        return self._of(partition).sizes(partition)

    def describe(self, partition: SourcePartition, table: TableId) -> TableSchema:
        """Return a table's current shape."""
        return self._of(partition).describe(partition, table)

    def described(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, TableSchema | WracklineError]:
        """Return the current shapes of many tables."""
        return self._of(partition).described(partition, tables)

    def unproven(
        self, partition: SourcePartition, tables: Collection[TableId]
    ) -> Mapping[TableId, Sequence[str]]:
        """Name the keys by message.key.columns that no unique index proves."""
        return self._of(partition).unproven(partition, tables)

    def absent(self, partition: SourcePartition, tables: Collection[TableId]) -> Collection[TableId]:
        """Name the tables that were dropped or renamed."""
        return self._of(partition).absent(partition, tables)

    def stream(
        self,
        partition: SourcePartition,
        tables: Sequence[TableId],
        saved: Saved | None,
        aside: Collection[TableId] = (),
        fresh: Collection[TableId] = (),
    ) -> PgStream:
        """Open a database's log after `saved`."""
        opened = self._of(partition).stream(partition, tables, saved, aside, fresh)
        self._opened.add(partition)
        return opened

    def reader(self, partition: SourcePartition) -> PgReader:
        """Open a connection for chunks."""
        return self._of(partition).reader(partition)

    def check(self, partition: SourcePartition, tables: Sequence[TableId]) -> Sequence[Finding]:
        """Return the findings; change nothing."""
        return self._of(partition).check(partition, tables)

    def support(self, partition: SourcePartition, table: TableId) -> Sequence[ColumnSupport]:
        """Say for every copied column how far it is carried."""
        return self._of(partition).support(partition, table)

    def trying(self, partition: SourcePartition) -> PgTrials:
        """Return what can be tried."""
        return self._of(partition).trying(partition)

    def log_state(self, partition: SourcePartition, confirmed: Position | None = None) -> LogState | None:
        """Look at a database's slot."""
        return self._of(partition).log_state(partition, confirmed)

    def log_end(self, partition: SourcePartition) -> PgFence:
        """Mark the end of what is written."""
        return self._of(partition).log_end(partition)

    @property
    def survey_s(self) -> float:
        """Seconds between two questions about all logs: one database answers for all."""
        return 1.0

    def log_ends(self) -> Mapping[SourcePartition, PgFence]:
        """Mark the end of what is written: the server has one log for all of its databases."""
        partition, *_ = self._sources
        return dict.fromkeys(self._sources, self._ask_any(lambda one: one.log_end(partition)))

    def log_states(self) -> Mapping[SourcePartition, LogState | None]:
        """Look at all slots: each database shows those of all."""
        slots = {partition: source.slot for partition, source in self._sources.items()}
        states = self._ask_any(lambda one: one.states_of_slots(list(slots.values())))
        return {partition: states.get(slot) for partition, slot in slots.items()}

    def beat(self, partition: SourcePartition) -> None:
        """Write a heartbeat into the log."""
        self._of(partition).beat(partition)

    def place(self, partition: SourcePartition, saved: Saved) -> str:
        """Write a position in a readable form."""
        return self._of(partition).place(partition, saved)

    def resumable(self, partition: SourcePartition, saved: Saved) -> None:
        """Raise unless the log still reaches back to this position."""
        self._of(partition).resumable(partition, saved)

    def anew(self, partition: SourcePartition, saved: Saved | None, newest: Saved | None) -> Saved:
        """Put a position into an epoch of its own."""
        return self._of(partition).anew(partition, saved, newest)

    def refuse_anothers(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Raise if the slot is known to be another pipeline's."""
        self._of(partition).refuse_anothers(partition, saved)

    def lost(self, partition: SourcePartition, error: WracklineError) -> bool:
        """Whether the log is another log, or lacks a part."""
        return self._of(partition).lost(partition, error)

    def renewed(self, partition: SourcePartition, saved: Saved, error: WracklineError) -> Saved:
        """Give up a slot that is useless; return an epoch of its own."""
        return self._of(partition).renewed(partition, saved, error)

    def kept(self, partition: SourcePartition, saved: Saved | None) -> Sequence[ServerObject]:
        """Look at the slot and the publication."""
        return self._of(partition).kept(partition, saved)

    def remove(self, partition: SourcePartition, saved: Saved | None) -> None:
        """Drop the objects that are this pipeline's own."""
        self._of(partition).remove(partition, saved)

    def close(self) -> None:
        """Close all of them."""
        with ExitStack() as ends:
            for source in self._sources.values():
                ends.callback(source.close)

    def _ask_any(self, ask: Callable[[PgSource], T], tries: int = _TRIES) -> T:
        """Ask a database, first the one that has answered before; after some errors, raise the last."""
        sources = self._answering()
        try:
            return ask(sources[self._next % len(sources)])
        except WracklineError:
            self._next += 1
            if tries == 1 or len(sources) == 1:
                raise
        return self._ask_any(ask, tries - 1)

    def _answering(self) -> Sequence[PgSource]:
        """Return the databases that have answered once; all of them before the first one has."""
        opened = [source for one, source in self._sources.items() if one in self._opened]
        return opened or list(self._sources.values())

    def _of(self, partition: SourcePartition) -> PgSource:
        source = self._sources.get(partition)
        if source is None:
            names = ", ".join(known.database for known in self._sources)
            raise NOT_NAMED(database=partition.database, names=names)
        return source

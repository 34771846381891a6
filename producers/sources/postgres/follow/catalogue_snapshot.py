"""Takes a picture of the catalogue, and adds the tables that it shows as missing to a publication of ours.

    one look:  what transactions see  ->  locks  ->  names of all tables
               ->  columns of captured tables that have changed  ->  the publication, tables added to it
               ->  the place in the log that holds all of this

Each look is a few short statements on a connection of its own; a table whose digest has not changed is not
read again.  The locks come first: a table that was being altered then is left out, because later statements
may show it as older than the log does.  While no transaction has ended on the whole server, there is nothing
to look at: the catalogue is as the last picture shows it.
"""

from collections import Counter
from collections.abc import Callable, Container
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from wrackline.producers.kit.log_reports import ReportMoment
from wrackline.producers.sources.postgres.connect.connect import Connection
from wrackline.producers.sources.postgres.discover.discover import AT_ONCE, LOGGED, READABLE, PgCatalogue
from wrackline.producers.sources.postgres.discover.facts import (
    PgCatalogueSnapshot,
    PgSnapshotEntry,
    PgTableFacts,
)
from wrackline.producers.sources.postgres.follow import publication, publication_fit
from wrackline.producers.sources.postgres.follow.sight import PgSight
from wrackline.producers.sources.postgres.log.slot import log_end
from wrackline.schemas.errors import OperatorNeeded, Transient, WracklineError, define
from wrackline.schemas.tables.table import TableId, TableSchema

CATALOGUE_UNSEEN = define(
    "pg.catalogue_unseen",
    Transient,
    "Wrackline could not look for new and dropped tables: {reason}",
    hint="it is retried automatically, on a new connection; see the server's log",
)

_LOOKS_FOR_A_KEY = 6  # a restored dump creates its keys last

_TABLES = f"""
SELECT c.oid, n.nspname::text, c.relname::text, {READABLE}
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND {LOGGED}
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\\_toast%'"""  # noqa: S608 texts of our own
_THERE = "SELECT oid FROM pg_class WHERE oid = ANY (%s)"
# One text for each table that differs as soon as its `PgTableFacts` do; its last part says which generated
# columns the log carries.
_DIGESTS = """
SELECT c.oid, md5(concat_ws('|', c.relname, c.relnamespace, c.relfilenode,
  (SELECT string_agg(concat_ws(',', i.indexrelid, i.indisprimary, i.indisvalid, i.indisreplident,
                               i.indimmediate), ';' ORDER BY i.indexrelid)
   FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique),
  (SELECT string_agg(concat_ws(',', a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull,
                               a.attisdropped, a.attidentity, a.attgenerated, a.atthasmissing,
                               md5(d.adbin::text)), ';' ORDER BY a.attnum)
   FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE a.attrelid = c.oid AND a.attnum > 0),
  (SELECT concat_ws(',', to_jsonb(p) ->> 'pubgencols', to_jsonb(r) ->> 'prattrs')
   FROM pg_publication p LEFT JOIN pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = c.oid
   WHERE p.pubname = %s)))
FROM pg_class c WHERE c.oid = ANY (%s)"""
# A commit that is visible and not flushed is not sent yet; a commit of our own flushes it too.
_PUSH = """
SELECT pg_logical_emit_message(true, 'wrackline.push', '')
WHERE pg_current_wal_flush_lsn() < pg_current_wal_insert_lsn()"""


class _SeenTable(NamedTuple):
    digest: str
    facts: PgTableFacts | None
    shape: TableSchema | None


@dataclass(slots=True)
class PgCatalogueReader:
    """Looks repeatedly, on connections that it opens and the caller closes."""

    connect: Callable[[], Connection]
    catalogue_over: Callable[[Connection], PgCatalogue]
    captures: Callable[[TableId], bool]
    name: str  # of the publication
    ours: bool  # it is a list that we may add to
    sight: PgSight = field(default_factory=PgSight)
    pushes: bool = True  # it may write to the log, so that the log reaches a picture sooner
    added: set[TableId] = field(default_factory=set)  # and not handed over yet
    _connection: Connection | None = None
    _catalogue: PgCatalogue | None = None
    _seen: dict[int, _SeenTable] = field(default_factory=dict)
    _names: frozenset[tuple[int, TableId]] = frozenset()
    _keyless: Counter[int] = field(default_factory=Counter)
    _settled: tuple[str, int] | None = None  # what the last picture was taken of, if nothing was under way
    _shown: tuple[str, int] | None = None  # the same of the picture that the caller has

    def look(self, begun: ReportMoment) -> PgCatalogueSnapshot | None:
        """Take a picture, unless it would be the one before; `begun` is how many reports the log has made."""
        if self._connection is None or self._connection.closed:
            self._connection = self.connect()
            self._catalogue = self.catalogue_over(self._connection)
        connection, catalogue = self._connection, self._catalogue
        assert catalogue is not None  # noqa: S101 - made with the connection, only for the type
        view = self.sight.of(connection)
        if view is not None and self._shown == (view, begun.news):
            return None
        self._shown = None
        unsettled = catalogue.altering()
        entries = self._tables(connection)
        dropped = self._dropped(connection, entries)
        captured = [oid for oid, one in entries.items() if one.readable and self.captures(one.table)]
        news = self._compare(connection, catalogue, {oid: entries[oid].table for oid in captured})
        carried = publication_fit.publication_scope(connection, self.name)
        busy: set[int] = set()
        for oid in captured:
            seen = self._seen[oid]
            entry = replace(entries[oid], facts=seen.facts, shape=seen.shape)
            if not carried.everything and entry.table not in carried.tables:
                refused = self._add(connection, oid, entry.table)
                if isinstance(refused, publication.Busy):
                    busy.add(oid)
                elif refused is not None:
                    entry = replace(entry, refused=refused)
            entries[oid] = replace(entry, added=entry.table in self.added)
        if self.pushes and (news or busy or self.added):
            self._push(connection)
        unsettled |= busy
        self._settled = None if view is None or unsettled or self.added else (view, begun.news)
        return PgCatalogueSnapshot(begun.number, log_end(connection), entries, unsettled, carried, dropped)

    def handed_over(self, picture: PgCatalogueSnapshot) -> None:
        """Note that the caller has the picture, and with it the added tables."""
        self._shown = self._settled
        self.added.difference_update(one.table for one in picture.entries.values() if one.added)

    def close(self) -> None:
        """End the connection; the next one may be to another server."""
        self._shown = None
        if self._connection is not None:
            self._connection.close()

    def _tables(self, connection: Connection) -> dict[int, PgSnapshotEntry]:
        database = connection.info.dbname
        return {
            int(str(oid)): PgSnapshotEntry(TableId(database, str(schema), str(name)), bool(readable))
            for oid, schema, name, readable in connection.execute(_TABLES)
        }

    def _dropped(self, connection: Connection, entries: Container[int]) -> frozenset[int]:
        """Return tables of the last look that exist no more: others may be partitions now, or unlogged."""
        missing = [oid for oid, _ in self._names if oid not in entries]
        there = connection.execute(_THERE, [missing]) if missing else ()
        return frozenset(missing) - {int(str(oid)) for (oid,) in there}

    def _compare(self, connection: Connection, catalogue: PgCatalogue, tables: dict[int, TableId]) -> bool:
        """Read the tables that have changed; return whether there is any change."""
        rows = connection.execute(_DIGESTS, [self.name, list(tables)])
        digests = {int(str(oid)): str(digest) for oid, digest in rows}
        names = frozenset(tables.items())
        news, self._names = names != self._names, names
        seen = {oid: self._seen[oid] for oid in tables if oid in self._seen}
        others = [oid for oid in tables if oid not in seen or seen[oid].digest != digests.get(oid, "")]
        for first in range(0, len(others), AT_ONCE):
            some = {oid: tables[oid] for oid in others[first : first + AT_ONCE]}
            for oid, facts in catalogue.facts_of(some).items():
                known = facts if facts.columns else None
                seen[oid] = _SeenTable(digests.get(oid, ""), known, _shape(catalogue, facts))
        self._seen = seen
        return news or bool(others)

    def _add(
        self, connection: Connection, oid: int, table: TableId
    ) -> publication.Busy | WracklineError | None:
        if not self.ours:
            return publication_fit.lacks(self.name, [table])
        answer = publication.add(connection, self.name, table)
        if answer is None:
            self.added.add(table)
        elif answer is publication.Busy.WITHOUT_IDENTITY:
            self._keyless[oid] += 1
            if self._keyless[oid] >= _LOOKS_FOR_A_KEY:
                return publication.would_block(table)
        return answer

    def _push(self, connection: Connection) -> None:
        ((standby,),) = connection.execute("SELECT pg_is_in_recovery()")
        if not standby:
            connection.execute(_PUSH)


def _shape(catalogue: PgCatalogue, facts: PgTableFacts) -> TableSchema | None:
    """Return the shape that would be published; None if the rules or a type forbid it: its rows report it."""
    if not facts.columns:
        return None
    try:
        return catalogue.projected(facts).table
    except OperatorNeeded:
        return None

"""Which tables there are at this place of the log: from three sources, each change reported once.  Pure.

    relation messages     a table's name and columns, exactly where they take effect
    DDL messages          the same for each DDL, where the event trigger is installed
    pictures              the whole catalogue, some time later; held back until the log has passed them

A table is identified by its oid; its name and columns can change.  A picture may be older than what the log
reported while it was taken: each report is counted, a picture knows how many there were when it began, and
later reports win.  The first picture is the baseline: tables that it shows and that the caller listed are
not news.  Before it, in the log from before this start, only the log counts.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from wrackline.producers.contract.steps import Fault, Reshaped, Step
from wrackline.producers.kit.known_tables import KnownTable, KnownTables
from wrackline.producers.kit.log_reports import LogReports
from wrackline.producers.sources.postgres.connect.quoting import rename
from wrackline.producers.sources.postgres.discover.facts import (
    PgCatalogueSnapshot,
    PgPublicationScope,
    PgSnapshotEntry,
    PgTableFacts,
    ShapeChange,
    differs,
    reasons,
)
from wrackline.schemas.tables.table import TableId, TableSchema

MOST_HEARD: Final = 1000  # tables without a known name: a program may create thousands of temporary tables


@dataclass(slots=True)
class _PgFactsSoFar:
    logged: PgTableFacts | None = None
    pictured: PgTableFacts | None = None
    exact: bool = False  # `pictured` is what a DDL message said
    done: set[ShapeChange] = field(default_factory=set)  # the rows were requested because of these


_PgKnownTable: TypeAlias = KnownTable[_PgFactsSoFar]


class PgTableTracker:
    """The tables of one stream."""

    def __init__(self, captures: Callable[[TableId], bool], listed: Collection[TableId] = ()) -> None:
        """Take which names are captured, and the tables that the caller knows."""
        self._listed = frozenset(listed)
        self.reports = LogReports()
        self.tables = KnownTables[int, _PgFactsSoFar](captures, self.reports, rename=rename)
        self._settled = False
        self._published = PgPublicationScope()
        self._heard: dict[int, PgTableFacts] = {}  # DDL of tables whose names are not known yet

    def facts(self, oid: int) -> tuple[PgTableFacts | None, bool]:
        """Return the last known facts of a table, and whether they hold exactly here."""
        known, heard = self.tables.by_key.get(oid), self._heard.get(oid)
        if heard is not None:
            return heard, True
        return (None, False) if known is None else (_newest(known), known.facts.exact)

    def named(self, oid: int, table: TableId, *, captured: bool, shape: TableSchema | None) -> list[Step]:
        """Take a table's name from here on, from the log; the caller says whether it is captured."""
        self.reports.add(oid)
        known = self.tables.by_key.get(oid)
        steps: list[Step] = [*self.tables.release_name(oid, table)]
        if known is None:
            heard = self._heard.pop(oid, None)
            facts = _PgFactsSoFar(pictured=heard, exact=heard is not None)
            known = KnownTable(table, facts, captured, is_reported=self._settled)
            self.tables.by_key[oid] = known
            if captured and self._settled:
                whole = self._published.whole(table)
                steps.append(self.tables.appear(known, table, shape, complete=whole))
        else:
            steps += self.tables.move(known, table, shape, captured=captured)
        if steps:
            self.reports.wake()
        return steps

    def logged(self, facts: PgTableFacts, shape: TableSchema) -> list[Step]:
        """Take the columns of a captured table from the log, after `named`."""
        known = self.tables.by_key[facts.oid]
        before, known.facts.logged = known.facts.logged or known.facts.pictured, facts
        return _refresh(known, before, facts, shape)

    def altered(self, facts: PgTableFacts, shape: TableSchema | None) -> list[Step]:
        """Take a table from a DDL message; an unknown table is left to the log and the catalogue."""
        self.reports.add()
        self.reports.wake()
        known = self.tables.by_key.get(facts.oid)
        if known is None or known.table is None:
            self._hear(facts)
            return []
        captured = known.captured and self.tables.captures(facts.table)
        steps = self.named(facts.oid, facts.table, captured=captured, shape=shape)
        before, known.facts.pictured, known.facts.exact = _newest(known), facts, True
        return [*steps, *_reshaped(known, before, facts, shape)]

    def _hear(self, facts: PgTableFacts) -> None:
        """Keep the newest facts of unknown tables; the catalogue shows the others."""
        self._heard.pop(facts.oid, None)
        self._heard[facts.oid] = facts
        if len(self._heard) > MOST_HEARD:
            del self._heard[next(iter(self._heard))]

    def picture(self, picture: PgCatalogueSnapshot) -> list[Step]:
        """Take a picture that the log has passed."""
        first, self._settled = not self._settled, True
        self._published = picture.published
        self.reports.take_snapshot()
        steps: list[Step] = []
        for oid in self.tables.missing(picture, picture.entries):
            steps += self.tables.remove(oid, dropped=oid in picture.dropped)
        names = {oid: entry.table for oid, entry in picture.entries.items()}
        for oid in self.tables.in_order(self.tables.current_names(picture, names)):
            steps += self._look(oid, picture.entries[oid], first=first)
        for oid, entry in picture.entries.items():
            steps += self._publication(self.tables.by_key.get(oid), entry, picture)
        self.reports.forget(picture)
        return steps

    def _look(self, oid: int, entry: PgSnapshotEntry, *, first: bool) -> Iterator[Step]:
        known = self.tables.by_key.get(oid)
        if known is None:
            yield from self._meet(oid, entry, first=first)
            known = self.tables.by_key[oid]
        else:
            yield from self.tables.release_name(oid, entry.table)  # still held where tables exchanged names
            captured = (entry.readable or known.captured) and self.tables.captures(entry.table)
            yield from self.tables.move(known, entry.table, entry.shape, captured=captured)
        if entry.facts is not None:
            if not known.is_reported:
                yield from self.tables.find(known, entry.shape, entry.facts.filled)
            before, known.facts.pictured, known.facts.exact = _newest(known), entry.facts, False
            yield from _reshaped(known, before, entry.facts, entry.shape)

    def _meet(self, oid: int, entry: PgSnapshotEntry, *, first: bool) -> Iterator[Step]:
        """Take a table that neither the log nor an earlier picture has shown."""
        captured = entry.readable and self.tables.captures(entry.table)
        listed = captured and first and entry.table in self._listed
        known = KnownTable(entry.table, _PgFactsSoFar(pictured=entry.facts), captured, is_reported=not listed)
        self.tables.by_key[oid] = known
        self._heard.pop(oid, None)
        if captured and entry.refused is not None:
            known.captured = False
            yield Fault(entry.table, entry.refused)
        elif captured and not listed:
            complete = not first and self._published.whole(entry.table)
            yield self.tables.appear(known, entry.table, entry.shape, complete=complete)

    def _publication(
        self, known: _PgKnownTable | None, entry: PgSnapshotEntry, picture: PgCatalogueSnapshot
    ) -> Iterator[Step]:
        """Report a table whose older rows are not in the log, or that can't be published."""
        if known is None or not known.captured:
            return
        if entry.refused is not None:
            known.captured = False
            yield Fault(entry.table, entry.refused)
        elif entry.added and known.last_request <= picture.begun:
            yield self.tables.appear(known, entry.table, entry.shape, complete=False)


def _newest(known: _PgKnownTable) -> PgTableFacts | None:
    return known.facts.pictured or known.facts.logged


def _reshaped(
    known: _PgKnownTable, before: PgTableFacts | None, after: PgTableFacts, shape: TableSchema | None
) -> list[Step]:
    """Report also an alteration that needs nothing: the log may not show it for a long time."""
    if before is after:  # most of thousands of tables are the same as in the last picture
        return []
    steps = _refresh(known, before, after, shape)
    if not steps and known.captured and before is not None and differs(before, after):
        return [Reshaped(after.table, False, shape, after.filled)]
    return steps


def _refresh(
    known: _PgKnownTable, before: PgTableFacts | None, after: PgTableFacts, shape: TableSchema | None
) -> list[Step]:
    found = frozenset() if before is None else reasons(before, after) - known.facts.done
    known.facts.done |= found
    return [Reshaped(after.table, True, shape, after.filled)] if found and known.captured else []

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
from typing import Final

from wrackline.producers.contract.steps import Appeared, Fault, Found, Renamed, Reshaped, Step, Vanished
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
class _PgKnownTable:
    table: TableId | None  # None: another table has its name now, and its new name is unknown
    captured: bool
    told: int  # the number of the log's last report; 0: only pictures show it
    appeared: int = 0  # when its rows were last requested
    logged: PgTableFacts | None = None
    pictured: PgTableFacts | None = None
    exact: bool = False  # `pictured` is what a DDL message said
    found: bool = True  # false: seen in the log before the first picture, and in no picture yet
    done: set[ShapeChange] = field(default_factory=set)  # the rows were requested because of these


class PgTableTracker:
    """The tables of one stream."""

    def __init__(self, captures: Callable[[TableId], bool], listed: Collection[TableId] = ()) -> None:
        """Take which names are captured, and the tables that the caller knows."""
        self._captures = captures
        self._listed = frozenset(listed)
        self.aside: set[TableId] = set()  # changes of these tables are no longer handed out
        self._tables: dict[int, _PgKnownTable] = {}
        self._settled = False
        self._published = PgPublicationScope()
        self._heard: dict[int, PgTableFacts] = {}  # DDL of tables whose names are not known yet
        self._told = self._stirs = 0

    @property
    def stirs(self) -> int:
        """How often the log reported something that the catalogue may explain; any thread may ask."""
        return self._stirs

    @property
    def told(self) -> int:
        """How many reports the log has made; any thread may ask."""
        return self._told

    def captures(self, table: TableId) -> bool:
        """Whether a table of this name is captured."""
        return table not in self.aside and self._captures(table)

    def facts(self, oid: int) -> tuple[PgTableFacts | None, bool]:
        """Return the last known facts of a table, and whether they hold exactly here."""
        known, heard = self._tables.get(oid), self._heard.get(oid)
        if heard is not None:
            return heard, True
        return (None, False) if known is None else (known.pictured or known.logged, known.exact)

    def named(self, oid: int, table: TableId, *, captured: bool, shape: TableSchema | None) -> list[Step]:
        """Take a table's name from here on, from the log; the caller says whether it is captured."""
        self._told += 1
        known = self._tables.get(oid)
        steps = self._cleared(oid, table) if known is None or known.table != table else []
        if known is None:
            known = self._tables[oid] = _PgKnownTable(table, captured, self._told, found=self._settled)
            known.pictured = self._heard.pop(oid, None)
            known.exact = known.pictured is not None
            if captured and self._settled:
                steps.append(self._appears(known, table, shape, complete=self._published.whole(table)))
        else:
            known.told = self._told
            steps += self._moved(known, table, captured=captured, shape=shape)
        self._stirs += bool(steps)
        return steps

    def logged(self, facts: PgTableFacts, shape: TableSchema) -> list[Step]:
        """Take the columns of a captured table from the log, after `named`."""
        known = self._tables[facts.oid]
        before, known.logged = known.logged or known.pictured, facts
        return self._refresh(known, before, facts, shape)

    def altered(self, facts: PgTableFacts, shape: TableSchema | None) -> list[Step]:
        """Take a table from a DDL message; an unknown table is left to the log and the catalogue."""
        self._told += 1
        self._stirs += 1
        known = self._tables.get(facts.oid)
        if known is None or known.table is None:
            self._hear(facts)
            return []
        captured = known.captured and self.captures(facts.table)
        steps = self.named(facts.oid, facts.table, captured=captured, shape=shape)
        before, known.pictured, known.exact = known.pictured or known.logged, facts, True
        return [*steps, *self._reshaped(known, before, facts, shape)]

    def _hear(self, facts: PgTableFacts) -> None:
        """Keep the newest facts of unknown tables; the catalogue shows the others."""
        self._heard.pop(facts.oid, None)
        self._heard[facts.oid] = facts
        if len(self._heard) > MOST_HEARD:
            del self._heard[next(iter(self._heard))]

    def stir(self) -> None:
        """Note that the log reported something that only the catalogue explains."""
        self._stirs += 1

    def picture(self, picture: PgCatalogueSnapshot) -> list[Step]:
        """Take a picture that the log has passed."""
        first, self._settled = not self._settled, True
        self._published = picture.published
        self._told += 1
        steps = list(self._gone(picture))
        settled = {
            oid: entry
            for oid, entry in picture.entries.items()
            if oid not in picture.unsettled and self._is_older(oid, picture)
        }
        for oid in self._in_order(settled):
            steps += self._look(oid, settled[oid], first=first)
        for oid, entry in picture.entries.items():
            steps += self._publication(self._tables.get(oid), entry, picture)
        return steps

    def _look(self, oid: int, entry: PgSnapshotEntry, *, first: bool) -> Iterator[Step]:
        known = self._tables.get(oid)
        if known is None:
            captured = entry.readable and self.captures(entry.table)
            known = self._tables[oid] = _PgKnownTable(entry.table, captured, 0, pictured=entry.facts)
            self._heard.pop(oid, None)
            if not captured:
                return
            if entry.refused is not None:
                known.captured = False
                yield Fault(entry.table, entry.refused)
            elif not (first and entry.table in self._listed):
                complete = not first and self._published.whole(entry.table)
                yield self._appears(known, entry.table, entry.shape, complete=complete)
            elif entry.facts is not None and entry.shape is not None:
                yield Found(entry.shape, entry.facts.filled)
            return
        captured = (entry.readable or known.captured) and self.captures(entry.table)
        yield from self._moved(known, entry.table, captured=captured, shape=entry.shape)
        if not known.found and captured and entry.facts is not None and entry.shape is not None:
            known.found = True
            yield Found(entry.shape, entry.facts.filled)
        if entry.facts is not None:
            before = known.pictured or known.logged
            known.pictured, known.exact = entry.facts, False
            yield from self._reshaped(known, before, entry.facts, entry.shape)

    def _publication(
        self, known: _PgKnownTable | None, entry: PgSnapshotEntry, picture: PgCatalogueSnapshot
    ) -> Iterator[Step]:
        """Report a table whose older rows are not in the log, or that can't be published."""
        if known is None or not known.captured:
            return
        if entry.refused is not None:
            known.captured = False
            yield Fault(entry.table, entry.refused)
        elif entry.added and known.appeared <= picture.begun:
            yield self._appears(known, entry.table, entry.shape, complete=False)

    def _gone(self, picture: PgCatalogueSnapshot) -> Iterator[Step]:
        for oid, known in list(self._tables.items()):
            if oid in picture.entries or oid in picture.unsettled or known.told > picture.begun:
                continue
            del self._tables[oid]
            if known.captured and known.table is not None:
                yield Vanished(known.table)

    def _cleared(self, oid: int, table: TableId) -> list[Step]:
        """Take a name from the table that had it: it is dropped or renamed, as later reports show."""
        steps: list[Step] = []
        for other, known in self._tables.items():
            if other != oid and known.table == table:
                if known.captured:
                    steps.append(Vanished(table))
                known.table, known.captured = None, False
        return steps

    def _moved(
        self, known: _PgKnownTable, table: TableId, *, captured: bool, shape: TableSchema | None
    ) -> list[Step]:
        old, was = known.table, known.captured
        known.table, known.captured = table, captured
        if captured and not was:
            return [self._appears(known, table, shape, complete=False)]
        if was and old is not None and not captured:
            return [] if old == table and old in self.aside else [Vanished(old)]
        if was and old is not None and old != table:
            known.appeared = self._told
            return [Renamed(old, table, shape, rename(old, table))]
        return []

    def _appears(
        self, known: _PgKnownTable, table: TableId, shape: TableSchema | None, *, complete: bool
    ) -> Appeared:
        known.appeared = self._told
        return Appeared(table, complete, shape)

    def _reshaped(
        self,
        known: _PgKnownTable,
        before: PgTableFacts | None,
        after: PgTableFacts,
        shape: TableSchema | None,
    ) -> list[Step]:
        """Report also an alteration that needs nothing: the log may not show it for a long time."""
        if before is after:  # most of thousands of tables are the same as in the last picture
            return []
        steps = self._refresh(known, before, after, shape)
        if not steps and known.captured and before is not None and differs(before, after):
            return [Reshaped(after.table, False, shape, after.filled)]
        return steps

    def _refresh(
        self,
        known: _PgKnownTable,
        before: PgTableFacts | None,
        after: PgTableFacts,
        shape: TableSchema | None,
    ) -> list[Step]:
        found = frozenset() if before is None else reasons(before, after) - known.done
        known.done |= found
        return [Reshaped(after.table, True, shape, after.filled)] if found and known.captured else []

    def _is_older(self, oid: int, picture: PgCatalogueSnapshot) -> bool:
        known = self._tables.get(oid)
        return known is None or known.told <= picture.begun

    def _in_order(self, entries: dict[int, PgSnapshotEntry]) -> list[int]:
        """Let a table leave its name before another one takes it."""
        names = {
            known.table: oid
            for oid, known in self._tables.items()
            if oid in entries and entries[oid].table != known.table
        }
        made: dict[int, None] = {}
        for oid in entries:
            chain = [oid]
            while (holder := names.get(entries[chain[-1]].table)) is not None and holder not in chain:
                chain.append(holder)
            made.update(dict.fromkeys(reversed(chain)))
        return list(made)

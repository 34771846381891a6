"""Which tables there are as far as the log has come: told by three voices, each change said once.  Pure.

    relation messages     a table's name and columns, exactly where they begin to hold
    DDL messages          the same for each DDL, where the event trigger is installed
    pictures              the whole catalogue, some time after; held back until the log has passed them

A table is its oid; names and columns are what it has at the moment.  A picture may be older than what
the log told while it was taken: each telling is counted, a picture knows how many there were when it
began, and what was told later stands.  The first picture is the ground: what it shows and the
caller listed is no news.  Before it, in the log of a time when nobody looked, only the log speaks.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from wrackline.producers.changes import Appeared, Fault, Found, Renamed, Reshaped, Step, Vanished
from wrackline.producers.sources.postgres.facts import (
    Entry,
    Picture,
    Published,
    Reason,
    TableFacts,
    differs,
    reasons,
)
from wrackline.producers.sources.postgres.names import rename
from wrackline.schemas.table import TableId, TableSchema


@dataclass(slots=True)
class _Known:
    table: TableId | None  # None: it gave its name to another, and its new one is not known
    captured: bool
    told: int  # by the log; 0: by pictures alone
    appeared: int = 0  # when its rows were last asked for
    logged: TableFacts | None = None
    pictured: TableFacts | None = None
    exact: bool = False  # `pictured` is what a DDL message said
    found: bool = True  # false: met in the log before the first picture, and in no picture yet
    done: set[Reason] = field(default_factory=set)  # the rows were asked for because of these


class Roll:
    """The tables of one stream."""

    def __init__(self, captures: Callable[[TableId], bool], listed: Collection[TableId] = ()) -> None:
        """Take which names are captured, and the tables that the caller knows of."""
        self._captures = captures
        self._listed = frozenset(listed)
        self.aside: set[TableId] = set()  # no change of these is handed out any more
        self._tables: dict[int, _Known] = {}
        self._settled = False
        self._published = Published()
        self._heard: dict[int, TableFacts] = {}  # DDL of tables whose names we have not met yet
        self._told = self._stirs = 0

    @property
    def stirs(self) -> int:
        """How often the log told of something that the catalogue may say more about; for any thread."""
        return self._stirs

    @property
    def told(self) -> int:
        """How often the log has told something; any thread may ask."""
        return self._told

    def captures(self, table: TableId) -> bool:
        """Whether a table of this name is captured."""
        return table not in self.aside and self._captures(table)

    def facts(self, oid: int) -> tuple[TableFacts | None, bool]:
        """Return what we last heard of a table, and whether it holds exactly here."""
        known, heard = self._tables.get(oid), self._heard.get(oid)
        if heard is not None:
            return heard, True
        return (None, False) if known is None else (known.pictured or known.logged, known.exact)

    def named(self, oid: int, table: TableId, *, captured: bool, shape: TableSchema | None) -> list[Step]:
        """The log says what a table is called from here on, and we say whether it is captured so."""
        self._told += 1
        known = self._tables.get(oid)
        steps = self._cleared(oid, table) if known is None or known.table != table else []
        if known is None:
            known = self._tables[oid] = _Known(table, captured, self._told, found=self._settled)
            known.pictured = self._heard.pop(oid, None)
            known.exact = known.pictured is not None
            if captured and self._settled:
                steps.append(self._appears(known, table, shape, complete=self._published.whole(table)))
        else:
            known.told = self._told
            steps += self._moved(known, table, captured=captured, shape=shape)
        self._stirs += bool(steps)
        return steps

    def logged(self, facts: TableFacts, shape: TableSchema) -> list[Step]:
        """The log shows columns of a captured table, after `named`."""
        known = self._tables[facts.oid]
        before, known.logged = known.logged or known.pictured, facts
        return self._refresh(known, before, facts, shape)

    def altered(self, facts: TableFacts, shape: TableSchema | None) -> list[Step]:
        """A DDL message shows a table; one that we have not met is left to the log and the catalogue."""
        self._told += 1
        self._stirs += 1
        known = self._tables.get(facts.oid)
        if known is None or known.table is None:
            self._heard[facts.oid] = facts
            return []
        captured = known.captured and self.captures(facts.table)
        steps = self.named(facts.oid, facts.table, captured=captured, shape=shape)
        before, known.pictured, known.exact = known.pictured or known.logged, facts, True
        return [*steps, *self._reshaped(known, before, facts, shape)]

    def stir(self) -> None:
        """The log told of something that only the catalogue explains."""
        self._stirs += 1

    def picture(self, picture: Picture) -> list[Step]:
        """The log has passed this picture."""
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

    def _look(self, oid: int, entry: Entry, *, first: bool) -> Iterator[Step]:
        known = self._tables.get(oid)
        if known is None:
            captured = entry.readable and self.captures(entry.table)
            known = self._tables[oid] = _Known(entry.table, captured, 0, pictured=entry.facts)
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

    def _publication(self, known: _Known | None, entry: Entry, picture: Picture) -> Iterator[Step]:
        """Rows from before a table was published are not in the log; one that is not, can't be captured."""
        if known is None or not known.captured:
            return
        if entry.refused is not None:
            known.captured = False
            yield Fault(entry.table, entry.refused)
        elif entry.added and known.appeared <= picture.begun:
            yield self._appears(known, entry.table, entry.shape, complete=False)

    def _gone(self, picture: Picture) -> Iterator[Step]:
        for oid, known in list(self._tables.items()):
            if oid in picture.entries or oid in picture.unsettled or known.told > picture.begun:
                continue
            del self._tables[oid]
            if known.captured and known.table is not None:
                yield Vanished(known.table)

    def _cleared(self, oid: int, table: TableId) -> list[Step]:
        """Take a name from the table that had it: it is gone or renamed, which one will be seen."""
        steps: list[Step] = []
        for other, known in self._tables.items():
            if other != oid and known.table == table:
                if known.captured:
                    steps.append(Vanished(table))
                known.table, known.captured = None, False
        return steps

    def _moved(
        self, known: _Known, table: TableId, *, captured: bool, shape: TableSchema | None
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
        self, known: _Known, table: TableId, shape: TableSchema | None, *, complete: bool
    ) -> Appeared:
        known.appeared = self._told
        return Appeared(table, complete, shape)

    def _reshaped(
        self, known: _Known, before: TableFacts | None, after: TableFacts, shape: TableSchema | None
    ) -> list[Step]:
        """Say also of an alteration that needs nothing: the log may not show it for long."""
        if before is after:  # of thousands of tables most are as the picture before showed them
            return []
        steps = self._refresh(known, before, after, shape)
        if not steps and known.captured and before is not None and differs(before, after):
            return [Reshaped(after.table, False, shape, after.filled)]
        return steps

    def _refresh(
        self, known: _Known, before: TableFacts | None, after: TableFacts, shape: TableSchema | None
    ) -> list[Step]:
        found = frozenset() if before is None else reasons(before, after) - known.done
        known.done |= found
        return [Reshaped(after.table, True, shape, after.filled)] if found and known.captured else []

    def _is_older(self, oid: int, picture: Picture) -> bool:
        known = self._tables.get(oid)
        return known is None or known.told <= picture.begun

    def _in_order(self, entries: dict[int, Entry]) -> list[int]:
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

"""The tables that a stream knows, by what identifies them: a number that outlives names, or the name.  Pure.

    the log's report, or a snapshot that the log has passed   ->   Appeared, Vanished, Renamed, Found

The source says what an event or an entry of its catalogue means, and remembers its own facts of each table.
Here is what follows for the tables: a change is reported once, by whichever shows it first; a later report
of the log wins over a snapshot; and a name belongs to one table at a time.
"""

from collections.abc import Callable, Container, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from wrackline.producers.contract.steps import Appeared, Coming, Found, Renamed, Vanished
from wrackline.producers.kit.log_reports import LogReports, SnapshotMoment
from wrackline.schemas.tables.table import TableId, TableSchema

K = TypeVar("K", bound=Hashable)
F = TypeVar("F")


@dataclass(slots=True)
class KnownTable(Generic[F]):
    """A table, captured or not."""

    table: TableId | None  # None: another table has its name now, and its new name is unknown
    facts: F
    captured: bool = True
    is_reported: bool = True  # false: it is reported as found when a snapshot shows its shape
    last_request: int = 0  # how many reports there were when a step last made the caller request its rows


class KnownTables(Generic[K, F]):
    """The tables of one stream."""

    def __init__(
        self,
        captures: Callable[[TableId], bool],
        reports: LogReports,
        subjects: Callable[[K], tuple[Hashable, ...]] = lambda key: (key,),
        rename: Callable[[TableId, TableId], str | None] = lambda _old, _new: None,
    ) -> None:
        """Take which names are captured, whose reports are a table's, and how a rename is written."""
        self._captures, self._reports = captures, reports
        self._subjects, self._rename = subjects, rename
        self.aside: set[TableId] = set()  # changes of these tables are no longer handed out
        self.by_key: dict[K, KnownTable[F]] = {}

    def captures(self, table: TableId) -> bool:
        """Whether a table of this name is captured; any thread may ask."""
        return table not in self.aside and self._captures(table)

    def appear(
        self, known: KnownTable[F], table: TableId, shape: TableSchema | None, *, complete: bool
    ) -> Appeared:
        """Report a table that is captured from here on, under this name."""
        known.last_request = self._reports.count
        return Appeared(table, complete, shape)

    def find(self, known: KnownTable[F], shape: TableSchema | None, filled: frozenset[int]) -> list[Found]:
        """Report a table that was no news, as soon as a snapshot shows its shape."""
        if known.is_reported or not known.captured or shape is None:
            return []
        known.is_reported = True
        return [Found(shape, filled)]

    def move(
        self, known: KnownTable[F], table: TableId, shape: TableSchema | None, *, captured: bool
    ) -> list[Coming]:
        """Take a table's name from here on, and whether it is captured under it."""
        old, was = known.table, known.captured
        known.table, known.captured = table, captured
        if captured and not was:
            return [self.appear(known, table, shape, complete=False)]
        if was and old is not None and not captured:
            return [] if old == table and old in self.aside else [Vanished(old, dropped=old != table)]
        if was and old is not None and old != table:
            known.last_request = self._reports.count
            return [Renamed(old, table, shape, self._rename(old, table))]
        return []

    def remove(self, key: K, *, dropped: bool) -> list[Vanished]:
        """Forget a table that is gone."""
        known = self.by_key.pop(key, None)
        return [] if known is None else _vanish(known, dropped=dropped)

    def release_name(self, key: K, table: TableId) -> list[Vanished]:
        """Take a name from any other table: that one is dropped or renamed, as later reports show."""
        own = self.by_key.get(key)
        if own is not None and own.table == table:  # most of thousands of tables are where they were
            return []
        steps: list[Vanished] = []
        for known in self.by_key.values():
            if known.table == table:
                steps += _vanish(known, dropped=False)
                known.table, known.captured = None, False
        return steps

    def shows(self, snapshot: SnapshotMoment, key: K) -> bool:
        """Whether a snapshot that the log has passed is newer than all that the log reported of a table."""
        return key not in snapshot.unsettled and self._reports.before(snapshot.begun, *self._subjects(key))

    def current_names(self, snapshot: SnapshotMoment, names: Mapping[K, TableId]) -> dict[K, TableId]:
        """Return the names that a snapshot shows, without those that the log has given away since."""
        holders = {known.table: key for key, known in self.by_key.items()}
        return {
            key: name
            for key, name in names.items()
            if self.shows(snapshot, key) and self.shows(snapshot, holders.get(name, key))
        }

    def missing(self, snapshot: SnapshotMoment, shown: Container[K]) -> list[K]:
        """Name the tables that are gone because a snapshot does not show them."""
        return [key for key in self.by_key if key not in shown and self.shows(snapshot, key)]

    def in_order(self, names: Mapping[K, TableId]) -> list[K]:
        """Order what a snapshot shows so that a table leaves its name before another one takes it."""
        holders = {known.table: key for key, known in self.by_key.items() if key in names}
        ordered: dict[K, None] = {}
        for key in names:
            chain = [key]
            while (holder := holders.get(names[chain[-1]])) is not None and holder not in chain:
                chain.append(holder)
            ordered.update(dict.fromkeys(reversed(chain)))
        return list(ordered)


def _vanish(known: KnownTable[F], *, dropped: bool) -> list[Vanished]:
    gone = known.captured and known.table is not None
    return [Vanished(known.table, dropped=dropped)] if gone and known.table is not None else []

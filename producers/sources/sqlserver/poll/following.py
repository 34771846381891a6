"""Which tables are read, and from which of their capture instances.  Pure.

a look at the catalogue, which names are captured  ->  Following  ->  ranges and change tables of a poll
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from wrackline.producers.sources.sqlserver.discover.discover import (
    CatalogueLook,
    InstancesProof,
    SqlServerShapes,
    SqlServerTableFacts,
)
from wrackline.producers.sources.sqlserver.follow.capture_instances import CatalogueInstance
from wrackline.producers.sources.sqlserver.follow.handover import in_order, lost, parts_behind, ranges
from wrackline.producers.sources.sqlserver.follow.instance_tracker import ShownTable
from wrackline.producers.sources.sqlserver.log.lsn import Lsn
from wrackline.producers.sources.sqlserver.log.page_merger import TableRange
from wrackline.producers.sources.sqlserver.log.page_sql import ChangeTable
from wrackline.producers.sources.sqlserver.log.position import FollowedInstance, SqlServerPosition
from wrackline.schemas.errors import OperatorNeeded, WracklineError
from wrackline.schemas.tables.table import TableId


@dataclass(frozen=True, slots=True)
class Following:
    """The tables that are read, as the catalogue was at one moment."""

    names: Mapping[int, TableId]  # of all tables
    tables: Mapping[int, SqlServerTableFacts]  # that are read, by object_id
    proof: InstancesProof = frozenset()  # all instances, as a poll sees them
    unnumbered: Collection[str] = ()  # change tables without __$command_id
    by_change_table: Mapping[int, tuple[SqlServerTableFacts, CatalogueInstance]] = field(default_factory=dict)

    def instances(self) -> dict[str, FollowedInstance]:
        """Return what a position keeps of the instances."""
        return {
            instance.name: kept._replace(table=(facts.id.schema, facts.id.name))
            for facts, instance in self.by_change_table.values()
            if (kept := instance.followed) is not None
        }

    def ranges(self, at: SqlServerPosition, upto: Lsn) -> list[TableRange]:
        """Return what a poll reads: from a place to the last commit that it has seen."""
        parts = [part for facts in self.tables.values() for part in parts_behind(facts.instances, at.passed)]
        return list(ranges(parts, at.behind, upto))

    def change_tables(self, tables: Collection[int]) -> list[ChangeTable]:
        """Return these change tables as statements name them."""
        return [
            ChangeTable(
                number,
                instance.name,
                [taken.name for _, taken in facts.captured(instance)],
                instance.name not in self.unnumbered,
            )
            for number in tables
            for facts, instance in (self.by_change_table[number],)
        ]

    def lost(
        self, known: Mapping[str, FollowedInstance], after: Lsn
    ) -> Iterator[tuple[TableId, WracklineError]]:
        """Say of which tables rows behind a place can't be read; `known`: the instances in the position."""
        for number, facts in self.tables.items():
            its_own = {name: one for name, one in known.items() if one.source == number}
            if (error := lost(facts.id, facts.instances, its_own, after)) is not None:
                yield facts.id, error

    def renamed(self, names: Iterable[tuple[int, str, str]], database: str) -> bool:
        """Whether captured tables have other names: an object_id with its schema and its name."""
        return any(
            self.names.get(number) != TableId(database, schema, name) for number, schema, name in names
        )

    def reads(self, table: TableId) -> bool:
        """Whether a table is read under this name."""
        return any(facts.id == table for facts in self.tables.values())

    def shown(self, shapes: SqlServerShapes, leave_out: TableId | None) -> dict[int, ShownTable]:
        """Return the tables as the tracker takes them, without the signal table."""
        made = {}
        for number, facts in self.tables.items():
            ordered = in_order(facts.instances)
            if facts.id != leave_out and ordered:
                try:
                    made[number] = ShownTable(facts.id, ordered[-1][0], shapes.of(facts).table)
                except OperatorNeeded as error:
                    made[number] = ShownTable(facts.id, ordered[-1][0], error)
        return made


def under_names(look: CatalogueLook, names: Mapping[int, TableId]) -> CatalogueLook:
    """Return a look in which known tables still have the names that they had, without new captured tables.

    A new one may have the name that a known one had.
    """
    tables = {
        number: replace(facts, id=names[number]) for number, facts in look.tables.items() if number in names
    }
    known = {
        number: names.get(number, name)
        for number, name in look.names.items()
        if number in names or number not in look.tables
    }
    return replace(look, names=known, tables=tables)


def follow(look: CatalogueLook, captures: Callable[[TableId], bool]) -> Following:
    """Take the tables that are captured by the filters."""
    tables = {number: facts for number, facts in look.tables.items() if captures(facts.id)}
    instances = {
        instance.object_id: (facts, instance) for facts in tables.values() for instance in facts.instances
    }
    return Following(look.names, tables, look.proof, look.unnumbered, instances)

"""What a table's description means: its columns, its key, and what of it goes out.  Pure.

    a table map of the log, and the catalogue's facts if it has some   ->  Projection
    the catalogue's facts                                              ->  Projection

Both give the same where they speak of the same table, for each column is first made the same `MySqlType`.
A column of the log is the catalogue's where that has one of its name which is kept in the same bytes; else
it is what the log says.

A column's identity is a number made from the name that it had first, for neither server numbers columns;
`names` says which columns were renamed, and from what.

A primary key over the first characters of a text is taken as one over the whole text: rows that differ in
their beginnings differ as a whole, so the whole text tells rows apart as well.  The same holds for a key
whose collation takes `a` and `A` as one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from types import MappingProxyType

from wrackline.producers.sources.mysql.facts import ColumnFacts, TableFacts, check_facts, check_log, hidden
from wrackline.producers.sources.mysql.table_map import TableMap, WireColumn
from wrackline.producers.sources.mysql.types import as_logged, column_type, of_wire
from wrackline.schemas.filters import ColumnRules
from wrackline.schemas.projection import Plain, Projection, project
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.types import ColumnType, Kind

_NONE: Mapping[str, str] = MappingProxyType({})
_LARGEST = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Shapes:
    """Makes shapes by the settings about columns."""

    rules: ColumnRules
    instants: Kind = Kind.ZONED_TIMESTAMP  # what TIMESTAMP becomes
    said: Mapping[int, str] = field(default_factory=dict)  # what the server says of collations of its own

    def of_facts(self, facts: TableFacts, names: Mapping[str, str] = _NONE) -> Projection:
        """Return the shape that the catalogue describes, and what of it goes out."""
        check_facts(facts)
        kind = KeyKind.NONE
        if facts.key:
            kind = KeyKind.PRIMARY if facts.primary else KeyKind.UNIQUE
        return self._projected(facts.table, facts.columns, facts.key, kind, names)

    def of_log(
        self, told: TableMap, facts: TableFacts | None = None, names: Mapping[str, str] = _NONE
    ) -> Projection:
        """Return the shape that the log describes, and what of it goes out.

        Its source has a column for each of the log's, in their order; a column that is the server's own
        is dropped.
        """
        table = facts.table if facts else TableId(told.database, told.database, told.name)
        if facts is not None:
            check_facts(facts)
        check_log(told, table, facts)
        own = hidden(told, facts)
        known = {column.name: column for column in facts.columns} if facts else {}
        logged = [self._logged(column, known.get(column.name)) for column in told.columns]
        columns = [column for place, column in enumerate(logged) if place not in own]
        key, kind = _key(told, facts)
        shape = self._projected(table, columns, key, kind, names)
        if not own:
            return shape
        dropped = self._columns(table, logged, names)[-len(own) :]
        source = replace(shape.source, columns=(*shape.source.columns, *dropped))
        return Projection(source, shape.table, (*shape.actions, *(Plain.DROP,) * len(own)))

    def _logged(self, column: WireColumn, known: ColumnFacts | None) -> ColumnFacts:
        kept = of_wire(column, said=self.said)
        if known is not None and as_logged(known.type) == kept:
            return known._replace(nullable=column.nullable)
        return ColumnFacts(column.name, kept, column.nullable)

    def _projected(
        self,
        table: TableId,
        columns: Sequence[ColumnFacts],
        key: tuple[str, ...],
        kind: KeyKind,
        names: Mapping[str, str],
    ) -> Projection:
        return project(TableSchema(table, self._columns(table, columns, names), key, kind), self.rules)

    def _columns(
        self, table: TableId, columns: Sequence[ColumnFacts], names: Mapping[str, str]
    ) -> tuple[Column, ...]:
        numbers = identities([column.name for column in columns], names)
        return tuple(
            Column(
                column.name,
                numbers[column.name],
                self._type(table, column),
                column.nullable,
                column.generated,
            )
            for column in columns
        )

    def _type(self, table: TableId, column: ColumnFacts) -> ColumnType:
        return column_type(
            column.type,
            column=f"{table}.{column.name}",
            as_text=self.rules.as_text(table, column.name),
            instants=self.instants,
        )


def identities(columns: Iterable[str], names: Mapping[str, str] = _NONE) -> dict[str, int]:
    """Number columns by the names that they had first; `names` holds those of renamed ones, in small letters.

    Where two would have one number, a renamed column keeps it, for it had it before the other came;
    else the first in alphabetical order.
    """
    made: dict[str, int] = {}
    for name in sorted(columns, key=lambda name: (name.lower() not in names, name)):
        first, number, nth = names.get(name.lower(), name), _LARGEST + 1, 0
        while number > _LARGEST or number in made.values():
            number, nth = _number(first + (str(nth) if nth else "")), nth + 1
        made[name] = number
    return made


def _number(name: str) -> int:
    """Letters in either case are one name to the servers too."""
    return int.from_bytes(blake2b(name.lower().encode(), digest_size=4).digest(), "big") & _LARGEST


def _key(told: TableMap, facts: TableFacts | None) -> tuple[tuple[str, ...], KeyKind]:
    """Return the log's key; without one the catalogue's unique index, if the log has its columns.

    What the log calls the primary key may be a unique index that the server takes for it.
    """
    unique = facts.key if facts is not None and not facts.primary else ()
    if told.key:
        key = tuple(told.columns[place].name for place in told.key)
        return key, KeyKind.UNIQUE if key == unique else KeyKind.PRIMARY
    sure = {column.name for column in told.columns if not column.nullable}
    return (unique, KeyKind.UNIQUE) if unique and sure.issuperset(unique) else ((), KeyKind.NONE)

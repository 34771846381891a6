"""What a table's description means: its columns, its key, and the part that is published.  Pure.

    a table map of the log, and the catalogue's facts if it has some   ->  Projection
    the catalogue's facts                                              ->  Projection

Both give the same shape for the same table, because each column is first made into the same `MySqlType`.  A
column of the log gets the catalogue's type if the catalogue has a column of its name that is stored in the
same bytes; otherwise it has the log's type.

A column's identity is a number made from its first name, because neither server numbers columns; `names` says
which columns were renamed, and from what.

A primary key over the first characters of a text counts as a key over the whole text: rows that differ in
their beginnings differ as a whole, so the whole text distinguishes rows as well.  The same is true for a key
whose collation treats `a` and `A` as equal.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from types import MappingProxyType

from wrackline.producers.sources.mysql.discover.facts import (
    MySqlColumnFacts,
    MySqlTableFacts,
    check_facts,
    check_log,
    hidden,
)
from wrackline.producers.sources.mysql.discover.types import column_type, logged_type, of_wire
from wrackline.producers.sources.mysql.events.table_map import TableMap, WireColumn
from wrackline.schemas.events.projection import Plain, Projection, project
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

_NONE: Mapping[str, str] = MappingProxyType({})
_LARGEST = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class MySqlShapes:
    """Makes shapes by the settings about columns."""

    rules: ColumnRules
    instants: Kind = Kind.ZONED_TIMESTAMP  # what TIMESTAMP becomes
    charsets: Mapping[int, str] = field(default_factory=dict)  # of the server's own collations, by number

    def of_facts(self, facts: MySqlTableFacts, names: Mapping[str, str] = _NONE) -> Projection:
        """Return the shape that the catalogue describes, and the part of it that is published."""
        check_facts(facts)
        kind = KeyKind.NONE
        if facts.key:
            kind = KeyKind.PRIMARY if facts.primary else KeyKind.UNIQUE
        return self._projected(facts.table, facts.columns, facts.key, kind, names)

    def of_log(
        self, told: TableMap, facts: MySqlTableFacts | None = None, names: Mapping[str, str] = _NONE
    ) -> Projection:
        """Return the shape that the log describes, and the part of it that is published.

        Its source has a column for each column of the log, in their order; the server's own columns are
        dropped.
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

    def _logged(self, column: WireColumn, known: MySqlColumnFacts | None) -> MySqlColumnFacts:
        kept = of_wire(column, charsets=self.charsets)
        if known is not None and logged_type(known.type) == kept:
            return known._replace(nullable=column.nullable)
        return MySqlColumnFacts(column.name, kept, column.nullable)

    def _projected(
        self,
        table: TableId,
        columns: Sequence[MySqlColumnFacts],
        key: tuple[str, ...],
        kind: KeyKind,
        names: Mapping[str, str],
    ) -> Projection:
        return project(TableSchema(table, self._columns(table, columns, names), key, kind), self.rules)

    def _columns(
        self, table: TableId, columns: Sequence[MySqlColumnFacts], names: Mapping[str, str]
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

    def _type(self, table: TableId, column: MySqlColumnFacts) -> ColumnType:
        return column_type(
            column.type,
            column=f"{table}.{column.name}",
            as_text=self.rules.as_text(table, column.name),
            instants=self.instants,
        )


def identities(columns: Iterable[str], names: Mapping[str, str] = _NONE) -> dict[str, int]:
    """Number columns by their first names; `names` has those of renamed columns, in lower case.

    Where two columns would have one number, a renamed column keeps it, because it had the number before the
    other existed; otherwise the first in alphabetical order keeps it.
    """
    made: dict[str, int] = {}
    for name in sorted(columns, key=lambda name: (name.lower() not in names, name)):
        first, number, nth = names.get(name.lower(), name), _LARGEST + 1, 0
        while number > _LARGEST or number in made.values():
            number, nth = _number(first + (str(nth) if nth else "")), nth + 1
        made[name] = number
    return made


def _number(name: str) -> int:
    """Number a name; it ignores case, as the servers do."""
    return int.from_bytes(blake2b(name.lower().encode(), digest_size=4).digest(), "big") & _LARGEST


def _key(told: TableMap, facts: MySqlTableFacts | None) -> tuple[tuple[str, ...], KeyKind]:
    """Return the log's key; without one the catalogue's unique index, if the log has its columns.

    The log's primary key may be a unique index that the server uses as one.
    """
    unique = facts.key if facts is not None and not facts.primary else ()
    if told.key:
        key = tuple(told.columns[place].name for place in told.key)
        return key, KeyKind.UNIQUE if key == unique else KeyKind.PRIMARY
    sure = {column.name for column in told.columns if not column.nullable}
    return (unique, KeyKind.UNIQUE) if unique and sure.issuperset(unique) else ((), KeyKind.NONE)

"""What a table's description means: its columns, its key, and the part that is published.  Pure.

    the catalogue's facts, the settings about columns   ->  Projection

A column that is not stored is not in the log, so it is not published.  The log does show columns that the
server hides (they guard a default, or are unused): they stand behind the others, and are dropped.

Oracle renumbers columns, so a column is its name here (`facts.py`).  A rename looks like a column that went
and one that came; what came may have values in old rows, and `filled_columns` says so.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from wrackline.producers.sources.oracle.discover.facts import (
    OracleColumnFacts,
    OracleTableFacts,
    OracleType,
)
from wrackline.producers.sources.oracle.discover.types import column_type
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Plain, Projection, project
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

NAME_TOO_LONG = define(
    "oracle.name_too_long",
    OperatorNeeded,
    "LogMiner does not show changes of {table}, because the name {name} has more than {most} bytes",
    hint="rename it: ALTER TABLE {quoted} RENAME TO <name>; or: ALTER TABLE {quoted} RENAME COLUMN <old> TO"
    " <new>; or leave the table out: table.exclude.list",
)

COLUMNS_UNLOGGED = define(
    "oracle.columns_unlogged",
    OperatorNeeded,
    "the log lacks columns of {table}: supplemental logging of all columns is off, so an update has only"
    " what it changed, and a delete nothing",
    hint="as its owner: ALTER TABLE {quoted} ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS; or leave the table out:"
    " table.exclude.list",
)

MOST_NAME_BYTES: Final = 30  # that LogMiner knows; from 12.2 on the server itself allows 128

_LARGEST: Final = 0x7FFFFFFF
_UNSEEN: Final = ColumnType(Kind.STRING, "unread")


@dataclass(frozen=True, slots=True)
class OracleShapes:
    """Makes shapes by the settings about columns."""

    rules: ColumnRules
    instants: Kind = Kind.ZONED_TIMESTAMP  # what a TIMESTAMP WITH TIME ZONE becomes

    def of(self, facts: OracleTableFacts) -> Projection:
        """Return a table's shape, and the part of it that is published."""
        _refuse_long_names(facts)
        if not facts.logs_all:
            raise COLUMNS_UNLOGGED(table=facts.id, quoted=f'"{facts.id.schema}"."{facts.id.name}"')
        numbers = column_identities(column.name for column in facts.columns)
        seen = [column for column in facts.columns if not column.virtual and not column.hidden]
        key, kind = _key(facts, seen)
        keyed = {*key, *self.rules.key(facts.id)}
        columns = tuple(self._column(facts.id, column, numbers[column.name], keyed) for column in seen)
        shape = project(TableSchema(facts.id, columns, key, kind), self.rules)
        own = tuple(Column(column.name, numbers[column.name], _UNSEEN) for column in _own(facts))
        source = replace(shape.source, columns=(*shape.source.columns, *own))
        return replace(shape, source=source, actions=(*shape.actions, *(Plain.DROP,) * len(own)))

    def types(self, facts: OracleTableFacts, shape: Projection) -> list[OracleType]:
        """Return the types of a shape's columns, in the order of `shape.source.columns`."""
        by_name = {column.name: column.type for column in facts.columns}
        return [by_name[column.name] for column in shape.source.columns]

    def _column(
        self, table: TableId, column: OracleColumnFacts, identity: int, keyed: Collection[str]
    ) -> Column:
        if self.rules.drops(table, column.name):  # whatever its type is
            return Column(column.name, identity, _UNSEEN, column.nullable)
        made = column_type(
            column.type,
            column=f"{table}.{column.name}",
            as_text=self.rules.as_text(table, column.name),
            instants=self.instants,
            keyed=column.name in keyed,
        )
        return Column(column.name, identity, made, column.nullable)


def filled_columns(now: OracleTableFacts, before: OracleTableFacts | None) -> frozenset[int]:
    """Return the columns that may have values in old rows without an event of each.

    If none has gone since `before`, none was renamed, so these are the columns with a default.  Without
    `before` it may be any.
    """
    numbers = column_identities(column.name for column in now.columns)
    there = {column.name for column in now.columns}
    renamed = before is None or any(column.name not in there for column in before.columns)
    return frozenset(numbers[column.name] for column in now.columns if renamed or column.default)


def column_identities(names: Iterable[str]) -> dict[str, int]:
    """Number columns by their names; of two with one number, the first in alphabetical order keeps it."""
    made: dict[str, int] = {}
    for name in sorted(names):
        number, nth = _number(name), 0
        while number in made.values():
            nth += 1
            number = _number(f"{name}\0{nth}")  # no name contains it
        made[name] = number
    return made


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big") & _LARGEST


def _own(facts: OracleTableFacts) -> list[OracleColumnFacts]:
    return [column for column in facts.columns if column.hidden and not column.virtual]


def _key(facts: OracleTableFacts, columns: Sequence[OracleColumnFacts]) -> tuple[tuple[str, ...], KeyKind]:
    """Return the primary key, else the first unique index over columns that are never null."""
    there = {column.name for column in columns}
    sure = {column.name for column in columns if not column.nullable}
    if facts.primary and there.issuperset(facts.primary):
        return facts.primary, KeyKind.PRIMARY
    for index in facts.unique:
        if sure.issuperset(index):
            return index, KeyKind.UNIQUE
    return (), KeyKind.NONE


def _refuse_long_names(facts: OracleTableFacts) -> None:
    for name in (facts.id.name, *(column.name for column in facts.columns if not column.hidden)):
        if len(name.encode()) > MOST_NAME_BYTES:
            quoted = f'"{facts.id.schema}"."{facts.id.name}"'
            raise NAME_TOO_LONG(table=facts.id, name=name, most=MOST_NAME_BYTES, quoted=quoted)

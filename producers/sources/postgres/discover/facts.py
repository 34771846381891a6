"""What the catalogue says about tables, and whether an alteration may have changed stored rows.  Pure.

    pg_class, pg_attribute, pg_attrdef, pg_index  ->  PgTableFacts    (or a DDL message of our event trigger)
    facts before, facts after                     ->  reasons to read the table's rows again

PostgreSQL alters stored rows without an event for each row: a column added with a default, a changed type, a
changed expression.  A change that the facts can't show (was there a USING clause?) counts as a change,
because an unneeded read costs time, and a missing read leaves wrong rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from wrackline.producers.sources.postgres.rows.messages import Relation
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.projection import Projection
from wrackline.schemas.tables.table import TableId, TableSchema


class PgColumnFacts(NamedTuple):
    """One column; `default` is any value that differs as soon as the expression does."""

    number: int
    name: str | None  # None: dropped, or generated and not in the log
    type_oid: int
    typmod: int
    not_null: bool = False
    identity: str = ""
    generated: str = ""
    default: str | None = None
    missing: bool = False  # rows from before the column show its first default without a rewrite

    @property
    def filled(self) -> bool:
        """Whether rows from before the column may hold a value in it."""
        return self.missing or self.default is not None or bool(self.identity or self.generated)


class PgTableFacts(NamedTuple):
    """A table; its columns are in the order of their numbers, with dropped columns where they are known."""

    oid: int
    table: TableId
    columns: tuple[PgColumnFacts, ...]
    key: tuple[int, ...] = ()
    primary: bool = False
    file: int = 0  # where its rows are stored: another file after a rewrite of all rows; 0: unknown

    @property
    def filled(self) -> frozenset[int]:
        """The columns that give a value to rows that are older than the column."""
        return frozenset(column.number for column in self.columns if column.filled)


class PgRegisteredShape(NamedTuple):
    """How a captured relation is written: its shape and the registered ids of its schemas."""

    shape: Projection
    key_id: int
    value_id: int
    facts: PgTableFacts | None = None  # what the catalogue says beyond the shape; None: not queried


ShapeChange: TypeAlias = tuple[str, int, object]  # the change, the column, and the new value


@dataclass(frozen=True, slots=True)
class PgPublicationScope:
    """What the publication carries."""

    everything: bool = False
    schemas: frozenset[str] = frozenset()
    tables: frozenset[TableId] = frozenset()

    def whole(self, table: TableId) -> bool:
        """Whether it carries a table from the table's first row on."""
        return self.everything or table.schema in self.schemas


@dataclass(frozen=True, slots=True)
class PgSnapshotEntry:
    """One table of a picture."""

    table: TableId
    readable: bool = True
    facts: PgTableFacts | None = None  # of tables that are captured
    shape: TableSchema | None = None  # where it is new
    added: bool = False  # to the publication, by us, since the picture before
    refused: WracklineError | None = None  # why it can't be captured


@dataclass(frozen=True, slots=True)
class PgCatalogueSnapshot:
    """All tables at one moment of the catalogue."""

    begun: int  # how many reports the log had made when it was begun: later reports are newer
    upto: int  # the log up to here contains all that the picture shows
    entries: Mapping[int, PgSnapshotEntry]
    unsettled: frozenset[int] = frozenset()  # being altered, or altered and not visible yet
    published: PgPublicationScope = field(default_factory=PgPublicationScope)
    dropped: frozenset[int] = frozenset()  # known from an earlier look, and no relation any more


def reasons(before: PgTableFacts, after: PgTableFacts) -> frozenset[ShapeChange]:
    """Name all that may have changed stored rows; a column that `after` lacks is dropped or unknown to it."""
    was = {column.number: column for column in before.columns if column.name is not None}
    left_out = {column.number for column in before.columns if column.name is None and column.generated}
    rewritten = before.file != after.file
    found: set[ShapeChange] = set()
    for now in after.columns:
        then = was.get(now.number)
        if now.name is None:
            continue
        if then is None:
            written = rewritten and before.file and after.file
            if now.filled or written or now.number in left_out:
                found.add(("added", now.number, None))
        elif then.type_oid != now.type_oid or (
            then.typmod != now.typmod and (rewritten or not after.file)  # only to widen it writes nothing
        ):
            found.add(("type", now.number, (now.type_oid, now.typmod)))
        elif then.generated != now.generated or (now.generated and then.default != now.default):
            found.add(("expression", now.number, (now.generated, now.default)))
    if before.key != after.key:
        found.add(("key", 0, after.key))
    return frozenset(found)


def differs(before: PgTableFacts, after: PgTableFacts) -> bool:
    """Whether the published part of a table was altered."""
    return _visible_facts(before) != _visible_facts(after)


def fits(relation: Relation, columns: tuple[PgColumnFacts, ...]) -> bool:
    """Whether each column that the log names exists, with the same type, in the same order."""
    by_name = {column.name: column for column in columns}
    last = 0
    for logged in relation.columns:
        column = by_name.get(logged.name)
        if column is None or (column.type_oid, column.typmod) != (logged.type_oid, logged.typmod):
            return False
        if column.number <= last:
            return False
        last = column.number
    return True


def unchanged_numbers(relation: Relation, said: PgTableFacts, now: PgTableFacts) -> list[int] | None:
    """Return the columns' numbers where the log names the same columns as before, under any current name.

    A column that still exists existed all the time.  So if as many are left as the log names, and under
    their earlier names, they are the same columns, although their names may have moved since.
    """
    if not fits(relation, said.columns):
        return None
    there = {column.number for column in now.columns if column.name is not None}
    left = [column for column in said.columns if column.number in there]
    if [column.name for column in left] != [column.name for column in relation.columns]:
        return None
    return [column.number for column in left]


def logged_facts(relation: Relation, numbers: tuple[int, ...], now: PgTableFacts) -> PgTableFacts:
    """Return a table as the log announced it, with the facts that only the catalogue has of its columns.

    Columns that the log does not name existed then if their number is below a number that it names.
    Generated columns count as existing too, because the log may leave them out.
    """
    of_now = {column.number: column for column in now.columns}
    highest = max(numbers, default=0)
    found = {
        number: of_now[number]._replace(name=column.name, type_oid=column.type_oid, typmod=column.typmod)
        for number, column in zip(numbers, relation.columns, strict=True)
    }
    for column in now.columns:
        if column.number < highest or column.generated:
            found.setdefault(column.number, column)
    return now._replace(columns=tuple(found[number] for number in sorted(found)), file=0)


def _visible_facts(facts: PgTableFacts) -> tuple[object, ...]:
    columns = [column._replace(default=None, missing=False) for column in facts.columns if column.name]
    return facts.key, columns

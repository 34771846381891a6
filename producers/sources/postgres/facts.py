"""What the catalogue says of tables, and whether an alteration may have changed stored rows.  Pure.

    pg_class, pg_attribute, pg_attrdef, pg_index  ->  TableFacts    (or a DDL message of our event trigger)
    facts before, facts after                     ->  reasons to read the table's rows again

PostgreSQL alters stored rows without a row event each: a column added with a default, a changed type, a
changed expression.  What the facts can't show (was there a USING clause?) counts as changed, for a read too
many costs time, and one too few leaves wrong rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from wrackline.producers.sources.postgres.messages import Relation
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.table import TableId, TableSchema


class ColumnFacts(NamedTuple):
    """One column; `default` is anything that differs as soon as the expression does."""

    number: int
    name: str | None  # None: dropped, or generated and not in the log
    type_oid: int
    typmod: int
    not_null: bool = False
    identity: str = ""
    generated: str = ""
    default: str | None = None
    missing: bool = False  # rows from before the column show its first default without having been written

    @property
    def filled(self) -> bool:
        """Whether rows from before the column may hold a value in it."""
        return self.missing or self.default is not None or bool(self.identity or self.generated)


class TableFacts(NamedTuple):
    """A table; its columns in the order of their numbers, dropped ones where they are known."""

    oid: int
    table: TableId
    columns: tuple[ColumnFacts, ...]
    key: tuple[int, ...] = ()
    primary: bool = False
    file: int = 0  # where its rows are stored: another one once they were all written anew; 0: not said

    @property
    def filled(self) -> frozenset[int]:
        """The columns that give a value to rows from before them."""
        return frozenset(column.number for column in self.columns if column.filled)


Reason: TypeAlias = tuple[str, int, object]  # what, which column, and what tells two such changes apart


@dataclass(frozen=True, slots=True)
class Published:
    """What the publication carries."""

    everything: bool = False
    schemas: frozenset[str] = frozenset()
    tables: frozenset[TableId] = frozenset()

    def whole(self, table: TableId) -> bool:
        """Whether it has carried a table from the table's first row on."""
        return self.everything or table.schema in self.schemas


@dataclass(frozen=True, slots=True)
class Entry:
    """One table of a picture."""

    table: TableId
    readable: bool = True
    facts: TableFacts | None = None  # of tables that are captured
    shape: TableSchema | None = None  # where it is news
    added: bool = False  # to the publication, by us, since the picture before
    refused: WracklineError | None = None  # why it can't be captured


@dataclass(frozen=True, slots=True)
class Picture:
    """All tables at one moment of the catalogue."""

    begun: int  # how much the log had told when it was begun: what is told later is newer
    upto: int  # the log up to here holds all that the picture shows
    entries: Mapping[int, Entry]
    unsettled: frozenset[int] = frozenset()  # being altered, or altered and not visible yet
    published: Published = field(default_factory=Published)


def reasons(before: TableFacts, after: TableFacts) -> frozenset[Reason]:
    """Name all that may have changed stored rows; a column that `after` lacks is gone, or not its matter."""
    was = {column.number: column for column in before.columns if column.name is not None}
    left_out = {column.number for column in before.columns if column.name is None and column.generated}
    rewritten = before.file != after.file
    found: set[Reason] = set()
    for now in after.columns:
        then = was.get(now.number)
        if now.name is None:
            continue
        if then is None:
            written = rewritten and before.file and after.file
            if now.filled or written or now.number in left_out:
                found.add(("added", now.number, None))
        elif then.type_oid != now.type_oid or (
            then.typmod != now.typmod and (rewritten or not after.file)  # a mere widening writes nothing
        ):
            found.add(("type", now.number, (now.type_oid, now.typmod)))
        elif then.generated != now.generated or (now.generated and then.default != now.default):
            found.add(("expression", now.number, (now.generated, now.default)))
    if before.key != after.key:
        found.add(("key", 0, after.key))
    return frozenset(found)


def differs(before: TableFacts, after: TableFacts) -> bool:
    """Whether a table was altered in what is published of it."""
    return _seen(before) != _seen(after)


def fits(relation: Relation, columns: tuple[ColumnFacts, ...]) -> bool:
    """Whether each column that the log names is there, of the same type, in the same order."""
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


def unchanged(relation: Relation, said: TableFacts, now: TableFacts) -> list[int] | None:
    """Return the columns' numbers where the log names what it named before, whatever they are called now.

    A column that is still there was there all the time.  So if as many are left as the log names, and
    under their names of before, they are the same ones, though their names may have moved since.
    """
    if not fits(relation, said.columns):
        return None
    there = {column.number for column in now.columns if column.name is not None}
    left = [column for column in said.columns if column.number in there]
    if [column.name for column in left] != [column.name for column in relation.columns]:
        return None
    return [column.number for column in left]


def logged(relation: Relation, numbers: tuple[int, ...], now: TableFacts) -> TableFacts:
    """Return a table as the log announced it, with what only the catalogue knows of its columns.

    Columns that the log does not name were there at the time if their number is below one that it
    names, and count as such if they are generated: the log may leave those out.
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


def _seen(facts: TableFacts) -> tuple[object, ...]:
    columns = [column._replace(default=None, missing=False) for column in facts.columns if column.name]
    return facts.key, columns

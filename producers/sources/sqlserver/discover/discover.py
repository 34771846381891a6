"""The catalogue of one database: which tables it has, which are captured, and the shape of each.

    sys.tables, sys.columns, sys.indexes, cdc.change_tables, cdc.captured_columns  ->  TableFacts, Projection

A table is copied as its capture instances have it: a column that is not captured, or that is computed, is not
in its change table.  A column that was dropped is NULL there from then on, and is not in the table, so it is
left out as well.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from wrackline.producers.sources.sqlserver.connect.quoting import identifier
from wrackline.producers.sources.sqlserver.discover import table_sql
from wrackline.producers.sources.sqlserver.discover.types import (
    KEY_UNORDERED,
    SqlServerType,
    ciphertext,
    column_type,
    of_catalogue,
)
from wrackline.producers.sources.sqlserver.follow.capture_instances import (
    CapturedColumn,
    CatalogueInstance,
    columns_sql,
    enable_sql,
    instances_sql,
    unnumbered_sql,
)
from wrackline.producers.sources.sqlserver.follow.handover import NOT_CAPTURED, in_order
from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.events.projection import Plain, Projection, project
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

TABLE_MISSING = define(
    "sqlserver.table_missing",
    OperatorNeeded,
    "table {table} does not exist, no longer exists, or is not visible to this login",
    hint="check whether it has another name now: SELECT s.name, t.name FROM {database}.sys.tables t JOIN"
    " {database}.sys.schemas s ON s.schema_id = t.schema_id; correct table.include.list; or as db_owner: USE"
    " {database}; GRANT SELECT ON OBJECT::[<schema>].[<table>] TO <user>;",
)

# Each capture instance: its object_id, its start, whether its table was dropped.
InstancesProof: TypeAlias = frozenset[tuple[int, bytes | None, bool]]
# Runs a batch; each of its results with Python values.
Ask = Callable[[str], Sequence[Sequence[tuple[Any, ...]]]]


class SqlServerColumnFacts(NamedTuple):
    """A column of a table."""

    name: str
    number: int
    type: SqlServerType
    nullable: bool
    computed: bool
    collation: str | None
    masked: bool = False  # whether our login sees another value than is stored
    encrypted: bool = False  # by Always Encrypted: all that comes is the ciphertext


@dataclass(frozen=True, slots=True)
class SqlServerTableFacts:
    """A table as the catalogue has it."""

    id: TableId
    object_id: int
    columns: tuple[SqlServerColumnFacts, ...] = ()
    unique: tuple[tuple[bool, tuple[int, ...]], ...] = ()  # whether it is the primary key, and column numbers
    instances: tuple[CatalogueInstance, ...] = ()

    @property
    def newest(self) -> CatalogueInstance | None:
        """The newest instance whose change table is written."""
        ordered = in_order(self.instances)
        return ordered[-1][1] if ordered else None

    def captured(self, instance: CatalogueInstance) -> list[tuple[SqlServerColumnFacts, CapturedColumn]]:
        """Return the columns that an instance has, in its order."""
        there = {column.number: column for column in self.columns if not column.computed}
        return [
            (there[one.column_id], one)
            for one in sorted(instance.columns, key=lambda one: one.ordinal)
            if one.column_id in there and not one.computed
        ]

    def masked(self, shape: Projection) -> list[str]:
        """Name the published columns of which our login would read other values than the log has."""
        published = _published(shape)
        return [column.name for column in self.columns if column.masked and column.name in published]

    def encrypted(self, shape: Projection) -> list[str]:
        """Name the published columns of which only the ciphertext comes."""
        published = _published(shape)
        return [column.name for column in self.columns if column.encrypted and column.name in published]


@dataclass(frozen=True, slots=True)
class CatalogueLook:
    """All captured tables of a database at one moment, and the names of all tables, by object_id."""

    names: Mapping[int, TableId]
    tables: Mapping[int, SqlServerTableFacts] = field(default_factory=dict)
    proof: InstancesProof = frozenset()
    unnumbered: frozenset[str] = frozenset()  # instances whose change tables lack __$command_id
    unseen: tuple[str, ...] = ()  # instances of tables that this login can't see


@dataclass(frozen=True, slots=True)
class SqlServerShapes:
    """Makes shapes by the settings about columns.  Pure."""

    rules: ColumnRules
    instants: Kind = Kind.ZONED_TIMESTAMP  # what datetimeoffset becomes

    def of(self, facts: SqlServerTableFacts, instance: CatalogueInstance | None = None) -> Projection:
        """Return a table's shape in an instance, or in the newest."""
        chosen = facts.newest if instance is None else instance
        if chosen is None:
            raise NOT_CAPTURED(table=facts.id, statement=enable_sql(facts.id))
        columns = [column for column, _ in facts.captured(chosen)]
        names = {column.number: column.name for column in columns}
        key, kind = _key(facts, names, {column.number for column in columns if not column.nullable})
        keyed = {*key, *self.rules.key(facts.id)}
        shape = TableSchema(
            facts.id, tuple(self._column(facts.id, column, keyed) for column in columns), key, kind
        )
        return project(shape, self.rules)

    def _column(self, table: TableId, column: SqlServerColumnFacts, keyed: Collection[str]) -> Column:
        if column.encrypted and column.name in keyed:
            raise KEY_UNORDERED(column=f"{table}.{column.name}", type=f"{column.type} (encrypted)")
        made = column_type(
            column.type,
            column=f"{table}.{column.name}",
            as_text=self.rules.as_text(table, column.name),
            instants=self.instants,
            keyed=column.name in keyed,
        )
        return Column(column.name, column.number, made, column.nullable)


class SqlServerCatalogue:
    """Reads the catalogue over the caller's connection; tables are kept only after `keep`."""

    def __init__(self, ask: Ask, database: str, shapes: SqlServerShapes) -> None:
        self._ask, self._database, self.shapes = ask, database, shapes
        self._facts: dict[TableId, SqlServerTableFacts] = {}
        self._last: dict[TableId, SqlServerTableFacts] = {}  # of the table that was described last

    def keep(self, tables: Collection[TableId]) -> None:
        """Look up many tables together; from here on their facts do not change."""
        found = {facts.id: facts for facts in self.look().tables.values()}
        self._facts |= {table: found[table] for table in tables if table in found}

    def tables(self) -> list[TableId]:
        """List the captured tables."""
        found = self.look().tables.values()
        return sorted(facts.id for facts in found if facts.newest is not None)

    def describe(self, table: TableId) -> Projection:
        """Return a captured table's current shape."""
        found = self.facts(table)
        self._last = {table: found}
        return self.shapes.of(found)

    def described(self, table: TableId) -> SqlServerTableFacts:
        """Return the facts that a table was described by."""
        return self._last.get(table) or self.facts(table)

    def facts(self, table: TableId) -> SqlServerTableFacts:
        """Return the facts of one table."""
        if table in self._facts:
            return self._facts[table]
        if table.database == self._database:
            (found,) = self._ask(table_sql.id_of(table))
            for (number,) in found:
                looked = self._look({number: table}, number)
                return looked.tables.get(number) or SqlServerTableFacts(table, number)
        raise TABLE_MISSING(table=table, database=identifier(self._database))

    def look(self) -> CatalogueLook:
        """Read all captured tables, with one round trip."""
        batch = (table_sql.TABLES, unnumbered_sql(None), _description(None))
        (names, unnumbered, *found) = self._ask("\n".join(batch))
        look = _looked({row[2]: TableId(self._database, row[0], row[1]) for row in names}, *found)
        return replace(look, unnumbered=frozenset(name for (name,) in unnumbered))

    def _look(self, names: Mapping[int, TableId], number: int) -> CatalogueLook:
        return _looked(names, *self._ask(_description(number)))


def _published(shape: Projection) -> set[str]:
    return {
        column.name
        for column, action in zip(shape.source.columns, shape.actions, strict=True)
        if action is not Plain.DROP
    }


def _description(number: int | None) -> str:
    return "\n".join(
        (instances_sql(None), columns_sql(None), table_sql.columns(number), table_sql.keys(number))
    )


def _looked(
    names: Mapping[int, TableId],
    instances: Sequence[tuple[Any, ...]],
    captured: Sequence[tuple[Any, ...]],
    columns: Sequence[tuple[Any, ...]],
    keys: Sequence[tuple[Any, ...]],
) -> CatalogueLook:
    taken: dict[int, list[CapturedColumn]] = defaultdict(list)
    for table, name, number, ordinal, computed in captured:
        taken[table].append(CapturedColumn(name, number, ordinal, bool(computed)))
    found = {number: SqlServerTableFacts(table, number) for number, table in names.items()}
    of_tables: dict[int, list[CatalogueInstance]] = defaultdict(list)
    for name, number, source, _, _, start, created, pending, role, net, index, group in instances:
        if source in found and not pending:
            of_tables[source].append(
                CatalogueInstance(
                    name, number, source, start, created, tuple(taken[number]), role, bool(net), index, group
                )
            )
    of_columns: dict[int, list[SqlServerColumnFacts]] = defaultdict(list)
    for table, name, number, kind, length, digits, scale, computed, nullable, collation, *seen in columns:
        masked, encrypted = map(bool, seen)
        made = ciphertext(length) if encrypted else of_catalogue(kind, length, digits, scale)
        of_columns[table].append(
            SqlServerColumnFacts(
                name, number, made, bool(nullable), bool(computed), collation, masked, encrypted
            )
        )
    unique: dict[int, dict[int, tuple[bool, list[int]]]] = defaultdict(dict)
    for table, index_id, primary, number in keys:
        unique[table].setdefault(index_id, (bool(primary), []))[1].append(number)
    tables = {
        number: replace(
            found[number],
            columns=tuple(of_columns[number]),
            unique=tuple((primary, tuple(parts)) for primary, parts in unique[number].values()),
            instances=tuple(made),
        )
        for number, made in of_tables.items()
    }
    proof = frozenset((row[1], row[5], bool(row[7])) for row in instances)
    unseen = tuple(sorted(row[0] for row in instances if row[2] not in names and not row[7]))
    return CatalogueLook(names, tables, proof, unseen=unseen)


def _key(
    facts: SqlServerTableFacts, names: Mapping[int, str], sure: Collection[int]
) -> tuple[tuple[str, ...], KeyKind]:
    """Return the primary key, else the first unique index over columns that are captured and never null."""
    ordered = sorted(facts.unique, key=lambda index: not index[0])
    for primary, parts in ordered:
        if set(parts) <= set(names) and (primary or set(parts) <= set(sure)):
            kind = KeyKind.PRIMARY if primary else KeyKind.UNIQUE
            return tuple(names[part] for part in parts), kind
    return (), KeyKind.NONE

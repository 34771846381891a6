"""The parts of a statement that the stand-in knows; `parser` makes them, `session` runs them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wrackline.control.local.sqlserver_standin.wire.sql_types import SqlType


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; `narrow` is a text without N."""

    value: object
    narrow: bool = False


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A column, with what stands before it."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter, a variable or a @@ function."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function with its arguments; COUNT(*) has a star."""

    name: str
    arguments: tuple["Expression", ...]
    star: bool = False


@dataclass(frozen=True, slots=True)
class RowNumber:
    """ROW_NUMBER: the number of a row among those with the same values, in an order."""

    partition: tuple["Expression", ...]
    order: tuple[tuple["Expression", bool], ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """CAST or CONVERT."""

    value: "Expression"
    of: SqlType


@dataclass(frozen=True, slots=True)
class Collated:
    """COLLATE: an expression that is compared in the order of a collation."""

    value: "Expression"
    collation: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator with one or two sides, in capitals: `AND`, `NOT`, `=`, `+`, `IS NULL`, `LIKE`, `NEG`."""

    sign: str
    sides: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Membership:
    """IN a list, or IN the rows of a query."""

    value: "Expression"
    items: tuple["Expression", ...]
    query: "Query | None" = None


@dataclass(frozen=True, slots=True)
class Choice:
    """CASE WHEN … THEN … ELSE … END; the form with a value before WHEN is made into this one."""

    branches: tuple[tuple["Expression", "Expression"], ...]
    otherwise: "Expression"


@dataclass(frozen=True, slots=True)
class Subquery:
    """A query in an expression: its one value, or whether it has a row."""

    query: "Query"
    exists: bool = False


Expression = (
    Constant
    | NamedColumn
    | Variable
    | FunctionCall
    | RowNumber
    | Conversion
    | Collated
    | Operation
    | Membership
    | Choice
    | Subquery
)


@dataclass(frozen=True, slots=True)
class RelationName:
    """A table, a view or a function that gives rows."""

    parts: tuple[str, ...]
    alias: str
    hints: frozenset[str] = frozenset()
    arguments: tuple[Expression, ...] | None = None


@dataclass(frozen=True, slots=True)
class Derived:
    """A query in FROM."""

    query: "Query"
    alias: str


@dataclass(frozen=True, slots=True)
class Join:
    """A join; CROSS has no condition."""

    kind: str
    left: "From"
    right: "From"
    on: Expression | None


From = RelationName | Derived | Join


@dataclass(frozen=True, slots=True)
class ResultItem:
    """An expression of a select list; none is a star, with what stands before it."""

    value: Expression | None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT; `more` are those that UNION ALL puts behind it, and `order` then sorts all."""

    items: Sequence[ResultItem]
    source: From | None = None
    where: Expression | None = None
    order: Sequence[tuple[Expression, bool]] = ()
    top: Expression | None = None
    more: Sequence["Query"] = ()


@dataclass(frozen=True, slots=True)
class Insertion:
    """INSERT … VALUES."""

    table: RelationName
    columns: Sequence[str]
    rows: Sequence[Sequence[Expression]]


@dataclass(frozen=True, slots=True)
class Change:
    """UPDATE … SET; without assignments a DELETE."""

    table: RelationName
    assignments: Sequence[tuple[str, Expression]] | None
    where: Expression | None


@dataclass(frozen=True, slots=True)
class OptionSetting:
    """SET of an option of the connection: its words in capitals."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariableValue:
    """DECLARE, or SET of a variable."""

    name: str
    of: SqlType | None
    value: Expression | None


@dataclass(frozen=True, slots=True)
class Bound:
    """BEGIN, SAVE, COMMIT or ROLLBACK of a transaction."""

    kind: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Using:
    """USE."""

    database: str


@dataclass(frozen=True, slots=True)
class ProcedureCall:
    """EXEC."""

    name: tuple[str, ...]
    arguments: Sequence[tuple[str, Expression]] = field(default=())


@dataclass(frozen=True, slots=True)
class TableVariable:
    """DECLARE of a table: its columns with their declarations."""

    name: str
    columns: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Filling:
    """INSERT of what a procedure gives, into a table variable."""

    name: str
    call: ProcedureCall


@dataclass(frozen=True, slots=True)
class Conditional:
    """IF; a block is several statements."""

    condition: Expression
    then: Sequence["Statement"]


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """CREATE TABLE: columns with their declarations, as `model.tables.declared` reads them."""

    name: tuple[str, ...]
    columns: Sequence[tuple[str, str]]
    key: Sequence[str]
    unique: Sequence[str]
    defaults: Mapping[str, Constant] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnAlteration:
    """ALTER TABLE: ADD, DROP or ALTER of a column."""

    table: tuple[str, ...]
    kind: str
    column: str
    declaration: str = ""
    default: Constant | None = None
    fills: bool = False
    """Whether rows that are there get the default, though NULL is allowed."""


@dataclass(frozen=True, slots=True)
class TableRemoval:
    """DROP TABLE or TRUNCATE TABLE."""

    kind: str
    table: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatabaseDefinition:
    """CREATE or DROP of a database, or SET of one of its options, in capitals."""

    kind: str
    name: str
    option: str = ""
    on: bool = False


@dataclass(frozen=True, slots=True)
class RightGrant:
    """GRANT of rights on a schema, a table, the database or the server.

    `kind`: SCHEMA, OBJECT, DATABASE or SERVER.
    """

    rights: tuple[str, ...]
    kind: str
    securable: tuple[str, ...]
    user: str


@dataclass(frozen=True, slots=True)
class PrincipalDefinition:
    """CREATE of a `LOGIN` (with its password), a `USER` or a `ROLE`; `ADD` or `DROP` of a role's member."""

    kind: str
    name: str
    of: str = ""


Definition = (
    TableDefinition | ColumnAlteration | TableRemoval | DatabaseDefinition | RightGrant | PrincipalDefinition
)
Statement = (
    Query
    | Insertion
    | Change
    | OptionSetting
    | VariableValue
    | Bound
    | Using
    | ProcedureCall
    | Conditional
    | TableVariable
    | Filling
    | Definition
)

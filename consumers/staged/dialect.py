"""What a service's SQL does in its own way, as a value; all else is written once, in this room.

A stage holds primitives alone, because each service's loader has its own way with the richer types of a
file.  `restored` makes the column's type of a primitive, by functions that the service documents.

    decimal(12,2)   staged as text     "12.30"
    timestamp       staged as bigint   microseconds since 1970
    a list          staged as text     ,3,7,
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import Enum
from types import MappingProxyType

from wrackline.consumers.contract.identifiers import Identifiers
from wrackline.consumers.contract.limits import Limit
from wrackline.consumers.staged.places import StagedRelation
from wrackline.schemas.tables.types import ColumnType, Kind


class Primitive(Enum):
    """What a column of a stage holds."""

    BOOLEAN = "boolean"
    BIGINT = "bigint"
    DOUBLE = "double"
    BYTES = "bytes"
    TEXT = "text"


_PRIMITIVES: Mapping[Kind, Primitive] = MappingProxyType(
    {
        Kind.BOOLEAN: Primitive.BOOLEAN,
        Kind.INT16: Primitive.BIGINT,
        Kind.INT32: Primitive.BIGINT,
        Kind.INT64: Primitive.BIGINT,
        Kind.YEAR: Primitive.BIGINT,
        Kind.FLOAT32: Primitive.DOUBLE,
        Kind.FLOAT64: Primitive.DOUBLE,
        Kind.BYTES: Primitive.BYTES,
        Kind.BITS: Primitive.BYTES,
        Kind.DATE: Primitive.BIGINT,  # days
        Kind.TIME_MICROS: Primitive.BIGINT,
        Kind.TIMESTAMP_MICROS: Primitive.BIGINT,
        Kind.ZONED_TIMESTAMP: Primitive.BIGINT,
        Kind.INSTANT_MICROS: Primitive.BIGINT,
        Kind.DURATION_MICROS: Primitive.BIGINT,
    }
)


def carried_as(of: ColumnType) -> Primitive:
    """Return as what a value is staged: as its text, where its kind has no other form."""
    return _PRIMITIVES.get(of.kind, Primitive.TEXT)


@dataclass(frozen=True, slots=True)
class StagedDialect:
    """One service's SQL."""

    identifiers: Identifiers
    native: frozenset[Kind]  # kept in a type of the service's own
    most_decimal_digits: int
    widens: frozenset[tuple[Kind, Kind]]  # from, to: in the same column, or by filling another one
    conditional_merge: bool  # whether MERGE has conditions; if not, its parts are statements of their own
    types: Mapping[Primitive, str]  # of a stage's columns, and of ours
    moment_type: str  # of a moment with its zone
    quoted: Callable[[str], str]  # a name
    literal: Callable[[str], str]  # a text
    physical: Callable[[ColumnType], str]  # a column's type; equal texts are the same column
    restored: Callable[[str, ColumnType], str]  # an expression of the primitive to one of the column's type
    converted: Callable[[str, ColumnType, ColumnType], str]  # a stored value to a wider type
    image: Callable[[str, ColumnType], str]  # equal only for values that are exactly equal
    moment: Callable[[str], str]  # microseconds since 1970 to a moment
    # whether a change of shape is committed with the state; such a service knows no IF (NOT) EXISTS of a
    # column, and replaces no view by one with other columns
    transactional_ddl: bool = False
    view_option: str = ""  # with which a view that replaces another leaves readers their rights
    unheld: str = ""  # characters that no text may have
    limits: Mapping[Kind, Limit] = field(default_factory=dict)  # what it holds no value of
    row_bytes: int | None = None  # the most that a row's texts and bytes may have together
    # a part of a text between separators, by its number from 1
    part: Callable[[str, str, int], str] = lambda text, by, at: f"SPLIT_PART({text}, {by}, {at})"
    nul: str = "CHR(0)"  # the character of code 0
    shown: Callable[[str, ColumnType], str] = lambda value, _: value  # as a driver can read it

    def path(self, relation: StagedRelation) -> str:
        """Name a table or a view."""
        return f"{self.quoted(relation.schema)}.{self.quoted(relation.name)}"

    def limit(self, of: ColumnType) -> Limit | None:
        """Return what it holds no value of, of a column that is staged."""
        limit = self.limits.get(of.kind)
        if self.unheld and carried_as(of) is Primitive.TEXT:
            return replace(limit or Limit(), unheld=self.unheld)
        return limit

    def row_limit(self, limits: Iterable[Limit | None]) -> Limit | None:
        """Return the limit of a row whose values have these, if it can be longer."""
        longest = sum(one.most_bytes or 0 for one in limits if one is not None)
        is_reached = self.row_bytes is not None and longest > self.row_bytes
        return Limit(most_row_bytes=self.row_bytes) if is_reached else None

    def cast(self, value: str, to: Primitive) -> str:
        """Give a value the type of one of our columns."""
        return f"CAST({value} AS {self.types[to]})"


def bound(value: int | date) -> str:
    """Write an end of a range of keys: the only values of rows that stand in a statement."""
    return str(value) if isinstance(value, int) else f"DATE '{value}'"


def list_holds(listed: str, identity: int) -> str:
    """Look for an identity in a list; a null list has none."""
    return f"COALESCE({listed}, '') LIKE '%,{identity},%'"


def make_list(items: Iterable[tuple[str, str]]) -> str:
    """List the items whose conditions hold, each a literal that ends with a comma; null, if none does."""
    parts = ["','", *(f"CASE WHEN {condition} THEN {item} ELSE '' END" for condition, item in items)]
    return f"NULLIF({' || '.join(parts)}, ',')"

"""What a check found: the one form that command line, REST and console show.

A source or a target checks its server and its tables and returns findings; it repairs nothing and decides
nothing.  The form is CDAP's.  `id` identifies the kind of finding and never changes, so that a user can
silence it and a script can wait for it; the same id about two tables is two findings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TypedDict

from wrackline.schemas.errors import connects
from wrackline.schemas.message_texts import fill_in
from wrackline.schemas.tables.table import TableId


class Severity(Enum):
    """What follows if nobody acts on the finding."""

    ERROR = "ERROR"  # the pipeline, or this table of it, can't run
    WARNING = "WARNING"  # it runs, and something is slower, larger or less exact than it could be
    INFO = "INFO"  # good to know


class Support(Enum):
    """Whether a column is carried."""

    YES = "YES"
    PARTIAL = "PARTIAL"  # as text, or with a limit that the suggestion names
    NO = "NO"


Fix = TypedDict(
    "Fix",
    {
        "id": str,
        "sql": str,
        "as": str,  # who may run it
        "restart": bool,  # the server has to be started again
        "safe": bool,  # no row, no right of others and no running session changes by it
        "undo": str,
    },
)


def fix(id_: str, sql: str, role: str, *, undo: str = "", safe: bool = True, restart: bool = False) -> Fix:
    """Write statements that remove a finding's cause; a rule's fix may hold the rule's placeholders."""
    return {"id": id_, "sql": sql, "as": role, "restart": restart, "safe": safe, "undo": undo}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a user should know; without a table it concerns the whole server."""

    id: str  # dotted, as an error's code: "pg.wal_level"
    name: str
    description: str
    suggestion: str  # the exact command or SQL
    impact: str
    severity: Severity
    table: TableId | None = None
    column: str | None = None
    fixes: tuple[Fix, ...] = ()  # the same as the suggestion, for programs
    connects: bool = False  # whether a server can't be reached; of an error, its code says so

    def __post_init__(self) -> None:
        """Take it from an error's code; refuse a column without its table, because nobody could find it."""
        object.__setattr__(self, "connects", self.connects or connects(self.id))
        if self.column is not None and self.table is None:
            raise ValueError(f"finding {self.id} names a column but no table")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding; its three texts may hold placeholders."""

    id: str
    severity: Severity
    name: str
    description: str
    impact: str
    suggestion: str
    fixes: tuple[Fix, ...] = ()
    connects: bool = False

    def __call__(self, table: TableId | None = None, column: str | None = None, **names: object) -> Finding:
        """Make the finding; a missing name is a fault of the caller's code."""
        return Finding(
            id=self.id,
            name=self.name,
            description=self.description.format_map(names),
            suggestion=fill_in(self.suggestion, names),
            impact=self.impact.format_map(names),
            severity=self.severity,
            table=table,
            column=column,
            fixes=tuple(_filled(one, names) for one in self.fixes),
            connects=self.connects,
        )


def _filled(one: Fix, names: Mapping[str, object]) -> Fix:
    return {**one, "sql": one["sql"].format_map(names), "undo": one["undo"].format_map(names)}


_RULES: dict[str, Rule] = {}


def rule(
    id_: str,
    severity: Severity,
    name: str,
    description: str,
    impact: str,
    suggestion: str,
    *fixes: Fix,
    connection: bool = False,
) -> Rule:
    """Register a kind of finding; a second one of the same id stops the program at import."""
    if id_ in _RULES:
        raise ValueError(f"finding {id_} is defined twice")
    _RULES[id_] = Rule(id_, severity, name, description, impact, suggestion, fixes, connection)
    return _RULES[id_]


def rules() -> Mapping[str, Rule]:
    """Every kind of finding of the modules imported so far."""
    return MappingProxyType(_RULES)


@dataclass(frozen=True, slots=True)
class ColumnSupport:
    """How far one column of an assessed table is carried."""

    table: TableId
    column: str
    type: str  # as the server writes it
    support: Support
    suggestion: str = ""

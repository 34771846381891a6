"""Which tables are copied, and how their columns are published: filter and mask settings, parsed once.

    schema|table.include|exclude.list     ->  TableFilter   captures(table)
    column.include|exclude.list, column.as.text, column.mask.*, column.truncate.*,
                                          ->  ColumnRules   used by `projection.py`
                                          ->  ColumnRules   asked by `projection.py`

The meaning is Debezium's: regular expressions over the whole name, letters in either case, so that no
spelling of a name slips past an exclude list.  A table is `schema.table`, a column
`schema.table.column`; with the database before it, either is found as well.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Self

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.language.masks import HashMask, Mask, StarsMask, hash_of, stars_of, truncate_of
from wrackline.schemas.language.patterns import TablePattern, compile_pattern
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.settings.setting import placeholders
from wrackline.schemas.settings.value_kinds import Value
from wrackline.schemas.tables.table import TableId

HASH = "column.mask.hash.<algorithm>.with.salt.<salt>"
HASH_V2 = "column.mask.hash.v2.<algorithm>.with.salt.<salt>"
STARS = "column.mask.with.<length>.chars"
TRUNCATE = "column.truncate.to.<length>.chars"
KEYS = "message.key.columns"
UNFIT = "value.unfit"

MATCHES_NOTHING = rule(
    "filter.matches_nothing",
    Severity.WARNING,
    "A pattern matches nothing",
    "{setting} has the pattern {pattern}, which matches no {what}",
    "the settings behave as if the pattern were not there",
    "correct or remove it in {setting}; write \\. for a literal dot",
)


class OnUnfit(Enum):
    """What becomes of a value that its column's type can't hold; the earlier one wins where lists overlap."""

    STOP = "stop"  # the table is set aside
    LETTER = "letter"  # the row is set aside as a dead letter
    NULL = "null"  # the column is published as null

    @property
    def setting(self) -> str:
        """The setting that lists the columns to which this applies, whatever `value.unfit` is."""
        return f"column.unfit.{self.value}"


@dataclass(frozen=True, slots=True)
class Listed:
    """One pattern of a setting's list; it knows its setting, to be named when it matches nothing."""

    setting: str
    text: str
    _compiled: TablePattern | re.Pattern[str]

    @classmethod
    def of(cls, setting: str, text: str) -> Self:
        """Compile a pattern that the setting's validator has let pass.

        What our own matcher does not know (look-ahead, `^`, `$`) is the library's; the text is the
        owner's of the pipeline, so it need not be bounded as a signal's is.
        """
        try:
            return cls(shown_name(setting), text, compile_pattern(text))
        except WracklineError:
            return cls(shown_name(setting), text, re.compile(text, re.IGNORECASE))

    def matches(self, *names: str) -> bool:
        """Whether the whole of one of these names matches."""
        if isinstance(self._compiled, TablePattern):
            return any(map(self._compiled.matches_name, names))
        return any(map(self._compiled.fullmatch, names))

    def matches_table(self, table: TableId) -> bool:
        """Whether it means this table."""
        return self.matches(*_names(table))

    def matches_column(self, table: TableId, column: str) -> bool:
        """Whether it means this column."""
        return self.matches(*(f"{name}.{column}" for name in _names(table)))


@dataclass(frozen=True, slots=True)
class TableFilter:
    """The schemas and tables that are copied; an empty include list means all."""

    schemas_in: tuple[Listed, ...] = ()
    schemas_out: tuple[Listed, ...] = ()
    tables_in: tuple[Listed, ...] = ()
    tables_out: tuple[Listed, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Self:
        """Read the lists; if the tables of one server are in many databases, those are its schemas."""
        return cls(
            (*compile_list(values, "schema.include.list"), *compile_list(values, "database.include.list")),
            (*compile_list(values, "schema.exclude.list"), *compile_list(values, "database.exclude.list")),
            compile_list(values, "table.include.list"),
            compile_list(values, "table.exclude.list"),
        )

    def captures(self, table: TableId) -> bool:
        """Whether a table is copied."""
        return (
            (not self.schemas_in or any(one.matches(table.schema) for one in self.schemas_in))
            and not any(one.matches(table.schema) for one in self.schemas_out)
            and (not self.tables_in or any(one.matches_table(table) for one in self.tables_in))
            and not any(one.matches_table(table) for one in self.tables_out)
        )

    def findings(self, tables: Iterable[TableId]) -> Iterator[Finding]:
        """Name each pattern that means none of the database's tables."""
        known = tuple(tables)
        schemas = {table.schema for table in known}
        for one in (*self.schemas_in, *self.schemas_out):
            if not any(map(one.matches, schemas)):
                yield no_match_finding(one, "schema")
        for one in (*self.tables_in, *self.tables_out):
            if not any(map(one.matches_table, known)):
                yield no_match_finding(one, "table")


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """What is done to columns; without rules, nothing."""

    included: tuple[Listed, ...] = ()
    excluded: tuple[Listed, ...] = ()
    texts: tuple[Listed, ...] = ()
    masks: tuple[tuple[Listed, Mask], ...] = ()
    keys: tuple[tuple[Listed, tuple[str, ...]], ...] = ()
    unfit: OnUnfit = OnUnfit.STOP
    unfits: tuple[tuple[Listed, OnUnfit], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Self:
        """Read every setting about columns."""
        return cls(
            compile_list(values, "column.include.list"),
            compile_list(values, "column.exclude.list"),
            compile_list(values, "column.as.text"),
            tuple(
                (one, mask)
                for name in values
                if (mask := mask_of(name)) is not None
                for one in compile_list(values, name)
            ),
            tuple(_keys(values.get(KEYS))),
            OnUnfit(values.get(UNFIT) or OnUnfit.STOP.value),
            tuple((one, policy) for policy in OnUnfit for one in compile_list(values, policy.setting)),
        )

    def drops(self, table: TableId, column: str) -> bool:
        """Whether a column is left out."""
        if self.included and not any(one.matches_column(table, column) for one in self.included):
            return True
        return any(one.matches_column(table, column) for one in self.excluded)

    def mask(self, table: TableId, column: str) -> Mask | None:
        """Return the mask that hides most of a column, if there are several: stars, a hash, a truncation."""
        found = [mask for one, mask in self.masks if one.matches_column(table, column)]
        return min(found, key=_rank, default=None)

    def as_text(self, table: TableId, column: str) -> bool:
        """Whether a column need not be understood: it is carried as text, hidden, or left out."""
        return (
            any(one.matches_column(table, column) for one in self.texts)
            or isinstance(self.mask(table, column), HashMask | StarsMask)
            or self.drops(table, column)
        )

    def on_unfit(self, table: TableId, column: str) -> OnUnfit:
        """Return what becomes of a value that the column's type can't hold."""
        named = (policy for one, policy in self.unfits if one.matches_column(table, column))
        return next(named, self.unfit)

    def key(self, table: TableId) -> tuple[str, ...]:
        """Return the key's columns that `message.key.columns` names; none where it is silent."""
        named = (name for one, columns in self.keys if one.matches_table(table) for name in columns)
        return tuple(dict.fromkeys(named))


def no_match_finding(one: Listed, what: str) -> Finding:
    """Report that a pattern matches nothing that exists: mostly a typing error."""
    return MATCHES_NOTHING(setting=one.setting, pattern=one.text, what=what)


def _names(table: TableId) -> tuple[str, str]:
    return f"{table.schema}.{table.name}", str(table)


def compile_list(values: Mapping[str, Value], setting: str) -> tuple[Listed, ...]:
    """Compile the patterns of a setting; none where it is not set."""
    texts = values.get(setting)
    return tuple(Listed.of(setting, text) for text in texts) if isinstance(texts, tuple) else ()


def mask_of(name: str) -> Mask | None:
    """Read a mask from the setting's own name, which defines it; None for another setting."""
    for version, declared in ((2, HASH_V2), (1, HASH)):
        if found := placeholders(declared, name):
            return hash_of(found["algorithm"], found["salt"], version)
    if found := placeholders(STARS, name):
        return stars_of(name, int(found["length"]))
    if found := placeholders(TRUNCATE, name):
        return truncate_of(name, int(found["length"]))
    return None


def _rank(mask: Mask) -> tuple[int, int]:
    match mask:
        case StarsMask():
            return 0, 0
        case HashMask():
            return 1, 0
        case _:
            return 2, mask.count


def _keys(text: Value) -> Iterator[tuple[Listed, tuple[str, ...]]]:
    for entry in text.split(";") if isinstance(text, str) else ():
        table, _, columns = entry.strip().rpartition(":")
        if table:
            yield Listed.of(KEYS, table.strip()), tuple(name.strip() for name in columns.split(","))

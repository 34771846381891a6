"""Which tables are copied, and what becomes of their columns: the filter and mask settings, parsed once.

    schema|table.include|exclude.list     ->  TableFilter   captures(table)
    column.include|exclude.list, column.as.text, column.mask.*, column.truncate.*,
    message.key.columns                   ->  ColumnRules   asked by `projection.py`

The meaning is Debezium's: regular expressions over the whole name, letters in either case, so that no
spelling of a name slips past an exclude list.  A table is `schema.table`, a column
`schema.table.column`; with the database before it, either is found as well.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from wrackline.schemas.errors import WracklineError
from wrackline.schemas.findings import Finding, Severity, rule
from wrackline.schemas.masks import Hash, Mask, Stars, hash_of, stars_of, truncate_of
from wrackline.schemas.patterns import TablePattern, compile_pattern
from wrackline.schemas.redaction import shown_name
from wrackline.schemas.setting import placeholders
from wrackline.schemas.setting_kinds import Value
from wrackline.schemas.table import TableId

HASH = "column.mask.hash.<algorithm>.with.salt.<salt>"
HASH_V2 = "column.mask.hash.v2.<algorithm>.with.salt.<salt>"
STARS = "column.mask.with.<length>.chars"
TRUNCATE = "column.truncate.to.<length>.chars"
KEYS = "message.key.columns"

MATCHES_NOTHING = rule(
    "filter.matches_nothing",
    Severity.WARNING,
    "A pattern matches nothing",
    "{setting} has the pattern {pattern}, and no {what} has such a name",
    "what it was meant for is treated as if the line were not there",
    "correct it in {setting}, or take it out; a dot that is meant as such is written \\.",
)


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
        """Read the lists; where the tables of one server lie in many databases, those are its schemas."""
        return cls(
            (*listed(values, "schema.include.list"), *listed(values, "database.include.list")),
            (*listed(values, "schema.exclude.list"), *listed(values, "database.exclude.list")),
            listed(values, "table.include.list"),
            listed(values, "table.exclude.list"),
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
                yield matches_nothing(one, "schema")
        for one in (*self.tables_in, *self.tables_out):
            if not any(map(one.matches_table, known)):
                yield matches_nothing(one, "table")


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """What is done to columns; without rules, nothing."""

    included: tuple[Listed, ...] = ()
    excluded: tuple[Listed, ...] = ()
    texts: tuple[Listed, ...] = ()
    masks: tuple[tuple[Listed, Mask], ...] = ()
    keys: tuple[tuple[Listed, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> Self:
        """Read every setting about columns."""
        return cls(
            listed(values, "column.include.list"),
            listed(values, "column.exclude.list"),
            listed(values, "column.as.text"),
            tuple(
                (one, mask)
                for name in values
                if (mask := mask_of(name)) is not None
                for one in listed(values, name)
            ),
            tuple(_keys(values.get(KEYS))),
        )

    def drops(self, table: TableId, column: str) -> bool:
        """Whether a column is left out."""
        if self.included and not any(one.matches_column(table, column) for one in self.included):
            return True
        return any(one.matches_column(table, column) for one in self.excluded)

    def mask(self, table: TableId, column: str) -> Mask | None:
        """Return what hides most of a column, where several say something: stars, a hash, a truncation."""
        found = [mask for one, mask in self.masks if one.matches_column(table, column)]
        return min(found, key=_rank, default=None)

    def as_text(self, table: TableId, column: str) -> bool:
        """Whether a column need not be understood: it is carried as text, hidden, or left out."""
        return (
            any(one.matches_column(table, column) for one in self.texts)
            or isinstance(self.mask(table, column), Hash | Stars)
            or self.drops(table, column)
        )

    def key(self, table: TableId) -> tuple[str, ...]:
        """Return the key's columns that `message.key.columns` names; none where it is silent."""
        named = (name for one, columns in self.keys if one.matches_table(table) for name in columns)
        return tuple(dict.fromkeys(named))


def matches_nothing(one: Listed, what: str) -> Finding:
    """Say that a pattern means nothing that is there: mostly a typing error."""
    return MATCHES_NOTHING(setting=one.setting, pattern=one.text, what=what)


def _names(table: TableId) -> tuple[str, str]:
    return f"{table.schema}.{table.name}", str(table)


def listed(values: Mapping[str, Value], setting: str) -> tuple[Listed, ...]:
    """Compile the patterns of a setting; none where it is not set."""
    texts = values.get(setting)
    return tuple(Listed.of(setting, text) for text in texts) if isinstance(texts, tuple) else ()


def mask_of(name: str) -> Mask | None:
    """Read a mask out of the setting's own name, which says what to do; None for another setting."""
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
        case Stars():
            return 0, 0
        case Hash():
            return 1, 0
        case _:
            return 2, mask.count


def _keys(text: Value) -> Iterator[tuple[Listed, tuple[str, ...]]]:
    for entry in text.split(";") if isinstance(text, str) else ():
        table, _, columns = entry.strip().rpartition(":")
        if table:
            yield Listed.of(KEYS, table.strip()), tuple(name.strip() for name in columns.split(","))

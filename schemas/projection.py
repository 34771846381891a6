"""What of a table goes out: the source's table and the rules come in, the published table goes out.

One `Projection` serves the log and the snapshot, so that both hide the same.  It is pure, and made
once a shape: a row is then only told, column by column, to keep, to drop or to mask.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.filters import ColumnRules, matches_nothing
from wrackline.schemas.findings import Finding, Severity, rule
from wrackline.schemas.masks import Hash, Mask, Stars, Truncate
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.types import ColumnType, Kind

KEY_COLUMN_MISSING = define(
    "filter.key_column_missing",
    OperatorNeeded,
    "message.key.columns names column {column}, which {table} does not have",
    hint="correct the name in message.key.columns, letters in the same case as in the database",
)
KEY_LEFT_OUT = define(
    "filter.key_left_out",
    OperatorNeeded,
    "column {column} of {table} is part of its key and would be left out, so rows could not be told apart",
    hint="let column.include.list or column.exclude.list keep {table}.{column}, mask it with "
    "column.mask.hash.v2.SHA-256.with.salt.<salt>, or name another key in message.key.columns",
)
KEY_NOT_EQUAL = define(
    "filter.key_not_equal",
    OperatorNeeded,
    "column {column} of {table} is part of its key, and {what} would make different rows the same",
    hint="hash it instead, in a column with room for the hash: "
    "column.mask.hash.v2.SHA-256.with.salt.<salt>={table}.{column}",
)
NOT_TRUNCATED = rule(
    "filter.not_truncated",
    Severity.WARNING,
    "A column that is no text can't be truncated",
    "column.truncate.to.<length>.chars matches {path}, which is {type}",
    "the column goes out whole",
    "hide it: column.mask.with.<length>.chars={path}, or leave it out: column.exclude.list={path}",
)

_TEXT = ColumnType(Kind.STRING, "text")
_CUT_AS_TEXT = frozenset({Kind.STRING, Kind.TEXT_OF, Kind.JSON, Kind.XML})
_LENGTH = re.compile(r"(?:var)?char(?:acter)?(?: varying)?\((\d+)\)", re.ASCII)


class Plain(Enum):
    """What is done to a column that no mask touches."""

    KEEP = "keep"
    DROP = "drop"


Action: TypeAlias = Plain | Mask


@dataclass(frozen=True, slots=True)
class Projection:
    """A table as the source has it, as it goes out, and what each of the source's columns is told."""

    source: TableSchema
    table: TableSchema
    actions: tuple[Action, ...]  # one per column of `source`

    @property
    def kept(self) -> Collection[str]:
        """The columns whose values leave as they are."""
        told = zip(self.source.columns, self.actions, strict=True)
        return [column.name for column, action in told if action is Plain.KEEP]

    @property
    def plain(self) -> bool:
        """Whether every value goes out as it is."""
        return all(action is Plain.KEEP for action in self.actions)


def everything(table: TableSchema) -> Projection:
    """Let all of a table go out."""
    return Projection(table, table, (Plain.KEEP,) * len(table.columns))


def project(source: TableSchema, rules: ColumnRules) -> Projection:
    """Apply the rules to a table; a key that would no longer tell rows apart is refused."""
    source = _with_custom_key(source, rules.key(source.id))
    actions = tuple(_action(source.id, column, rules) for column in source.columns)
    for column, action in zip(source.columns, actions, strict=True):
        if column.name in source.key:
            _check_key(source.id, column.name, action)
    kept = tuple(
        column if action is Plain.KEEP else replace(column, type=_masked_type(column.type, action))
        for column, action in zip(source.columns, actions, strict=True)
        if action is not Plain.DROP
    )
    return Projection(source, replace(source, columns=kept), actions)


def findings(rules: ColumnRules, tables: Iterable[TableSchema]) -> Iterator[Finding]:
    """Name what the rules do not do: patterns that match nothing, and truncations of what is no text."""
    known = tuple(tables)
    columns = [(table.id, column) for table in known for column in table.columns]
    lists = (*rules.included, *rules.excluded, *rules.texts, *(one for one, _ in rules.masks))
    for one in lists:
        if not any(one.matches_column(table, column.name) for table, column in columns):
            yield matches_nothing(one, "column")
    for one, _ in rules.keys:
        if not any(one.matches_table(table.id) for table in known):
            yield matches_nothing(one, "table")
    for table, column in columns:
        mask = rules.mask(table, column.name)
        dropped = rules.drops(table, column.name)
        if isinstance(mask, Truncate) and not dropped and column.type.kind not in _CUT_AS_TEXT:
            path = f"{table}.{column.name}"
            yield NOT_TRUNCATED(table, column.name, path=path, type=column.type.source)


def _with_custom_key(source: TableSchema, key: tuple[str, ...]) -> TableSchema:
    names = {column.name for column in source.columns}
    for name in key:
        if name not in names:
            raise KEY_COLUMN_MISSING(column=name, table=source.id)
    return replace(source, key=key, key_kind=KeyKind.CUSTOM) if key else source


def _action(table: TableId, column: Column, rules: ColumnRules) -> Action:
    if rules.drops(table, column.name):
        return Plain.DROP
    match rules.mask(table, column.name):
        case Hash() as mask:
            found = _LENGTH.fullmatch(column.type.source)
            return replace(mask, length=int(found[1])) if found else mask
        case Stars() as mask:
            return mask
        case Truncate() as mask if column.type.kind in _CUT_AS_TEXT:
            return mask
    return Plain.KEEP


def _check_key(table: TableId, column: str, action: Action) -> None:
    match action:
        case Plain.DROP:
            raise KEY_LEFT_OUT(column=column, table=table)
        case Stars():
            raise KEY_NOT_EQUAL(column=column, table=table, what="column.mask.with.<length>.chars")
        case Truncate():
            raise KEY_NOT_EQUAL(column=column, table=table, what="column.truncate.to.<length>.chars")
        case Hash() if not action.whole:
            raise KEY_NOT_EQUAL(column=column, table=table, what="a hash that is cut to the column's length")


def _masked_type(column: ColumnType, action: Action) -> ColumnType:
    """A hash and stars are text whatever they hide; a truncated text stays what it was."""
    return column if isinstance(action, Truncate) and column.kind is Kind.STRING else _TEXT

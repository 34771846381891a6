"""What is published of a table: from the source's table and the rules to the published table.

One `Projection` serves the log and the snapshot, so that both hide the same.  It is pure, and made once per
shape: for a row it only says, column by column, whether to keep, to drop or to mask.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from wrackline.schemas.errors import OperatorNeeded, define
from wrackline.schemas.language.findings import Finding, Severity, rule
from wrackline.schemas.language.masks import HashMask, Mask, StarsMask, TruncateMask
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.settings.filters import ColumnRules, OnUnfit, no_match_finding
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

KEY_COLUMN_MISSING = define(
    "filter.key_column_missing",
    OperatorNeeded,
    "message.key.columns names column {column}, which {table} does not have",
    hint="correct the name in message.key.columns, letters in the same case as in the database",
)
KEY_LEFT_OUT = define(
    "filter.key_left_out",
    OperatorNeeded,
    "column {column} of {table} is part of its key and would be left out, so rows could not be distinguished",
    hint="let column.include.list or column.exclude.list keep {table}.{column}, mask it with "
    "column.mask.hash.v2.SHA-256.with.salt.<salt>, or name another key in message.key.columns",
)
KEY_NOT_EQUAL = define(
    "filter.key_not_equal",
    OperatorNeeded,
    "column {column} of {table} is part of its key, and {what} would make different rows the same",
    hint="hash it instead, in a column that is long enough for the hash:"
    " column.mask.hash.v2.SHA-256.with.salt.<salt>={table}.{column}",
)
NOT_TRUNCATED = rule(
    "filter.not_truncated",
    Severity.WARNING,
    "Only text columns can be truncated",
    "column.truncate.to.<length>.chars matches {path}, which is {type}",
    "the column is published whole",
    "hide it: column.mask.with.<length>.chars = '{pattern}', or leave it out: column.exclude.list ="
    " '{pattern}'",
)

KEY_NEVER_NULL = rule(
    "filter.key_never_null",
    Severity.WARNING,
    "A key column is never published as null",
    "column.unfit.null matches {path}, which is part of the table's key",
    "a value that does not fit stops the table",
    "set column.as.text = '{pattern}' to carry it as text, or column.unfit.letter = '{pattern}' to set such"
    " rows aside",
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
    """A table as the source has it, as it is published, and the action for each of the source's columns."""

    source: TableSchema
    table: TableSchema
    actions: tuple[Action, ...]  # one per column of `source`
    on_unfit: tuple[OnUnfit, ...] = ()  # one per column of `table`; none: every column stops the table

    @property
    def plain_columns(self) -> Collection[str]:
        """The columns whose values are published as they are."""
        pairs = zip(self.source.columns, self.actions, strict=True)
        return [column.name for column, action in pairs if action is Plain.KEEP]

    @property
    def plain(self) -> bool:
        """Whether every value is published as it is."""
        return all(action is Plain.KEEP for action in self.actions)


def project_all(table: TableSchema) -> Projection:
    """Publish all of a table."""
    return Projection(table, table, (Plain.KEEP,) * len(table.columns))


def project(source: TableSchema, rules: ColumnRules) -> Projection:
    """Apply the rules to a table; a key that would no longer identify rows is refused."""
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
    unfit = tuple(_on_unfit(source, column.name, rules) for column in kept)
    columns = tuple(
        replace(column, nullable=True) if policy is OnUnfit.NULL else column
        for column, policy in zip(kept, unfit, strict=True)
    )
    dropped = tuple(
        column.name for column, action in zip(source.columns, actions, strict=True) if action is Plain.DROP
    )
    stops = all(policy is OnUnfit.STOP for policy in unfit)
    return Projection(
        source, replace(source, columns=columns, left_out=dropped), actions, () if stops else unfit
    )


def findings(rules: ColumnRules, tables: Iterable[TableSchema]) -> Iterator[Finding]:
    """Report what the rules do not do: patterns that match nothing, and truncations of what is not text."""
    known = tuple(tables)
    columns = [(table.id, column) for table in known for column in table.columns]
    paired = (*rules.masks, *rules.unfits)
    lists = (*rules.included, *rules.excluded, *rules.texts, *(one for one, _ in paired))
    for one in lists:
        if not any(one.matches_column(table, column.name) for table, column in columns):
            yield no_match_finding(one, "column")
    for one, _ in rules.keys:
        if not any(one.matches_table(table.id) for table in known):
            yield no_match_finding(one, "table")
    for table, column in columns:
        mask = rules.mask(table, column.name)
        dropped = rules.drops(table, column.name)
        if isinstance(mask, TruncateMask) and not dropped and column.type.kind not in _CUT_AS_TEXT:
            path = f"{table}.{column.name}"
            pattern = exact_pattern(table.schema, table.name, column.name)
            yield NOT_TRUNCATED(table, column.name, path=path, type=column.type.source, pattern=pattern)
    for schema in known:
        for name in rules.key(schema.id) or schema.key:
            listed = (one for one, policy in rules.unfits if policy is OnUnfit.NULL)
            if any(one.matches_column(schema.id, name) for one in listed):
                path = f"{schema.id}.{name}"
                pattern = exact_pattern(schema.id.schema, schema.id.name, name)
                yield KEY_NEVER_NULL(schema.id, name, path=path, pattern=pattern)


def _with_custom_key(source: TableSchema, key: tuple[str, ...]) -> TableSchema:
    names = {column.name for column in source.columns}
    for name in key:
        if name not in names:
            raise KEY_COLUMN_MISSING(column=name, table=source.id)
    return replace(source, key=key, key_kind=KeyKind.CUSTOM) if key else source


def _on_unfit(source: TableSchema, column: str, rules: ColumnRules) -> OnUnfit:
    """Return the policy for a value that does not fit; if a key would be null, it stops the table."""
    policy = rules.on_unfit(source.id, column)
    return OnUnfit.STOP if policy is OnUnfit.NULL and column in source.key else policy


def _action(table: TableId, column: Column, rules: ColumnRules) -> Action:
    if rules.drops(table, column.name):
        return Plain.DROP
    match rules.mask(table, column.name):
        case HashMask() as mask:
            found = _LENGTH.fullmatch(column.type.source)
            return replace(mask, length=int(found[1])) if found else mask
        case StarsMask() as mask:
            return mask
        case TruncateMask() as mask if column.type.kind in _CUT_AS_TEXT:
            return mask
    return Plain.KEEP


def _check_key(table: TableId, column: str, action: Action) -> None:
    match action:
        case Plain.DROP:
            raise KEY_LEFT_OUT(column=column, table=table)
        case StarsMask():
            raise KEY_NOT_EQUAL(column=column, table=table, what="column.mask.with.<length>.chars")
        case TruncateMask():
            raise KEY_NOT_EQUAL(column=column, table=table, what="column.truncate.to.<length>.chars")
        case HashMask() if not action.whole:
            raise KEY_NOT_EQUAL(column=column, table=table, what="a hash that is cut to the column's length")


def _masked_type(column: ColumnType, action: Action) -> ColumnType:
    """A hash and stars are text whatever they hide; a truncated text keeps its type."""
    return column if isinstance(action, TruncateMask) and column.kind is Kind.STRING else _TEXT

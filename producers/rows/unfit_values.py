"""What becomes of a row with values that their columns' types can't hold: `value.unfit`, column by column.

    columns that do not fit, of the old row and of the new one  -->  Verdict, or UnfitColumns: the table stops

Pure.  If a key distinguishes rows, a value that does not fit only in the old row is left out of the event, as
if the log did not have it, and nothing is counted, except for the key of a deleted row.  An update of a row
whose old key did not fit creates the row.  Without a key each content counts by itself: what came as a letter
has never gone out, so it does not go again, and is reported once.  A row is published with nulls only if
every column that does not fit has that policy; a key column is never null, and the projection has made its
policy `stop` instead.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from wrackline.producers.contract.row_chunks import ChunkRow
from wrackline.producers.contract.steps import Misfit, RowChange, UnfitColumn
from wrackline.schemas.events.projection import Plain, Projection
from wrackline.schemas.language.findings import Finding, Rule
from wrackline.schemas.language.patterns import exact_pattern
from wrackline.schemas.settings.filters import OnUnfit
from wrackline.schemas.tables.table import Column, TableId, TableSchema
from wrackline.schemas.tables.types import Kind

Reasons: TypeAlias = dict[int, str]  # by a column's place; an alias, because compiled code takes it as it is
AnyFailure: TypeAlias = Exception
MISFIT_BYTES: Final = 512  # about what it costs to report such a row


class Unfit(ValueError):  # noqa: N818 - it names what the value is
    """A value that its column's type can't hold; the reason never shows the value."""


class UnfitColumns(Unfit):
    """All values of a row that stop its table: the reason by the column's place."""

    def __init__(self, columns: Mapping[int, str]) -> None:
        super().__init__("; ".join(dict.fromkeys(columns.values())))
        self.columns = columns


class SettledRow(Exception):  # noqa: N818 - it contains what was decided, and is not an error
    """A row with values that do not fit was settled; the caller that takes rows must record it."""

    def __init__(self, misfit: Misfit, events: Sequence[RowChange] = (), row: ChunkRow | None = None) -> None:
        super().__init__()
        self.misfit, self.events, self.row = misfit, events, row


@dataclass(frozen=True, slots=True)
class UnfitPlace:
    """Which row of several it was, and where its changes are."""

    row: int
    first: int
    end: int
    misfit: Misfit


@dataclass(frozen=True, slots=True)
class Verdict:
    """The columns that decide about a row, why, and whether it is set aside; no columns: nothing is counted.

    `unseen`: the old row has never gone out, so nothing of it can be removed.
    """

    columns: Mapping[int, str]
    letter: bool
    unseen: bool


def judge(
    table: TableSchema,
    policies: tuple[OnUnfit, ...],
    before: Mapping[int, str],
    after: Mapping[int, str],
    *,
    gone: bool,
) -> Verdict:
    """Decide about one row; without policies every column stops the table.

    `gone`: the row was deleted, so the old row's key is the key of the event.
    """
    every = {**before, **after}
    asked = {place: policies[place] if policies else OnUnfit.STOP for place in every}
    stops = {place: every[place] for place in every if asked[place] is OnUnfit.STOP}
    if stops:
        raise UnfitColumns(stops)
    aside = {place for place in every if asked[place] is OnUnfit.LETTER}
    keys = {place for place in every if table.columns[place].name in table.key}
    unseen = not (keys if table.key else aside).isdisjoint(before)
    counted = set(after)
    if table.key:
        counted |= keys if gone else set()
    elif not unseen and aside.isdisjoint(after):
        counted |= set(before)
    counts = {place: why for place, why in every.items() if place in counted}
    return Verdict(counts, not aside.isdisjoint(counts), unseen)


def name_columns(table: TableSchema, columns: Mapping[int, str]) -> tuple[UnfitColumn, ...]:
    """Name the columns at these places."""
    found = ((table.columns[place], why) for place, why in sorted(columns.items()))
    return tuple(UnfitColumn(column.name, column.type.source, why) for column, why in found)


def columns_that_could_stop(
    table: TableSchema, policies: Sequence[OnUnfit], kinds: Collection[Kind]
) -> list[str]:
    """Name the columns of these kinds that would stop the table."""
    asked = policies or [OnUnfit.STOP] * len(table.columns)
    return [
        column.name
        for column, action in zip(table.columns, asked, strict=False)
        if column.type.kind in kinds and action is OnUnfit.STOP
    ]


def columns_that_stop(shape: Projection) -> list[Column]:
    """Return the source's columns that go out as they are, and stop the table if a value does not fit."""
    policies = dict(zip((column.name for column in shape.table.columns), shape.on_unfit, strict=False))
    return [
        column
        for column, action in zip(shape.source.columns, shape.actions, strict=True)
        if action is Plain.KEEP and policies.get(column.name, OnUnfit.STOP) is OnUnfit.STOP
    ]


def unfit_finding(
    rule: Rule, table: TableId, columns: Iterable[str], counts: Sequence[Any], others: Iterable[str]
) -> Finding | None:
    """Make the finding of a look at a table's rows; None: all values fit.

    `counts`: the rows, those with a value that does not fit, and those with one in each of the columns.
    `others`: columns that may be the next.
    """
    looked, count, *each = counts
    found = [name for name, times in zip(columns, each, strict=True) if times]
    if not found:
        return None
    return rule(
        table,
        found[0],
        path=table,
        count=count,
        looked=looked,
        columns=", ".join(found),
        listed=column_list(table, found),
        could=column_list(table, [*found, *others]),
    )


def column_list(table: TableId, columns: Iterable[str]) -> str:
    """Write these columns as a setting takes them, each once."""
    return ",".join(exact_pattern(table.schema, table.name, name) for name in dict.fromkeys(columns))


def error_fields(table: TableSchema, columns: Mapping[int, str], others: Sequence[str]) -> dict[str, object]:
    """Fill the fields of an error about these columns, and others that may be the next."""
    found = name_columns(table, columns)
    names = [one.name for one in found]
    return {
        "table": table.id,
        "column": ", ".join(names),
        "type": ", ".join(dict.fromkeys(one.type for one in found)),
        "reason": "; ".join(dict.fromkeys(one.reason for one in found)),
        "listed": column_list(table.id, names),
        "could": column_list(table.id, [*names, *others]),
    }

"""Columns on their way from a source to a target, as the document's assessTable answers them.  Pure.

In: what a source says of a table's columns, and the rules about them.  Out: documents, and how many columns
are not carried, or not as they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from wrackline.control.plane.column_support import column_in_target
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.language.findings import ColumnSupport, Support
from wrackline.schemas.settings.filters import ColumnRules
from wrackline.schemas.tables.table import TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType

_WORST = (Support.NO, Support.PARTIAL, Support.YES)


class SupportCounts(NamedTuple):
    """How many columns a table has, and how far they are carried."""

    columns: int | None
    no: int
    partial: int

    @property
    def worst(self) -> Support:
        """The support of the whole table."""
        return Support.NO if self.no else Support.PARTIAL if self.partial else Support.YES


def count_support(
    shape: TableSchema | WracklineError, told: Sequence[ColumnSupport], target: str
) -> SupportCounts:
    """Count; of a table that can't be described, what the source told of its columns."""
    if isinstance(shape, TableSchema):
        lossy = sum(bool(column_in_target(column.type, target).loss) for column in shape.columns)
        return SupportCounts(len(shape.columns), 0, lossy)
    found = [one.support for one in told]
    return SupportCounts(len(found) or None, found.count(Support.NO) or 1, found.count(Support.PARTIAL))


def column_documents(
    told: Sequence[ColumnSupport], types: Mapping[str, ColumnType], target: str, rules: ColumnRules
) -> Iterator[dict[str, Any]]:
    """Describe each column; `types` are those of the columns that are carried."""
    for one in told:
        there = column_in_target(types[one.column], target) if one.support is not Support.NO else None
        support = one.support if there is None else min(one.support, there.support, key=_WORST.index)
        yield {
            "sourceName": one.column,
            "sourceType": one.type,
            "kind": types[one.column].kind.value if there else None,
            "targetName": one.column if there else "",
            "targetType": there.type if there else "",
            "support": support.value,
            "loss": there.loss if there else "its values can't be read",
            "transforms": list(_transforms(one.table, one.column, rules)),
            "suggestion": _suggestion(one, there.loss if there else ""),
        }


def _transforms(table: TableId, column: str, rules: ColumnRules) -> Iterator[str]:
    if rules.mask(table, column) is not None:
        yield "mask"
    if any(one.matches_column(table, column) for one in rules.texts):
        yield f"set-type :{column} string"


def _suggestion(one: ColumnSupport, loss: str) -> dict[str, Any] | None:
    message = one.suggestion or loss
    if not message:
        return None
    transforms = (
        [f"set-type :{one.column} string", f"drop :{one.column}"] if one.support is Support.NO else []
    )
    return {"message": message, "details": {"message": message}, "transforms": transforms}

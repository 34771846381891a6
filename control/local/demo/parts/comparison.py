"""Compares the warehouse with the source, value for value.  Both sides give each cell in one plain form.

In: a shop's table and the same table as the warehouse's readers see it.  Out: a `CopyComparison`: which keys
are missing, too many, or differ, and in which columns; never a value.  It is right because the forms are
those of docs/types.md made comparable without a loss, as shops/shop.py describes.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wrackline.control.local.demo.shops.shop import Cells, Shop
from wrackline.control.local.demo.warehouses.warehouse import CopyRows
from wrackline.schemas.tables.table import TableSchema
from wrackline.schemas.tables.types import Kind

Row = tuple[object, ...]
Rows = Mapping[Row, Row]  # by key


@dataclass(frozen=True, slots=True)
class CopyComparison:
    """What a comparison saw; equal when nothing is listed."""

    rows: int  # in the source
    columns: int
    missing: tuple[str, ...] = ()  # keys that only the source has
    surplus: tuple[str, ...] = ()  # keys that only the warehouse has
    changed: tuple[str, ...] = ()  # keys whose rows differ, and where
    absent: tuple[str, ...] = ()  # columns that the warehouse lacks

    @property
    def equal(self) -> bool:
        """Whether every value of every row is the same."""
        return not (self.missing or self.surplus or self.changed or self.absent)


def compare_rows(table: TableSchema, source: Rows, lake: Rows) -> CopyComparison:
    """Compare two sets of rows of one table, by key."""
    names = [column.name for column in table.columns]
    changed = []
    for key in source.keys() & lake.keys():
        different = [
            name
            for name, ours, theirs in zip(names, source[key], lake[key], strict=True)
            if not is_same_cell(ours, theirs)
        ]
        if different:
            changed.append(f"{_show_key(key)}: {', '.join(different)}")
    return CopyComparison(
        len(source),
        len(names),
        missing=tuple(sorted(map(_show_key, source.keys() - lake.keys()))),
        surplus=tuple(sorted(map(_show_key, lake.keys() - source.keys()))),
        changed=tuple(sorted(changed)),
    )


def is_same_cell(ours: object, theirs: object) -> bool:
    """Whether two cells are one value: of one type, NaN like NaN, and minus zero unlike zero."""
    if isinstance(ours, float) and isinstance(theirs, float):
        if math.isnan(ours) or math.isnan(theirs):
            return math.isnan(ours) and math.isnan(theirs)
        return ours == theirs and math.copysign(1, ours) == math.copysign(1, theirs)
    return type(ours) is type(theirs) and ours == theirs


def compare_shop(shop: Shop, table: TableSchema, copy: CopyRows) -> CopyComparison:
    """Compare a shop's table with what a reader of the warehouse sees."""
    ours = _by_key(table, shop.rows(table))
    if absent := sorted({column.name for column in table.columns} ^ set(copy.columns)):
        return CopyComparison(len(ours), len(table.columns), absent=tuple(absent))
    return compare_rows(table, ours, _by_key(table, copy.rows))


def _by_key(table: TableSchema, rows: Iterable[Cells]) -> dict[Row, Row]:
    names = [column.name for column in table.columns]
    key = [names.index(name) for name in table.key]
    arrays = [at for at, column in enumerate(table.columns) if column.type.kind is Kind.ARRAY]
    made: dict[Row, Row] = {}
    for row in rows:
        cells = list(row)
        for at in arrays:
            text = cells[at]
            cells[at] = json.loads(text) if isinstance(text, str) else text
        made[tuple(cells[at] for at in key)] = tuple(cells)
    return made


def _show_key(key: Row) -> str:
    return ", ".join(map(str, key))

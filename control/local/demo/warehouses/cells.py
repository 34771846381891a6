"""Rows of a driver in the plain form of shops/shop.py."""

from collections.abc import Sequence

from wrackline.control.local.demo.shops.shop import Cells
from wrackline.schemas.tables.plain_cells import MOMENTS, plain
from wrackline.schemas.tables.table import TableSchema

__all__ = ["MOMENTS", "plain_row"]


def plain_row(table: TableSchema, row: Sequence[object]) -> Cells:
    """Return a row of a table's columns."""
    return [plain(column.type.kind, cell) for column, cell in zip(table.columns, row, strict=True)]

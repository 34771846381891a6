"""Shapes of a table, made by hand."""

from wrackline.control.runtime.events.shape_looks import ShapeLook
from wrackline.control.runtime.events.table_shapes import ShapeColumn, TableShape

SUBJECT = "shop.shop.public.orders-value"


def column(
    identity: int, name: str, kind: str, *, required: bool = False, in_key: bool = False
) -> ShapeColumn:
    """Return a column."""
    return ShapeColumn(str(identity), name, kind, required, in_key)


ID = column(1, "id", "bigint", required=True, in_key=True)
CUSTOMER = column(2, "customer", "bigint")
TOTAL = column(3, "total", "numeric(8,2)")
FIRST = TableShape(1, 12, [ID, CUSTOMER, TOTAL])
WIDER = TableShape(2, 31, [ID, CUSTOMER, column(3, "total", "numeric(12,2)"), column(4, "note", "text")])
RENAMED = TableShape(
    4,
    32,
    [ID, column(2, "customer_id", "bigint", required=True, in_key=True), column(3, "total", "numeric(12,2)")],
)


def several() -> ShapeLook:
    """Return a table that was altered twice."""
    return ShapeLook(SUBJECT, "http://registry:8081", [FIRST, WIDER, RENAMED], 0)


def hostile(text: str) -> ShapeLook:
    """Return shapes whose every text is this one."""
    odd = TableShape(2, 1, [column(1, text, text), column(2, text, text, in_key=True)])
    return ShapeLook(text, text, [TableShape(1, 1, [column(1, f"{text}.", f"{text}.")]), odd], 3)

"""The screen of shapes: what each version changed, by the identity of columns, and any two beside."""

from urllib.parse import quote

from tests.unit.console.made import HOSTILE, MadeViews
from tests.unit.console.made_shapes import FIRST, RENAMED, WIDER, column, hostile
from tests.unit.console.test_pages import Page
from tests.unit.console.visitor import Answer, Visitor
from wrackline.control.runtime.events.shape_looks import ShapeLook
from wrackline.control.runtime.events.table_shapes import TableShape, differences, read_shape
from wrackline.schemas.events.envelope import dump, value_schema
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

PATH = "/console/p/shop/tables/shop.public.orders/shapes"


def text_of(answer: Answer) -> str:
    return Page(answer.html).text


def words(old: TableShape, new: TableShape) -> list[tuple[str, str, str, str]]:
    return [(one.kind.value, one.column, one.before, one.after) for one in differences(old, new)]


def test_a_change_is_known_by_the_identity_of_its_column() -> None:
    assert words(FIRST, WIDER) == [
        ("type changed", "total", "numeric(8,2)", "numeric(12,2)"),
        ("added", "note", "", "text"),
    ]
    assert words(WIDER, RENAMED) == [
        ("dropped", "note", "text", ""),
        ("renamed", "customer_id", "customer", "customer_id"),
        ("may not be null", "customer_id", "", ""),
        ("key changed", "", "id", "id, customer_id"),
    ]
    assert words(RENAMED, RENAMED) == []
    again = TableShape(5, 40, [column(9, "id", "bigint")])
    assert [one[0] for one in words(TableShape(1, 1, [column(1, "id", "bigint")]), again)] == [
        "dropped",
        "added",
    ]


def test_shapes_are_read_from_the_schemas_that_we_write() -> None:
    columns = (
        Column("id", 1, ColumnType(Kind.INT64, "bigint"), nullable=False),
        Column("odd name", 7, ColumnType(Kind.STRING, "text"), nullable=True),
    )
    table = TableSchema(TableId("shop", "public", "orders"), columns, ("id",), KeyKind.PRIMARY)
    text = dump(
        value_schema(table, topic="shop.shop.public.orders", connector="postgresql", source_fields=[])
    )
    shape = read_shape(3, 12, text)
    assert shape is not None
    assert shape.columns == [
        column(1, "id", "bigint", required=True, in_key=True),
        column(7, "odd name", "text"),
    ]
    for other in (
        "",
        "{",
        "[]",
        "null",
        '{"type":"string"}',
        '{"fields":[{"name":"before"}]}',
    ):
        assert read_shape(1, 1, other) is None


def test_any_two_versions_are_compared(visitor: Visitor, views: MadeViews) -> None:
    text = text_of(visitor.ask("GET", PATH))
    assert text.index("Version 4") < text.index("Version 2") < text.index("Version 1")
    assert "renamed customer → customer_id" in text
    assert "key changed id → id, customer_id" in text
    assert views.asked_shapes == [("shop", "shop.public.orders")]
    compared = text_of(visitor.ask("GET", f"{PATH}?old=1&new=2"))
    assert "Columns of version 2" in compared
    assert "added note text" in compared.partition("Columns of version")[0].rpartition("Compare")[2]
    assert visitor.ask("GET", f"{PATH}?old=77&new=-1").status == 200
    assert visitor.ask("GET", f"{PATH}?old=x").status == 400


def test_one_shape_and_none_say_so(visitor: Visitor, views: MadeViews) -> None:
    views.shape_look = lambda: ShapeLook("s", "r", [FIRST], 12)
    text = text_of(visitor.ask("GET", PATH))
    assert "One shape so far." in text
    assert "12 older ones are not" in text
    views.shape_look = lambda: ShapeLook("s", "r", [], 0)
    assert "No version of it is a schema of a table's events." in text_of(visitor.ask("GET", PATH))
    assert visitor.ask("GET", "/console/p/none/tables/t/shapes").status == 404


def test_texts_of_others_are_text(visitor: Visitor, views: MadeViews) -> None:
    views.shape_look = lambda: hostile(HOSTILE)
    page = Page(visitor.ask("GET", f"/console/p/shop/tables/{quote(HOSTILE, safe='')}/shapes").html)
    assert not [one for one in page.elements if one[1].get("src") == "x"]
    assert "onerror" not in {name for _, attributes in page.elements for name in attributes}

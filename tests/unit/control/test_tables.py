"""What `wrackline tables` says of what it found."""

from wrackline.control.exits import Exit, exit_of_all
from wrackline.control.tables_cli import Captured, Held, Survey, document, lines
from wrackline.producers.kafka.failures import UNREACHABLE
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.topics import COLLISION
from wrackline.schemas.types import ColumnType, Kind

ORDERS, ODD = TableId("shop", "public", "orders"), TableId("shop", "public", "a\x1b[2J")
TOPIC = "shop1.shop.public.orders"
NOT_THERE = UNREACHABLE(who="shop", seconds=1)
REFUSED = COLLISION(table=ODD, topic="t", other="y", pattern="x")


def shape(table: TableId, *key: str) -> TableSchema:
    text = ColumnType(Kind.STRING, "text")
    columns = (Column("id", 1, ColumnType(Kind.INT32, "integer"), nullable=False), Column("a b", 2, text))
    return TableSchema(table, columns, key, KeyKind.PRIMARY if key else KeyKind.NONE)


def survey(
    *captured: Captured,
    left_out: list[TableId] | None = None,
    held: dict[str, Held] | WracklineError | None = None,
) -> Survey:
    return Survey(captured, left_out, {} if held is None else held)


def said(found: Survey, *, everything: bool = False) -> list[str]:
    return [line.plain for line in lines(found, everything=everything)]


def test_a_table_is_shown_with_its_key_columns_and_topic() -> None:
    one = Captured(ORDERS, shape(ORDERS, "id"), TOPIC)
    assert said(survey(one, held={TOPIC: Held(2, 1234)})) == [
        "shop.public.orders",
        "  key      id",
        '  columns  id integer, "a b" text',
        f"  topic    {TOPIC}: 2 partitions, at most 1,234 events",
        "captured: 1",
    ]
    assert said(survey(one))[3].endswith(": not there yet")
    assert said(survey(one, held={TOPIC: Held(1, 0)}))[3].endswith(": 1 partition, no events")
    assert "  key      no key" in said(survey(Captured(ORDERS, shape(ORDERS), TOPIC)))


def test_what_is_left_out_is_counted_and_listed_when_asked_for() -> None:
    found = survey(left_out=[ODD])
    assert said(found) == ["captured: 0; left out by the filters: 1 (--all lists them)"]
    assert said(found, everything=True)[1:] == ["  shop.public.a\\u001b[2J"]
    assert document(found, everything=False) == {"tables": [], "left_out": 1}
    assert document(found, everything=True)["left_out_tables"] == [str(ODD)]
    assert document(survey(), everything=True)["left_out"] is None, "a source that can't tell says nothing"


def test_what_fails_does_so_alone_and_decides_the_exit_code() -> None:
    good, bad = Captured(ORDERS, shape(ORDERS, "id"), TOPIC), Captured(ODD, NOT_THERE, REFUSED)
    found = survey(good, bad, held=NOT_THERE)
    told = "\n".join(said(found))
    assert "\x1b" not in told
    assert f"{TOPIC}: unknown" in told
    assert "[topic.collision]" in told
    first, second = document(found, everything=False)["tables"]
    assert (first["partitions"], first["events_at_most"]) == (None, None)
    assert [error["code"] for error in second["errors"]] == ["kafka.unreachable", "topic.collision"]
    assert document(found, everything=False)["error"]["code"] == "kafka.unreachable"
    assert exit_of_all(found.errors) is Exit.OPERATOR
    assert exit_of_all(survey(good).errors) is Exit.OK

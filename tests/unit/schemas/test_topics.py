"""Topic names: four parts, Kafka's letters and length, no two tables in one topic."""

import re

import pytest

from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.kafka.topic_names import (
    Naming,
    assign,
    control_topics,
    internal_topics,
    is_of_table,
    murmur2,
    partition_of,
    table_of,
    table_topic,
)
from wrackline.schemas.tables.table import TableId

ORDERS = TableId("shop", "public", "orders")

# What Kafka's own tests expect of its murmur2 (signed there), with one of each length modulo four.
KAFKA_VECTORS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
    b"": 275646681,
    b"1": -1993445489,
    b"1234": -1614185708,
    b"12345": -1188365604,
    b"string-last-27-chars-length": 1089971754,
}


@pytest.mark.parametrize(("key", "signed"), KAFKA_VECTORS.items())
def test_murmur2_agrees_with_kafka(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFF_FFFF
    assert partition_of(key, 7) == (signed & 0x7FFF_FFFF) % 7


@pytest.mark.parametrize(
    ("table", "topic"),
    [
        (ORDERS, "srv.shop.public.orders"),
        (TableId("inventory", "inventory", "orders"), "srv.inventory.inventory.orders"),
        (TableId("shop", "my.schema", "a b"), "srv.shop.my_schema.a_b"),
        (TableId("shop", "public", "größe"), "srv.shop.public.gr__e"),
        (TableId("shop", "public", "😀"), "srv.shop.public._"),
        (TableId("shop", "public", "x\n\0/"), "srv.shop.public.x___"),
        (TableId("..", ".", "-"), "srv.__._.-"),
    ],
)
def test_a_topic_has_four_clean_parts(table: TableId, topic: str) -> None:
    assert table_topic("srv", table, Naming.WRACKLINE) == topic
    assert re.fullmatch(r"[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+){3}", topic)


@pytest.mark.parametrize("server", ["", "a.b", "a b", "ä", "a/b", "a\n"])
def test_a_server_name_that_would_break_the_four_parts_is_refused(server: str) -> None:
    with pytest.raises(OperatorNeeded, match=r"topic\.server_name"):
        table_topic(server, ORDERS, Naming.WRACKLINE)


def test_tables_that_wish_for_one_topic_are_refused_one_by_one() -> None:
    dotted, plain = TableId("shop", "public", "a.b"), TableId("shop", "public", "a_b")
    given = assign("srv", [plain, ORDERS, dotted], naming=Naming.WRACKLINE)
    assert given.topics == {ORDERS: "srv.shop.public.orders"}
    assert {error.code for error in given.refused.values()} == {"topic.collision"}
    assert given.refused.keys() == {dotted, plain}
    assert str(plain) in given.refused[dotted].sentence


@pytest.mark.parametrize(("one", "other"), [("naïve", "naève"), ("заказы", "товары"), ("価格", "数量")])
@pytest.mark.parametrize("naming", [Naming.WRACKLINE, Naming.DEBEZIUM])
def test_colliding_non_ascii_names_are_refused_and_the_hint_names_a_way(
    one: str, other: str, naming: Naming
) -> None:
    first, second = TableId("shop", "public", one), TableId("shop", "public", other)
    given = assign("srv", [first, ORDERS, second], naming=naming)
    assert given.topics.keys() == {ORDERS}
    assert {error.code for error in given.refused.values()} == {"topic.collision"}
    assert str(second) in given.refused[first].sentence
    assert f"table.exclude.list = 'public.{one}'" in given.refused[first].hint
    assert given.refused[first].hint.startswith(f'set topic.naming = "{naming.value}_unicode"; or ')
    apart = assign("srv", [first, ORDERS, second], naming=naming.escaping)
    assert (len(set(apart.topics.values())), apart.refused) == (3, {})
    assert apart.topics[ORDERS] == given.topics[ORDERS]


def test_an_escaped_name_is_written_as_debezium_writes_it_and_only_where_it_must_be() -> None:
    def topic(name: str) -> str:
        return table_topic("srv", TableId("shop", "public", name), Naming.WRACKLINE_UNICODE)

    assert topic("order_items-2") == "srv.shop.public.order_items-2"
    assert topic("na\xefve") == "srv.shop.public.na_u00efve"
    assert topic("a.b c") == "srv.shop.public.a_u002eb_u0020c"
    assert topic("\U0001f30a") == "srv.shop.public._ud83c_udf0a"
    assert topic("na_u00efve") == "srv.shop.public.na_u005fu00efve", "a name that looks like an escape"


def test_a_setting_that_would_help_nobody_is_not_recommended() -> None:
    one, other = TableId("shop", "a", "b_c"), TableId("shop", "a_b", "c")
    for naming in Naming:
        refused = assign("srv", [one, other], naming=naming).refused
        assert refused[one].hint.startswith("rename one of them")
    long = [TableId("shop", "public", name * 60) for name in ("\u0437", "\u0442")]
    assert assign("srv", long, naming=Naming.WRACKLINE).refused[long[0]].hint.startswith("rename one of them")


def test_names_that_kafka_itself_cannot_distinguish_collide() -> None:
    one, other = TableId("shop", "a", "b_c"), TableId("shop", "a_b", "c")
    assert table_topic("srv", one, Naming.WRACKLINE) != table_topic("srv", other, Naming.WRACKLINE)
    assert assign("srv", [one, other], naming=Naming.WRACKLINE).refused.keys() == {one, other}


def test_a_table_keeps_the_topic_that_it_writes_to_and_the_latecomer_is_refused() -> None:
    late = TableId("shop", "public", "a.b")
    first = TableId("shop", "public", "a_b")
    given = assign("srv", [late, first], taken={first: "srv.shop.public.a_b"}, naming=Naming.WRACKLINE)
    assert given.topics == {first: "srv.shop.public.a_b"}
    assert given.refused.keys() == {late}


def test_a_control_topic_is_nobodys() -> None:
    """T-E17."""
    topics = control_topics("srv", transaction="shop.public.orders")
    assert assign("srv", [ORDERS], reserved=[topics.transaction], naming=Naming.WRACKLINE).refused.keys() == {
        ORDERS
    }


def test_the_limit_is_kafkas() -> None:
    room = 249 - len("srv.shop.public.")
    fits, over = TableId("shop", "public", "x" * room), TableId("shop", "public", "x" * (room + 1))
    given = assign("srv", [fits, over], naming=Naming.WRACKLINE)
    assert len(given.topics[fits]) == 249
    assert given.refused[over].code == "topic.too_long"


def test_control_topics_are_debeziums() -> None:
    topics = control_topics("srv")
    assert topics.schema_changes == "srv"
    assert topics.transaction == "srv.transaction"
    assert topics.message == "srv.message"
    assert topics.heartbeat == "__debezium-heartbeat.srv"
    assert topics.signal == "srv-signal"
    assert control_topics("srv", heartbeat_prefix="beat").heartbeat == "beat.srv"
    assert control_topics("srv", heartbeat_name="one").heartbeat == "one"


@pytest.mark.parametrize("bad", ["a b", "x" * 250, "ä", ".", ".."])
def test_a_control_topic_that_kafka_would_refuse_is_refused_before(bad: str) -> None:
    with pytest.raises(OperatorNeeded, match=r"topic\.heartbeat\.name"):
        control_topics("srv", heartbeat_name=bad)


def test_internal_topics_carry_the_groups_name() -> None:
    topics = internal_topics("wrackline")
    assert topics.configs == "wrackline-configs"
    assert topics.offsets == "wrackline-offsets"
    assert topics.status == "wrackline-status"
    assert topics.offset_history == "wrackline-offset-history"
    assert topics.tasks == "wrackline-tasks"
    assert topics.requests == "wrackline-requests"


def test_debeziums_names_have_three_parts() -> None:
    orders, of_mysql = TableId("shop", "public", "or.ders"), TableId("inv", "inv", "orders")
    assert table_topic("srv", orders, Naming.DEBEZIUM) == "srv.public.or_ders"
    assert table_topic("srv", of_mysql, Naming.DEBEZIUM) == "srv.inv.orders"
    assert is_of_table("srv", "srv.inv.orders", Naming.DEBEZIUM)
    assert not is_of_table("srv", "srv.inv.inv.orders", Naming.DEBEZIUM)
    assert not is_of_table("srv", "srv.transaction", Naming.DEBEZIUM)
    assert table_of("srv.inv.orders") == of_mysql
    assert table_of("srv.shop.public.orders") == TableId("shop", "public", "orders")


def test_tables_of_two_databases_may_wish_for_one_topic_in_debeziums_form() -> None:
    one, other = TableId("a", "s", "t"), TableId("b", "s", "t")
    assigned = assign("srv", [one, other], naming=Naming.DEBEZIUM)
    assert set(assigned.refused) == {one, other}
    assert not assign("srv", [one, other], naming=Naming.WRACKLINE).refused

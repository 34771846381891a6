"""The tables of a request: each spelling that other commands take, and what is refused before it is sent."""

import pytest

from wrackline.control.runtime.services.requested_tables import refuse_left_out, spell_tables
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import Naming, table_topic
from wrackline.schemas.language.patterns import compile_pattern, resolve
from wrackline.schemas.settings.filters import TableFilter
from wrackline.schemas.tables.table import TableId

NAIVE, DOTTED = TableId("shop", "Sales Dept", "naïve"), TableId("shop", "public", "new.a")
DOTTED_NAMES = (["public", "new_a"], ["public", "new_u002ea"])
KNOWN = [NAIVE, DOTTED, TableId("shop", "public", "orders")]


@pytest.mark.parametrize("naming", Naming)
@pytest.mark.parametrize(
    ("given", "table"),
    [
        ("Sales Dept.naïve", NAIVE),
        ('"Sales Dept"."naïve"', NAIVE),
        ("public.new.a", DOTTED),
    ],
)
def test_each_spelling_is_sent_as_one_that_the_task_knows(given: str, table: TableId, naming: Naming) -> None:
    (sent,) = spell_tables([given], KNOWN, "shop1", naming)
    assert resolve(compile_pattern(sent), KNOWN) == (table,)


@pytest.mark.parametrize("naming", Naming)
@pytest.mark.parametrize("table", [NAIVE, DOTTED])
def test_the_name_in_topics_is_sent_as_one_that_the_task_knows(table: TableId, naming: Naming) -> None:
    topic = table_topic("shop1", table, naming).split(".")
    assert topic[-2:] in (["Sales_Dept", "na_ve"], ["Sales_u0020Dept", "na_u00efve"], *DOTTED_NAMES)
    for first in (-2, 1):  # without the database, and with it where topics have it
        (sent,) = spell_tables([".".join(topic[first:])], KNOWN, "shop1", naming)
        assert resolve(compile_pattern(sent), KNOWN) == (table,)


@pytest.mark.parametrize("given", ["public.newer", "public.ord.*", "newer", "a((b"])
def test_what_is_known_or_a_pattern_or_new_is_sent_as_it_is(given: str) -> None:
    assert spell_tables([given], KNOWN, "shop1", Naming.WRACKLINE) == [given]


def test_a_name_that_two_tables_have_is_refused_with_both() -> None:
    known = [TableId("shop", "public", "a b"), TableId("shop", "public", "a+b")]
    with pytest.raises(WracklineError) as raised:
        spell_tables(["public.a_b"], known, "shop1", Naming.WRACKLINE)
    assert raised.value.code == "snapshot.table_ambiguous"
    assert "shop.public.a b, shop.public.a+b" in raised.value.sentence


def left_out(given: str, **lists: str) -> bool:
    chosen = TableFilter.of({name.replace("_", "."): (value,) for name, value in lists.items()})
    try:
        refuse_left_out([given], KNOWN, ["shop"], chosen)
    except WracklineError as error:
        return error.code == "snapshot.not_captured" and given in error.sentence
    return False


@pytest.mark.parametrize(
    "given", ["public.secret", "shop.public.secret", '"public"."secret"', "public.orders"]
)
def test_what_the_filters_leave_out_is_refused(given: str) -> None:
    assert left_out(given, table_exclude_list="public.(secret|orders)")
    assert left_out(given, table_include_list="public.others")
    assert left_out(given, schema_exclude_list="public")


@pytest.mark.parametrize(
    "given", ["public.secret", "shop.public.secret", '"public"."secret"', "public.orders"]
)
def test_what_the_filters_may_capture_is_sent(given: str) -> None:
    assert not left_out(given, table_include_list="shop.public.(secret|orders)")
    assert not left_out(given, table_include_list="public.(secret|orders)")
    assert not left_out(given)


def test_a_dot_may_be_the_tables_own_and_of_a_pattern_nothing_is_sure() -> None:
    assert not left_out("public.odd.name", table_include_list=r"public\.odd\.name")
    assert not left_out("mall.goods", table_include_list="mall.goods")
    assert not left_out("public.((", table_include_list="public.others")
    assert not left_out("public.sec.*", table_include_list="public.others")

"""The slot of a pipeline that names none."""

import string
from contextlib import closing

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.integration.postgres.world import settings_of
from wrackline.control.runtime.ground.pipeline_access import surroundings
from wrackline.producers.sources.postgres.connect.quoting import own_slot, slot_name
from wrackline.producers.sources.postgres.plugin import PLUGIN
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.pipelines.deal import Deal, TaskShare
from wrackline.schemas.settings.settings_registry import Values

NAMES = st.text(string.ascii_letters + string.digits + "._-", min_size=1, max_size=100)


def test_a_plain_name_is_in_the_slots() -> None:
    assert own_slot("shop") == "wrackline_shop"
    assert own_slot("shop_2") == "wrackline_shop_2"


@given(NAMES)
def test_it_is_a_name_that_the_server_takes(name: str) -> None:
    slot = own_slot(name)
    assert 0 < len(slot) <= 63
    assert set(slot) <= set(string.ascii_lowercase + string.digits + "_")


@given(NAMES, NAMES)
def test_two_pipelines_never_share_one(one: str, other: str) -> None:
    assume(one != other)
    assert own_slot(one) != own_slot(other)


def test_a_name_that_looks_like_one_with_a_checksum_is_distinguished_too() -> None:
    assert own_slot(own_slot("a-b").removeprefix("wrackline_")) != own_slot("a-b")


def test_names_that_differ_only_in_characters_that_a_slot_cannot_hold_are_distinguished() -> None:
    assert len({own_slot(name) for name in ("a-b", "a_b", "a.b", "A-B", "a" * 99, "a" * 98)}) == 6


def settings(**more: str) -> Values:
    return settings_of(
        "host=localhost port=5432 user=u dbname=shop", **{"name": "sales", "slot.name": "", **more}
    )


def database(name: str, **more: str) -> Values:
    several = settings(**{"database.dbname": "", "database.names": "shop,crm", **more})
    return several.replaced({"database.dbname": name})


def test_each_of_several_databases_has_a_slot_of_its_own_that_no_other_pipeline_can_have() -> None:
    found = {slot_name(database(name)) for name in ("shop", "crm")}
    assert len(found | {own_slot("sales"), own_slot("sales_shop"), own_slot("sales_crm")}) == 5
    assert all(one.startswith("wrackline_sales_") for one in found)


def test_a_slot_that_is_named_is_how_those_of_several_databases_begin() -> None:
    found = {slot_name(database(name, **{"slot.name": "mine"})) for name in ("shop", "crm")}
    assert len(found) == 2
    assert all(one.startswith("mine_sales_") for one in found)


def test_a_database_that_was_the_only_one_keeps_its_slot() -> None:
    assert slot_name(database("shop", **{"slot.name": "mine"}), {"slot": "older"}) == "older"
    assert slot_name(settings(**{"slot.name": "mine"}), {"slot": "older"}) == "mine"


@pytest.mark.parametrize("given", [{}, {"slot.name": "mine"}, {"slot.name": "another"}])
def test_a_database_that_was_one_of_several_keeps_its_slot(given: dict[str, str]) -> None:
    """Else it would begin in another slot, which does not have what was written since."""
    several = slot_name(database("shop", **{"slot.name": "mine"}))
    assert slot_name(settings(**given), {"slot": several}) == several
    of_another = slot_name(database("crm", **{"slot.name": "mine"}))
    assert slot_name(settings(**{"slot.name": "mine"}), {"slot": of_another}) == "mine"


@pytest.mark.parametrize("names", ["", ",", "shop,shop", "shop,host=x"])
def test_names_of_databases_that_cannot_be_are_refused(names: str) -> None:
    with pytest.raises(AssertionError, match=r"settings\.(missing|invalid)"):
        settings(**{"database.dbname": "", "database.names": names})


def test_one_database_and_several_exclude_each_other() -> None:
    with pytest.raises(AssertionError, match=r"settings\.exclusive"):
        settings(**{"database.names": "crm"})


@pytest.mark.parametrize(
    ("names", "naming", "why"),
    [
        ("shop,crm", "debezium", "leaves the database out"),
        ("shop.eu,shop_eu", "wrackline", "shop.eu and shop_eu"),
        ("shop eu,shop_eu", "wrackline", "shop eu and shop_eu"),
    ],
)
def test_databases_whose_tables_would_share_a_topic_are_refused(names: str, naming: str, why: str) -> None:
    given = settings(**{"database.dbname": "", "database.names": names, "topic.naming": naming})
    with pytest.raises(OperatorNeeded, match=why) as told:
        PLUGIN.open(given, surroundings())
    assert told.value.code == "pg.databases_share_topics"


def test_one_database_by_name_may_have_any_naming() -> None:
    given = settings(**{"database.dbname": "", "database.names": "shop", "topic.naming": "debezium"})
    with closing(PLUGIN.open(given, surroundings())) as source:
        assert [one.database for one in source.partitions()] == ["shop"]


def test_a_task_opens_its_share_of_the_databases_and_looks_at_the_names_of_all() -> None:
    given = settings(**{"database.dbname": "", "database.names": "shop,crm,pay"})
    share = TaskShare(Deal(1, (("shop", "pay"), ("crm",))), 0)
    with closing(PLUGIN.open(given, surroundings(share))) as source:
        assert [one.database for one in source.partitions()] == ["shop", "pay"]
    clash = settings(**{"database.dbname": "", "database.names": "shop.eu,crm,shop_eu"})
    with pytest.raises(OperatorNeeded, match=r"shop\.eu and shop_eu"):
        PLUGIN.open(clash, surroundings(TaskShare(Deal(1, (("shop.eu",), ("crm",), ("shop_eu",))), 1)))

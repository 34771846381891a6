"""Findings about an account, each from what SHOW answers; nothing else is asked."""

from collections.abc import Mapping
from typing import Any

import pytest
from snowflake.connector.errors import ProgrammingError

from wrackline.consumers.staged.places import StagedLayout
from wrackline.consumers.targets.snowflake.check import SnowflakeFacts, find_problems
from wrackline.consumers.targets.snowflake.dialect import IDENTIFIERS
from wrackline.schemas.language.findings import Finding
from wrackline.schemas.tables.table import TableId

FACTS = SnowflakeFacts("loads", "shop", 300_000)
PLACE = StagedLayout("{schema}", "wrackline", IDENTIFIERS).place(TableId("db", "public", "orders"))
WAREHOUSE = {
    "name": "LOADS",
    "state": "SUSPENDED",
    "size": "X-Small",
    "auto_suspend": 60,
    "auto_resume": "true",
}
NAMES = ("WRACKLINE", "PUBLIC")
Row = Mapping[str, object]


def right(privilege: str, kind: str, name: str) -> Row:
    return {"privilege": privilege, "granted_on": kind, "name": name}


class Account:
    """What an account answers; a good one, until a test changes it."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.warehouses: list[Row] = [WAREHOUSE]
        self.databases: list[Row] = [{"name": "SHOP"}]
        self.schemas: list[Row] = [{"name": name, "retention_time": "1"} for name in NAMES]
        self.objects: list[Row] = [
            {"name": name, "owner": "LOADER", "kind": "TABLE"}
            for name in ("PUBLIC__ORDERS", PLACE.state.name)
        ]
        self.views: list[Row] = []
        self.grants: dict[str, list[Row]] = {
            "LOADER": [
                right("CREATE SCHEMA", "DATABASE", "SHOP"),
                right("OWNERSHIP", "SCHEMA", "SHOP.WRACKLINE"),
                right("OWNERSHIP", "SCHEMA", 'SHOP."PUBLIC"'),
            ],
            "PUBLIC": [],
        }

    def rows(self, text: str) -> list[tuple[Any, ...]]:
        assert text == "SELECT CURRENT_ROLE()"
        return [("LOADER",)]

    def named_rows(self, text: str) -> list[Mapping[str, Any]]:
        assert text.startswith("SHOW "), "anything else would wake the warehouse"
        self.texts.append(text)
        kind = text.split()[1]
        if kind == "GRANTS":
            return self._grants(text.split('"')[1])
        found = {
            "WAREHOUSES": self.warehouses,
            "DATABASES": self.databases,
            "SCHEMAS": self.schemas,
            "OBJECTS": self.objects if "WRACKLINE" in text else self.views,
        }
        return list(found[kind])

    def _grants(self, role: str) -> list[Mapping[str, Any]]:
        if role not in self.grants:
            raise ProgrammingError("no", errno=3001)
        return list(self.grants[role])


@pytest.fixture
def account() -> Account:
    return Account()


def found(account: Account, facts: SnowflakeFacts = FACTS) -> dict[str, Finding]:
    return {one.id: one for one in find_problems(account, facts, [PLACE])}


def test_a_good_account_has_no_findings_and_the_check_asks_seven_things(account: Account) -> None:
    assert found(account) == {}
    assert [text.split()[1] for text in account.texts] == [
        "WAREHOUSES",
        "DATABASES",
        "GRANTS",
        "GRANTS",
        "SCHEMAS",
        "OBJECTS",
        "OBJECTS",
    ]


def test_a_warehouse_that_is_not_there_has_the_grant(account: Account) -> None:
    account.warehouses = [{**WAREHOUSE, "name": "LOADSX"}]
    one = found(account)["snowflake.warehouse_unseen"]
    assert one.suggestion.startswith("GRANT USAGE ON WAREHOUSE LOADS TO ROLE LOADER; ")


def test_a_warehouse_that_does_not_resume(account: Account) -> None:
    account.warehouses = [{**WAREHOUSE, "auto_resume": "false"}]
    assert found(account)["snowflake.warehouse_asleep"].suggestion == (
        "ALTER WAREHOUSE LOADS SET AUTO_RESUME = TRUE"
    )
    account.warehouses = [{**WAREHOUSE, "auto_resume": "false", "state": "STARTED"}]
    assert found(account) == {}


@pytest.mark.parametrize(
    ("interval_ms", "suspend", "size", "cost"),
    [
        (1000, 60, "X-Small", 24),
        (60_000, 60, "Medium", 96),
        (60_000, 10, "X-Small", 24),  # a minute is paid for
        (300_000, 300, "Small", 48),
        (61_000, 60, "X-Small", None),
        (301_000, 300, "X-Small", None),
    ],
)
def test_an_interval_that_keeps_the_warehouse_awake_says_what_that_costs(
    account: Account, interval_ms: int, suspend: int, size: str, cost: int | None
) -> None:
    account.warehouses = [{**WAREHOUSE, "auto_suspend": suspend, "size": size}]
    one = found(account, SnowflakeFacts("LOADS", "SHOP", interval_ms)).get("snowflake.awake")
    assert (one is None) == (cost is None)
    if one is not None:
        assert f"it costs {cost} credits a day" in one.impact
        assert f"consume.trigger.interval.ms = {5000 * max(60, suspend)}" in one.suggestion


@pytest.mark.parametrize("never", [0, None])
def test_a_warehouse_that_never_sleeps(account: Account, never: int | None) -> None:
    account.warehouses = [{**WAREHOUSE, "auto_suspend": never}]
    assert "24 credits a day" in found(account)["snowflake.never_sleeps"].impact


def test_a_database_that_is_not_there_ends_the_check(account: Account) -> None:
    account.databases = []
    assert list(found(account)) == ["snowflake.database_unseen"]


def test_missing_rights_are_named_with_their_grants(account: Account) -> None:
    account.grants["LOADER"] = [right("CREATE TABLE", "SCHEMA", "SHOP.WRACKLINE")]
    assert set(found(account)) == {"snowflake.schema_right"}
    said = [
        finding.suggestion
        for finding in find_problems(account, FACTS, [PLACE])
        if finding.id == "snowflake.schema_right"
    ]
    assert said == [
        "GRANT USAGE, CREATE STAGE ON SCHEMA SHOP.WRACKLINE TO ROLE LOADER",
        "GRANT USAGE, CREATE VIEW ON SCHEMA SHOP.PUBLIC TO ROLE LOADER",
    ]


def test_a_right_of_a_role_that_the_role_was_granted_counts(account: Account) -> None:
    account.grants["TEAM"] = account.grants["LOADER"]
    account.grants["LOADER"] = [right("USAGE", "ROLE", "TEAM")]
    account.objects = [{**one, "owner": "TEAM"} for one in account.objects]
    assert found(account) == {}
    del account.grants["TEAM"]
    assert found(account) == {}, "what can't be seen is not said to be missing"


def test_who_may_make_no_schema_needs_none_that_is_there(account: Account) -> None:
    del account.grants["LOADER"][0]
    assert found(account) == {}
    account.schemas = account.schemas[:1]
    one = found(account)["snowflake.no_schema_right"]
    assert one.suggestion == "GRANT CREATE SCHEMA ON DATABASE SHOP TO ROLE LOADER"


def test_what_everybody_may_is_not_missing(account: Account) -> None:
    account.grants["PUBLIC"] = account.grants["LOADER"]
    account.grants["LOADER"] = []
    assert found(account) == {}


def test_rights_that_come_by_a_database_role_are_not_seen(account: Account) -> None:
    account.grants["LOADER"] = [right("USAGE", "DATABASE_ROLE", "SHOP.WRITERS")]
    assert found(account) == {}


def test_of_very_many_roles_nothing_is_said_to_be_missing(account: Account) -> None:
    account.grants["LOADER"] = [right("USAGE", "ROLE", f"TEAM_{number}") for number in range(60)]
    account.grants |= {f"TEAM_{number}": [] for number in range(60)}
    assert found(account) == {}


def test_a_table_that_another_role_made(account: Account) -> None:
    account.objects = [
        {"name": "PUBLIC__ORDERS", "owner": "SYSADMIN", "kind": "TABLE"},
        {"name": "SOMETHING", "owner": "SYSADMIN", "kind": "TABLE"},
    ]
    one = found(account)["snowflake.not_owner"]
    assert 'target.role = "SYSADMIN"' in one.suggestion
    assert 'ON TABLE "WRACKLINE"."PUBLIC__ORDERS" TO ROLE LOADER' in one.suggestion
    assert "SOMETHING" not in str(list(find_problems(account, FACTS, [PLACE])))


def test_history_of_the_storage_alone_is_worth_a_word(account: Account) -> None:
    account.schemas = [{"name": name, "retention_time": "90"} for name in NAMES]
    said = [one for one in find_problems(account, FACTS, [PLACE]) if one.id == "snowflake.keeps_history"]
    assert [one.suggestion for one in said] == [
        "ALTER SCHEMA SHOP.WRACKLINE SET DATA_RETENTION_TIME_IN_DAYS = 1"
    ]


def test_a_name_that_something_else_has_is_found_by_the_same_question(account: Account) -> None:
    account.grants = {}
    stranger = {"name": "ORDERS", "owner": "ANN", "kind": "TABLE"}
    account.views = [stranger]
    taken = found(account)["snowflake.not_our_place"]
    assert taken.description == '"PUBLIC"."ORDERS" is there and is not ours: TABLE'
    assert taken.suggestion.startswith('ALTER TABLE "PUBLIC"."ORDERS" RENAME TO "PUBLIC"."ORDERS_BEFORE"; or')
    account.views = [{**stranger, "kind": "VIEW"}]
    assert found(account) == {}, "it is the view of a table that is ours"
    account.objects = account.objects[:1]
    both = [one for one in find_problems(account, FACTS, [PLACE]) if one.id == "snowflake.not_our_place"]
    assert len(both) == 2, "without a state neither is ours"
    account.objects = [{"name": f"T{number}", "owner": "ANN", "kind": "TABLE"} for number in range(10_000)]
    assert found(account) == {}, "the state may be among those that are not shown"

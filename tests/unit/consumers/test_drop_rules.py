"""What becomes of the copy of a table that is gone, by the settings."""

from dataclasses import replace

import pytest

from tests.fakes.target import FakeTarget
from tests.unit.settings.shop import GOOD, checked
from wrackline.consumers.contract.drop_rules import DropBehaviour, DropRules
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.pipelines.publication_settings import excluded_changes
from wrackline.schemas.tables.table import TableId

KEEP, RENAME, DROP = DropBehaviour.KEEP, DropBehaviour.RENAME, DropBehaviour.DROP


def rules(**given: str) -> DropRules:
    values = checked({**GOOD, **{name.replace("_", "."): value for name, value in given.items()}}).values
    assert values is not None
    return DropRules.of(values)


def of_tables(**given: str) -> DropRules:
    values = checked({**GOOD, **{f"target.drop.behavior.{name}": how for name, how in given.items()}}).values
    assert values is not None
    return DropRules.of(values)


def test_without_a_setting_every_copy_stays() -> None:
    assert (rules().of_table("d.p.t"), rules().acts) == (KEEP, False)
    assert rules().after_ms == 86_400_000


def test_a_table_may_have_a_rule_of_its_own() -> None:
    found = of_tables(**{"public.orders": "drop", "public.my table": "rename", "d.public.notes": "drop"})
    assert found.acts
    names = ("d.public.orders", "d.public.my_table", "d.public.notes", "d.republic.orders", "d.public.other")
    assert [found.of_table(name) for name in names] == [DROP, RENAME, DROP, KEEP, KEEP]


def test_of_two_rules_that_fit_a_table_the_longer_name_counts() -> None:
    found = of_tables(**{"public.orders": "drop", "d.public.orders": "keep"})
    assert [found.of_table(name) for name in ("d.public.orders", "e.public.orders")] == [KEEP, DROP]


EXCLUDE, ORDERS = "target.schema.change.exclude", "public.orders"
BOTH = "DROP_TABLE,RENAME_TABLE"


@pytest.mark.parametrize(
    ("given", "orders", "others"),
    [
        ({EXCLUDE: "DROP_TABLE"}, (KEEP, DROP), (KEEP, DROP)),
        ({EXCLUDE: "rename_table"}, (DROP, KEEP), (DROP, KEEP)),
        ({f"{EXCLUDE}.{ORDERS}": BOTH}, (KEEP, KEEP), (DROP, DROP)),
        ({EXCLUDE: BOTH, f"target.drop.behavior.{ORDERS}": "rename"}, (RENAME, RENAME), (KEEP, KEEP)),
        (
            {f"{EXCLUDE}.{ORDERS}": "DROP_TABLE", f"target.drop.behavior.{ORDERS}": "rename"},
            (KEEP, RENAME),
            (DROP, DROP),
        ),
        ({EXCLUDE: "ADD_COLUMN,TRUNCATE_TABLE"}, (DROP, DROP), (DROP, DROP)),
    ],
)
def test_an_excluded_drop_or_rename_keeps_the_copy_and_what_names_the_table_counts_more(
    given: dict[str, str], orders: tuple[DropBehaviour, ...], others: tuple[DropBehaviour, ...]
) -> None:
    values = checked({**GOOD, "target.drop.behavior": "drop", **given}).values
    assert values is not None
    found = DropRules.of(values)

    def of_both(table: str) -> tuple[DropBehaviour, ...]:
        return found.of_table(table), found.of_table(table, renamed=True)

    assert [of_both(name) for name in ("d.public.orders", ORDERS)] == [orders] * 2  # in either naming
    assert [of_both(name) for name in ("d.public.others", "d.republic.orders")] == [others] * 2


def test_rules_of_a_table_beyond_ascii_are_those_of_its_topic_whether_escaped_or_not() -> None:
    given = {f"target.drop.behavior.public.{one}": "drop" for one in ("na\xefve", "my table")}
    given |= {f"{EXCLUDE}.public.na\xefve": "RENAME_TABLE"}
    for naming, odd, spaced in (
        ("wrackline", "na_ve", "my_table"),
        ("debezium_unicode", "na_u00efve", "my_u0020table"),
    ):
        values = checked({**GOOD, "topic.naming": naming, **given}).values
        assert values is not None
        found = DropRules.of(values)
        assert [found.of_table(f"public.{name}") for name in (odd, spaced)] == [DROP, DROP]
        assert found.of_table(f"public.{odd}", renamed=True) is KEEP
        assert found.of_table("public.na_u00e8ve", renamed=True) is KEEP  # another table, by the default
        assert found.of_table(f"public.{spaced}", renamed=True) is DROP
        excluded = excluded_changes(values)
        assert excluded.of_copy(TableId("d", "public", odd)) == {"RENAME_TABLE"}
        assert excluded.of(TableId("d", "public", "na\xefve")) == {"RENAME_TABLE"}
        assert excluded.of(TableId("d", "public", "na\xe8ve")) == (
            {"RENAME_TABLE"} if odd == "na_ve" else set()
        )


def test_a_word_that_is_none_is_refused() -> None:
    for name in ("target.drop.behavior", "target.drop.behavior.public.orders"):
        assert checked({**GOOD, name: "forget"}).values is None


@pytest.mark.parametrize("found", [rules(target_drop_behavior="rename"), of_tables(**{"p.t": "rename"})])
def test_a_target_that_renames_no_table_is_refused_at_the_start(found: DropRules) -> None:
    found.check(FakeTarget.can)
    with pytest.raises(OperatorNeeded, match="no_other_name"):
        found.check(replace(FakeTarget.can, sets_aside=False))
    rules(target_drop_behavior="drop").check(replace(FakeTarget.can, sets_aside=False))

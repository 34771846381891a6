"""Where a staged table's parts are, and whose they are."""

from wrackline.consumers.contract.identifiers import Case, Identifiers
from wrackline.consumers.staged.places import StagedLayout, StagedPlace, new_mark
from wrackline.schemas.tables.table import TableId

ANY = Identifiers(255)
SHORT = Identifiers(63, Case.UPPER, case_sensitive=False)


def place(name: str, identifiers: Identifiers = ANY) -> StagedPlace:
    return StagedLayout("{schema}", "wrackline", identifiers).place(TableId("db", "public", name))


def test_a_stage_is_known_to_its_table_alone() -> None:
    for identifiers in (ANY, SHORT):
        names = ["orders", "orders__x", "o" * 300, "o" * 300 + "x", "_wl_stage__orders"]
        stages = {name: place(name, identifiers).stage(new_mark()).name for name in names}
        for owner in names:
            assert [name for name in names if place(owner, identifiers).has_stage(stages[name])] == [owner]


def test_no_table_of_a_source_has_the_name_of_one_of_ours() -> None:
    names = ["orders", "orders__state", "orders__stage", "_wl_state__orders", "_wl_dead_letters"]
    tables = {place(name).table for name in names}
    ours = {place(name).state for name in names} | {StagedLayout("", "wrackline", ANY).letters}
    assert len(tables | ours) == 2 * len(names) + 1


def test_long_names_stay_apart() -> None:
    one, other = place("o" * 300, SHORT), place("o" * 300 + "x", SHORT)
    assert {len(name) for at in (one, other) for _, name in (at.table, at.state, at.view)} == {63}
    assert len({one.table, other.table, one.state, other.state}) == 4

"""The target contract of a table's removal, or of another name for it: nothing else is touched."""

from dataclasses import replace

import pytest

from wrackline.consumers.contract.plan import Applied, TableMode
from wrackline.consumers.contract.target import Dropping
from wrackline.testing.targets.modes_suite import ModesWorld, planned, tell
from wrackline.testing.targets.target_suite import TABLE, A, B, change, letter, plan_for, put

OTHER = replace(TABLE, id=TABLE.id._replace(name="more_orders"))


def dropping(world: ModesWorld) -> Dropping:
    if not isinstance(world.target, Dropping):
        pytest.skip("this target drops no table")
    return world.target


class DropSuite:
    """A target that takes its tables away."""

    def test_a_dropped_table_goes_with_all_that_is_its_own(self, world: ModesWorld) -> None:
        put(world, plan_for(world, 5), change("c", A, 1, "x"), change("d", B, 2))
        world.target.letters.keep(TABLE.id, [letter(1), letter(2, 1)])
        assert dropping(world).drop(TABLE.id)
        for _ in range(2):
            assert world.target.held(TABLE.id) is None
            assert world.target.applied(TABLE.id) == Applied()
            assert world.stored(TABLE.id) == {}
            assert list(world.target.letters.kept(TABLE.id)) == []
            assert not dropping(world).drop(TABLE.id), "it is not there"
            world.restart()

    def test_a_drop_touches_no_other_table(self, world: ModesWorld) -> None:
        for table in (TABLE, OTHER):
            put(world, plan_for(world, 5, table=table), change("c", A, 1, "x"))
            world.target.letters.keep(table.id, [letter(1, table=table.id.name)])
        assert dropping(world).drop(TABLE.id)
        assert {key: row["label"] for key, row in world.visible(OTHER.id).items()} == {A: "x"}
        assert world.target.applied(OTHER.id) == plan_for(world, 5).upto
        assert list(world.target.letters.kept(OTHER.id)) == [letter(1, table="more_orders")]

    def test_a_dropped_table_may_come_back_and_starts_over(self, world: ModesWorld) -> None:
        put(world, plan_for(world, 5), change("c", A, 9, "old"))
        assert dropping(world).drop(TABLE.id)
        put(world, plan_for(world, 1), change("c", B, 1, "new"))
        assert {key: row["label"] for key, row in world.visible(TABLE.id).items()} == {B: "new"}
        assert world.target.applied(TABLE.id) == plan_for(world, 1).upto

    def test_tables_of_every_mode_go(self, world: ModesWorld) -> None:
        for mode in (TableMode.HISTORY, TableMode.APPEND):
            if mode in world.target.can.modes:
                tell(world, planned(world, mode, 5), change("c", A, 1, "x"), change("u", A, 2, "y"))
                assert dropping(world).drop(TABLE.id)
                assert world.target.held(TABLE.id) is None

    def test_a_table_that_is_set_aside_keeps_its_rows_under_another_name(self, world: ModesWorld) -> None:
        if not world.target.can.sets_aside:
            pytest.skip("this target renames no table")
        put(world, plan_for(world, 5), change("c", A, 9, "old"))
        put(world, plan_for(world, 5, table=OTHER), change("c", B, 1, "other"))
        for again in range(2):
            name = dropping(world).set_aside(TABLE.id, "__dropped_20270101")
            assert name is not None
            assert "__dropped_20270101" in name
            assert name.strip('"`').endswith("_2") is bool(again), "what was set aside before stays"
            assert world.labels_at(name) == ["new" if again else "old"]
            assert world.target.held(TABLE.id) is None
            assert world.target.applied(TABLE.id) == Applied()
            assert dropping(world).set_aside(TABLE.id, "__dropped_20270101") is None, "it is not there"
            world.restart()
            put(world, plan_for(world, 1), change("c", B, 1, "new"))
        assert {key: row["label"] for key, row in world.visible(TABLE.id).items()} == {B: "new"}
        assert {key: row["label"] for key, row in world.visible(OTHER.id).items()} == {B: "other"}

"""What holds for the shape of every table that Spark's ALTER TABLE changes, for every change and writer."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.integration.targets.spark_world import SparkWorld
from wrackline.consumers.lake import table_shape
from wrackline.schemas.errors import OperatorNeeded
from wrackline.schemas.tables.table import Column
from wrackline.schemas.tables.types import ColumnType, Kind
from wrackline.testing.targets.target_suite import (
    COLUMNS,
    TABLE,
    A,
    B,
    alter,
    change,
    labels,
    partial,
    plan_for,
    put,
)


class ShapesByHand:
    """Run by each target with its own world."""

    def test_an_alteration_that_ended_anywhere_is_finished(
        self, world: SparkWorld, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Swap two names, widen one column, drop one and add one; end after each statement in turn.

        T-H03.
        """
        count = Column("count", 5, ColumnType(Kind.INT32, "integer"))
        before = replace(TABLE, columns=(*COLUMNS, count, Column("gone", 6, ColumnType(Kind.STRING, "text"))))
        put(
            world,
            plan_for(world, 1, table=before),
            change("c", A, 1, "x", "b", count=7),
            partial("c", B, 2, "y"),
        )
        swapped = (*COLUMNS[:2], replace(COLUMNS[2], name="big"), replace(COLUMNS[3], name="label"))
        wide = replace(count, type=ColumnType(Kind.INT64, "bigint"))
        plan = plan_for(
            world,
            2,
            table=replace(TABLE, columns=(*swapped, wide, Column("new", 8, ColumnType(Kind.STRING, "text")))),
        )

        class Ended(BaseException):
            pass

        made = table_shape._statements

        def one_only(*asked: Any) -> Iterator[str]:
            statements = made(*asked)
            yield from statements[:1]
            if statements:
                raise Ended

        monkeypatch.setattr(table_shape, "_statements", one_only)
        ended = 0
        while world.target.held(TABLE.id) != plan.columns:
            assert ended < 20
            with suppress(Ended):
                alter(world, plan, before)
            ended += 1
            world.restart()
        assert ended == 7, "drop, three renames, widen, add, and what is stored of the columns"
        assert world.visible(TABLE.id) == {
            A: {"shop": "a", "number": 1, "big": "x", "label": "b", "count": 7, "new": None}
        }
        assert world.stored(TABLE.id)[B].missing == {"label"}

    def test_a_row_that_lacked_a_dropped_column_is_whole(self, world: SparkWorld) -> None:
        put(world, plan_for(world, 1), partial("c", A, 1, "x"))
        plan = plan_for(world, 2, table=replace(TABLE, columns=COLUMNS[:3]))
        alter(world, plan, TABLE)
        assert labels(world) == {A: "x"}

    def test_a_user_s_column_stays_and_is_reported_when_it_conflicts(self, world: SparkWorld) -> None:
        put(world, plan_for(world, 1), change("c", A, 1, "x"))
        world.spark.newSession().sql(f"ALTER TABLE {world.name(TABLE.id)} ADD COLUMN extra string")
        wider = replace(TABLE, columns=(*COLUMNS, Column("extra", 5, ColumnType(Kind.STRING, "text"))))
        plan = plan_for(world, 2, table=wider)
        with pytest.raises(OperatorNeeded) as caught:
            alter(world, plan, TABLE)
        assert caught.value.code == "target.column_in_the_way"
        put(world, plan_for(world, 3), change("u", A, 3, "y"))
        assert world.visible(TABLE.id)[A] == {
            "shop": "a",
            "number": 1,
            "label": "y",
            "big": None,
            "extra": None,
        }

    def test_no_name_and_no_label_reads_a_variable(self, world: SparkWorld) -> None:
        """Spark would put the values of variables there, among them passwords of its environment."""
        odd = ("${env:PATH}", "'${env:HOME}'")
        labels_of = (*odd, "${system:user.home}", "${spark.app.name}")
        enum = ColumnType(Kind.ENUM, "enum('${env:PATH}')", labels=labels_of)
        columns = [Column(name, number, enum) for number, name in enumerate(odd, 5)]
        plan = plan_for(world, 1, table=replace(TABLE, columns=(*COLUMNS, *columns)))
        put(world, plan, change("c", A, 1, "x", **dict.fromkeys(odd, "${env:HOME}")))
        kept = dict.fromkeys(odd, "${env:HOME}")
        assert world.visible(TABLE.id) == {A: {"shop": "a", "number": 1, "label": "x", "big": None, **kept}}
        assert world.target.held(TABLE.id) == plan.columns

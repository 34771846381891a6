"""Upkeep may end between every two steps: readers see the same, and the next upkeep continues.

Each step is a commit of its own, so a driver that stops between two of them leaves what a kill leaves.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import pytest

from tests.integration.targets.spark_world import SparkWorld
from wrackline.consumers import failpoints
from wrackline.consumers.contract.plan import Applied, TableMode
from wrackline.consumers.contract.target import UpkeepResult
from wrackline.consumers.lake.lake_upkeep import upkeep
from wrackline.schemas.errors import Transient
from wrackline.testing.targets.history_model import in_order
from wrackline.testing.targets.modes_suite import planned, tell
from wrackline.testing.targets.target_suite import HERE, TABLE, A, B, change, partial, put

EVERYTHING_MS = 10**12  # every delete of the suite is older


class EndedUpkeep:
    """Run by each target with its own world."""

    places: ClassVar[Sequence[str]]

    def tend(self, world: SparkWorld) -> None:
        """Do upkeep of which every step is due."""
        raise NotImplementedError

    @pytest.mark.parametrize(
        "mode",
        [
            TableMode.UPSERT,
            *(pytest.param(mode, marks=pytest.mark.deep) for mode in (TableMode.HISTORY, TableMode.APPEND)),
        ],
    )
    def test_an_upkeep_that_ended_anywhere_changes_nothing(
        self, world: SparkWorld, mode: TableMode, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """T-K17."""
        bring = put if mode is TableMode.UPSERT else tell
        bring(world, planned(world, mode, 0), change("c", A, 1, "x", "kept"), change("c", B, 2, "y"))
        for number, place in enumerate(self.places, start=1):
            place_of = number * 10
            batch = [
                partial("u", A, place_of, f"a{number}"),
                change("d", B, place_of + 1),
                change("c", B, place_of + 2, f"b{number}"),
                change("c", ("gone", number), place_of + 3),
            ]
            bring(world, planned(world, mode, place_of), *batch)
            bring(world, planned(world, mode, place_of + 1), change("d", ("gone", number), place_of + 4))
            before = shown(world)
            monkeypatch.setattr(failpoints, "_armed", {place: ("raise", 1)})
            with pytest.raises(Transient, match=place):
                self.tend(world)
            world.restart()
            assert shown(world) == before, place
        self.tend(world)
        assert shown(world) == before
        if mode is TableMode.UPSERT:
            assert {row.deleted for row in world.stored(TABLE.id).values()} == {False}
        assert world.target.check([TABLE.id]) == []
        bring(world, planned(world, mode, 1000), partial("u", A, 1000, "last"))
        (carried,) = (row["big"] for row in world.seen(TABLE.id) if row["label"] == "last")
        assert carried == (None if mode is TableMode.APPEND else "kept")
        assert world.target.applied(TABLE.id).offsets == {HERE: 1000}


def tend(world: SparkWorld, *, forget_before_ms: int) -> UpkeepResult:
    """Do an upkeep that keeps no older version."""
    table = world.opened.find(TABLE.id)
    form = replace(world.form, shorten=lambda *of: world.form.shorten(*of, retention_ms=0))  # type: ignore[call-arg]
    return upkeep(form, world.spark.newSession(), table, forget_before_ms=forget_before_ms)


def shown(world: SparkWorld) -> tuple[list[str], Applied]:
    """Return what a reader sees, and what is applied."""
    return in_order(world.seen(TABLE.id)), world.target.applied(TABLE.id)

"""What every target promises, kept by statements over DuckDB, in both forms of the merge."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.duck_service import DIALECT, IN_PARTS
from tests.fakes.duck_world import DuckWorld
from tests.fixtures.tiers import alternatives
from wrackline.schemas.tables.table import KeyKind
from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import BAG, KeylessPromises, KeylessWorld, KeyPromises, row
from wrackline.testing.targets.merge_model import Change
from wrackline.testing.targets.modes_suite import AppendPromises, HardDeletePromises, HistoryPromises
from wrackline.testing.targets.target_suite import (
    CommitPromises,
    LetterPromises,
    LimitPromises,
    MergePromises,
    ShapePromises,
    plan_for,
    put,
    seq,
)

FORMS = [DIALECT, IN_PARTS]


class TestTheMerge(MergePromises, CommitPromises, HardDeletePromises, KeyPromises):
    """What the two forms do in their own way."""

    @pytest.fixture(params=FORMS, ids=["merge", "parts"])
    def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
        return DuckWorld(tmp_path, request.param)

    def test_a_key_is_written_as_its_newest_change_has_it(self, world: KeylessWorld) -> None:
        """DuckDB itself leaves a stored -0.0 where 0.0 is assigned, so the statement is looked at."""
        assert isinstance(world, DuckWorld)
        by_weight = replace(BAG, key=("weight",), key_kind=KeyKind.PRIMARY)
        for number, weight in enumerate((-0.0, 0.0), start=1):
            one = Change((weight,), seq(number), "c", row("x", weight=weight))
            put(world, plan_for(world, number, table=by_weight), one)
        assert len(world.stored(BAG.id)) == 1
        assert [text for text in world.trap.texts if '"weight" = s.c3' in text]


class TestHistories(HistoryPromises):
    """Versions; test_staged_histories.py has more of them, in both forms."""

    @pytest.fixture(params=alternatives(FORMS), ids=["merge", "parts"])
    def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
        return DuckWorld(tmp_path, request.param)


class TestTheRest(LetterPromises, LimitPromises, ShapePromises, KeylessPromises, AppendPromises, DropSuite):
    """What is alike in both."""

    @pytest.fixture(params=alternatives(FORMS), ids=["merge", "parts"])
    def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> DuckWorld:
        return DuckWorld(tmp_path, request.param)

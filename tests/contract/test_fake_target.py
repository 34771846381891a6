"""The fake target keeps the contract."""

import pytest

from tests.fakes.target_world import FakeTargetWorld
from wrackline.testing.targets.drop_suite import DropSuite
from wrackline.testing.targets.keyless_suite import KeylessPromises, KeyPromises
from wrackline.testing.targets.modes_suite import ModesSuite
from wrackline.testing.targets.target_suite import TargetSuite


class TestFakeTarget(TargetSuite, KeylessPromises, KeyPromises, ModesSuite, DropSuite):
    @pytest.fixture
    def world(self) -> FakeTargetWorld:
        return FakeTargetWorld()

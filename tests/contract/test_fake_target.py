"""The fake target keeps the contract."""

import pytest

from tests.contract.drop_suite import DropSuite
from tests.contract.keyless_suite import KeylessPromises, KeyPromises
from tests.contract.modes_suite import ModesSuite
from tests.contract.target_suite import TargetSuite
from tests.fakes.target_world import FakeTargetWorld


class TestFakeTarget(TargetSuite, KeylessPromises, KeyPromises, ModesSuite, DropSuite):
    @pytest.fixture
    def world(self) -> FakeTargetWorld:
        return FakeTargetWorld()

"""The fake target keeps the contract."""

import pytest

from tests.contract.target_suite import TargetSuite, TargetWorld
from tests.fakes.target_world import FakeTargetWorld


class TestFakeTarget(TargetSuite):
    @pytest.fixture
    def world(self) -> TargetWorld:
        return FakeTargetWorld()

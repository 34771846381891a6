"""The fake target keeps the contract."""

import pytest

from tests.contract.keyless_suite import KeylessPromises, KeylessWorld, KeyPromises
from tests.contract.target_suite import TargetSuite
from tests.fakes.target_world import FakeTargetWorld


class TestFakeTarget(TargetSuite, KeylessPromises, KeyPromises):
    @pytest.fixture
    def world(self) -> KeylessWorld:
        return FakeTargetWorld()

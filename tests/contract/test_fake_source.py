"""The fake source keeps the contract, with one partition and several, and marks of every kind."""

import pytest

from tests.fakes.source_world import FakeSourceWorld
from wrackline.producers.contract.source_plugin import MarkKind
from wrackline.testing.sources.source_suite import SourceSuite
from wrackline.testing.sources.source_world import SourceWorld


class TestFakeSource(SourceSuite):
    @pytest.fixture(params=[(1, MarkKind.SIGNAL), (1, MarkKind.MESSAGE), (3, MarkKind.FENCE)], ids=str)
    def world(self, request: pytest.FixtureRequest) -> SourceWorld:
        partitions, kind = request.param
        return FakeSourceWorld(partitions, kind)

"""The fake group keeps the contract; what it may do with positions is its own, for it has no database."""

import pytest

from tests.contract.group_suite import SHOP, GroupSuite, MakeCrew
from tests.fakes.group import FakeGroup
from wrackline.control.runtime.rest.model.connectors import WritableConnectors
from wrackline.producers.connect.restart_policy import DesiredState


class TestFakeGroup(GroupSuite):
    @pytest.fixture
    def make_crew(self) -> MakeCrew:
        return FakeGroup

    def test_positions_are_set_each_and_removed_each_or_all(self, crew: WritableConnectors) -> None:
        other = {**SHOP, "database": "other"}
        self.made(crew, wish=DesiredState.STOP)
        crew.edit_offsets("shop", [(SHOP, {"lsn": "0/1"}), (other, {"lsn": "0/2"})])
        crew.edit_offsets("shop", [(SHOP, None)])
        assert list(crew.offsets("shop")) == [(other, {"lsn": "0/2"})]
        crew.edit_offsets("shop", None)
        assert list(crew.offsets("shop")) == []

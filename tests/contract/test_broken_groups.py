"""The group suite sees: each of these groups breaks one promise, and the named test fails for it."""

from collections.abc import Mapping, Sequence

import pytest

from tests.contract.group_suite import GroupSuite
from tests.contract.promises import broken
from tests.fakes.group import DEFAULTS, FakeGroup
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.control.runtime.rest.model.settings_in_force import SettingInForce, settings_in_force
from wrackline.producers.connect.restart_policy import DesiredState


class KeepsNothing(FakeGroup):
    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        del name, good, wish, new


class ShowsSecrets(FakeGroup):
    def config(self, name: str) -> Mapping[str, str]:
        return self.stored_settings(name)


class KeepsDefaults(FakeGroup):
    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        super().put(name, good._replace(config={**DEFAULTS, **good.config}), wish, new=new)


class Adds(FakeGroup):
    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        before = self.stored_settings(name) if name in self.names() else {}
        super().put(name, good._replace(config={**before, **good.config}), wish, new=new)


class Wakes(FakeGroup):
    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        super().put(name, good, wish, new=new)
        self.wish(name, wish or DesiredState.RUN)


class MakesStopped(FakeGroup):
    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        super().put(name, good, wish or DesiredState.STOP, new=new)


class IgnoresCase(FakeGroup):
    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        super().put(name.lower(), good, wish, new=new)


class Replaces(FakeGroup):
    def put(self, name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool = False) -> None:
        del new
        super().put(name, good, wish)


class CallsAllItsOwn(FakeGroup):
    def settings_in_force(self, name: str) -> Sequence[SettingInForce]:
        pipeline = self.check(self.stored_settings(name))
        return settings_in_force(pipeline, pipeline.given)


class RemovesAll(FakeGroup):
    def remove(self, name: str) -> None:
        del name
        for one in self.names():
            super().remove(one)


BROKEN = [
    (CallsAllItsOwn, "test_the_settings_in_force_say_where_each_comes_from"),
    (KeepsNothing, "test_what_was_put_is_seen_when_put_returns"),
    (ShowsSecrets, "test_a_secret_is_given_and_not_shown"),
    (KeepsDefaults, "test_defaults_are_neither_given_nor_shown_with_a_connector"),
    (Adds, "test_settings_are_replaced_not_added_to"),
    (Wakes, "test_a_change_of_settings_wakes_nobody"),
    (MakesStopped, "test_a_connector_of_which_nothing_is_wished_is_begun"),
    (IgnoresCase, "test_names_that_differ_only_in_case_are_distinct"),
    (Replaces, "test_a_new_connector_replaces_none"),
    (RemovesAll, "test_what_was_removed_is_gone_and_the_others_stay"),
]


@pytest.mark.parametrize(("group", "promise"), BROKEN)
def test_the_suite_catches(group: type[FakeGroup], promise: str) -> None:
    assert broken(GroupSuite, [promise], FakeGroup) == set()
    assert broken(GroupSuite, [promise], group) == {promise}

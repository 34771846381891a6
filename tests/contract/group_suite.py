"""What REST is promised by a group: what was written is seen, nothing else was touched.

A real group runs all of it in a few lines:

    class TestGroup(GroupSuite):
        @pytest.fixture
        def make_crew(self, ...) -> MakeCrew:
            return make      # a group that has no connectors yet, each time it is called

What takes a group a while, as ending a task does, is waited for up to `patience` seconds.
"""

import time
from collections.abc import Callable, Mapping, Sequence

import pytest

from wrackline.control.runtime.rest.model.connectors import (
    NO_CONNECTOR,
    NOT_STOPPED,
    GoodSettings,
    WritableConnectors,
)
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.errors import WracklineError

MakeCrew = Callable[[], WritableConnectors]

SHOP = {"server": "shop1", "database": "shop"}
CONFIG = {
    "connector.class": "postgres",
    "topic.prefix": "shop1",
    "database.hostname": "db.invalid",
    "database.user": "wrackline",
    "database.password": "c4n4ry",
    "database.dbname": "shop",
    "snapshot.mode": "no_data",
}


class GroupSuite:
    """One promise a test."""

    patience = 30.0

    @pytest.fixture
    def crew(self, make_crew: MakeCrew) -> WritableConnectors:
        """A group of one worker, the coordinator."""
        return make_crew()

    def config(self, name: str, **more: str) -> Mapping[str, str]:
        return {**CONFIG, "name": name, **more}

    def good(self, name: str, **more: str) -> GoodSettings:
        return GoodSettings(self.config(name, **more), 1)

    def made(
        self, crew: WritableConnectors, name: str = "shop", wish: DesiredState = DesiredState.STOP
    ) -> None:
        crew.put(name, self.good(name), wish)

    def becomes(self, crew: WritableConnectors, name: str, state: TaskState) -> None:
        until = time.monotonic() + self.patience
        while crew.standing(name).state is not state:
            assert time.monotonic() < until, crew.standing(name)
            time.sleep(0.05)  # a group says nothing when a task ends, it is asked

    def test_it_begins_with_nothing_and_writes_here(self, crew: WritableConnectors) -> None:
        assert list(crew.names()) == []
        assert crew.elsewhere() is None
        assert crew.worker

    def test_what_was_put_is_seen_when_put_returns(self, crew: WritableConnectors) -> None:
        self.made(crew)
        assert list(crew.names()) == ["shop"]
        assert crew.stored_settings("shop") == self.config("shop")
        assert crew.standing("shop").reason is None

    def test_the_settings_in_force_say_where_each_comes_from(self, crew: WritableConnectors) -> None:
        self.made(crew)
        found = {one.name: one for one in crew.settings_in_force("shop")}
        registry, dbname, password, threads = (
            found[name]
            for name in (
                "schema.registry.url",
                "database.dbname",
                "database.password",
                "snapshot.max.threads",
            )
        )
        assert (registry.origin.value, bool(registry.value), registry.changed) == ("group", True, True)
        assert (dbname.origin.value, dbname.value) == ("pipeline", "shop")
        assert (password.origin.value, password.value) == ("pipeline", "***")
        assert (threads.origin.value, threads.value) == ("default", threads.default)

    def test_a_secret_is_given_and_not_shown(self, crew: WritableConnectors) -> None:
        """A-SECRET-08."""
        self.made(crew)
        assert crew.stored_settings("shop")["database.password"] == "c4n4ry"
        assert crew.config("shop") == {**self.config("shop"), "database.password": "***"}

    def test_defaults_are_neither_given_nor_shown_with_a_connector(self, crew: WritableConnectors) -> None:
        self.made(crew)
        assert set(crew.stored_settings("shop")) == set(self.config("shop"))
        assert set(crew.config("shop")) == set(self.config("shop"))
        assert crew.check(crew.stored_settings("shop")).values is not None, "with them it is whole"

    def test_settings_are_replaced_not_added_to(self, crew: WritableConnectors) -> None:
        crew.put(
            "shop",
            self.good("shop", **{"table.include.list": "public.a"}),
            DesiredState.STOP,
        )
        crew.put("shop", self.good("shop"), None)
        assert crew.stored_settings("shop") == self.config("shop")

    def test_a_new_connector_replaces_none(self, crew: WritableConnectors) -> None:
        self.made(crew)
        with pytest.raises(WracklineError, match=r"rest\.exists"):
            crew.put(
                "shop",
                self.good("shop", **{"table.include.list": "public.a"}),
                None,
                new=True,
            )
        assert crew.stored_settings("shop") == self.config("shop")

    def test_a_change_of_settings_wakes_nobody(self, crew: WritableConnectors) -> None:
        self.made(crew)
        self.becomes(crew, "shop", TaskState.STOPPED)
        crew.put("shop", self.good("shop", **{"table.include.list": "public.a"}), None)
        assert crew.standing("shop").state is TaskState.STOPPED

    @pytest.mark.parametrize(
        ("wish", "state"), [(DesiredState.STOP, TaskState.STOPPED), (DesiredState.PAUSE, TaskState.PAUSED)]
    )
    def test_a_connector_is_made_as_it_is_wished(
        self, crew: WritableConnectors, wish: DesiredState, state: TaskState
    ) -> None:
        self.made(crew, wish=wish)
        self.becomes(crew, "shop", state)

    def test_a_connector_of_which_nothing_is_wished_is_begun(self, crew: WritableConnectors) -> None:
        crew.put("shop", self.good("shop"), None)
        assert crew.standing("shop").state not in (TaskState.STOPPED, TaskState.PAUSED)
        crew.wish("shop", DesiredState.STOP)
        self.becomes(crew, "shop", TaskState.STOPPED)

    def test_names_that_differ_only_in_case_are_distinct(self, crew: WritableConnectors) -> None:
        self.made(crew)
        self.made(crew, "Shop")
        crew.remove("Shop")
        assert crew.stored_settings("shop") == self.config("shop")

    def test_what_was_removed_is_gone_and_the_others_stay(self, crew: WritableConnectors) -> None:
        self.made(crew)
        self.made(crew, "orders")
        crew.remove("shop")
        assert list(crew.names()) == ["orders"]
        assert crew.stored_settings("orders") == self.config("orders")

    def test_what_was_made_again_has_nothing_of_before(self, crew: WritableConnectors) -> None:
        crew.put(
            "shop",
            self.good("shop", **{"table.include.list": "public.a"}),
            DesiredState.STOP,
        )
        crew.remove("shop")
        self.made(crew, wish=DesiredState.PAUSE)
        assert crew.stored_settings("shop") == self.config("shop")
        self.becomes(crew, "shop", TaskState.PAUSED)

    @pytest.mark.parametrize("ask", ["stored_settings", "config", "standing", "remove", "edit_offsets"])
    def test_an_unknown_connector_is_reported(self, crew: WritableConnectors, ask: str) -> None:
        self.made(crew)
        more = (None,) if ask == "edit_offsets" else ()
        with pytest.raises(WracklineError) as told:
            getattr(crew, ask)("nobody", *more)
        assert told.value.code == NO_CONNECTOR.code
        assert list(crew.names()) == ["shop"]

    @pytest.mark.parametrize("edits", [None, [(SHOP, {"lsn": "0/1"})]])
    def test_positions_of_what_is_not_stopped_are_not_edited(
        self, crew: WritableConnectors, edits: Sequence[tuple[Mapping[str, str], object | None]] | None
    ) -> None:
        self.made(crew, wish=DesiredState.PAUSE)
        with pytest.raises(WracklineError) as told:
            crew.edit_offsets("shop", edits)
        assert told.value.code == NOT_STOPPED.code
        assert list(crew.offsets("shop")) == []

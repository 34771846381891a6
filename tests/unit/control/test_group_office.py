"""Where a worker of a group sends what writes: to a member of its group, and to none that lets anybody in."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from wrackline.control.runtime.group import config_records
from wrackline.control.runtime.group.config_records import Connector, CoordinatorTerm, GroupConfig, Sent
from wrackline.control.runtime.group.coordinator_writer import CoordinatorWriter
from wrackline.control.runtime.group.group_connectors import GroupConnectors
from wrackline.control.runtime.group.group_drafts import GroupDrafts
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.draft_records import Draft, StoredDraft

OTHER = "b:8083"


def worker(office: CoordinatorTerm, *, users: bool) -> GroupConnectors:
    hands = SimpleNamespace(office=lambda: office, owners=lambda: {0: OTHER})
    threads = SimpleNamespace(make=lambda *_: SimpleNamespace(start=lambda: None))
    group = SimpleNamespace(client=None, id="g")
    parts = (group, "kafka-1", hands, None, print, threads)
    made = GroupConnectors(*cast("tuple[Any, Any, Any, Any, Any, Any]", parts))
    made.begin("a:8083", "http://a:8083", print, users=users)
    return made


def test_a_worker_with_users_sends_nothing_to_a_coordinator_without() -> None:
    """A-ROLE-09."""
    follower = worker(CoordinatorTerm(OTHER, f"http://{OTHER}", "1"), users=True)
    with pytest.raises(WracklineError) as raised:
        follower.elsewhere()
    assert raised.value.code == "group.open_coordinator"
    assert follower.led  # the coordinator is known


@pytest.mark.parametrize(("here", "there"), [(False, False), (False, True), (True, True)])
def test_other_workers_send_it(*, here: bool, there: bool) -> None:
    office = CoordinatorTerm(OTHER, f"http://{OTHER}", "1", users=there)
    assert worker(office, users=here).elsewhere() == f"http://{OTHER}"


def test_the_group_s_members_are_logged_when_they_change() -> None:
    said: list[tuple[str, tuple[str, ...]]] = []
    owners, looks = {0: OTHER, 1: "a:8083"}, iter(range(5))

    def stopped(_: float) -> bool:
        look = next(looks)
        if look == 3:
            owners[1] = "c:8083"
        return look == 4

    office = CoordinatorTerm(OTHER, f"http://{OTHER}", "1")
    hands = SimpleNamespace(office=lambda: office, owners=lambda: owners)
    runs: list[Callable[[], None]] = []
    threads = SimpleNamespace(make=lambda _, run: SimpleNamespace(start=lambda: runs.append(run)))
    parts = (SimpleNamespace(client=None, id="g"), "kafka-1", hands, None, print, threads)
    crew = GroupConnectors(*cast("tuple[Any, Any, Any, Any, Any, Any]", parts))
    crew.begin("a:8083", "http://a:8083", lambda *who: said.append(cast("Any", who)), users=False)
    crew._stop = cast("Any", SimpleNamespace(wait=stopped))
    runs[0]()
    assert said == [(OTHER, ("a:8083", OTHER)), (OTHER, (OTHER, "c:8083"))]


def test_a_new_connector_and_a_deployed_draft_replace_none_that_was_made_meanwhile() -> None:
    made = Connector("shop", {"connector.class": "postgres"}, 7, DesiredState.RUN, 5)
    draft = StoredDraft(Draft("shop", 1, 1, "ann", {}), "41")
    hands = SimpleNamespace(connectors=lambda: {"shop": made}, drafts=lambda: {"mine": draft})
    threads = SimpleNamespace(make=lambda *_: SimpleNamespace(start=lambda: None))
    parts = (SimpleNamespace(client=None, id="g"), "kafka-1", hands, None, print, threads)
    crew = GroupConnectors(*cast("tuple[Any, Any, Any, Any, Any, Any]", parts))
    drafts = GroupDrafts("g", crew, cast("Any", hands), typed_secrets=False)
    with pytest.raises(WracklineError) as raised:
        crew.put("shop", GoodSettings({}, 1), None, new=True)
    assert raised.value.code == "rest.exists"
    with pytest.raises(WracklineError) as raised:
        drafts.deploy("mine", "41", GoodSettings({"name": "shop"}, 1), DesiredState.RUN)
    assert raised.value.code == "rest.exists"


def test_settings_that_were_found_good_are_not_checked_again_while_other_writers_wait() -> None:
    known = Connector("shop", {}, 7, DesiredState.RUN, 5).placed((5, 6, 7))
    hands = SimpleNamespace(connectors=lambda: {"shop": known})
    cannot_check = SimpleNamespace(client=None, id="g")
    parts = (cannot_check, "kafka-1", hands, None, print, SimpleNamespace(make=lambda *_: None))
    crew = GroupConnectors(*cast("tuple[Any, Any, Any, Any, Any, Any]", parts))
    kept = GroupConfig()
    for change in crew.storing("shop", GoodSettings({"tasks.max": "2"}, 2), None, new=False).changes:
        kept.apply(*change)
    assert kept.connectors["shop"].config == {"tasks.max": "2"}
    assert kept.connectors["shop"].slots == (5, 6)


def test_an_office_is_read_as_it_was_written() -> None:
    kept = GroupConfig()
    for office in (
        CoordinatorTerm(OTHER, f"https://{OTHER}", "1", users=True),
        CoordinatorTerm(OTHER, f"http://{OTHER}", "2"),
    ):
        kept.apply(*config_records.term_record(office))
        assert kept.office == office


def test_an_address_that_is_not_the_workers_own_is_not_taken() -> None:
    """A-HOST-08."""
    kept = GroupConfig()
    with pytest.raises(ValueError, match="not the worker's"):
        kept.apply(
            *config_records.term_record(CoordinatorTerm(OTHER, "http://elsewhere:80", "1", users=True))
        )
    assert kept.office is None


class Lost:
    """A worker whose term has ended before its wish was read; `term` is the one that it has meanwhile."""

    def __init__(self, term: int) -> None:
        self.read, self.newest = Sent(0, 0), 1
        self.looks = 0
        hands = SimpleNamespace(has_read=lambda sent: self.read >= sent, is_newest=lambda n: n == self.newest)
        follower = SimpleNamespace(wait_for=self._wait)
        threads = SimpleNamespace(make=lambda *_: None)
        parts = (SimpleNamespace(client=None, id="g"), "kafka-1", hands, follower, print, threads)
        self.crew = GroupConnectors(*cast("tuple[Any, Any, Any, Any, Any, Any]", parts))
        office = CoordinatorTerm("a:8083", "http://a:8083", "1", number=term)
        self.crew._pen = cast("Any", SimpleNamespace(office=office, check_sent=lambda: None))
        self.crew._holds = True

    def _wait(self, holds: Callable[[], bool], _: float) -> bool:
        """Another coordinator's first record comes while it waits."""
        self.looks += 1
        self.newest = 2
        return holds()


@pytest.mark.parametrize("term", [1, 3])
def test_a_wish_whose_term_has_ended_is_passed_on_at_once_and_a_new_term_is_kept(term: int) -> None:
    lost = Lost(term)
    with pytest.raises(WracklineError) as raised:
        lost.crew._until_read("shop", Sent(1, 5))
    assert raised.value.code == "rest.no_coordinator"
    assert lost.looks == 1, "what an older term sent never counts behind a newer one"
    assert lost.crew.writes is (term == 3)


@pytest.mark.parametrize("doubtful", [False, True])
def test_after_a_write_that_may_be_repeated_the_office_is_taken_again_by_reading_first(
    *, doubtful: bool
) -> None:
    """What another worker has written meanwhile must be known before the next write."""
    done: list[str] = []
    writer = CoordinatorWriter(cast("Any", None), "g")
    writer.office = CoordinatorTerm("a:8083", "http://a:8083", "1", number=1)
    writer._transactor = cast(
        "Any",
        SimpleNamespace(
            commit=lambda *_: done.append("commit"),
            is_doubtful=lambda: doubtful,
            drop=lambda: done.append("drop"),
        ),
    )
    writer.write([])
    assert (done, writer.office is None) == ((["commit", "drop"], True) if doubtful else (["commit"], False))

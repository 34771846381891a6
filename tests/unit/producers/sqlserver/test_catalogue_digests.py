"""What is asked about the catalogues of quiet databases, and how long each database may then rest."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from wrackline.producers.sources.sqlserver.connect.server_errors import explain
from wrackline.producers.sources.sqlserver.log.range_audit import REST_S as COUNT_S
from wrackline.producers.sources.sqlserver.poll import catalogue_digests, news_watch
from wrackline.producers.sources.sqlserver.poll.capture_watch import BEAT_S, LOOK_S, CaptureWatch
from wrackline.producers.sources.sqlserver.poll.catalogue_digests import DIGEST_S, CatalogueDigests, Digest
from wrackline.producers.sources.sqlserver.poll.news_watch import (
    LONG_REST_S,
    REST_S,
    DatabaseNews,
    NewsWatch,
)
from wrackline.producers.sources.sqlserver.session.shared_question import AGAIN_S
from wrackline.producers.sources.sqlserver.wire.session import TdsSession
from wrackline.schemas.errors import WracklineError

NAMES = ("a", "b", "c")
KNOWN = Digest(1, None, 1)


@dataclass
class Server:
    """Answers about catalogues and its agent; `closed`: it has cut the connection."""

    now: float = 100.0
    digest: Digest = KNOWN
    locked: set[str] = field(default_factory=set)
    lost: bool = False
    closed: bool = False
    agent: str | int = "Running"  # or the number of an error
    asked: list[str] = field(default_factory=list)

    def ask(self, session: object, sql: str, doing: str) -> Sequence[Sequence[tuple[Any, ...]]]:
        assert session is self
        if "dm_server_services" in sql:
            self.asked.append("agent")
            if isinstance(self.agent, int):
                raise explain(self.agent, "no", doing)
            return [[("SQL Server Agent (X)", self.agent)]]
        assert sql.startswith("SET LOCK_TIMEOUT 0;")
        assert sql.endswith("SET LOCK_TIMEOUT 500;")
        names = [name for name in NAMES if f"FROM [{name}].sys.tables" in sql]
        self.asked.append("".join(names))
        if self.lost:
            self.closed = True
            raise explain(0, "it was silent for too long", doing)
        if self.locked & {*names}:
            raise explain(1222, "no", doing)
        return [[(number, *self.digest) for number in range(len(names))]]

    def execute(self, sql: str, doing: str) -> None:
        del doing
        self.asked.append(sql)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(catalogue_digests, "ask_values", made.ask)
    return made


def looked(server: Server, digests: CatalogueDigests) -> list[str]:
    """Look once; return what was asked."""
    del server.asked[:]
    digests.look(cast("TdsSession", server), NAMES)
    return server.asked


def test_all_catalogues_and_the_agent_are_asked_about_every_five_seconds(server: Server) -> None:
    digests = CatalogueDigests(lambda: server.now)
    assert digests.of("a") is None
    assert looked(server, digests) == ["agent", "abc"]
    assert [digests.of(name) for name in NAMES] == [KNOWN] * 3
    server.now += DIGEST_S - 1
    server.digest = KNOWN._replace(names=2)
    assert looked(server, digests) == []
    server.now += 1
    assert looked(server, digests) == ["agent", "abc"]
    assert [digests.of(name) for name in NAMES] == [KNOWN._replace(names=2)] * 3


def test_databases_that_are_opened_one_after_the_other_share_the_next_question(server: Server) -> None:
    digests = CatalogueDigests(lambda: server.now)
    session = cast("TdsSession", server)
    for count in (1, 2, 3):
        digests.look(session, NAMES[:count])
        server.now += 1.0
    assert server.asked == ["agent", "a", "b", "c"]
    del server.asked[:]
    while server.now < 100.0 + 3 * DIGEST_S:
        digests.look(session, NAMES)
        server.now += 0.5
    assert server.asked == ["agent", "abc"] * 2


def test_a_catalogue_that_somebody_locks_is_known_again_later_and_the_others_at_once(server: Server) -> None:
    server.locked = {"b"}
    digests = CatalogueDigests(lambda: server.now)
    waits = "SET LOCK_TIMEOUT 500;"
    assert looked(server, digests) == ["agent", "abc", waits, "a", "b", waits, "c"]
    assert [digests.of(name) for name in NAMES] == [KNOWN, None, KNOWN]
    server.now += DIGEST_S
    assert looked(server, digests) == ["agent", "ac"]
    server.locked.clear()
    server.now += AGAIN_S - DIGEST_S
    assert looked(server, digests) == ["agent", "abc"]
    assert digests.of("b") == KNOWN


def test_a_digest_that_was_known_is_forgotten_while_somebody_locks_its_catalogue(server: Server) -> None:
    digests = CatalogueDigests(lambda: server.now)
    looked(server, digests)
    server.locked = {"b"}
    server.now += DIGEST_S
    looked(server, digests)
    assert [digests.of(name) for name in NAMES] == [KNOWN, None, KNOWN]


def test_a_connection_that_is_lost_is_an_error_of_whoever_asks(server: Server) -> None:
    server.lost = True
    with pytest.raises(WracklineError, match="show which catalogues have changed"):
        looked(server, CatalogueDigests(lambda: server.now))
    assert server.asked == ["agent", "abc"]


@pytest.mark.parametrize(("status", "stands"), [("Running", False), ("Stopped", True), ("Paused", True)])
def test_the_agent_stands_as_the_server_says(server: Server, status: str, *, stands: bool) -> None:
    digests = CatalogueDigests(lambda: server.now)
    server.agent = status
    looked(server, digests)
    assert digests.agent_stands == stands
    server.agent = "Running"
    server.now += DIGEST_S
    looked(server, digests)
    assert not digests.agent_stands


def test_an_agent_that_we_may_not_see_is_asked_for_once(server: Server) -> None:
    digests = CatalogueDigests(lambda: server.now)
    server.agent = 300
    assert looked(server, digests) == ["agent", "abc"]
    server.now += 10 * DIGEST_S
    assert looked(server, digests) == ["abc"]
    assert not digests.agent_stands


def test_an_agent_that_could_not_be_asked_for_is_asked_for_again(server: Server) -> None:
    digests = CatalogueDigests(lambda: server.now)
    server.agent = 1222
    looked(server, digests)
    server.agent = "Stopped"
    server.now += DIGEST_S
    assert looked(server, digests) == ["agent", "abc"]
    assert digests.agent_stands


def test_an_agent_that_stood_and_that_we_may_not_see_any_more_is_not_said_to_stand(server: Server) -> None:
    digests = CatalogueDigests(lambda: server.now)
    server.agent = "Stopped"
    looked(server, digests)
    server.agent = 300
    server.now += DIGEST_S
    looked(server, digests)
    assert not digests.agent_stands


def unconnected(silence_s: float) -> TdsSession:
    raise AssertionError(silence_s)


def watching(digest: Digest | None, *, stands: bool = False, interval_s: float = 0.5) -> NewsWatch:
    watch = NewsWatch(unconnected, interval_s, lambda: 0.0)
    watch._newest = {"a": DatabaseNews(None, digest)}
    watch._digests.agent_stands = stands
    return watch


@pytest.mark.parametrize(
    ("watch", "most_s", "rest_s"),
    [
        (watching(KNOWN), float("inf"), LONG_REST_S),
        (watching(KNOWN), 30.0, 30.0),
        (watching(KNOWN), 0.0, REST_S),
        (watching(KNOWN), None, 0.5),
        (watching(KNOWN, interval_s=90.0), 30.0, 90.0),
        (watching(None), 30.0, REST_S),
        (watching(None, interval_s=90.0), 30.0, 90.0),
        (watching(KNOWN, stands=True), 30.0, REST_S),
    ],
)
def test_a_quiet_database_rests_for_as_long_as_others_know_that_it_is_quiet(
    watch: NewsWatch, most_s: float | None, rest_s: float
) -> None:
    assert watch.rest_s("a", most_s) == rest_s
    assert watch.rest_s("unknown", most_s) == watch._interval


def test_whom_an_agent_stands_for_is_rung_once_and_whoever_has_news() -> None:
    rung: list[str] = []
    watch = watching(KNOWN)
    watch._closed = True  # no thread
    for name in NAMES:
        watch.follow(name, lambda name=name: rung.append(name))  # type: ignore[misc]
    now = {name: DatabaseNews(b"1", KNOWN) for name in NAMES}
    watch._take(now)
    assert rung == list(NAMES)
    watch._take(now)
    assert len(rung) == 3
    watch._take(now | {"b": DatabaseNews(b"1", None)})
    watch._take(now)
    assert rung[3:] == ["b", "b"], "a digest that is not known is news, and one that is known again"
    del rung[:]
    watch._digests.agent_stands = True
    watch._take(now)
    watch._take(now)
    assert rung == list(NAMES)
    watch._digests.agent_stands = False
    watch._take(now)
    watch._digests.agent_stands = True
    watch._take(now)
    assert rung == list(NAMES) * 2


def test_a_silent_log_rests_until_its_silence_may_be_told() -> None:
    watch = CaptureWatch("shop", None, lambda _: None, 10.0)
    assert watch.rest_s(5.0) == 0.0, "it was not looked at yet"
    watch.heard(100.0)
    assert watch.rest_s(101.0) == 9.0 + BEAT_S
    watch.look(100.0 + 10.0 + BEAT_S)
    assert watch.rest_s(140.0) == 60.0, "until it is told again"
    assert watch.rest_s(190.0) == 10.0


def test_an_agent_that_others_saw_stand_is_asked_for_before_its_time() -> None:
    asked: list[str] = []
    stands = False

    def ask(sql: str) -> Sequence[Sequence[tuple[Any, ...]]]:
        asked.append(sql)
        return [[("SQL Server Agent (X)", "Stopped")]]

    watch = CaptureWatch("shop", ask, lambda _: None, None, lambda: stands)
    watch.heard(100.0)
    watch.look(101.0)
    assert asked == []
    stands = True
    with pytest.raises(WracklineError, match="is Stopped"):
        watch.look(102.0)
    assert 100.0 + LOOK_S > 102.0


def test_the_times_of_looks_leave_room_for_each_other() -> None:
    assert news_watch.REST_S <= COUNT_S <= LONG_REST_S

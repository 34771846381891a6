"""A fence is passed when the log holds all of it: several servers, gaps, tags, domains; and names of none."""

import pytest

from wrackline.producers.contract.steps import Commit, Progress
from wrackline.producers.sources.mysql.chunks.marks import LogOffset, MySqlFence, is_visible
from wrackline.producers.sources.mysql.events.gtids import AnyGtids, MariaDbGtids, MySqlGtids
from wrackline.producers.sources.mysql.log.position import MySqlHistory, MySqlPosition

A, B = "a" * 8 + "-aaaa-aaaa-aaaa-" + "a" * 12, "b" * 8 + "-bbbb-bbbb-bbbb-" + "b" * 12
HERE, ELSEWHERE = "here", "elsewhere"
LATE = LogOffset(9, 9_000)


def at(server: str, gtids: AnyGtids | None, place: LogOffset = LATE) -> Progress:
    """A step of a server's log, late in it."""
    return Progress(MySqlPosition(1, *place, 0, MySqlHistory(server, "binlog.000009", 0), gtids))


def fence(gtids: AnyGtids) -> MySqlFence:
    """What a reader set."""
    return MySqlFence("w", LogOffset(3, 400), HERE, gtids)


@pytest.mark.parametrize(
    ("has", "passed"),
    [
        (f"{A}:1-10:ours:1-3,{B}:1-5", True),
        (f"{A}:1-12:ours:1-3:theirs:1,{B}:1-9", True),
        (f"{A}:1-4:6-10:ours:1-3,{B}:1-5", False),  # a gap, as several appliers leave it
        (f"{A}:1-10:ours:1-2,{B}:1-5", False),  # less of a tag
        (f"{A}:1-10,{B}:1-5", False),  # without the tag
        (f"{A}:1-99:ours:1-9", False),  # without the other server
        ("", False),
    ],
)
def test_another_servers_log_has_to_hold_the_whole_set(has: str, *, passed: bool) -> None:
    """T-W11."""
    mark = fence(MySqlGtids.parse(f"{A}:1-10:ours:1-3,{B}:1-5"))
    assert mark.passed(at(ELSEWHERE, MySqlGtids.parse(has))) is passed


@pytest.mark.parametrize(
    ("has", "passed"),
    [("0-1-7,5-2-3", True), ("0-3-8,5-2-9", True), ("0-1-7", False), ("0-1-6,5-2-9", False)],
)
def test_every_domain_has_to_have_come_as_far(has: str, *, passed: bool) -> None:
    """T-W11."""
    mark = fence(MariaDbGtids.parse("0-1-7,5-2-3"))
    assert mark.passed(at(ELSEWHERE, MariaDbGtids.parse(has))) is passed


@pytest.mark.parametrize("has", [None, MariaDbGtids.parse("0-1-7")])
def test_a_log_without_such_gtids_passes_nothing_of_another_server(has: AnyGtids | None) -> None:
    assert not fence(MySqlGtids()).passed(at(ELSEWHERE, has))


def test_in_the_log_of_the_same_server_the_place_decides() -> None:
    mark = fence(MySqlGtids.parse(f"{A}:1-10"))
    assert mark.passed(at(HERE, None, LogOffset(3, 400)))
    assert mark.passed(at(HERE, None, LogOffset(4, 4)))
    assert not mark.passed(at(HERE, MySqlGtids.parse(f"{A}:1-10"), LogOffset(3, 399)))
    assert not mark.passed(Progress(MySqlPosition(1, 9, 9, 1, MySqlHistory(HERE, "binlog.000009", 0))))


@pytest.mark.parametrize(
    ("name", "shown"),
    [(f"{A}:5", True), (f"{A}:11", False), (f"{A}:ours:2", True), (f"{A}:ours:9", False), (f"{B}:1", False)],
)
def test_a_transaction_is_visible_when_it_is_executed(name: str, *, shown: bool) -> None:
    executed = MySqlGtids.parse(f"{A}:1-10:ours:1-3")
    assert is_visible(Commit(name, MySqlPosition(1, 1, 4), 0), executed) is shown


def test_one_from_before_there_were_gtids_is_visible() -> None:
    assert is_visible(Commit("binlog.000007:1534", MySqlPosition(1, 7, 1534), 0), MySqlGtids())

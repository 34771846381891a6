"""What a quiet log is asked, and when: the agent first, then how long nothing was listed."""

from collections.abc import Sequence
from typing import Any

import pytest

from wrackline.producers.sources.sqlserver.connect.server_errors import explain
from wrackline.producers.sources.sqlserver.poll.capture_watch import (
    BEAT_S,
    CAPTURE_SILENT,
    LOOK_S,
    QUIET_S,
    CaptureWatch,
)
from wrackline.schemas.errors import Transient, WracklineError


class Agent:
    """A service, or why nobody sees it."""

    def __init__(self, status: str = "Running", error: int | None = None) -> None:
        self.status, self.error, self.asked = status, error, 0

    def ask(self, sql: str) -> Sequence[Sequence[tuple[Any, ...]]]:
        assert "dm_server_services" in sql
        self.asked += 1
        if self.error is not None:
            raise explain(self.error, "no", "say whether its agent runs")
        return [[("SQL Server Agent (X)", self.status)]]


def watch(
    agent: Agent | None, told: list[WracklineError] | None = None, beat_s: float | None = None
) -> CaptureWatch:
    said: list[WracklineError] = [] if told is None else told
    return CaptureWatch("shop", None if agent is None else agent.ask, said.append, beat_s)


def test_the_first_look_only_begins_to_count() -> None:
    agent = Agent("Stopped")
    watch(agent).look(1000.0)
    assert agent.asked == 0


@pytest.mark.parametrize("status", ["Stopped", "Paused"])
def test_an_agent_that_stands_is_an_error_at_the_first_look_that_is_due(status: str) -> None:
    agent = Agent(status)
    made = watch(agent)
    made.heard(100.0)
    made.look(100.0 + LOOK_S - 1)
    assert agent.asked == 0
    with pytest.raises(Transient, match=f"shop.*SQL Server Agent .X. is {status}") as caught:
        made.look(100.0 + LOOK_S)
    assert caught.value.code == "sqlserver.agent_stands"
    assert "[shop].sys.sp_cdc_start_job" in str(caught.value.hint)


def test_an_agent_that_runs_is_asked_every_15_seconds_and_not_behind_news() -> None:
    agent = Agent()
    made = watch(agent)
    made.look(0.0)
    for second in range(1, 61):
        made.look(float(second))
    assert agent.asked == 4, "at 1 s, and then three times"
    made.heard(61.0)
    made.look(75.0)
    assert agent.asked == 4
    made.look(76.0)
    assert agent.asked == 5


def test_an_agent_that_we_may_not_see_is_asked_for_once() -> None:
    agent = Agent(error=300)
    made = watch(agent)
    for second in range(0, 100, 20):
        made.look(float(second))
    assert agent.asked == 1


def test_an_agent_that_could_not_be_asked_for_once_is_asked_for_again() -> None:
    agent = Agent("Stopped", error=1222)
    made = watch(agent)
    made.look(0.0)
    made.look(LOOK_S)
    agent.error = None
    with pytest.raises(Transient, match="is Stopped"):
        made.look(2 * LOOK_S)


@pytest.mark.parametrize(
    ("beat_s", "patience", "why"),
    [
        (None, QUIET_S, "a quiet log is reported about every 300 s"),
        (10.0, 10.0 + BEAT_S, "a heartbeat was written"),
        (10_000.0, QUIET_S, "a heartbeat was written"),
    ],
)
def test_silence_is_a_notice_once_it_lasts_too_long_and_again_each_minute(
    beat_s: float | None, patience: float, why: str
) -> None:
    told: list[WracklineError] = []
    made = watch(None, told, beat_s)
    made.heard(7.0)
    made.look(7.0 + patience - 1)
    assert told == []
    made.look(7.0 + patience - 1 + LOOK_S)
    [notice] = told
    assert notice.code == CAPTURE_SILENT.code
    assert f"shop has reported nothing for {int(patience - 1 + LOOK_S)} s, although {why}" in notice.sentence
    assert "[shop].sys.sp_cdc_start_job" in str(notice.hint)
    for later in (15.0, 30.0, 45.0):
        made.look(7.0 + patience - 1 + LOOK_S + later)
    assert len(told) == 1
    made.look(7.0 + patience - 1 + LOOK_S + 60.0)
    assert len(told) == 2
    made.heard(1e6)
    made.look(1e6 + LOOK_S)
    assert len(told) == 2, "what was listed ends the silence"


def test_a_silence_of_exactly_the_patience_is_told() -> None:
    told: list[WracklineError] = []
    made = watch(None, told)
    made.heard(0.0)
    made.look(QUIET_S)
    assert len(told) == 1

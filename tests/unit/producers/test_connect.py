"""A worker and its children, without any server: what is heard, what is begun again, who outlives whom."""

import signal
import sys
import time
from collections.abc import Callable, Mapping

import pytest

from wrackline.producers.connect.child import MOST_LINE, Child, Reported, Said
from wrackline.producers.connect.lifeline import ALONE
from wrackline.producers.connect.supervision import FIRST_WAIT, LONGEST_WAIT, WELL, State, Status
from wrackline.producers.connect.supervisor import Supervisor

HELD = """
import signal, sys, time
from wrackline.producers.connect import lifeline
{before}
lifeline.GRACE = 0.1
line = lifeline.Lifeline(int(sys.argv[1]))
line.hold()
line.tell({{"state": "RUNNING"}})
print("here", flush=True)
time.sleep(60)
"""


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def heard(child: Child, count: int) -> list[Said | Reported]:
    found: list[Said | Reported] = []

    def enough() -> bool:
        found.extend(child.hear())
        return len(found) >= count

    until(enough)
    return found


@pytest.mark.parametrize(
    ("before", "code"),
    [("", -signal.SIGTERM), ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", ALONE)],
)
def test_a_child_ends_when_the_line_to_its_worker_does(before: str, code: int) -> None:
    child = Child([sys.executable, "-c", HELD.format(before=before)])
    try:
        assert Reported({"state": "RUNNING"}) in heard(child, 2)
        assert child.exit_code is None
        child._line.close()  # as the kernel does when the worker is gone; its output is still read
        until(lambda: child.exit_code is not None)
        assert child.exit_code == code
    finally:
        child.close()


@pytest.mark.parametrize("end", ["", "\n"], ids=["without an end", "with one"])
def test_a_line_that_is_too_long_is_cut(end: str) -> None:
    written = f"print('x' * {3 * MOST_LINE + 1}, end={end!r}, flush=True)"
    child = Child([sys.executable, "-c", f"import time; {written}; time.sleep(60)"])
    try:
        lines = [one.line for one in heard(child, 3) if isinstance(one, Said)]
        assert [set(line) for line in lines[:3]] == [{"x"}] * 3
        assert max(map(len, lines)) == MOST_LINE
    finally:
        child.close()


def test_a_report_is_whole_however_long_it_is() -> None:
    line = "b'{\"y\":\"' + b'y' * " + str(3 * MOST_LINE) + " + b'\"}\\n'"
    code = f"import socket, sys; socket.socket(fileno=int(sys.argv[1])).sendall({line})"
    child = Child([sys.executable, "-c", code])
    try:
        (report,) = [one.report for one in heard(child, 1) if isinstance(one, Reported)]
        assert report == {"y": "y" * 3 * MOST_LINE}
    finally:
        child.close()


def test_the_last_words_of_a_child_are_heard_although_no_line_ends_with_them() -> None:
    child = Child([sys.executable, "-c", "print('first'); print('last', end='')"])
    try:
        until(lambda: child.exit_code is not None)
        assert list(child.hear()) == [Said("first"), Said("last")]
        assert not list(child.hear())
    finally:
        child.close()


def test_waits_grow_to_a_bound_and_begin_anew_after_a_good_run() -> None:
    status, waits = Status(State.RUNNING, 0.0), []
    for _ in range(12):
        status = status.at(State.RUNNING, 10.0).ended(11.0, asked=False, for_somebody=False)
        assert status.state is State.RESTARTING
        waits.append(status.begins - 11.0)
    assert waits[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT
    well = status.at(State.RUNNING, 100.0).ended(100.0 + WELL, asked=False, for_somebody=False)
    assert (well.ends, well.begins - well.since) == (1, FIRST_WAIT)


@pytest.mark.parametrize(("asked", "for_somebody"), [(True, True), (True, False), (False, True)])
def test_an_end_that_was_asked_for_or_asks_for_somebody_is_the_last(asked: bool, for_somebody: bool) -> None:  # noqa: FBT001 - cases
    ended = Status(State.RUNNING, 0.0).ended(1.0, asked=asked, for_somebody=for_somebody)
    assert ended.state is (State.FAILED if for_somebody else State.STOPPED)


@pytest.mark.parametrize(("asked", "for_somebody"), [(True, False), (False, False), (False, True)])
def test_a_task_that_said_that_all_is_done_is_not_begun_again(asked: bool, for_somebody: bool) -> None:  # noqa: FBT001 - cases
    done = Status(State.COMPLETED, 1.0)
    assert done.ended(2.0, asked=asked, for_somebody=for_somebody) == done


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []

    def changed(self, task: str, status: Status, pid: int | None, code: int | None) -> None:
        del pid, code
        self.states.append((task, status.state.value))

    def said(self, task: str, line: str) -> None:
        """Nothing is printed here."""

    def reported(self, task: str, report: Mapping[str, object]) -> None:
        """Nothing is told here."""


def test_a_worker_whose_tasks_have_all_failed_ends() -> None:
    commands = {
        name: [sys.executable, "-c", f"raise SystemExit({code})"] for name, code in (("a", 4), ("b", 5))
    }
    listener = Heard()
    Supervisor(commands, listener, for_somebody=lambda code: code in (4, 5), asked=lambda: False).run()
    assert sorted(listener.states) == sorted(
        (name, state) for name in ("a", "b") for state in ("STARTING", "FAILED")
    )


def test_a_worker_whose_tasks_are_all_done_ends() -> None:
    says = HELD.replace("RUNNING", "COMPLETED").replace("time.sleep(60)", "").format(before="")
    listener = Heard()
    Supervisor(
        {"a": [sys.executable, "-c", says]}, listener, for_somebody=lambda _: False, asked=lambda: False
    ).run()
    assert listener.states == [("a", "STARTING"), ("a", "COMPLETED")]

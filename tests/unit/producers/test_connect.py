"""A worker and its children, without any server: what is heard, what is begun again, which outlives which."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from threading import Event, Thread

import pytest

from wrackline.producers.connect.child import (
    MOST_LINE,
    Begin,
    Child,
    ChildReport,
    PrintedLine,
    RunningProcess,
)
from wrackline.producers.connect.lifeline import ALONE
from wrackline.producers.connect.restart_policy import (
    FIRST_WAIT,
    LONGEST_WAIT,
    WELL,
    DesiredState,
    TaskState,
    TaskStatus,
)
from wrackline.producers.connect.supervisor import Supervisor

HELD = """
import signal, socket, sys, time
from wrackline.producers.connect import lifeline
{before}
lifeline.GRACE = 0.1
line = lifeline.Lifeline(socket.socket(fileno=int(sys.argv[1])))
line.hold()
line.tell({{"state": "RUNNING"}})
print("here", flush=True)
time.sleep(60)
"""


def way(command: Sequence[str]) -> Begin:
    """How a process is begun as a command; one word is added to it, the number of its end of the lifeline."""

    def begin(line: socket.socket, output: Connection) -> RunningProcess:
        return subprocess.Popen(
            [*command, str(line.fileno())],
            stdout=output.fileno(),
            stderr=subprocess.STDOUT,
            pass_fds=(line.fileno(),),
            start_new_session=True,
        )

    return begin


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def heard(child: Child, count: int) -> list[PrintedLine | ChildReport]:
    found: list[PrintedLine | ChildReport] = []

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
    child = Child(way([sys.executable, "-c", HELD.format(before=before)]))
    try:
        assert ChildReport({"state": "RUNNING"}) in heard(child, 2)
        assert child.exit_code is None
        child._line.close()  # as the kernel does when the worker is gone; its output is still read
        until(lambda: child.exit_code is not None)
        assert child.exit_code == code
    finally:
        child.close()


@pytest.mark.parametrize("end", ["", "\n"], ids=["without an end", "with one"])
def test_a_line_that_is_too_long_is_cut(end: str) -> None:
    written = f"print('x' * {3 * MOST_LINE + 1}, end={end!r}, flush=True)"
    child = Child(way([sys.executable, "-c", f"import time; {written}; time.sleep(60)"]))
    try:
        lines = [one.line for one in heard(child, 3) if isinstance(one, PrintedLine)]
        assert [set(line) for line in lines[:3]] == [{"x"}] * 3
        assert max(map(len, lines)) == MOST_LINE
    finally:
        child.close()


def test_a_report_is_whole_however_long_it_is() -> None:
    line = "b'{\"y\":\"' + b'y' * " + str(3 * MOST_LINE) + " + b'\"}\\n'"
    code = f"import socket, sys; socket.socket(fileno=int(sys.argv[1])).sendall({line})"
    child = Child(way([sys.executable, "-c", code]))
    try:
        (report,) = [one.report for one in heard(child, 1) if isinstance(one, ChildReport)]
        assert report == {"y": "y" * 3 * MOST_LINE}
    finally:
        child.close()


def test_the_last_words_of_a_child_are_heard_although_no_line_ends_with_them() -> None:
    child = Child(way([sys.executable, "-c", "print('first'); print('last', end='')"]))
    try:
        until(lambda: child.exit_code is not None)
        assert list(child.hear()) == [PrintedLine("first"), PrintedLine("last")]
        assert not list(child.hear())
    finally:
        child.close()


def test_waits_grow_to_a_bound_and_start_over_after_a_good_run() -> None:
    """T-C05."""
    status, waits = TaskStatus(TaskState.RUNNING, 0.0), []
    for _ in range(12):
        status = status.at(TaskState.RUNNING, 10.0).ended(11.0, asked=False, for_somebody=False)
        assert status.state is TaskState.RESTARTING
        waits.append(status.begins - 11.0)
    assert waits[:3] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT]
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_WAIT
    well = status.at(TaskState.RUNNING, 100.0).ended(100.0 + WELL, asked=False, for_somebody=False)
    assert (well.ends, well.begins - well.since) == (1, FIRST_WAIT)


@pytest.mark.parametrize(("asked", "for_somebody"), [(True, True), (True, False), (False, True)])
def test_an_end_that_was_requested_or_needs_an_operator_is_final(asked: bool, for_somebody: bool) -> None:  # noqa: FBT001 - cases
    """T-C05."""
    ended = TaskStatus(TaskState.RUNNING, 0.0).ended(1.0, asked=asked, for_somebody=for_somebody)
    assert ended.state is (TaskState.FAILED if for_somebody else TaskState.STOPPED)


@pytest.mark.parametrize(("asked", "for_somebody"), [(True, False), (False, False), (False, True)])
def test_a_task_that_said_that_all_is_done_is_not_begun_again(asked: bool, for_somebody: bool) -> None:  # noqa: FBT001 - cases
    done = TaskStatus(TaskState.COMPLETED, 1.0)
    assert done.ended(2.0, asked=asked, for_somebody=for_somebody) == done


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []

    def changed(self, task: str, status: TaskStatus, pid: int | None, code: int | None) -> None:
        del pid, code
        self.states.append((task, status.state.value))

    def output(self, task: str, line: str) -> None:
        """Nothing is printed here."""

    def reported(self, task: str, report: Mapping[str, object]) -> None:
        """Nothing is reported here."""


def test_a_worker_whose_tasks_have_all_failed_ends() -> None:
    commands = {
        name: way([sys.executable, "-c", f"raise SystemExit({code})"]) for name, code in (("a", 4), ("b", 5))
    }
    listener = Heard()
    Supervisor(commands, listener, for_somebody=lambda code: code in (4, 5), must_stop=lambda: False).run()
    assert sorted(listener.states) == sorted(
        (name, state) for name in ("a", "b") for state in ("STARTING", "FAILED")
    )


def test_a_worker_whose_tasks_are_all_done_ends() -> None:
    says = HELD.replace("RUNNING", "COMPLETED").replace("time.sleep(60)", "").format(before="")
    listener = Heard()
    Supervisor(
        {"a": way([sys.executable, "-c", says])},
        listener,
        for_somebody=lambda _: False,
        must_stop=lambda: False,
    ).run()
    assert listener.states == [("a", "STARTING"), ("a", "COMPLETED")]


def test_a_supervisor_that_stays_obeys_each_wish() -> None:
    """Paused, resumed, started again, stopped: its process ends or begins, and no end is a crash."""
    listener, over = Heard(), Event()
    commands = {"a": way([sys.executable, "-c", HELD.format(before="")])}
    supervisor = Supervisor(
        commands, listener, for_somebody=lambda _: False, must_stop=over.is_set, stays=True
    )
    running = Thread(target=supervisor.run)
    running.start()
    try:
        steps = [
            (DesiredState.PAUSE, ["PAUSED"]),
            (DesiredState.PAUSE, []),
            (DesiredState.RUN, ["RESTARTING", "STARTING", "RUNNING"]),
            (DesiredState.RUN, []),
            (DesiredState.RESTART, ["RESTARTING", "STARTING", "RUNNING"]),
            (DesiredState.STOP, ["STOPPED"]),
            (DesiredState.RESTART, ["RESTARTING", "STARTING", "RUNNING"]),
        ]
        expected = ["STARTING", "RUNNING"]
        for wish, states in steps:
            until(lambda: [state for _, state in listener.states] == expected)  # noqa: B023 - at once
            supervisor.wish("a", wish)
            expected += states
        until(lambda: [state for _, state in listener.states] == expected)
    finally:
        over.set()
        running.join(60)
    assert listener.states[-1] == ("a", "STOPPED")
    assert not running.is_alive()


def test_a_failed_task_is_begun_again_by_a_wish_alone() -> None:
    failed = TaskStatus(TaskState.FAILED, 0.0)
    assert failed.wished(DesiredState.RUN, 1.0) is failed
    again = failed.wished(DesiredState.RESTART, 1.0)
    assert (again.state, again.begins, again.ends) == (TaskState.RESTARTING, 1.0, 0)
    assert failed.wished(DesiredState.PAUSE, 1.0).state is TaskState.PAUSED


@pytest.mark.parametrize(
    ("first", "second", "ends"),
    [
        (DesiredState.PAUSE, DesiredState.RUN, "RUNNING"),
        (DesiredState.RESTART, DesiredState.STOP, "STOPPED"),
        (DesiredState.STOP, DesiredState.PAUSE, "PAUSED"),
    ],
)
def test_the_last_wish_counts_while_a_process_still_ends(
    first: DesiredState, second: DesiredState, ends: str
) -> None:
    """T-C02."""
    listener, over = Heard(), Event()
    slow = "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), sys.exit(0)))"
    commands = {"a": way([sys.executable, "-c", HELD.format(before=slow)])}
    supervisor = Supervisor(
        commands, listener, for_somebody=lambda _: False, must_stop=over.is_set, stays=True
    )
    running = Thread(target=supervisor.run)
    running.start()
    try:
        until(lambda: listener.states[-1:] == [("a", "RUNNING")])
        supervisor.wish("a", first)
        time.sleep(0.3)  # it was asked to end by now, and takes longer
        before = len(listener.states)
        supervisor.wish("a", second)
        until(lambda: len(listener.states) > before and listener.states[-1] == ("a", ends))
    finally:
        over.set()
        running.join(60)


@pytest.fixture
def over() -> Event:
    return Event()


def running_with(
    listener: Heard, over: Event, tasks: Mapping[str, Begin], most_memory: int | None = None
) -> tuple[Supervisor, Thread]:
    supervisor = Supervisor(
        tasks,
        listener,
        for_somebody=lambda _: False,
        must_stop=over.is_set,
        stays=True,
        most_memory=most_memory,
    )
    running = Thread(target=supervisor.run)
    running.start()
    return supervisor, running


def test_an_end_is_noticed_while_its_own_child_holds_its_output_and_another_task_talks(over: Event) -> None:
    class Hearing(Heard):
        holder = 0

        def output(self, task: str, line: str) -> None:
            if task == "leaves":
                self.holder = int(line)

    leaves = "import subprocess; print(subprocess.Popen(['sleep', '600'], close_fds=False).pid)"
    talks = "import time\nwhile True:\n    print('here', flush=True)\n    time.sleep(0.001)"
    tasks = {name: way([sys.executable, "-c", does]) for name, does in (("talks", talks), ("leaves", leaves))}
    listener = Hearing()
    _, running = running_with(listener, over, tasks)
    try:
        until(lambda: ("leaves", "RESTARTING") in listener.states)
    finally:
        over.set()
        running.join(60)
        os.kill(listener.holder, signal.SIGKILL)


HELD_WELL = way([sys.executable, "-c", HELD.format(before="")])


def test_a_task_comes_is_replaced_and_goes_while_the_others_run(over: Event) -> None:
    listener = Heard()
    supervisor, running = running_with(listener, over, {})
    try:
        supervisor.give("a", HELD_WELL)
        until(lambda: listener.states == [("a", "STARTING"), ("a", "RUNNING")])
        supervisor.give("b", HELD_WELL, DesiredState.PAUSE)
        until(lambda: listener.states[2:] == [("b", "PAUSED")])
        supervisor.give("a", HELD_WELL)
        until(lambda: [state for _, state in listener.states[3:]] == ["RESTARTING", "STARTING", "RUNNING"])
        child = supervisor._children["a"]
        assert supervisor.let_go("a").wait(60)
        assert child.exit_code is not None, "the event says that the process has ended"
        assert supervisor.let_go("b").wait(60)
        assert supervisor.let_go("nobody").wait(60)
        assert len(listener.states) == 6, "nothing is reported of a task that was let go"
    finally:
        over.set()
        running.join(60)
    assert not running.is_alive()


def test_a_process_that_cannot_be_begun_is_tried_again_and_the_others_stay(over: Event) -> None:
    refused: list[Exception] = [EOFError(), BlockingIOError()]

    def begin(line: socket.socket, output: Connection) -> RunningProcess:
        if refused:
            raise refused.pop()
        return HELD_WELL(line, output)

    listener = Heard()
    supervisor, running = running_with(listener, over, {"other": HELD_WELL})
    try:
        until(lambda: ("other", "RUNNING") in listener.states)
        supervisor.give("a", begin)
        until(lambda: ("a", "RUNNING") in listener.states)
        of_a = [state for task, state in listener.states if task == "a"]
        assert of_a == ["RESTARTING", "RESTARTING", "STARTING", "RUNNING"]
        assert len(listener.states) == len(of_a) + 2
    finally:
        over.set()
        running.join(60)
    assert not running.is_alive()


def test_letting_go_of_a_task_of_an_ending_worker_waits_for_no_other_task(over: Event) -> None:
    stubborn = way(
        [sys.executable, "-c", HELD.format(before="signal.signal(signal.SIGTERM, signal.SIG_IGN)")]
    )
    listener = Heard()
    supervisor, running = running_with(listener, over, {"a": HELD_WELL, "stubborn": stubborn})
    try:
        until(lambda: {("a", "RUNNING"), ("stubborn", "RUNNING")} <= set(listener.states))
        child = supervisor._children["stubborn"]
        over.set()
        until(lambda: ("a", "STOPPED") in listener.states)
        assert supervisor.let_go("a").wait(60)
        assert child.exit_code is None
        child.kill()
    finally:
        over.set()
        running.join(60)
    assert not running.is_alive()


def test_a_task_that_is_let_go_and_does_not_end_is_killed(
    over: Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wrackline.producers.connect.supervisor.MOVING", 0.3)
    deaf = way([sys.executable, "-c", HELD.format(before="signal.signal(signal.SIGTERM, signal.SIG_IGN)")])
    listener = Heard()
    supervisor, running = running_with(listener, over, {"a": deaf})
    try:
        until(lambda: ("a", "RUNNING") in listener.states)
        child = supervisor._children["a"]
        first, second = supervisor.let_go("a"), supervisor.let_go("a")
        assert first.wait(60)
        assert second.wait(60)
        assert child.exit_code == -signal.SIGKILL
    finally:
        over.set()
        running.join(60)


def test_a_task_that_is_given_again_begins_once_its_old_process_has_ended(over: Event) -> None:
    """T-C02."""
    slow = "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), sys.exit(0)))"
    listener = Heard()
    supervisor, running = running_with(
        listener, over, {"a": way([sys.executable, "-c", HELD.format(before=slow)])}
    )
    try:
        until(lambda: ("a", "RUNNING") in listener.states)
        gone = supervisor.let_go("a")
        supervisor.give("a", HELD_WELL)
        assert gone.wait(60)
        until(lambda: [state for _, state in listener.states].count("RUNNING") == 2)
        assert [state for _, state in listener.states].count("STARTING") == 2
    finally:
        over.set()
        running.join(60)


def test_a_process_with_too_much_memory_is_ended_and_begun_again(over: Event) -> None:
    class Hearing(Heard):
        lines: tuple[str, ...] = ()

        def output(self, task: str, line: str) -> None:
            self.lines += (f"{task} {line}",)

    listener, fat = Hearing(), 'held = bytearray(b"x") * (200 << 20)'
    _, running = running_with(
        listener, over, {"a": way([sys.executable, "-c", HELD.format(before=fat)])}, 100 << 20
    )
    try:
        until(lambda: ("a", "RESTARTING") in listener.states)
    finally:
        over.set()
        running.join(60)
    assert any("worker.memory" in line and "--task-memory" in line for line in listener.lines)

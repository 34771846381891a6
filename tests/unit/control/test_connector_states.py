"""A connector's state in one word, from the states of its tasks, and when a verb has ended."""

from typing import Any

import pytest

from wrackline.control.cli.remote.connector_states import (
    UNSEEN,
    RemoteState,
    Verb,
    VerbCourse,
    read_state,
    read_tasks,
)


@pytest.mark.parametrize("ended", ["FAILED", "RUNNING"])
def test_what_is_as_before_for_long_has_started_over_between_two_looks(ended: str) -> None:
    course = VerbCourse(Verb.RESTART, ended)
    found = RemoteState(ended, "w")
    assert not course.over(found, UNSEEN)
    assert course.over(found, UNSEEN + 0.1)
    assert not VerbCourse(Verb.PAUSE, ended).over(found, UNSEEN + 0.1)


@pytest.mark.parametrize(
    ("verb", "before", "tasks", "over"),
    [
        (Verb.PAUSE, "RUNNING", ["PAUSED", "RUNNING"], False),
        (Verb.PAUSE, "RUNNING", ["PAUSED", "PAUSED"], True),
        (Verb.RESUME, "PAUSED", ["RUNNING", "PAUSED"], False),
        (Verb.RESUME, "RUNNING", ["RUNNING", "PAUSED"], True),  # paused again meanwhile
        (Verb.RESUME, "PAUSED", ["RUNNING", "RUNNING"], True),
        (Verb.RESTART, "RUNNING", ["RUNNING", "PAUSED"], False),
        (Verb.RESTART, "UNASSIGNED", ["RUNNING", "PAUSED"], True),
        (Verb.RESTART, "PAUSED", ["PAUSED", "PAUSED"], True),
    ],
)
def test_a_task_that_rests_alone_ends_no_wait_for_the_others(
    verb: Verb, before: str, tasks: list[str], *, over: bool
) -> None:
    assert VerbCourse(verb, before).over(read_state(with_tasks(*tasks)), 1.0) == over


def with_tasks(*states: str, own: str = "RUNNING") -> dict[str, Any]:
    tasks = [{"id": n, "state": state, "worker_id": f"w{n}"} for n, state in enumerate(states)]
    return {"connector": {"state": own, "worker_id": "c"}, "tasks": tasks}


def test_the_task_that_failed_or_starts_speaks_for_its_connector() -> None:
    tasks = [
        {"id": n, "state": state, "worker_id": "w"} for n, state in enumerate(["RUNNING", "FAILED", "PAUSED"])
    ]
    connector = {"state": "RUNNING", "worker_id": "c"}
    assert read_state({"connector": connector, "tasks": tasks}).state == "FAILED"
    assert read_state({"connector": connector, "tasks": tasks[:1]}).state == "RUNNING"
    assert read_state({"connector": {"state": "STOPPED", "worker_id": "c"}, "tasks": []}).state == "STOPPED"
    failed = {"state": "FAILED", "worker_id": "c", "trace": "why"}
    assert read_state({"connector": failed, "tasks": []}).trace == "why"
    assert read_state({"connector": connector, "tasks": [{**tasks[0], "state": "ODD"}]}).state == "ODD"
    assert read_state({"connector": connector, "tasks": tasks[:2]}, "target").state == "FAILED", "one half"
    halves = [
        {**task, "half": half} for task, half in zip(tasks, ("source", "source", "target"), strict=True)
    ]
    status = {"connector": connector, "tasks": halves}
    assert [read_state(status, half).state for half in ("source", "target")] == ["FAILED", "PAUSED"]
    assert [read_tasks(status, half) for half in ("source", "target")] == [[0, 1], [2]]
    assert read_tasks({"connector": connector, "tasks": []}, "target") == [1]
    assert read_state({"connector": connector, "tasks": tasks[:1]}, "target").state == "RUNNING", (
        "it has none"
    )


def test_what_completes_while_it_is_awaited_is_an_end() -> None:
    course = VerbCourse(Verb.RESUME, "PAUSED")
    found = [RemoteState(state, "w") for state in ("PAUSED", "UNASSIGNED", "STOPPED")]
    assert [course.over(one, 0.0) for one in found] == [False, False, True]

"""How databases are dealt to tasks, and what a pipeline's settings say of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.settings.shop import GOOD, checked, codes
from wrackline.control.runtime.rest.model.connect_documents import (
    ConnectorState,
    state_of_tasks,
    status,
    task_status,
    tasks,
)
from wrackline.control.runtime.worker.pipeline_tasks import PipelineTasks, TaskPlace, pipeline_of, tasks_of
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.producers.kafka.takeover import DEAL_DIFFERS
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.pipelines.deal import Deal, TaskShare, shares_of, whole_deal

NAMES = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=12, unique=True)


@given(NAMES, st.integers(1, 15))
def test_each_name_is_dealt_once_and_no_task_is_without_one(names: list[str], most: int) -> None:
    shares = shares_of(names, most)
    assert sorted(name for share in shares for name in share) == sorted(names)
    assert len(shares) == min(most, len(names))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@given(NAMES, st.integers(1, 5))
def test_a_name_that_is_added_at_the_end_moves_no_other(names: list[str], most: int) -> None:
    before = {name: task for task, share in enumerate(shares_of(names, most)) for name in share}
    after = {name: task for task, share in enumerate(shares_of([*names, "z"], most)) for name in share}
    if len(names) >= most:  # else there is one task more
        assert before.items() <= after.items()


def test_a_database_is_one_task_s() -> None:
    deal = Deal(1, shares_of(["a", "b", "c"], 2))
    assert [[deal.owns(task, name) for name in ("a", "b", "c", "x", None)] for task in range(2)] == [
        [True, False, True, False, True],
        [False, True, False, False, False],
    ]
    assert Deal(1, (("a",),)).owns(0, "x"), "the only task has what is named no more, too"
    assert TaskShare(deal, 1).names == ("b",)


def test_a_deal_is_known_again_by_a_digest_that_is_in_kafka() -> None:
    """Tasks of two versions may meet: another digest would end them."""
    assert Deal(1, (("a", "c"), ("b",))).digest == "3584e84d8608cb25"
    assert Deal(1, (("a",), ("b", "c"))).digest != Deal(2, (("a", "c"), ("b",))).digest


def test_one_task_has_all_databases_and_two_of_them_are_several() -> None:
    several, one = checked(SEVERAL).values, checked(GOOD).values
    assert several is not None
    assert one is not None
    assert whole_deal(several, 7) == Deal(7, (("a", "b", "c"),))
    assert whole_deal(one, 7) == Deal(7, (("",),))
    assert [Deal(1, shares).several for shares in ((("a",),), (("a", "b"),), (("a",), ("b",)))] == [
        False,
        True,
        True,
    ]


def test_keys_of_tasks() -> None:
    own = PipelineTasks(3, target=True)
    keys = [own.key("shop", number) for number in own]
    assert keys == ["shop", "shop:1", "shop:2", "shop:target"]
    assert {pipeline_of(key) for key in keys} == {"shop"}
    assert [PipelineTasks(1, target=True).key("shop", number) for number in range(2)] == [
        "shop",
        "shop:target",
    ]


def running(*states: TaskState) -> list[ConnectorState]:
    return [ConnectorState(state, None, f"w{number}") for number, state in enumerate(states)]


@pytest.mark.parametrize(
    ("states", "half"),
    [
        ((TaskState.FAILED, TaskState.RUNNING), TaskState.RUNNING),
        ((TaskState.FAILED, TaskState.PAUSED), TaskState.FAILED),
        ((TaskState.STOPPED, TaskState.STOPPED), TaskState.STOPPED),
        ((TaskState.STOPPED, TaskState.STARTING), TaskState.STARTING),
    ],
)
def test_a_half_runs_while_one_of_its_tasks_does(states: tuple[TaskState, ...], half: TaskState) -> None:
    assert state_of_tasks(running(*states), None).state is half


def test_rest_lists_each_task_with_its_half_and_its_databases() -> None:
    sources = running(TaskState.RUNNING, TaskState.FAILED)
    standing = state_of_tasks(sources, ConnectorState(TaskState.RUNNING, None, "w9"))
    shown = status("shop", standing, "here")
    assert shown["connector"]["state"] == "RUNNING"
    assert [(one["id"], one["state"], one["worker_id"], one["half"]) for one in shown["tasks"]] == [
        (0, "RUNNING", "w0", "source"),
        (1, "FAILED", "w1", "source"),
        (2, "RUNNING", "w9", "target"),
    ]
    config = {"database.names": "a, b,c", "name": "shop"}
    assert [one["config"]["database.names"] for one in tasks("shop", config, standing)] == [
        "a,c",
        "b",
        "a, b,c",
    ]
    one_database = {"database.dbname": "a", "name": "shop"}
    assert [one["config"] for one in tasks("shop", one_database, standing)] == [one_database] * 3, (
        "it was given these settings while its state was looked at"
    )
    alone = state_of_tasks(sources[:1], None)
    assert status("shop", alone, "here")["tasks"] == [task_status(0, alone, "here")], "as in Connect"
    assert tasks("shop", config, alone)[0]["config"] == config


SEVERAL = {name: text for name, text in GOOD.items() if name != "database.dbname"} | {
    "database.names": "a,b,c",
    "tasks.max": "2",
}


def test_tasks_max_divides_the_databases_that_are_named_and_is_reported_where_it_divides_nothing() -> None:
    pipeline = checked(SEVERAL)
    assert (codes(pipeline), tasks_of(pipeline)) == ([], PipelineTasks(2))
    assert tasks_of(checked({**SEVERAL, "tasks.max": "9"})) == PipelineTasks(3)
    alone = checked({**GOOD, "tasks.max": "2"})
    assert (codes(alone), tasks_of(alone)) == ([("tasks.max", "settings.not_yet")], PipelineTasks())
    mysql = {**GOOD, "connector.class": "mysql", "database.server.id": "7", "tasks.max": "2"}
    del mysql["database.dbname"]
    one = checked(mysql)
    assert ("tasks.max", "settings.not_yet") in codes(one)
    assert tasks_of(one) == PipelineTasks()


def test_a_process_reads_the_share_of_its_number() -> None:
    pipeline = checked(SEVERAL)
    assert [TaskPlace(number, 2, 5).share(pipeline) for number in range(3)] == [
        TaskShare(Deal(5, (("a", "c"), ("b",))), 0),
        TaskShare(Deal(5, (("a", "c"), ("b",))), 1),
        None,
    ]
    with pytest.raises(WracklineError) as told:  # the file has fewer names by now
        TaskPlace(3, 4, 5).share(pipeline)
    assert told.value.code == DEAL_DIFFERS.code

"""What one worker says and does of its group's records, whatever else stands among them."""

import time
from collections.abc import Iterable, Mapping
from threading import Event

import pytest

from wrackline.control.runtime.group import config_records, status_records
from wrackline.control.runtime.group.config_records import Change, Connector, CoordinatorTerm
from wrackline.control.runtime.group.status_records import TaskReport
from wrackline.control.runtime.group.worker_tasks import WorkerTasks
from wrackline.control.runtime.logs.lines import log_through
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import NO_COORDINATOR
from wrackline.control.runtime.worker.worker_log import WorkerLog
from wrackline.producers.connect.child import Begin
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.producers.connect.supervisor import Supervisor
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.kafka.topic_names import internal_topics
from wrackline.schemas.versions import OURS

TOPICS = internal_topics("g")
SHOP = Connector("shop", {}, 7, DesiredState.RUN, 5)


class Heard:
    """A worker `b` that has the task `shop`, what it has reported, and what it has said."""

    def __init__(self) -> None:
        self.reported: list[Change] = []
        self.said: list[WracklineError] = []
        telling = WorkerLog(lambda *_: None, log_through(lambda _: None), str)
        supervisor = Supervisor({}, telling, for_somebody=lambda _: False, must_stop=lambda: True)
        self.hands = WorkerTasks(TOPICS, supervisor, _never, self.reported.append, self.said.append)
        self.hands.begin("b")
        self.hands.owns(frozenset([SHOP.slot]))
        for key, value in config_records.connector_record(SHOP):
            self.hears(TOPICS.configs, key, value)

    def hears(self, topic: str, key: bytes, value: bytes | None) -> None:
        self.hands.hears(topic, 0, key, value)

    def hears_of_task(self, report: TaskReport) -> list[Change]:
        """Hear a report; return what is reported for that."""
        before = len(self.reported)
        self.hears(TOPICS.status, *status_records.task_record(("shop", 0), report))
        return self.reported[before:]


class Wishes(Supervisor):
    """Notes what becomes of the tasks that it is given."""

    def __init__(self) -> None:
        telling = WorkerLog(lambda *_: None, log_through(lambda _: None), str)
        super().__init__({}, telling, for_somebody=lambda _: False, must_stop=lambda: True)
        self.wished: list[tuple[str, DesiredState]] = []

    def wish(self, task: str, wish: DesiredState) -> None:
        self.wished.append((task, wish))

    def give(self, task: str, begin: Begin, wish: DesiredState = DesiredState.RUN) -> None:
        del begin
        self.wished.append((task, wish))


def _never(connector: Connector, tasks: Iterable[int]) -> Mapping[int, Begin]:
    def begin(*_: object) -> object:
        raise AssertionError(connector)

    return dict.fromkeys(tasks, begin)  # type: ignore[arg-type]  # it is never called


def test_a_task_s_owner_repeats_its_report_after_a_late_one() -> None:
    worker = Heard()
    worker.hands.stands("shop", ConnectorState(TaskState.RUNNING))
    own = TaskReport(TaskState.RUNNING, "b", 1, 7)
    assert worker.hears_of_task(own) == []
    assert worker.hears_of_task(TaskReport(TaskState.FAILED, "a", 0, 7)) == [
        status_records.task_record(("shop", 0), own)
    ]


def test_tables_and_databases_with_errors_are_known_to_the_whole_group() -> None:
    worker = Heard()
    tables = {"count": 1, "first": [{"table": "t", "code": "a.b", "sentence": "s", "hint": "h"}]}
    databases = {"count": 1, "first": [{"database": "d", "code": "a.b", "sentence": "s", "hint": "h"}]}
    worker.hands.stands("shop", ConnectorState(TaskState.RUNNING, tables=tables, databases=databases))
    other = Heard()
    other.hears(TOPICS.status, *worker.reported[-1])
    assert other.hands.standing(SHOP) == ConnectorState(TaskState.RUNNING, None, "b", tables, databases)
    broken_ones: list[dict[str, object]] = [{"count": "x", "first": []}, {"count": 1}, {"first": []}]
    for broken in broken_ones:
        other.hears_of_task(TaskReport(TaskState.PAUSED, "b", 9, 7, tables=broken))
    assert len(other.said) == 3
    assert other.hands.standing(SHOP).state is TaskState.RUNNING


def test_a_late_worker_does_not_repeat_its_report_forever() -> None:
    worker = Heard()
    worker.hands.stands("shop", ConnectorState(TaskState.RUNNING))
    assert worker.hears_of_task(TaskReport(TaskState.RUNNING, "c", 2, 7)) == []
    assert worker.hears_of_task(TaskReport(TaskState.RUNNING, "b", 1, 7)) == [], (
        "its own late word, heard again"
    )


def test_the_members_are_those_that_have_not_left_with_their_slots_versions_and_the_one_that_writes() -> None:
    worker = Heard()
    for name, slots in (("a", range(3)), ("b", range(3, 5)), ("gone", (9,))):
        worker.hears(TOPICS.status, *status_records.worker_record(name, slots, 9_000_000_000_000_000_000))
    worker.hears(TOPICS.status, *status_records.worker_left("gone"))
    worker.hears(TOPICS.status, b"worker-old", b'{"slots": [], "since": 5000000}')
    worker.hears(TOPICS.configs, *config_records.term_record(CoordinatorTerm("a", "http://a", "t")))
    assert [(one.name, one.slots, one.version, one.leads) for one in worker.hands.members()] == [
        ("a", 3, OURS, True), ("b", 2, OURS, False), ("old", 0, "", False),
    ]  # fmt: skip
    assert worker.hands.members()[2].began_ms == 5
    assert worker.said == []


BOTH = Connector("shop", {"target.kind": "iceberg"}, 7, DesiredState.RUN, 5)


def test_one_half_is_paused_alone_also_on_the_worker_that_gets_it_later() -> None:
    supervisor = Wishes()
    hands = WorkerTasks(TOPICS, supervisor, _never, lambda _: None, lambda _: None)
    hands.begin("b")
    hands.owns(frozenset([BOTH.slot]))

    def hears(connector: Connector) -> list[tuple[str, DesiredState]]:
        supervisor.wished.clear()
        for key, value in config_records.connector_record(connector):
            hands.hears(TOPICS.configs, 0, key, value)
        return supervisor.wished

    run, pause = DesiredState.RUN, DesiredState.PAUSE
    assert hears(BOTH) == [("shop", run), ("shop:target", run)]
    half = BOTH.wished(pause, 1)
    assert hears(half) == [("shop:target", pause)]
    assert hands.standing(half).target == ConnectorState(TaskState.PAUSED)
    assert hands.standing(half).state is TaskState.STARTING
    supervisor.wished.clear()
    hands.hears(TOPICS.configs, 0, *config_records.restart_record("shop", 1, None))
    assert supervisor.wished == [("shop", DesiredState.RESTART)], "what rests is woken by resuming alone"
    hands.owns(frozenset())
    supervisor.wished.clear()
    hands.owns(frozenset([BOTH.slot]))
    assert supervisor.wished == [("shop", run), ("shop:target", pause)]
    assert hears(half.wished(run, None)) == [("shop:target", run)]


def _fail() -> None:
    unknown = NO_COORDINATOR()
    raise unknown


def test_what_this_worker_has_committed_counts_at_once_and_is_not_done_again_when_it_is_read() -> None:
    supervisor = Wishes()
    hands = WorkerTasks(TOPICS, supervisor, _never, lambda _: None, lambda _: None)
    hands.begin("b")
    hands.owns(frozenset([SHOP.slot]))
    run, pause, again = DesiredState.RUN, DesiredState.PAUSE, DesiredState.RESTART

    def reads(changes: list[Change]) -> list[tuple[str, DesiredState]]:
        supervisor.wished.clear()
        for key, value in changes:
            hands.hears(TOPICS.configs, 0, key, value)
        return list(supervisor.wished)

    made = config_records.connector_record(SHOP)
    paused, resumed = ([config_records.wish_record(SHOP.wished(wish, None))] for wish in (pause, run))
    restarted = [config_records.restart_record("shop", 1, None)]
    term = config_records.term_record(CoordinatorTerm("b", "http://b", "t"))
    for changes in (made, paused, resumed, restarted):
        with hands.written(changes):
            pass
    assert supervisor.wished == [("shop", run), ("shop", pause), ("shop", run), ("shop", again)]
    for changes in (made, paused, resumed, restarted):
        assert reads([term, *changes]) == [], "an older one does not undo a newer one"
    with hands.written(paused):
        assert reads([term, *paused]) == [("shop", pause)], "Kafka was faster than we"
    assert supervisor.wished == [("shop", pause)]
    with pytest.raises(WracklineError), hands.written(resumed):
        _fail()
    assert hands.connectors()["shop"].wish is pause, "nobody knows whether Kafka has it"
    assert reads([term, *resumed]) == [("shop", run)], "it has"
    assert reads(restarted) == [("shop", again)]


def test_a_session_that_a_worker_ends_has_ended_on_each_and_is_forgotten_after_its_time() -> None:
    here, there = Heard(), Heard()
    now = int(time.time())
    here.hands.end_session("a1", now - 1)
    here.hands.end_session("b2", now + 1_000)
    for key, value in here.reported[-2:]:
        there.hears(TOPICS.status, key, value)
        here.hears(TOPICS.status, key, value)
    assert [there.hands.is_session_ended(one) for one in ("a1", "b2", "c3")] == [True, True, False]
    there.hands.end_session("c3", now + 1_000)
    assert there.reported[-1] == status_records.session_over("a1")
    here.hears(TOPICS.status, *there.reported[-2])
    here.hears(TOPICS.status, *there.reported[-1])
    assert [here.hands.is_session_ended(one) for one in ("a1", "b2", "c3")] == [False, True, True]
    here.hears(TOPICS.status, b"session-d4", b'{"until":"never"}')
    assert [one.code for one in here.said] == ["group.record"]


FOUR = Connector("shop", {"target.kind": "iceberg"}, 7, DesiredState.RUN, 5).placed([5, 6, 7, 8])


def test_a_worker_runs_the_tasks_of_its_slots_and_gives_up_one_of_them_alone() -> None:
    supervisor, reported = Wishes(), list[Change]()
    hands = WorkerTasks(TOPICS, supervisor, _never, reported.append, lambda _: None)
    hands.begin("b")
    hands.owns(frozenset([5, 7]))
    run = DesiredState.RUN
    for key, value in config_records.connector_record(FOUR):
        hands.hears(TOPICS.configs, 0, key, value)
    assert supervisor.wished == [("shop", run), ("shop:2", run), ("shop:target", run)]
    hands.stands("shop:2", ConnectorState(TaskState.RUNNING))
    assert reported[-1][0] == b"status-shop-2"
    hands.hears(TOPICS.status, 0, *reported[-1])
    assert [one.state for one in hands.standing(FOUR).sources] == [
        TaskState.STARTING, TaskState.STARTING, TaskState.RUNNING, TaskState.STARTING,
    ]  # fmt: skip

    supervisor.wished.clear()
    ended: list[str] = []
    supervisor.let_go = lambda task: ended.append(task) or _over()  # type: ignore[method-assign,func-returns-value]
    hands.loses([7])
    assert ended == ["shop:2"], "only this task moves"
    assert reported[-1] == status_records.task_record(("shop", 2), TaskReport(TaskState.STARTING, "b", 1, 7))
    hands.owns(frozenset([5]))
    hands.owns(frozenset([5, 6]))
    assert supervisor.wished == [("shop:1", run)], "the others continue"
    hands.hears(TOPICS.configs, 0, *config_records.restart_record("shop", 1, 1))
    assert supervisor.wished[1:] == [("shop:1", DesiredState.RESTART)]
    supervisor.wished.clear()
    fewer = FOUR.changed(FOUR.config, 8, [5])
    for key, value in config_records.connector_record(fewer, FOUR):
        hands.hears(TOPICS.configs, 0, key, value)
    assert (ended[1:], supervisor.wished) == (["shop:1"], [("shop", run), ("shop:target", run)])
    assert hands.connectors()["shop"] == fewer


def _over() -> Event:
    event = Event()
    event.set()
    return event


def test_a_worker_that_was_killed_and_is_back_is_not_taken_for_another_of_its_name() -> None:
    """Its old record stays in the topic until its new one is read, and others report meanwhile."""
    before = status_records.worker_record("b", {SHOP.slot}, 1)
    hands = WorkerTasks(TOPICS, Wishes(), _never, lambda _: None, lambda _: None)
    hands.hears(TOPICS.status, 0, *before)
    hands.begin("b")
    hands.hears(TOPICS.status, 1, *status_records.worker_record("a", {1}, 2))
    hands.hears(
        TOPICS.status, 2, *status_records.task_record(("shop", 0), TaskReport(TaskState.STARTING, "a", 1, 7))
    )
    with pytest.raises(WracklineError) as raised:
        hands.hears(TOPICS.status, 3, *before)
    assert raised.value.code == "group.same_worker", "it is alive, and reports again"


def test_reports_of_tasks_that_are_gone_are_forgotten_and_no_others() -> None:
    worker = Heard()
    for task in (("shop", 0), ("shop", 1), ("gone", 0)):
        worker.hears(
            TOPICS.status, *status_records.task_record(task, TaskReport(TaskState.RUNNING, "a", 1, 7))
        )
    worker.reported.clear()
    worker.hands.forget_gone()
    assert worker.reported == [status_records.task_forgotten(task) for task in (("shop", 1), ("gone", 0))]
    for change in worker.reported[:]:
        worker.hears(TOPICS.status, *change)
    worker.reported.clear()
    worker.hands.forget_gone()
    assert worker.reported == []


def test_an_owner_repeats_a_report_that_was_forgotten_late() -> None:
    """A connector of the same name was made while the old one's report was forgotten."""
    worker = Heard()
    worker.hands.stands("shop", ConnectorState(TaskState.RUNNING))
    own = worker.reported[-1]
    worker.hears(TOPICS.status, *own)
    worker.reported.clear()
    worker.hears(TOPICS.status, *status_records.task_forgotten(("shop", 0)))
    assert worker.reported == [own]
    worker.hears(TOPICS.status, *status_records.task_forgotten(("other", 0)))
    assert worker.reported == [own]


def test_a_worker_that_was_killed_is_no_member_any_more_after_two_looks() -> None:
    worker = Heard()
    for name, slots in (("a", {0, 1}), ("b", {SHOP.slot}), ("killed", {9}), ("moving", ())):
        worker.hears(TOPICS.status, *status_records.worker_record(name, slots, 9_000_000_000_000_000_000))
    worker.hears(TOPICS.status, *status_records.worker_record("a", {0, 1, 9}, 9_000_000_000_000_000_000))
    worker.reported.clear()
    worker.hands.forget_gone()
    assert worker.reported == []
    worker.hears(TOPICS.status, *status_records.worker_record("moving", {1}, 9_000_000_000_000_000_000))
    worker.hands.forget_gone()
    assert worker.reported == [status_records.worker_left("killed")]
    worker.hears(TOPICS.status, *worker.reported[-1])
    worker.hands.forget_gone()
    assert len(worker.reported) == 1
    assert [one.name for one in worker.hands.members()] == ["a", "b", "moving"]


class FaultyBegins:
    """Ways to begin, with a fault of our own for one connector."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.faulty = True

    def __call__(self, connector: Connector, tasks: Iterable[int]) -> Mapping[int, Begin]:
        self.asked.append(connector.name)
        if connector.name == "shop" and self.faulty and list(tasks):
            raise KeyError("a secret")
        return _never(connector, tasks)


def test_a_fault_of_ours_is_no_record_that_can_t_be_read_and_stops_no_other_connector() -> None:
    supervisor, begins = Wishes(), FaultyBegins()
    said, reported = list[WracklineError](), list[Change]()
    hands = WorkerTasks(TOPICS, supervisor, begins, reported.append, said.append)
    hands.begin("b")
    hands.owns(frozenset([SHOP.slot]))
    other = Connector("other", {}, 7, DesiredState.RUN, SHOP.slot)
    for connector in (SHOP, other):
        for key, value in config_records.connector_record(connector):
            hands.hears(TOPICS.configs, 0, key, value)
    assert [one.code for one in said] == ["group.fault"], "once, though more records came"
    assert "shop" in said[0].sentence
    assert "KeyError at test_group_hands.py:" in said[0].sentence
    assert "secret" not in str(said[0])
    assert supervisor.wished == [("other", DesiredState.RUN)]
    assert begins.asked == ["shop", "other"], "it is not tried with every record"
    hands.hears(TOPICS.status, 0, *reported[-1])
    standing = hands.standing(SHOP)
    assert (standing.state, standing.reason) == (TaskState.FAILED, str(said[0]))
    hands.hears(TOPICS.configs, 0, b"connector-third", b"[]")
    assert [one.code for one in said] == ["group.fault", "group.record"]
    begins.faulty = False
    hands.hears(TOPICS.configs, 0, *config_records.restart_record("shop", 1, None))
    assert supervisor.wished[1:] == [("shop", DesiredState.RUN)]


def test_a_connector_that_a_fault_keeps_from_its_new_settings_does_not_run_with_the_old_ones() -> None:
    supervisor, begins = Wishes(), FaultyBegins()
    said, reported, ended = list[WracklineError](), list[Change](), list[str]()
    supervisor.let_go = lambda task: ended.append(task) or _over()  # type: ignore[method-assign,func-returns-value]
    hands = WorkerTasks(TOPICS, supervisor, begins, reported.append, said.append)
    hands.begin("b")
    hands.owns(frozenset([SHOP.slot]))
    begins.faulty = False
    changed = SHOP.changed({"a": "b"}, 8, [SHOP.slot])
    for connector in (SHOP, changed):
        for key, value in config_records.connector_record(connector):
            hands.hears(TOPICS.configs, 0, key, value)
        begins.faulty = True
    assert ([one.code for one in said], ended) == (["group.fault"], ["shop"])
    hands.hears(TOPICS.status, 0, *reported[-1])
    assert hands.standing(changed).state is TaskState.FAILED
    hands.owns(frozenset())
    begins.faulty = False
    hands.owns(frozenset([SHOP.slot]))
    assert supervisor.wished[-1] == ("shop", DesiredState.RUN)
    assert len(supervisor.wished) == 2


def test_a_fault_that_belongs_to_no_connector_ends_the_worker() -> None:
    def broken(change: Change) -> None:
        raise ValueError(change)

    hands = WorkerTasks(TOPICS, Wishes(), _never, lambda _: None, lambda _: None)
    hands.begin("b")
    hands.owns(frozenset([SHOP.slot]))
    for key, value in config_records.connector_record(SHOP):
        hands.hears(TOPICS.configs, 0, key, value)
    hands.stands("shop", ConnectorState(TaskState.RUNNING))
    hands._report = broken
    late = status_records.task_record(("shop", 0), TaskReport(TaskState.FAILED, "a", 0, 7))
    hands.hears(
        TOPICS.status, 0, *status_records.task_record(("shop", 0), TaskReport(TaskState.RUNNING, "b", 1, 7))
    )
    with pytest.raises(ValueError, match="status-shop"):
        hands.hears(TOPICS.status, 1, *late)

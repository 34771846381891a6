"""What a group keeps, as records: read again it is the same, and a stranger's does no harm."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wrackline.control.runtime.group import config_records, status_records
from wrackline.control.runtime.group.config_records import Connector, CoordinatorTerm, GroupConfig, Sent
from wrackline.control.runtime.group.status_records import GroupState, TaskReport
from wrackline.producers.connect.restart_policy import DesiredState, TaskState

CONNECTORS = st.builds(
    Connector,
    st.sampled_from(["shop", "shop-0", "task-shop", "a.b_c", "-", "0"]),
    st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=3)),
    st.integers(1, 9),
    st.sampled_from([DesiredState.RUN, DesiredState.PAUSE, DesiredState.STOP]),
    st.integers(0, 127),
    more=st.lists(st.integers(0, 127), max_size=2).map(tuple),
)


@given(st.lists(st.tuples(st.booleans(), CONNECTORS)))
def test_records_that_were_not_removed_are_there_after_compaction(
    changes: list[tuple[bool, Connector]],
) -> None:
    expected: dict[str, Connector] = {}
    written: list[config_records.Change] = []
    for removes, connector in changes:
        if removes:
            expected.pop(connector.name, None)
            written += config_records.removal_records(connector)
        else:
            expected[connector.name] = connector
            written += config_records.connector_record(connector)
    for log in (written, list(dict(written).items())):
        kept = GroupConfig()
        for key, value in log:
            assert kept.apply(key, value) is None
        assert kept.connectors == expected


def test_a_connector_that_is_half_there_is_not_there() -> None:
    """T-C01."""
    connector = Connector("shop", {"a": "b"}, 1, DesiredState.RUN, 5, more=(6,))
    for missing in range(4):
        kept = GroupConfig()
        for key, value in (
            config_records.connector_record(connector)[:missing]
            + config_records.connector_record(connector)[missing + 1 :]
        ):
            kept.apply(key, value)
        assert kept.connectors == {}


def test_a_restart_is_reported_and_not_kept() -> None:
    kept = GroupConfig()
    assert kept.apply(*config_records.restart_record("shop", 1, None)) == ("shop", None)
    assert kept.apply(*config_records.restart_record("shop", 1, 1)) == ("shop", 1)
    assert kept.apply(b"restart-shop", None) is None
    assert kept.connectors == {}


def test_the_coordinator_is_the_worker_that_claimed_the_office_last() -> None:
    kept = GroupConfig()
    for office in (CoordinatorTerm("a:1", "http://a:1", "x"), CoordinatorTerm("b:2", "http://b:2", "y")):
        kept.apply(*config_records.term_record(office))
        assert kept.office == office


class Log:
    """What Kafka keeps of a group's configuration, and what it should mean."""

    def __init__(self) -> None:
        self.kept: list[tuple[int, bytes, bytes | None]] = []
        self.end, self.terms, self.meant = 0, list[CoordinatorTerm](), dict[str, Connector]()

    def append(self, changes: Iterable[config_records.Change]) -> None:
        for key, value in changes:
            self.kept.append((self.end, key, value))
            self.end += 1

    def read(self) -> GroupConfig:
        fold = GroupConfig()
        for offset, key, value in self.kept:
            fold.apply(key, value, offset)
        return fold

    def compact(self) -> None:
        last = {key: offset for offset, key, _ in self.kept}
        self.kept = [one for one in self.kept if last[one[1]] == one[0]]

    def begin_term(self) -> None:
        name = f"w{len(self.terms)}"
        self.append([config_records.term_record(CoordinatorTerm(name, f"http://{name}", name))])
        office = self.read().office
        assert office is not None
        self.terms.append(office)

    def put(self, name: str) -> None:
        """Make or remove a connector, in a transaction of the newest term."""
        changes: list[config_records.Change] = [config_records.term_record(self.terms[-1])]
        if name in self.meant:
            changes += config_records.removal_records(self.meant.pop(name))
        else:
            self.meant[name] = Connector(name, {}, self.end, DesiredState.RUN, 5)
            changes += config_records.connector_record(self.meant[name])
        self.append(changes)

    def wish(self, name: str, term: int, wish: DesiredState) -> None:
        """Wish as some term would; the wishes of earlier terms don't count."""
        by = self.terms[term % len(self.terms)]
        known = self.meant.get(name, Connector(name, {}, 0, DesiredState.RUN, 5))
        self.append([config_records.wish_record(known.wished(wish, None), Sent(by.number, self.end))])
        if by is self.terms[-1] and name in self.meant:
            self.meant[name] = known.wished(wish, None)

    def restate(self) -> None:
        late = self.read().restated()
        if late:
            self.append([config_records.term_record(self.terms[-1]), *late])


STEPS = st.one_of(
    st.just(("begin_term",)),
    st.tuples(st.just("put"), st.sampled_from("ab")),
    st.tuples(
        st.just("wish"),
        st.sampled_from("ab"),
        st.integers(0, 5),
        st.sampled_from([DesiredState.RUN, DesiredState.PAUSE, DesiredState.STOP]),
    ),
    st.just(("compact",)),
)


@given(st.lists(STEPS, max_size=30))
@example(
    [
        ("put", "a"),
        ("begin_term",),
        ("begin_term",),
        ("compact",),
        ("wish", "a", 1, DesiredState.PAUSE),
    ]
)
def test_a_wish_of_an_earlier_coordinator_counts_for_no_reader_before_and_after_compaction(
    steps: list[tuple[Any, ...]],
) -> None:
    log = Log()
    log.begin_term()
    for step, *more in steps:
        if step == "compact":
            log.restate()  # the coordinator does so at once; compaction comes much later
            assert log.read().restated() == []
        getattr(log, step)(*more)
        assert log.read().connectors == log.meant
    log.restate()
    log.compact()
    assert log.read().connectors == log.meant


def test_a_restart_that_an_earlier_coordinator_asks_for_late_is_none() -> None:
    log = Log()
    log.begin_term()
    late = config_records.restart_record("shop", 1, None, Sent(log.terms[0].number, 1))
    assert log.read().apply(*late) == ("shop", None)
    log.begin_term()
    fold = log.read()
    assert fold.apply(*late) is None
    assert fold.restated() == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"target-shop", b'{"state":"PAUSED","paused":[],"by":"7","nth":1}'),
        (b"target-shop", b'{"state":"PAUSED","paused":[],"by":7}'),
        (b"connector-shop", b"not json"),
        (b"connector-shop", b'{"config":{"a":1},"cut":1}'),
        (b"connector-shop", b'{"config":{}}'),
        (b"connector-shop", b"[]"),
        (b"target-shop", b'{"state":"DANCING"}'),
        (b"task-shop-0", b'{"slot":128}'),
        (b"task-shop-0", b'{"slot":"5"}'),
        (b"connector-shop", b'{"config":{},"cut":"1"}'),
        (b"coordinator", b'{"worker":5,"url":"http://5","term":"x"}'),
        (b"coordinator", b'{"worker":"a","url":"http://a","term":[]}'),
        (b"coordinator", None),
        (b"coordinator", b"{}"),
        (b"", b"{}"),
        (b"\xff", b"{}"),
        (b"unknown-shop", b"{}"),
    ],
)
def test_a_record_that_cannot_be_read_changes_nothing(key: bytes, value: bytes | None) -> None:
    kept, connector = GroupConfig(), Connector("shop", {"a": "b"}, 1, DesiredState.RUN, 5)
    for change in config_records.connector_record(connector):
        kept.apply(*change)
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        kept.apply(key, value)
    assert kept.connectors == {"shop": connector}


def test_secrets_are_not_in_what_python_prints_of_a_connector() -> None:
    assert "c4n4ry" not in repr(Connector("shop", {"database.password": "c4n4ry"}, 1, DesiredState.RUN, 5))


def told(
    heard: GroupState, worker: str, claim: int, state: TaskState = TaskState.RUNNING
) -> tuple[str, int] | None:
    return heard.apply(*status_records.task_record(("shop", 0), TaskReport(state, worker, claim, 7, "why")))


def test_a_worker_that_lost_a_task_and_does_not_know_it_is_not_heard() -> None:
    heard = GroupState()
    assert told(heard, "a", heard.next_claim(("shop", 0))) is None
    assert told(heard, "b", heard.next_claim(("shop", 0))) is None
    assert told(heard, "a", 1, TaskState.FAILED) == ("shop", 0), "the owner must repeat its own report"
    assert heard.tasks["shop", 0] == TaskReport(TaskState.RUNNING, "b", 2, 7, "why")
    assert told(heard, "b", 2, TaskState.FAILED) is None
    assert heard.tasks["shop", 0].state is TaskState.FAILED


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"worker-a", b'{"slots":[1],"since":"1"}'),
        (b"worker-a", b'{"slots":[128],"since":1}'),
        (b"worker-a", b'{"slots":"123","since":1}'),
        (b"status-shop-0", b'{"state":"RUNNING","worker":[],"claim":1,"cut":1}'),
        (b"status-shop-0", b'{"state":"RUNNING","worker":"a","claim":-1,"cut":1}'),
        (b"status-shop-0", b'{"state":"RUNNING","worker":"a","claim":1,"cut":"1"}'),
        (b"status-shop-0", b'{"state":"RUNNING","worker":"a","claim":1,"cut":1,"reason":{"a":1}}'),
    ],
)
def test_a_report_that_cannot_be_read_changes_nothing(key: bytes, value: bytes) -> None:
    heard = GroupState()
    heard.apply(*status_records.worker_record("b", [5], 1))
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        heard.apply(key, value)
    assert (heard.owners, heard.since, heard.tasks) == ({5: "b"}, {"b": 1}, {})


def test_a_late_status_of_a_deleted_connector_does_not_replace_that_of_its_successor() -> None:
    heard = GroupState()
    heard.apply(*status_records.task_record(("shop", 0), TaskReport(TaskState.RUNNING, "b", 1, 8)))
    assert told(heard, "a", 5, TaskState.STARTING) == ("shop", 0)
    assert heard.tasks["shop", 0] == TaskReport(TaskState.RUNNING, "b", 1, 8)
    late = GroupState()
    told(late, "a", 5, TaskState.STARTING)
    assert (
        late.apply(*status_records.task_record(("shop", 0), TaskReport(TaskState.RUNNING, "b", 1, 8))) is None
    )
    assert late.tasks["shop", 0].worker == "b"


def test_a_slot_belongs_to_the_worker_heard_last_and_a_worker_that_leaves_has_none() -> None:
    heard = GroupState()
    heard.apply(*status_records.worker_record("a", range(4), 5))
    heard.apply(*status_records.worker_record("b", [2, 3], 5))
    assert heard.owners == {0: "a", 1: "a", 2: "b", 3: "b"}
    heard.apply(*status_records.worker_record("a", [0], 6))
    heard.apply(*status_records.worker_left("b"))
    assert heard.owners == {0: "a"}
    assert heard.since == {"a": 6, "b": 0}


def test_a_task_that_is_forgotten_is_claimed_from_the_beginning() -> None:
    heard = GroupState()
    told(heard, "a", 3)
    heard.apply(*status_records.task_forgotten(("shop", 0)))
    assert (heard.tasks, heard.next_claim(("shop", 0))) == ({}, 1)
    with pytest.raises(ValueError, match="unknown"):
        heard.apply(b"unknown-shop", None)


def test_each_task_has_claims_of_its_own_because_each_moves_by_itself() -> None:
    heard = GroupState()
    for task, claim in ((0, 3), (1, 5)):
        report = TaskReport(TaskState.RUNNING, "a", claim, 1)
        heard.apply(*status_records.task_record(("shop", task), report))
    assert [heard.next_claim(("shop", task)) for task in range(3)] == [4, 6, 1]


@pytest.mark.parametrize("number", ["129", "x", "", "00"])
def test_a_state_of_a_task_that_there_never_is_is_refused(number: str) -> None:
    heard = GroupState()
    with pytest.raises((ValueError, KeyError)):
        heard.apply(f"status-shop-{number}".encode(), None)


def test_wishes_for_single_tasks_and_for_all_of_them_add_up() -> None:
    run, pause = DesiredState.RUN, DesiredState.PAUSE
    one, tasks = Connector("shop", {"target.kind": "iceberg"}, 1, run, 5), (0, 1)

    def after(*wishes: tuple[DesiredState, int | None]) -> list[DesiredState]:
        made = one
        for wish, task in wishes:
            made = made.wished(wish, task)
        kept = GroupConfig()
        for key, value in config_records.connector_record(made):
            kept.apply(key, value)
        assert kept.connectors["shop"] == made
        return [made.task_wish(task) for task in tasks]

    assert after((pause, 1)) == [run, pause]
    assert after((pause, 1), (run, 1)) == [run, run]
    assert after((pause, 1), (pause, 0)) == [pause, pause]
    assert one.wished(pause, 1).wished(pause, 0) == one.wished(pause, None)
    assert after((pause, None), (run, 0)) == [run, pause]
    assert after((pause, 0), (run, None)) == [run, run]
    assert after((pause, 0), (DesiredState.STOP, None)) == [DesiredState.STOP] * 2


@pytest.mark.parametrize(
    ("sentence", "reason", "named"),
    [("s" * 100, "r" * 100, 20), ("s" * 20_000, "r" * 100, 5), ("\x00" * 300_000, "\x00" * 900_000, 0)],
)
def test_a_report_has_a_bound_in_bytes_whatever_servers_write(sentence: str, reason: str, named: int) -> None:
    first = [{"table": str(number), "code": "a.b", "sentence": sentence} for number in range(20)]
    wrong = {"count": 7_000, "first": first}
    report = TaskReport(TaskState.RUNNING, "w", 3, 2, reason, wrong, wrong)
    key, value = status_records.task_record(("shop", 0), report)
    assert len(value) <= status_records.MOST_BYTES
    state = GroupState()
    state.apply(key, value)
    found = state.tasks["shop", 0]
    assert (found.state, found.worker, found.claim, found.cut) == (TaskState.RUNNING, "w", 3, 2)
    for told in (found.tables, found.databases):
        assert told == {"count": 7_000, "first": first[:named]}, "the first of them, and how many there are"
    assert found.reason
    assert reason.startswith(found.reason)
    assert (found.reason == reason) == (len(reason) < 1_000)

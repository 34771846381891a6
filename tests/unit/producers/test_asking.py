"""Requests, their origin and their reports: signals, messages, and what a start requests by itself."""

from collections.abc import Collection

import pytest

from tests.fakes.place import Place
from wrackline.producers.contract.first_reads import FirstReads
from wrackline.producers.contract.snapshot_requests import (
    PauseRequest,
    Purpose,
    RequestRefused,
    ResumeRequest,
    SnapshotRequest,
    StopRequest,
)
from wrackline.producers.contract.steps import Appeared, Found, Renamed, Signal
from wrackline.producers.reading.request_intake import Read, RequestIntake
from wrackline.producers.reading.signal_requests import understand_signal
from wrackline.producers.snapshot import key_bounds
from wrackline.producers.snapshot.machine import Machine
from wrackline.producers.snapshot.table_state import TableStatus
from wrackline.producers.snapshot.work_items import Plan, SnapshotLimits
from wrackline.schemas.errors import OperatorNeeded, WracklineError, define
from wrackline.schemas.kafka import receipts, signals
from wrackline.schemas.tables.table import SourcePartition
from wrackline.testing.sources.source_world import orders

SHAPE = orders(SourcePartition("server", "db0"))
ORDERS = SHAPE.id
GIFTS = ORDERS._replace(name="gifts")
BROKEN = define("test.broken_read", OperatorNeeded, "it can't be read", hint="fix it")
EXECUTE = '{"data-collections":["public.orders"]}'


def machine() -> Machine:
    return Machine({}, SnapshotLimits(), "run", bound_of=key_bounds.bound_of)


def row(data: str, kind: str = "execute-snapshot", name: str = "one") -> Read:
    return signals.parse_row(name, kind, data)


def signal(data: str = EXECUTE) -> Signal:
    return Signal("one", "execute-snapshot", data, Place(0, 1))


class Topic:
    """A topic with a message at every look."""

    def __init__(self) -> None:
        self.looks = 0
        self.heard = True

    def take(self) -> Collection[Read]:
        self.looks += 1
        return [row(EXECUTE, name=f"message {self.looks}")]

    def commit(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def test_each_table_has_the_first_condition_that_is_for_it() -> None:
    data = (
        '{"type": "%s", "data-collections": ["public.*"], "additional-conditions": ['
        '{"data-collection": "public.gifts", "filter": "id = 1 or note = \'it\'\'s\'"},'
        '{"data-collection": "public.*", "filter": "id > 5"}]}'
    )
    for kind in signals.SnapshotKind:
        request = understand_signal(row(data % kind.value), [ORDERS, GIFTS])
        assert isinstance(request, SnapshotRequest)
        assert request.kind is kind
        assert request.conditions == {GIFTS: "id = 1 OR note = 'it''s'", ORDERS: "id > 5"}


@pytest.fixture
def told() -> list[WracklineError]:
    return []


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        ('{"data-collections":["public.orders"]}', SnapshotRequest("one", (ORDERS,))),
        ('{"data-collections":["public.*"]}', SnapshotRequest("one", (GIFTS, ORDERS))),  # by name
        ('{"data-collections":["public.orders","public.ord.*"]}', SnapshotRequest("one", (ORDERS,))),
        (
            '{"data-collections":["public.orders"],"key-range":{"from":["a",1]}}',
            SnapshotRequest("one", (ORDERS,), low=("a", "1")),
        ),
        (
            '{"data-collections":["public.orders"],"keys":[["a",1],[true,2]]}',
            SnapshotRequest("one", (ORDERS,), keys=(("a", "1"), ("true", "2"))),
        ),
        (
            '{"data-collections":["public.orders"],"surrogate-key":"label"}',
            SnapshotRequest("one", (ORDERS,), surrogate_key="label"),
        ),
    ],
)
def test_a_signal_names_what_is_captured_now(data: str, wanted: SnapshotRequest) -> None:
    assert understand_signal(row(data), [ORDERS, GIFTS]) == wanted


def test_a_request_of_which_one_table_is_not_captured_is_refused_whole() -> None:
    """A-SQL-05."""
    data = '{"data-collections":["public.orders","public.toys","public.gi.*","public.x.*"]}'
    refused = understand_signal(row(data), [ORDERS, GIFTS])
    assert isinstance(refused, OperatorNeeded)
    assert refused.code == "signal.no_table"
    assert "because public.toys, public.x.* matches no table" in refused.sentence


def test_many_unknown_names_are_counted() -> None:
    names = ",".join(f'"public.n{number}"' for number in range(9))
    refused = understand_signal(row(f'{{"data-collections":[{names}]}}'), [ORDERS])
    assert isinstance(refused, OperatorNeeded)
    assert "public.n0, public.n1, public.n2 and 6 more" in refused.sentence


def test_a_stop_stops_what_is_known_of_what_it_names() -> None:
    data = '{"data-collections":["public.orders","public.dropped"]}'
    assert understand_signal(row(data, "stop-snapshot"), [ORDERS, GIFTS]) == StopRequest("one", (ORDERS,))


@pytest.mark.parametrize(
    ("kind", "data", "wanted"),
    [
        ("stop-snapshot", '{"data-collections":["public.gifts"]}', StopRequest("one", (GIFTS,))),
        ("stop-snapshot", "{}", StopRequest("one", ())),
        ("pause-snapshot", "", PauseRequest("one", (ORDERS, GIFTS))),
        ("resume-snapshot", "", ResumeRequest("one", (ORDERS, GIFTS))),
        ("snapshot-window-close", "{}", None),
        ("log", '{"message":"here"}', None),
    ],
)
def test_what_is_no_snapshot_is_understood_too(kind: str, data: str, wanted: object) -> None:
    assert understand_signal(row(data, kind), [ORDERS, GIFTS]) == wanted


@pytest.mark.parametrize(
    ("kind", "data", "code"),
    [
        ("execute-snapshot", '{"data-collections":["public.nobody"]}', "signal.no_table"),
        ("execute-snapshot", "{}", "signal.no_table"),
        ("stop-snapshot", '{"data-collections":["public.nobody"]}', "signal.no_table"),
        ("execute-snapshot", "no JSON", "signal.rejected"),
        ("execute-snapshot", '{"data-collections":["public.orders"],"else":1}', "signal.rejected"),
        ("nonsense", "{}", "signal.rejected"),
    ],
)
def test_a_request_that_cannot_be_obeyed_is_refused_as_a_whole_and_reported(
    told: list[WracklineError], kind: str, data: str, code: str
) -> None:
    made = machine()
    asking = RequestIntake(made, [ORDERS], told.append)
    asking.row(Signal("one", kind, data, Place(0, 1)))
    assert [error.code for error in told] == [code]
    unsaved = made.unsaved()
    assert unsaved.states == {}
    what = (
        receipts.RequestKind.STOP
        if code == "signal.no_table" and "stop" in kind
        else receipts.RequestKind.READ
    )
    assert unsaved.receipts == [RequestRefused("one", signals.SnapshotKind.INCREMENTAL, what, told[0])]


def test_rows_of_the_signal_table_count_only_where_they_are_listened_to(told: list[WracklineError]) -> None:
    made = machine()
    RequestIntake(made, [ORDERS], told.append, rows=False).row(signal())
    assert made.status(ORDERS) is None
    RequestIntake(made, [ORDERS], told.append).row(signal())
    assert made.status(ORDERS) is TableStatus.QUEUED


def test_the_topic_is_looked_at_now_and_then_and_says_once_that_it_had_something(
    told: list[WracklineError],
) -> None:
    topic = Topic()
    asking = RequestIntake(machine(), [ORDERS], told.append, topic)
    assert not asking.took()
    for now in (1.0, 1.1, 1.19):
        asking.look(now)
    assert topic.looks == 1
    assert (asking.took(), asking.took()) == (True, False)
    asking.look(1.21)
    assert topic.looks == 2


@pytest.mark.parametrize(
    ("step", "reads"),
    [
        (Appeared(GIFTS, complete=False), True),
        (Appeared(GIFTS, complete=True), False),
        (Renamed(ORDERS, GIFTS), True),
    ],
)
def test_a_table_that_comes_can_be_meant_and_is_read_unless_the_log_has_all_of_it(
    told: list[WracklineError], step: Appeared | Renamed, *, reads: bool
) -> None:
    made = machine()
    asking = RequestIntake(made, [ORDERS], told.append, first=FirstReads())
    asking.comes(step)
    assert made.status(GIFTS) is (TableStatus.QUEUED if reads else None)
    asking.row(signal('{"data-collections":["public.gifts"]}'))
    assert made.status(GIFTS) is TableStatus.QUEUED
    assert told == []


@pytest.mark.parametrize(
    ("step", "void"),
    [
        (Appeared(ORDERS, complete=False), True),  # it was out of the publication for a while
        (Appeared(GIFTS, complete=False), False),
        (Renamed(GIFTS, ORDERS), True),
    ],
)
def test_a_table_that_comes_again_has_a_gap_in_its_log(step: Appeared | Renamed, *, void: bool) -> None:
    made = machine()
    RequestIntake(made, [ORDERS], lambda _: None, first=FirstReads()).comes(step)
    table = step.table if isinstance(step, Appeared) else step.new
    assert made.states[table].gap is void
    silent = machine()
    RequestIntake(silent, [ORDERS], lambda _: None).comes(step)
    assert silent.status(table) is None, "without first reads nothing is asked for"


def test_each_table_that_is_given_up_is_reported_even_if_its_request_continues(
    told: list[WracklineError],
) -> None:
    made = machine()
    for shape in (SHAPE, SHAPE.__class__(GIFTS, SHAPE.columns, SHAPE.key, SHAPE.key_kind)):
        made.step(Found(shape, frozenset()))
    made.request(SnapshotRequest("initial", (ORDERS, GIFTS), Purpose.INITIAL))
    asking = RequestIntake(made, [ORDERS, GIFTS], told.append)
    plans = {work.table: work for work in made.work(0.0) if isinstance(work, Plan)}
    made.failed(plans[ORDERS].ticket, BROKEN(), 0.0)
    asking.tell(made.unsaved().receipts)
    assert [error.code for error in told] == ["test.broken_read"]
    made.planned(plans[GIFTS].ticket, ("shop", "number"), ())
    asking.tell(made.unsaved().receipts)
    assert len(told) == 1, "once, though the request ends as failed only now"


def test_a_request_of_one_table_is_reported_once_when_it_fails(told: list[WracklineError]) -> None:
    made = machine()
    asking = RequestIntake(made, [ORDERS], told.append)
    asking.row(signal())
    (plan,) = made.work(0.0)
    made.failed(plan.ticket, BROKEN(), 0.0)
    asking.tell(made.unsaved().receipts)
    assert [error.code for error in told] == ["test.broken_read"]

"""What a group keeps, as records: read again it is the same, and a stranger's does no harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.control.group import records, reports
from wrackline.control.group.records import Connector, Kept, Office
from wrackline.control.group.reports import Heard, Report
from wrackline.producers.connect.supervision import State, Wish

CONNECTORS = st.builds(
    Connector,
    st.sampled_from(["shop", "shop-0", "task-shop", "a.b_c", "-", "0"]),
    st.dictionaries(st.sampled_from(["a", "b"]), st.text(max_size=3)),
    st.integers(1, 9),
    st.sampled_from([Wish.RUN, Wish.PAUSE, Wish.STOP]),
    st.integers(0, 127),
)


@given(st.lists(st.tuples(st.booleans(), CONNECTORS)))
def test_what_was_kept_and_not_removed_is_there_also_once_the_topic_is_compacted(
    changes: list[tuple[bool, Connector]],
) -> None:
    expected: dict[str, Connector] = {}
    written: list[records.Change] = []
    for removes, connector in changes:
        if removes:
            expected.pop(connector.name, None)
            written += records.remove(connector.name)
        else:
            expected[connector.name] = connector
            written += records.put(connector)
    for log in (written, list(dict(written).items())):
        kept = Kept()
        for key, value in log:
            assert kept.apply(key, value) is None
        assert kept.connectors == expected


def test_a_connector_that_is_half_there_is_not_there() -> None:
    connector = Connector("shop", {"a": "b"}, 1, Wish.RUN, 5)
    for missing in range(3):
        kept = Kept()
        for key, value in records.put(connector)[:missing] + records.put(connector)[missing + 1 :]:
            kept.apply(key, value)
        assert kept.connectors == {}


def test_a_restart_is_told_and_not_kept() -> None:
    kept = Kept()
    assert kept.apply(*records.restart("shop", 1)) == "shop"
    assert kept.apply(b"restart-shop", None) is None
    assert kept.connectors == {}


def test_who_writes_is_who_said_so_last() -> None:
    kept = Kept()
    for office in (Office("a:1", "http://a:1", "x"), Office("b:2", "http://b:2", "y")):
        kept.apply(*records.office(office))
        assert kept.office == office


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"connector-shop", b"not json"),
        (b"connector-shop", b'{"config":{"a":1},"cut":1}'),
        (b"connector-shop", b'{"config":{}}'),
        (b"connector-shop", b"[]"),
        (b"target-shop", b'{"state":"DANCING"}'),
        (b"task-shop-0", b'{"slot":"x"}'),
        (b"task-shop-0", b'{"slot":128}'),
        (b"task-shop-0", b'{"slot":-1}'),
        (b"coordinator", None),
        (b"coordinator", b"{}"),
        (b"", b"{}"),
        (b"\xff", b"{}"),
        (b"unknown-shop", b"{}"),
    ],
)
def test_a_record_that_cannot_be_read_changes_nothing(key: bytes, value: bytes | None) -> None:
    kept, connector = Kept(), Connector("shop", {"a": "b"}, 1, Wish.RUN, 5)
    for change in records.put(connector):
        kept.apply(*change)
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        kept.apply(key, value)
    assert kept.connectors == {"shop": connector}


def test_secrets_are_not_in_what_python_prints_of_a_connector() -> None:
    assert "c4n4ry" not in repr(Connector("shop", {"database.password": "c4n4ry"}, 1, Wish.RUN, 5))


def told(heard: Heard, worker: str, claim: int, state: State = State.RUNNING) -> str | None:
    return heard.apply(*reports.of_task("shop", Report(state, worker, claim, 7, "why")))


def test_a_worker_that_lost_a_task_and_does_not_know_it_is_not_heard() -> None:
    heard = Heard()
    assert told(heard, "a", heard.next_claim("shop")) is None
    assert told(heard, "b", heard.next_claim("shop")) is None
    assert told(heard, "a", 1, State.FAILED) == "shop", "who has it is to repeat its own word"
    assert heard.tasks["shop"] == Report(State.RUNNING, "b", 2, 7, "why")
    assert told(heard, "b", 2, State.FAILED) is None
    assert heard.tasks["shop"].state is State.FAILED


def test_a_late_word_on_a_connector_that_was_deleted_does_not_outweigh_the_one_made_again() -> None:
    heard = Heard()
    heard.apply(*reports.of_task("shop", Report(State.RUNNING, "b", 1, 8)))
    assert told(heard, "a", 5, State.STARTING) == "shop"
    assert heard.tasks["shop"] == Report(State.RUNNING, "b", 1, 8)
    late = Heard()
    told(late, "a", 5, State.STARTING)
    assert late.apply(*reports.of_task("shop", Report(State.RUNNING, "b", 1, 8))) is None
    assert late.tasks["shop"].worker == "b"


def test_a_slot_is_whose_word_was_heard_last_and_who_leaves_has_none() -> None:
    heard = Heard()
    heard.apply(*reports.of_worker("a", range(4), 5))
    heard.apply(*reports.of_worker("b", [2, 3], 5))
    assert heard.owners == {0: "a", 1: "a", 2: "b", 3: "b"}
    heard.apply(*reports.of_worker("a", [0], 6))
    heard.apply(*reports.gone("b"))
    assert heard.owners == {0: "a"}
    assert heard.since == {"a": 6, "b": 0}


def test_a_task_that_is_forgotten_is_claimed_from_the_beginning() -> None:
    heard = Heard()
    told(heard, "a", 3)
    heard.apply(*reports.forget("shop"))
    assert (heard.tasks, heard.next_claim("shop")) == ({}, 1)
    with pytest.raises(ValueError, match="unknown"):
        heard.apply(b"unknown-shop", None)

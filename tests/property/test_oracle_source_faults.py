"""Faults of other readers of redo, each as a small test of Oracle's source over the model.

Which fault is meant is in each test: the issue or pull request of the project that had it.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fixtures.oracle_reading import ORDERS, Make, first, insert, seen
from tests.fixtures.oracle_world import OWNER, OracleWorld
from wrackline.producers.contract.row_chunks import ChunkRequest
from wrackline.producers.contract.source_plugin import LogStream
from wrackline.producers.contract.steps import Commit, Saved, Step, Unsent
from wrackline.producers.sources.oracle.connect.session import OracleSession
from wrackline.producers.sources.oracle.mining import log_miner, safe_scn
from wrackline.schemas.errors import Definite, Transient
from wrackline.schemas.tables.table import TableId
from wrackline.testing.sources.log_suite import row
from wrackline.testing.sources.reading import (
    Event,
    committed,
    events,
    open_stream,
    places,
    read,
    read_batches,
    row_changes,
)
from wrackline.testing.sources.source_suite import keys, request
from wrackline.testing.sources.source_world import Insert


@pytest.fixture
def make() -> Iterator[Make]:
    worlds: list[OracleWorld] = []

    def made(**more: Any) -> OracleWorld:
        worlds.append(OracleWorld(**more))
        return worlds[-1]

    yield made
    for world in worlds:
        world.close()


def test_what_the_log_writer_holds_is_not_passed_by(make: Make) -> None:
    """T-O01, DBZ-4067, DBZ-6013, dbz#1801: a row below the place that was read came later."""
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 0)))
    world.model.hold_writer()
    early = [world.commit(first(world), row("a", number)) for number in (1, 2)]
    world.model.flush_writer()
    late = world.commit(first(world), row("a", 3))
    assert seen(world, read(world, stream, *early, late)) == [("c", 1), ("c", 2), ("c", 3)]


def test_each_instance_has_to_write_its_log(make: Make) -> None:
    """DBZ-5439: on a cluster, the rows of another instance came later."""
    world = make(threads=2, **{"rac.nodes": "node1,node2"})
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 0)))
    for number in range(1, 6):
        world.model.hold_writer(1 + number % 2)
        world.model.run(insert(number), user=OWNER, thread=1 + number % 2)
    for thread in (1, 2):
        world.model.flush_writer(thread)
    last = world.commit(first(world), row("a", 9))
    assert seen(world, read(world, stream, last)) == [("c", number) for number in (1, 2, 3, 4, 5, 9)]


def test_rows_of_one_scn_are_not_divided(make: Make) -> None:
    """DBZ-6176, DBZ-6778: a bound left out rows of one SCN."""
    world = make(**{"log.mining.batch.size.default": "1", "log.mining.batch.size.min": "1"})
    stream = open_stream(world, first(world))
    name = world.commit(first(world), *(row("a", number) for number in range(5)))
    assert seen(world, read(world, stream, name)) == [("c", number) for number in range(5)]


def test_commits_of_one_scn_both_come(make: Make) -> None:
    """flink-cdc#2204: of two transactions with one commit SCN the second was dropped."""
    world = make(threads=2, **{"rac.nodes": "node1,node2"})
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 0)))
    some = [world.model.begin(thread, OWNER) for thread in (1, 2, 1)]
    for number, one in enumerate(some):
        one.run(insert(number + 1))
    names = [one.xid.lower() for one in some]
    world.model.commit_together(*some)
    steps = read(world, stream, *names)
    assert sorted(seen(world, steps)) == [("c", 1), ("c", 2), ("c", 3)]
    ends = [step.position for step in steps if isinstance(step, Commit)]
    for number, end in enumerate(ends):
        again = open_stream(world, first(world), end.saved())
        later = world.commit(first(world), Insert({"shop": "z", "number": number}))
        rest = read(world, again, later)
        again.close()
        assert len(seen(world, rest)) == len(ends) - number - 1 + 1 + number


def test_a_file_that_is_given_to_another_log_meanwhile_is_not_mined(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DBZ-9229, dbz#2296: a log switch while files were added."""
    world = make()
    stream = open_stream(world, first(world))
    read(world, stream, world.commit(first(world), row("a", 0)))
    real, turns = OracleSession.execute, [0]

    def execute(session: OracleSession, sql: str, *rest: Any) -> int:
        if "START_LOGMNR" in sql and turns[0] < 3:
            turns[0] += 1
            for _ in range(3):  # until the group is used again
                world.model.switch_log()
        return real(session, sql, *rest)

    monkeypatch.setattr(OracleSession, "execute", execute)
    names = [world.commit(first(world), row("a", number)) for number in range(1, 4)]
    try:
        assert seen(world, read(world, stream, *names)) == [("c", 1), ("c", 2), ("c", 3)]
    except Transient as error:
        assert error.code == "oracle.logs_changed"  # noqa: PT017 - either is right
    assert turns[0] == 3


def test_a_transaction_that_began_before_the_first_start_comes_whole(make: Make) -> None:
    """DBZ-8844: what was open at the begin lost its first rows."""
    world = make()
    one = world.model.begin(user=OWNER)
    one.run(insert(1))
    stream = open_stream(world, first(world))
    one.run(insert(2))
    assert seen(world, read(world, stream, one.commit().lower())) == [("c", 1), ("c", 2)]


def test_a_transaction_of_any_age_and_size_is_kept(make: Make) -> None:
    """T-O04, DBZ-8874: a full cache dropped events, and old transactions were given up."""
    world = make()
    world.oracle.most_bytes = 1
    stream = open_stream(world, first(world))
    one = world.model.begin(user=OWNER)
    for number in range(40):
        one.run(insert(number))
        if number % 10 == 0:
            world.model.switch_log()
            read(world, stream, world.commit(first(world), Insert({"shop": "z", "number": number})))
    steps = read(world, stream, one.commit().lower())
    assert seen(world, steps) == [("c", number) for number in range(40)]


def test_what_a_savepoint_took_back_is_not_published(make: Make) -> None:
    """T-O05, DBZ-9074, oracdc#57, oracdc#117."""
    world = make()
    stream = open_stream(world, first(world))
    one = world.model.begin(user=OWNER)
    one.run(insert(1), insert(2))
    one.savepoint("s")
    one.run(f'UPDATE {ORDERS} SET "label" = \'gone\' WHERE "number" = 1', insert(3))
    one.run(f'UPDATE {ORDERS} SET "label" = \'gone too\' WHERE "number" = 1')
    one.rollback_to("s")
    one.run(f'UPDATE {ORDERS} SET "label" = \'kept\' WHERE "number" = 2')
    steps = read(world, stream, one.commit().lower())
    assert seen(world, steps) == [("c", 1), ("c", 2), ("u", 2)]
    assert [event.after and event.after["label"] for event in events(world, steps)] == ["x", "x", "kept"]
    other = world.model.begin(user=OWNER)
    other.run(insert(7))
    other.rollback()
    assert seen(world, read(world, stream, world.commit(first(world), row("b", 9)))) == [("c", 9)]


def test_an_array_delete_is_as_many_rows(make: Make) -> None:
    """redpanda#4826, redpanda#4827: (RS_ID, SSN) was taken for a row's name."""
    world = make()
    stream = open_stream(world, first(world))
    name = world.commit(first(world), *(row("a", number) for number in range(300)))
    gone = world.model.run(f"DELETE FROM {ORDERS}", user=OWNER).lower()
    steps = read(world, stream, name, gone)
    deleted = [number for op, number in seen(world, steps) if op == "d"]
    assert len(deleted) == 300
    assert set(deleted) == set(range(300))


TEXTS = [
    "it's",
    "', 'x",
    "a'', b",
    "\" = 'y' and",
    "x';",
    "ä€😀",
    "'",
    "line\nand\ttab",
    "a||b",
    "NULL",
    "\\0041",
]


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_is_the_same_by_log_and_by_chunk(make: Make, text: str) -> None:
    """T-O06, DBZ-9521, DBZ-8869, dbz#1798: apostrophes and commas in a value, and other letters."""
    world = make()
    stream = open_stream(world, first(world))
    (event,) = events(world, read(world, stream, world.commit(first(world), row("a", 1, text))))
    assert event.after is not None
    assert event.after["label"] == text
    chunk = world.source.reader(first(world)).read(request(world, first(world)))
    assert keys(world, chunk) == [("a", 1)]


def test_rows_with_large_objects_are_read_again_by_their_key(make: Make) -> None:
    """T-O06, DBZ-9521, dbz#1960, redpanda#4574: savepoints take them back too."""
    world = make(**{"table.include.list": r"SHOP\.DOCS", "lob.enabled": "true"})
    world.grant("DOCS")
    docs = world.model.create_table(
        f"{OWNER}.DOCS", {"ID": "NUMBER(9)", "N": "NUMBER(9)", "C": "CLOB"}, key=("ID",)
    )
    stream = open_stream(world, first(world))
    long = "long " * 2_000
    one = world.model.begin(user=OWNER)
    one.run(f"INSERT INTO DOCS VALUES (1, 1, '{long}')", "INSERT INTO DOCS VALUES (2, 2, 'short')")
    one.savepoint("s")
    one.run(f"INSERT INTO DOCS VALUES (3, 3, '{long}')")
    one.write_lob(f"{OWNER}.DOCS", "C", "gone", "ID = 1")
    one.rollback_to("s")
    name = one.commit().lower()
    two = world.model.begin(user=OWNER)
    two.run("UPDATE DOCS SET N = 9 WHERE ID = 1")
    two.write_lob(f"{OWNER}.DOCS", "C", long + "more", "ID = 2")
    last = two.commit().lower()
    changes = row_changes(read(world, stream, name, last))
    table = TableId(first(world).database, OWNER, docs.name)
    of_key: dict[object, list[Unsent | None]] = {}
    for _, _, key, _, unsent in changes:
        assert key is not None
        of_key.setdefault(world.key(key)["ID"], []).append(unsent)
    assert of_key.keys() == {1, 2}
    assert all(unsent is None or unsent.columns == ("C",) for some in of_key.values() for unsent in some)
    assert any(unsent is not None and unsent.again for unsent in of_key[1])
    assert any(unsent is not None and unsent.again for unsent in of_key[2])
    wanted = ChunkRequest(table, ("ID",), only=(("1",), ("2",)))
    chunk = world.source.reader(first(world)).read(wanted)
    tail = chunk.tail(
        places(
            read(world, stream, world.model.run("INSERT INTO DOCS VALUES (7, 7, NULL)", user=OWNER).lower())
        )[-1],
        ts_ms=0,
        snapshot="incremental",
        chunk="c",
    )
    rows = [world.value(head + tail)["after"] for part in chunk.slices for _, head in part.rows]
    assert rows == [{"ID": 1, "N": 9, "C": long}, {"ID": 2, "N": 2, "C": long + "more"}]


def test_a_log_that_is_gone_is_named(make: Make) -> None:
    """T-O02: an open transaction needs an old log, which the server has deleted."""
    world = make()
    stream = open_stream(world, first(world))
    at = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    stream.close()
    lost = world.model.database.threads[1].current.sequence
    world.commit(first(world), row("a", 2))
    for _ in range(4):
        world.model.switch_log()
    world.model.lose_log(1, lost)
    for ask in (
        lambda: world.oracle.resumable(first(world), at.saved()),
        lambda: reopened(world, at.saved()),
    ):
        with pytest.raises(Definite, match=rf"thread 1 with sequence {lost} ") as caught:
            ask()
        assert caught.value.code == "oracle.log_missing"
    assert world.oracle.lost(first(world), caught.value)
    renewed = world.oracle.renewed(first(world), at.saved(), caught.value)
    again = open_stream(world, first(world), renewed)
    steps = read(world, again, world.commit(first(world), row("a", 3)))
    assert seen(world, steps) == [("c", 3)]
    assert events(world, steps)[0].seq.startswith("0002")


def reopened(world: OracleWorld, saved: Saved) -> list[Step]:
    """Open the log again, and read until an error comes."""
    stream = open_stream(world, first(world), saved)
    return read(world, stream, "never")


def test_a_log_with_another_history_is_refused(make: Make) -> None:
    """T-O07, redpanda#4760: after RESETLOGS the checkpoint means nothing."""
    world = make()
    stream = open_stream(world, first(world))
    at = places(read(world, stream, world.commit(first(world), row("a", 1))))[-1]
    world.model.resetlogs()
    with pytest.raises((Definite, Transient)):
        read(world, stream, "never")
    stream.close()
    with pytest.raises(Definite) as caught:
        _opened(world, at.saved())
    assert caught.value.code == "oracle.resetlogs"
    assert world.oracle.lost(first(world), caught.value)
    again = open_stream(world, first(world), world.oracle.renewed(first(world), at.saved(), caught.value))
    assert seen(world, read(world, again, world.commit(first(world), row("a", 2)))) == [("c", 2)]


CALLS = (
    "V$DATABASE",
    "V$THREAD",
    "V$LOG",
    "ADD_LOGFILE",
    "START_LOGMNR",
    "V$LOGMNR_CONTENTS",
    "END_LOGMNR",
    "COMMIT",
)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("number", [310, 1291, 3113])
def test_an_error_that_passes_loses_nothing(make: Make, call: str, number: int) -> None:
    """redpanda#4516, redpanda#4530: errors of log files that change ended the reader for good."""
    world = make()
    stream = open_stream(world, first(world))
    found: list[Event] = []
    steps = read(world, stream, world.commit(first(world), row("a", 0)))
    found += events(world, steps)
    at = places(steps)[-1]
    world.model.fail(call, number, 4)
    names = [world.commit(first(world), row("a", n)) for n in (1, 2, 3)]
    left = set(names)
    for _ in range(12):
        try:
            for batch in read_batches(world, stream, committed(*left)):
                found += events(world, batch.steps)
                at = (places(batch.steps) or [at])[-1]
                left -= {step.transaction for step in batch.steps if isinstance(step, Commit)}
            break
        except Transient:
            stream.close()
            stream = _opened(world, at.saved())
    assert [event.key for event in found] == [("a", n) for n in range(4)]


def _opened(world: OracleWorld, saved: Saved) -> LogStream:
    for _ in range(10):
        try:
            return open_stream(world, first(world), saved)
        except Transient:
            continue
    raise AssertionError("it never opens")


def test_an_error_in_the_middle_of_a_range_loses_and_doubles_nothing(make: Make) -> None:
    world = make()
    stream = open_stream(world, first(world))
    steps = read(world, stream, world.commit(first(world), row("a", 0)))
    at = places(steps)[-1]
    world.model.fail("V$LOGMNR_CONTENTS", 1291, after_rows=1)
    name = world.commit(first(world), *(row("a", n) for n in range(1, 400)))
    try:
        found = events(world, read(world, stream, name))
    except Transient:
        stream.close()
        found = events(world, read(world, _opened(world, at.saved()), name))
    assert [event.key for event in found] == [("a", n) for n in range(1, 400)]


@pytest.mark.parametrize(
    "plant",
    [
        lambda patch: patch.setattr(safe_scn, "flushed_scn", lambda before, _: max(before.values()) + 1_000),
        lambda patch: patch.setattr(log_miner, "next_range", lambda *_, **__: None),
    ],
    ids=["what is not written is safe", "nothing is ever mined"],
)
def test_a_planted_fault_is_caught(
    make: Make, monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """So the tests above can fail."""
    plant(monkeypatch)
    monkeypatch.setattr("wrackline.testing.sources.reading.PATIENCE", 1.5)
    with pytest.raises((AssertionError, Definite, Transient, ValueError)):
        test_what_the_log_writer_holds_is_not_passed_by(make)

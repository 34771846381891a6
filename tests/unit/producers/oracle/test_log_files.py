"""Which log files a range needs, and how far may be mined."""

import pytest

from tests.unit.producers.oracle.redo_model import mined
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation, check_same
from wrackline.producers.sources.oracle.mining.log_files import (
    NO_END,
    LogCover,
    LogFile,
    RedoThread,
    cover,
    still_holds,
)
from wrackline.producers.sources.oracle.mining.mined_row import MinedRow, mined_row, names_a_row
from wrackline.producers.sources.oracle.mining.mining_range import (
    LEAST_STEP,
    MOST_STEP,
    MiningRange,
    flushed_scn,
    next_range,
    next_step,
)
from wrackline.schemas.errors import Definite

ONE, TWO = RedoThread(1, enabled=True, open=True), RedoThread(2, enabled=True, open=True)
DOWN = RedoThread(2, enabled=True, open=False)
GONE = RedoThread(2, enabled=False, open=False)


def archived(thread: int, sequence: int, first: int, end: int) -> LogFile:
    return LogFile(f"/arch/{thread}_{sequence}", thread, sequence, first, end, archived=True)


def online(thread: int, sequence: int, first: int, end: int = 0) -> LogFile:
    """One that is written, or, with an end, one that is not archived yet."""
    name = f"/redo/{thread}_{sequence % 3}"
    return LogFile(name, thread, sequence, first, end or NO_END, archived=False, current=not end)


LOGS = [
    *(archived(1, 5, 100, 200), archived(1, 6, 200, 300), online(1, 7, 300)),
    *(archived(2, 3, 50, 250), archived(2, 4, 250, 320), online(2, 5, 320)),
]


def sequences(files: object) -> list[tuple[int, int]]:
    assert isinstance(files, list)
    return [(file.thread, file.sequence) for file in files]


def test_a_thread_that_is_enabled_again_begins_at_an_scn_of_its_own() -> None:
    """It continues with the next number, and had no redo in between: nothing is missing."""
    back = [*LOGS[:3], online(2, 5, 280)]
    assert cover(back, [ONE, TWO], 150, ended=lambda: {2: 4}).upto == NO_END - 1
    assert cover([archived(2, 4, 90, 120), *back], [ONE, TWO], 150).upto == NO_END - 1
    for ended in ({2: 3}, {1: 4}, {}):
        with pytest.raises(Definite, match="thread 2 with sequence 4 "):
            cover(back, [ONE, TWO], 150, ended=lambda ended=ended: ended)  # type: ignore[misc]


def test_a_range_needs_each_log_that_has_an_scn_of_it_in_every_thread() -> None:
    found = cover(LOGS, [TWO, ONE], 199)
    assert found.upto == NO_END - 1
    assert sequences(found.of(199, 249)) == [(1, 6), (2, 3)]
    assert sequences(found.of(199, 250)) == [(1, 6), (2, 3), (2, 4)]
    assert sequences(found.of(199, 299)) == [(1, 6), (2, 3), (2, 4)]
    assert sequences(found.of(199, 300)) == [(1, 6), (1, 7), (2, 3), (2, 4)]
    assert sequences(cover(LOGS, [ONE, TWO], 198).of(198, 199)) == [(1, 5), (2, 3)]
    assert sequences(found.of(299, 310)) == [(1, 7), (2, 4)]
    assert sequences(found.of(298, 310)) == [(1, 6), (1, 7), (2, 4)]
    assert sequences(found.files) == [(1, 6), (1, 7), (2, 3), (2, 4), (2, 5)]


def test_an_archived_file_is_taken_for_a_log_that_is_online_too() -> None:
    both = [online(1, 5, 100, 200), archived(1, 5, 100, 200), online(1, 6, 200)]
    assert [file.name for file in cover(both, [ONE], 150).files] == ["/arch/1_5", "/redo/1_0"]
    assert cover([both[1], both[0], both[2]], [ONE], 150).files == cover(both, [ONE], 150).files


@pytest.mark.parametrize(
    ("missing", "thread", "sequence", "scn"),
    [(LOGS[1], 1, 6, 200), (LOGS[4], 2, 4, 250), (LOGS[0], 1, 5, 151)],
)
def test_a_hole_names_thread_and_sequence(missing: LogFile, thread: int, sequence: int, scn: int) -> None:
    with pytest.raises(
        Definite, match=f"thread {thread} with sequence {sequence} is needed from SCN {scn} on"
    ):
        cover([file for file in LOGS if file != missing], [ONE, TWO], 150)


def test_one_scn_that_no_file_has_is_a_hole() -> None:
    with pytest.raises(Definite, match="thread 1 with sequence 4 is needed from SCN 99 on"):
        cover(LOGS, [ONE, TWO], 98)
    assert cover(LOGS, [ONE, TWO], 99).files[0].sequence == 5


def test_a_hole_that_was_passed_is_none() -> None:
    found = cover([LOGS[0], *LOGS[2:]], [ONE, TWO], 299)
    assert sequences(found.files) == [(1, 7), (2, 4), (2, 5)]


def test_a_thread_that_began_later_has_no_hole_before_its_first_log() -> None:
    found = cover([*LOGS[:3], online(2, 1, 280)], [ONE, TWO], 150)
    assert sequences(found.of(150, 290)) == [(1, 5), (1, 6), (2, 1)]
    with pytest.raises(Definite, match="thread 2 with sequence 1 "):
        cover([*LOGS[:3], online(2, 2, 280)], [ONE, TWO], 150)


def test_a_thread_that_was_disabled_is_mined_to_its_end_and_limits_nothing() -> None:
    found = cover([*LOGS[:3], archived(2, 3, 50, 250)], [ONE, GONE], 150)
    assert found.upto == NO_END - 1
    assert sequences(found.of(150, 400)) == [(1, 5), (1, 6), (1, 7), (2, 3)]
    late = cover([*LOGS[:3], archived(2, 9, 180, 250)], [ONE, GONE], 150)
    assert sequences(late.files) == [(1, 5), (1, 6), (1, 7), (2, 9)]
    waiting = cover([*LOGS[:3], online(2, 3, 50, 250)], [ONE, GONE], 150, archived_only=True)
    assert waiting.upto == 150


def test_archived_logs_alone_end_where_the_first_thread_ends() -> None:
    """T-O02, DBZ-9229."""
    found = cover(LOGS, [ONE, TWO], 150, archived_only=True)
    assert found.upto == 299
    assert sequences(found.of(150, found.upto)) == [(1, 5), (1, 6), (2, 3), (2, 4)]
    assert cover(LOGS, [ONE, TWO], 299, archived_only=True).upto == 299
    assert next_range(299, 10, cover(LOGS, [ONE, TWO], 299, archived_only=True), None) is None


def test_a_log_that_is_not_archived_yet_is_no_hole() -> None:
    late = [LOGS[0], online(1, 6, 200, 300), archived(1, 7, 300, 400), *LOGS[3:]]
    assert cover(late, [ONE, TWO], 150, archived_only=True).upto == 199
    assert cover(late, [ONE, TWO], 150).upto == 399


def test_a_switch_that_has_no_current_log_yet_ends_the_cover() -> None:
    assert cover([*LOGS[:2], *LOGS[3:]], [ONE, TWO], 150).upto == 299


def test_a_thread_without_any_log_covers_nothing() -> None:
    assert cover(LOGS[:3], [ONE, TWO], 150).upto == 150
    assert cover(LOGS[:3], [ONE, GONE], 150).upto == NO_END - 1


def test_a_log_switch_while_files_are_added_is_seen() -> None:
    """DBZ-9229, dbz#2296: files are listed, mined, and listed again."""
    used = [archived(1, 5, 100, 200), online(1, 6, 200)]
    assert still_holds(used, used)
    assert still_holds(used, [online(1, 6, 200, 300), online(1, 7, 300)]), "the same file has the same log"
    assert not still_holds(used, [archived(1, 6, 200, 300), online(1, 9, 500)]), "another log has the file"
    assert not still_holds(used, [])
    assert still_holds(used[:1], []), "an archived file never becomes another log"


def test_what_is_flushed_on_every_open_instance_is_safe() -> None:
    """T-O01, DBZ-4067, DBZ-6013, DBZ-5439, dbz#1801."""
    assert flushed_scn({1: 500, 2: 480}, [ONE, TWO]) == 480
    assert flushed_scn({1: 500}, [ONE, TWO]) is None, "an instance was not flushed"
    assert flushed_scn({1: 500}, [ONE, DOWN]) == 500
    assert flushed_scn({1: 500, 2: 3}, [ONE, GONE]) == 500
    assert flushed_scn({1: 500}, [ONE, GONE._replace(open=True)]) == 500, "a thread that writes nothing"
    assert flushed_scn({}, [DOWN]) is None


def test_a_range_begins_behind_one_scn_and_ends_with_another() -> None:
    """DBZ-6176, DBZ-6778."""
    found = next_range(150, 40, LogCover(NO_END - 1, []), 1_000)
    assert found == MiningRange(150, 190, [])
    assert [found.has(scn) for scn in (150, 151, 190, 191)] == [False, True, True, False]
    behind = next_range(found.upto, 40, LogCover(NO_END - 1, []), 1_000)
    assert behind is not None
    assert (behind.has(190), behind.has(191)) == (False, True)


def test_a_range_ends_with_what_is_safe_and_with_what_is_there() -> None:
    everything = cover(LOGS, [ONE, TWO], 150)
    assert next_range(150, 1_000, everything, 310) == MiningRange(150, 310, everything.of(150, 310))
    assert next_range(310, 1_000, everything, 310) is None
    assert next_range(310, 1_000, everything, 300) is None, "a safe SCN may come from an older question"
    ends = LogCover(205, everything.files)
    assert next_range(150, 1_000, ends, 310) == MiningRange(150, 205, everything.of(150, 205))
    assert next_range(150, 1_000, ends, None) == MiningRange(150, 205, everything.of(150, 205))


def test_a_step_follows_what_a_mining_takes() -> None:
    assert next_step(20_000, 20_000, 0.2) == 40_000
    assert next_step(20_000, 20_000, 1.2) == 25_000
    assert next_step(20_000, 20_000, 0) == 40_000
    assert next_step(20_000, 20_000, 3.0) == 10_000
    assert next_step(20_000, 20_000, 60.0) == 10_000
    assert next_step(20_000, 500, 0.1) == 20_000, "it was short because the log ended"
    assert next_step(20_000, 500, 6.0) == 10_000
    assert next_step(LEAST_STEP, LEAST_STEP, 60) == LEAST_STEP
    assert next_step(MOST_STEP, MOST_STEP, 0.1) == MOST_STEP


def test_a_log_that_was_reset_is_refused() -> None:
    """T-O07, redpanda#4760."""
    ours = Incarnation(1_000, 77)
    check_same(ours, Incarnation(1_000, 77))
    with pytest.raises(Definite, match="RESETLOGS at SCN 5000") as caught:
        check_same(ours, Incarnation(5_000, 77))
    assert caught.value.code == "oracle.resetlogs"
    with pytest.raises(Definite, match="DBID was 77, and is 78"):
        check_same(ours, Incarnation(1_000, 78))


def fields(**given: object) -> list[object]:
    made: dict[str, object] = {
        "scn": 9, "thread": 1, "rs_id": " 0x000007.00000009.0010 ", "ssn": 0, "container": 3,
        "xid": "0a001f00d2040000", "operation": 1, "rollback": 0, "csf": 0, "status": 0, "info": None,
        "timestamp": 5, "start": None, "commit": None, "row_id": "AAAS1AAEAAAB000001", "object": 7,
        "version": 1, "owner": "SHOP", "table": "ORDERS", "username": None, "redo": "insert",
        **given,
    }  # fmt: skip
    return list(made.values())


def test_a_row_of_the_view() -> None:
    """redpanda#4826: RS_ID is padded with blanks."""
    row = mined_row(fields(), (7, 9, 16))  # type: ignore[arg-type]
    assert row == mined(
        9, 1, rs_id="0x000007.00000009.0010", xid="0A001F00D2040000", row_id="AAAS1AAEAAAB000001",
        object_id=7, owner="SHOP", table="ORDERS", redo="insert",
    )._replace(timestamp=5, username="")  # fmt: skip
    assert row.of_table == (3, "SHOP", "ORDERS")
    flags = mined_row(fields(rollback=1, csf=1), (7, 9, 16))  # type: ignore[arg-type]
    assert (flags.rollback, flags.csf) == (True, True)
    assert isinstance(row, MinedRow)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [({"scn": 9.0}, TypeError), ({"redo": b"insert"}, TypeError), ({"xid": "0A00"}, ValueError)],
)
def test_what_is_no_row_is_refused(wrong: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        mined_row(fields(**wrong), (7, 9, 16))  # type: ignore[arg-type]


def test_a_row_id_of_zeros_names_no_row() -> None:
    assert names_a_row("AAAS1AAEAAAB000001")
    assert not names_a_row("AAAAAAAAAAAAAAAAAA")
    assert not names_a_row("AAAS1AAAAAAAAAAAAA")
    assert not names_a_row("")

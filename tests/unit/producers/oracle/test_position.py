"""What is saved of a place in the redo log, and its seq."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.contract.steps import Json
from wrackline.producers.sources.oracle.mining.incarnation import Incarnation
from wrackline.producers.sources.oracle.mining.position import (
    SEQ_BYTES,
    WHOLE,
    CommitPlace,
    CutTransaction,
    MinedWindow,
    OraclePosition,
    RedoRowPlace,
    commit_seq,
    last_at,
    position_of,
)
from wrackline.schemas.errors import Definite
from wrackline.schemas.tables.seq import EventClass, ordinal_digits, parse

PLACES = st.builds(
    CommitPlace,
    st.integers(0, 2**63 - 1),
    st.integers(1, 0xFFFF),
    st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 0xFFFF)),
)
START = OraclePosition(1, last_at(99), oldest=100, seen=99, incarnation=Incarnation(7, 8), done=last_at(99))
COMMIT = CommitPlace(500, 2, (17, 1_024, 16))
NEXT = CommitPlace(501, 1, (9, 3, 48))
WINDOW = MinedWindow(450, 600, 3, COMMIT)
WHOLE_PLACE = START.behind(WINDOW)
LAST = RedoRowPlace(498, 2, (17, 900, 32), 3)
CUT = WHOLE_PLACE.inside(CutTransaction(3, "0A001F00D2040000", NEXT, LAST), 4, WINDOW)


def test_the_bytes_of_a_position_stay_as_they_are() -> None:
    """What was saved by an older version must be read by each newer one."""
    assert json.dumps(WHOLE_PLACE.saved()) == (
        '{"epoch": 1, "incarnation": [7, 8], "from": 450, "seen": 600, "done": [500, 2, 17, 1024, 16],'
        ' "open": 3}'
    )
    assert json.dumps(CUT.saved()) == (
        '{"epoch": 1, "incarnation": [7, 8], "from": 450, "seen": 600, "done": [500, 2, 17, 1024, 16],'
        ' "open": 3, "cut": {"container": 3, "xid": "0A001F00D2040000", "rows": 4,'
        ' "last": [498, 2, 17, 900, 32, 3], "commit": [501, 1, 9, 3, 48]}}'
    )


def test_the_bytes_of_a_seq_stay_as_they_are() -> None:
    assert commit_seq(1, COMMIT) + ordinal_digits(5) == (
        b"000100000000000001f4000200000011000004000010ff00000005"
    )  # fmt: skip
    assert WHOLE_PLACE.row_seq() == b"000100000000000001f400020000001100000400001100"
    assert CUT.row_seq() == b"000100000000000001f500010000000900000003003000"
    assert START.row_seq() == b"0001000000000000006400000000000000000000000000"


@pytest.mark.parametrize("place", [START, WHOLE_PLACE, CUT])
def test_what_is_saved_is_read_again(place: OraclePosition) -> None:
    found = position_of(json.loads(json.dumps(place.saved())))
    assert found == place
    assert replace(found).saved() == place.saved()
    assert (found.oldest, found.seen, found.incarnation, found.done, found.cut, found.open) == (
        *(place.oldest, place.seen, place.incarnation, place.done, place.cut, place.open),
    )


@given(PLACES, PLACES)
def test_a_seq_has_the_order_of_commits(one: CommitPlace, other: CommitPlace) -> None:
    assert len(one.packed()) == SEQ_BYTES
    assert (one < other) == (one.packed() < other.packed())
    read = parse((commit_seq(2, one) + ordinal_digits(0)).decode(), SEQ_BYTES)
    assert (read.position, read.event_class) == (one.packed(), EventClass.LOG)


@given(PLACES)
def test_the_last_place_of_an_scn_is_behind_its_commits(one: CommitPlace) -> None:
    assert one <= last_at(one.scn) < CommitPlace(one.scn + 1, 1, (0, 0, 0))
    assert one.packed() <= last_at(one.scn).packed()


@given(PLACES, PLACES)
def test_rows_that_are_read_are_above_what_is_out_and_below_what_comes(
    one: CommitPlace, other: CommitPlace
) -> None:
    position = OraclePosition(1, one, done=one)
    last = commit_seq(1, one) + ordinal_digits(7)
    assert last < position.row_seq()
    if one < other:
        assert position.row_seq() < commit_seq(1, other)


def test_the_first_row_and_the_first_scn_are_places() -> None:
    first = CUT.behind(WINDOW).inside(
        CutTransaction(3, "0A001F00D2040000", NEXT, LAST), 1, WINDOW._replace(oldest=1)
    )
    found = position_of(first.saved())
    assert (found.rows, found.oldest) == (1, 1)
    for rows in (0, WHOLE):
        with pytest.raises(ValueError, match="a place"):
            replace(CUT, rows=rows)


def test_places_are_ordered() -> None:
    further = replace(CUT, rows=5)
    behind = CUT.behind(WINDOW._replace(done=NEXT))
    assert START < WHOLE_PLACE < CUT < further < behind
    assert replace(WHOLE_PLACE, epoch=2) > behind
    assert len({START, WHOLE_PLACE, CUT, further, behind, replace(CUT)}) == 5


def test_more_that_was_mined_moves_what_is_mined_again() -> None:
    later = MinedWindow(480, 700, 1, COMMIT)
    assert CUT.mined(later) == CUT
    assert CUT.mined(later).saved()["from"] == 480
    assert CUT.mined(later).cut == CUT.cut
    assert WHOLE_PLACE.mined(later._replace(done=NEXT)).done == NEXT


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 3},
        {"rows": 0, "cut": CUT.cut},
        {"cut": CUT.cut},
        {"rows": 3, "cut": CUT.cut, "done": NEXT, "place": NEXT},
        {"rows": 3, "cut": CUT.cut, "place": COMMIT},
    ],
)
def test_a_place_is_behind_a_commit_or_behind_a_row(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"a (place|cut)"):
        replace(WHOLE_PLACE, **wrong)  # type: ignore[arg-type]


WRONG: list[tuple[str, Json]] = [
    ("epoch", None),
    ("epoch", -1),
    ("epoch", True),
    ("from", 0),
    ("from", 4.5),
    ("seen", "600"),
    ("open", None),
    ("incarnation", [7]),
    ("incarnation", [7, "8"]),
    ("incarnation", "78"),
    ("done", [500, 2, 17, 1024]),
    ("done", [500, 2, 17, 1024, 16, 0]),
    ("done", [500, 2, 17, 1024, 65_536]),
    ("done", [500, 65_536, 17, 1024, 16]),
    ("done", [1 << 64, 2, 17, 1024, 16]),
    ("done", [600, 2, 17, 1024, 16]),
    ("cut", []),
    ("cut", {**CUT.saved()["cut"], "xid": "0a001f00d2040000"}),  # type: ignore[dict-item]
    ("cut", {**CUT.saved()["cut"], "xid": 5}),  # type: ignore[dict-item]
    ("cut", {**CUT.saved()["cut"], "rows": 0}),  # type: ignore[dict-item]
    ("cut", {**CUT.saved()["cut"], "rows": WHOLE + 1}),  # type: ignore[dict-item]
    ("cut", {**CUT.saved()["cut"], "rows": WHOLE}),  # type: ignore[dict-item]
    ("cut", {**CUT.saved()["cut"], "container": None}),  # type: ignore[dict-item]
    ("cut", {**CUT.saved()["cut"], "last": [498, 2, 17, 900, 32]}),  # type: ignore[dict-item]
    ("cut", {**CUT.saved()["cut"], "last": [498, 65_536, 17, 900, 32, 3]}),  # type: ignore[dict-item]
    ("cut", {**CUT.saved()["cut"], "commit": [1]}),  # type: ignore[dict-item]
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_nobody_has_saved_is_refused(name: str, value: Json) -> None:
    with pytest.raises(Definite) as caught:
        position_of({**CUT.saved(), name: value})
    assert caught.value.code == "oracle.position_unreadable"


@pytest.mark.parametrize("name", sorted(CUT.saved().keys() - {"cut"}))
def test_each_part_is_needed(name: str) -> None:
    saved = {key: value for key, value in CUT.saved().items() if key != name}
    with pytest.raises(Definite, match=name):
        position_of(saved)

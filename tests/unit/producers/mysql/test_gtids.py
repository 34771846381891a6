"""Sets of global transaction ids against plain sets of numbers."""

import contextlib
import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.sources.mysql.events.gtids import MariaDbGtid, MariaDbGtids, MySqlGtid, MySqlGtids

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "ffffffff-71ca-11e1-9e33-c80aa9429562"
SOURCES = [A, B, f"{A}:tag_1", f"{A}:z"]
mysql_gtids = st.builds(MySqlGtid, st.sampled_from(SOURCES), st.integers(1, 12))
mariadb_gtids = st.builds(MariaDbGtid, st.integers(0, 3), st.integers(1, 2), st.integers(1, 9))


def mysql_set(gtids: list[MySqlGtid]) -> MySqlGtids:
    made = MySqlGtids()
    for gtid in gtids:
        made = made.with_(gtid)
    return made


def mariadb_set(gtids: list[MariaDbGtid]) -> MariaDbGtids:
    made = MariaDbGtids()
    for gtid in gtids:
        made = made.with_(gtid)
    return made


@given(st.lists(mysql_gtids), st.lists(mysql_gtids))
def test_mysqls_sets_are_sets(ours: list[MySqlGtid], theirs: list[MySqlGtid]) -> None:
    one, other = mysql_set(ours), mysql_set(theirs)
    assert (one == other) == (set(ours) == set(theirs))
    assert one.missing(other) == mysql_set(sorted(set(theirs) - set(ours)))
    assert one.contains(other) == (set(theirs) <= set(ours))
    assert bool(one) == bool(ours)
    if one == other:
        assert hash(one) == hash(other)
        assert str(one) == str(other)


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ("", ""),
        (f"{A}:12#22", f"{A}:12"),
        (f"{A}:12#22:9#7{B}:3#1", f"{A}:9:12,{B}:3"),  # nothing stands between two servers
        (f"{A}:1#4{A}:tag_1:5#6:6#8", f"{A}:1:tag_1:5-6"),
    ],
)
def test_what_sessions_own_is_read_without_the_sessions(told: str, read: str) -> None:
    assert MySqlGtids.owned(told) == MySqlGtids.parse(read)


@given(st.lists(mysql_gtids))
def test_mysqls_sets_come_back_from_text_and_bytes(gtids: list[MySqlGtid]) -> None:
    made = mysql_set(gtids)
    assert MySqlGtids.parse(str(made)) == made
    assert (
        MySqlGtids.parse(str(made).upper().replace(",", " ,\n ").replace("-1", " - 1")[:0] + str(made))
        == made
    )
    assert MySqlGtids.decoded(made.encoded()) == made


@given(st.lists(mysql_gtids), mysql_gtids)
def test_a_set_never_changes(gtids: list[MySqlGtid], more: MySqlGtid) -> None:
    made = mysql_set(gtids)
    before = str(made)
    made.with_(more)
    assert str(made) == before


def test_mysqls_text_is_the_servers() -> None:
    text = f"{A}:1-5:7:tag:1-3:other:9,{B}:2"
    spaced = f" {A.upper()}:1-3:4-5:7-7:TAG:1-2:2-3:other:9 ,\n{B}:2"
    assert str(MySqlGtids.parse(spaced)) == f"{A}:1-5:7:other:9:tag:1-3,{B}:2"
    assert MySqlGtids.parse(spaced) == MySqlGtids.parse(text)
    assert str(MySqlGtid(f"{A}:tag", 5)) == f"{A}:tag:5"


def test_without_a_tag_the_bytes_are_the_old_ones() -> None:
    data = MySqlGtids.parse(f"{A}:1-5:7").encoded()
    numbers = [1, 2, 1, 6, 7, 8]  # servers, intervals, and of each the first and the one behind the last
    server = uuid.UUID(A).bytes
    assert data == struct.pack("<Q", numbers[0]) + server + struct.pack("<5Q", *numbers[1:])
    tagged = MySqlGtids.parse(f"{A}:tag:1").encoded()
    assert tagged[:8].hex() == "0101000000000001"
    assert tagged[24:28] == b"\x06tag"


@pytest.mark.parametrize(
    "text",
    [
        "nonsense:1",
        A,
        f"{A}:",
        f"{A}:0",
        f"{A}:5-3",
        f"{A}:-3",
        f"{A}:1-",
        f"{A}:9tag:1",
        f"{A}:{'t' * 33}:1",
        f"{A}:9223372036854775807",
        f"{A}:\u0663",
    ],
)
def test_what_is_no_set_of_mysqls_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        MySqlGtids.parse(text)


@given(st.binary(max_size=80))
def test_bytes_that_are_no_set_are_refused(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        made = MySqlGtids.decoded(data)
        assert MySqlGtids.decoded(made.encoded()) == made


@given(st.lists(mysql_gtids, min_size=1), st.data())
def test_cut_bytes_are_refused(gtids: list[MySqlGtid], draw: st.DataObject) -> None:
    data = mysql_set(gtids).encoded()
    with pytest.raises(ValueError, match=r"."):
        MySqlGtids.decoded(data[: draw.draw(st.integers(0, len(data) - 1))])


@given(st.lists(mariadb_gtids), st.lists(mariadb_gtids))
def test_mariadbs_sets_are_all_of_a_domain_up_to_here(
    ours: list[MariaDbGtid], theirs: list[MariaDbGtid]
) -> None:
    one, other = mariadb_set(ours), mariadb_set(theirs)
    last, others = ({gtid.domain: gtid for gtid in gtids} for gtids in (ours, theirs))
    behind = [
        gtid
        for gtid in others.values()
        if gtid.domain not in last or last[gtid.domain].sequence < gtid.sequence
    ]
    assert one.missing(other) == mariadb_set(behind)
    assert one.contains(other) == (not behind)
    assert (one == other) == (last == others)
    assert MariaDbGtids.parse(str(one)) == one
    assert bool(one) == bool(ours)
    if one == other:
        assert hash(one) == hash(other)


@given(st.lists(mariadb_gtids), mariadb_gtids)
def test_a_set_of_mariadbs_never_changes(gtids: list[MariaDbGtid], more: MariaDbGtid) -> None:
    made = mariadb_set(gtids)
    before = str(made)
    made.with_(more)
    assert str(made) == before


@pytest.mark.parametrize("text", ["0-1", "0-1-2-3", "a-1-2", "0-1-2,0-2-3", "0--1", "\u0663-1-2"])
def test_what_is_no_set_of_mariadbs_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        MariaDbGtids.parse(text)

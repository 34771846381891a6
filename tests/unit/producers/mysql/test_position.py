"""Places in a binlog: their order, their text in the offsets, their part of a seq."""

import json
from dataclasses import replace
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wrackline.producers.contract.steps import Saved
from wrackline.producers.sources.mysql.events.gtids import MariaDbGtids, MySqlGtids
from wrackline.producers.sources.mysql.log.position import (
    SEQ_BYTES,
    MySqlHistory,
    MySqlPosition,
    PreparedXa,
    file_number,
    position_of,
)
from wrackline.schemas.errors import WracklineError

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
HISTORY = MySqlHistory(UUID, "binlog.000007", 1_700_000_000)
Place: TypeAlias = tuple[int, int, int, int]
places = st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(4, 9), st.integers(0, 2))


@given(places, places)
def test_places_are_in_the_logs_order(one: Place, other: Place) -> None:
    first, second = MySqlPosition(*one), MySqlPosition(*other, history=HISTORY)
    assert (first < second, first <= second, first == second) == (one < other, one <= other, one == other)
    if one[:1] == other[:1] and one[3:] == other[3:]:
        assert (first.seq() < second.seq()) == (one < other)
    if one == other:
        assert hash(first) == hash(second)


@pytest.mark.parametrize(
    "position",
    [
        MySqlPosition(0, 7, 157, history=HISTORY),
        MySqlPosition(3, 7, 4_294_967_295, 9, HISTORY, MySqlGtids.parse(f"{UUID}:1-9:tag:3")),
        MySqlPosition(3, 7, 4, 0, HISTORY, MySqlGtids()),
        MySqlPosition(3, 7, 4, 0, HISTORY, MariaDbGtids.parse("0-1-5,7-2-3")),
        MySqlPosition(
            3,
            7,
            4,
            0,
            HISTORY,
            None,
            {"shop.orders": {"b": "a"}},
            {"X'78',X'79',7": PreparedXa("binlog.000006", 99), "X'79',X'',1": PreparedXa()},
        ),
        MySqlPosition(
            3,
            7,
            4,
            5,
            HISTORY,
            MariaDbGtids.parse("0-1-5"),
            prepared={"X'78',X'',1": PreparedXa("", 0, "0-1-4", "0-2-3")},
            gtid="0-1-6",
            cut={"7-1-8": 3},
        ),
    ],
)
def test_a_position_comes_back_as_it_was_saved(position: MySqlPosition) -> None:
    back = position_of(json.loads(json.dumps(position.saved())))
    assert back == position
    assert replace(back, epoch=9).saved() == replace(position, epoch=9).saved()
    assert (back.history, back.gtids, back.names) == (position.history, position.gtids, position.names)
    assert (back.prepared, back.gtid, back.cut) == (position.prepared, position.gtid, position.cut)


GOOD: Saved = {"epoch": 1, "file": "binlog.000007", "offset": 4, "done": 0, "server": UUID, "begun": 5}


@pytest.mark.parametrize(
    "change",
    [
        {"epoch": None},
        {"offset": "4"},
        {"done": None},
        {"file": "binlog"},
        {"file": "binlog.index"},
        {"file": 7},
        {"server": 1},
        {"begun": "x"},
        {"gtids": "0-1-2"},
        {"gtids": 5},
        {"mariadb_gtids": f"{UUID}:1"},
        {"names": []},
        {"names": {"t": "a"}},
        {"names": {"t": {"b": 1}}},
        {"prepared": []},
        {"prepared": {"xid": ["binlog.000001", 4]}},
        {"prepared": {"xid": ["binlog.000001", -1, "", ""]}},
        {"gtid": 7},
        {"cut": []},
        {"cut": {"0-1-2": "3"}},
    ],
)
def test_what_is_missing_or_of_another_form_is_refused(change: Saved) -> None:
    assert position_of(GOOD).offset == 4
    with pytest.raises(WracklineError) as raised:
        position_of({**GOOD, **change})
    assert raised.value.code == "mysql.position_unreadable"
    [name] = change
    if name in GOOD:
        with pytest.raises(WracklineError):
            position_of({key: value for key, value in GOOD.items() if key != name})


def test_a_seq_has_room_for_file_and_place_up_to_4_gb() -> None:
    assert MySqlPosition(1, 7, 157).seq().hex() == "000000070000009d"
    assert len(MySqlPosition(1, 7, 157).seq()) == SEQ_BYTES
    far, farther = (MySqlPosition(1, 7, (1 << 32) + more, history=HISTORY) for more in (1, 900))
    assert far < farther
    assert far.seq() == farther.seq(), "no transaction begins in between"
    highest = MySqlPosition(1, 7, (1 << 32) - 2, history=HISTORY)
    assert highest.begins() == highest.seq() < far.seq() < MySqlPosition(1, 8, 4).seq()
    for position in (replace(highest, offset=highest.offset + 1), far):
        with pytest.raises(WracklineError) as raised:
            position.begins()
        assert raised.value.code == "mysql.place_too_high"
        assert HISTORY.file in str(raised.value)


def test_a_files_number_ends_its_name() -> None:
    assert [file_number(name) for name in ("binlog.000001", "a.b.1234567")] == [1, 1234567]

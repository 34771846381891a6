"""LSNs, places and what is saved of them."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.producers.sqlserver.change_model import lsn
from wrackline.producers.contract.steps import Json
from wrackline.producers.sources.sqlserver.log.change_rows import RowPlace, place_in, place_of, row_key
from wrackline.producers.sources.sqlserver.log.lsn import (
    HIGHEST,
    ZERO,
    lsn_of_number,
    lsn_text,
    next_lsn,
    parse_lsn,
    previous_lsn,
)
from wrackline.producers.sources.sqlserver.log.position import (
    SEQ_BYTES,
    WHOLE,
    DatabaseIdentity,
    FollowedInstance,
    SqlServerPosition,
    position_of,
)
from wrackline.schemas.errors import Definite
from wrackline.schemas.tables.seq import EventClass, log_prefix, ordinal_digits, parse

LSNS = st.binary(min_size=10, max_size=10)
NUMBERS = st.integers(0, 2**31 - 1)
PLACES = st.builds(RowPlace, st.none() | st.integers(0, 2**31 - 1), LSNS, NUMBERS, st.integers(1, 4))
POSITIONS = st.builds(
    lambda epoch, lsn, cut, done, transaction, instances, ddl: SqlServerPosition(
        epoch,
        lsn,
        WHOLE if cut is None else done,
        cut,
        transaction,
        DatabaseIdentity("family", "fork", "server/shop"),
        ddl,
        instances,
    ),
    st.integers(0, 0xFFFF),
    LSNS.filter(lambda lsn: lsn not in {ZERO, HIGHEST}),
    st.none() | PLACES,
    st.integers(1, 2**32 - 1),
    st.none() | st.binary(max_size=10),
    st.dictionaries(st.text(), st.builds(FollowedInstance, NUMBERS, LSNS, NUMBERS), max_size=3),
    LSNS,
)
CUT = SqlServerPosition(1, lsn(7), 3, RowPlace(1, lsn(2), 99, 4))


@given(LSNS)
def test_an_lsn_is_read_as_the_server_and_as_our_offsets_write_it(value: bytes) -> None:
    assert parse_lsn(lsn_text(value)) == parse_lsn(value.hex()) == parse_lsn(value.hex().upper()) == value


@pytest.mark.parametrize(
    "text", ["", "0x0000002a000001f80003", "2a:1f8:3", "00" * 11, "gg" * 10, " " + "00" * 10]
)
def test_what_is_not_an_lsn_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="20 hexadecimal digits"):
        parse_lsn(text)


def test_a_number_of_a_view_is_the_same_lsn() -> None:
    """As fn_dblog and sys.fn_convertnumericlsntobinary show it: 42, 504 and 3."""
    assert lsn_of_number(42_0000000504_00003) == parse_lsn("0000002a:000001f8:0003")
    assert lsn_of_number(0) == ZERO
    assert lsn_of_number((2**32 - 1) * 10**15 + (2**32 - 1) * 10**5 + 65535) == HIGHEST
    for number in (65536, 2**32 * 10**5, 2**32 * 10**15):
        with pytest.raises(ValueError, match="do not fit"):
            lsn_of_number(number)


def test_the_next_lsn_is_the_lowest_above() -> None:
    assert next_lsn(parse_lsn("0000002a:000001f8:ffff")) == parse_lsn("0000002a:000001f9:0000")
    with pytest.raises(ValueError, match="above"):
        next_lsn(HIGHEST)
    with pytest.raises(ValueError, match="below"):
        previous_lsn(ZERO)


@settings(max_examples=60)
@given(LSNS, PLACES, LSNS, PLACES)
def test_keys_are_ordered_as_the_index_with_null_first(
    a: bytes, one: RowPlace, b: bytes, two: RowPlace
) -> None:
    def index(commit: bytes, place: RowPlace) -> tuple[object, ...]:
        command = -1 if place.command is None else place.command
        return commit, command, place.seqval, place.table, place.operation

    assert (row_key(a, one) < row_key(b, two)) == (index(a, one) < index(b, two))
    assert place_of(row_key(a, one)) == one


@settings(max_examples=60)
@given(LSNS, PLACES, PLACES)
def test_each_table_continues_behind_a_place_in_another(commit: bytes, at: RowPlace, row: RowPlace) -> None:
    row = row._replace(command=at.command, seqval=at.seqval)  # the only rows that could be mistaken
    behind = row_key(commit, row) > row_key(commit, at)
    assert (row.operation > place_in(row_key(commit, at), row.table).operation) == behind


@settings(max_examples=30)
@given(POSITIONS)
def test_a_saved_position_is_read_back_with_all_of_it(position: SqlServerPosition) -> None:
    read = position_of(json.loads(json.dumps(position.saved())))
    assert (read, read.cut, read.ddl, read.identity) == (
        position,
        position.cut,
        position.ddl,
        position.identity,
    )
    assert (read.instances, read.transaction) == (position.instances, position.transaction)


def test_the_number_of_an_event_is_saved_inside_a_commit_alone() -> None:
    numbered = replace(CUT, serial=5)
    assert position_of(json.loads(json.dumps(numbered.saved()))).serial == 5
    assert position_of(json.loads(json.dumps(CUT.saved()))).serial == 0
    assert "serial" not in json.dumps(CUT.saved())
    assert position_of(SqlServerPosition(1, lsn(7)).saved()).serial == 0


def test_an_identity_is_a_group_s_a_database_s_or_only_names() -> None:
    """Of different kinds the parts can't be compared."""
    parts = [("group", "", "s/shop"), ("family", "fork", "s/shop"), ("s/shop", "2026-01-01", "s/shop")]
    assert [DatabaseIdentity(*one).kind for one in parts] == ["group", "database", "names"]


def test_before_all_commits_is_a_place_but_not_one_inside_a_commit() -> None:
    start = SqlServerPosition(1, ZERO)
    assert position_of(start.saved()) == start
    with pytest.raises(ValueError, match="behind a row"):
        replace(CUT, lsn=ZERO)


@pytest.mark.parametrize(
    ("instance", "reason"),
    [
        ([1, "00" * 10, -1], "not a capture instance"),
        ([1, "00" * 10, 2, "dbo"], "not the name of a table"),
        ([1, "00" * 10, 2, "dbo", 3], "not the name of a table"),
    ],
)
def test_an_instance_of_another_form_is_refused(instance: list[Json], reason: str) -> None:
    with pytest.raises(Definite, match=reason):
        position_of({**SqlServerPosition(1, lsn(7)).saved(), "instances": {"a": instance}})


def log_seq(at: SqlServerPosition) -> bytes:
    """Return the seq of the events of the commit, without their ordinals."""
    return log_prefix(at.epoch, at.lsn)


@settings(max_examples=30)
@given(POSITIONS, POSITIONS)
def test_seq_rises_as_positions_do(one: SqlServerPosition, two: SqlServerPosition) -> None:
    earlier, later = sorted((one, two))
    assert log_seq(later) >= log_seq(earlier)
    assert later.row_seq() >= earlier.row_seq()
    assert len(log_seq(earlier)) == 2 * (2 + SEQ_BYTES + 1)


def test_rows_of_a_chunk_are_above_what_is_out_and_below_what_comes() -> None:
    at = SqlServerPosition(1, lsn(7))
    row = at.row_seq() + ordinal_digits(0)
    assert log_seq(at) + ordinal_digits(2**32 - 1) < row
    assert row < log_seq(SqlServerPosition(1, lsn(8))) + ordinal_digits(0)
    assert parse(row.decode(), SEQ_BYTES).event_class is EventClass.SNAPSHOT
    assert CUT.row_seq() < log_seq(CUT), "inside a commit its later changes must win"


@settings(max_examples=30)
@given(POSITIONS)
def test_all_that_is_passed_is_out_and_the_next_commit_is_not(position: SqlServerPosition) -> None:
    assert next_lsn(position.passed) <= position.behind
    assert (next_lsn(position.passed) == position.lsn) == (position.cut is not None)


def test_places_inside_a_commit_are_before_its_end() -> None:
    behind = replace(CUT, done=4)
    assert SqlServerPosition(1, lsn(6)) < CUT < behind < SqlServerPosition(1, lsn(7)) < replace(CUT, epoch=2)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"lsn": "0x00"}, "lsn is not an LSN"),
        ({"lsn": "f" * 20}, "lsn names no commit"),
        ({"lsn": "0" * 20}, "lsn names no commit"),
        ({"lsn": None}, "lsn is not text"),
        ({"epoch": -1}, "epoch is not a whole number"),
        ({"epoch": True}, "epoch is not a whole number"),
        ({"cut": 7}, "cut is not an object"),
        ({"cut": {}}, "command is missing"),
        ({"cut": {"command": "1"}}, "command is not a whole number"),
        ({"ordinal": 0}, "ordinal is not the number of a change"),
        ({"ordinal": 2**32}, "ordinal is not the number of a change"),
        ({"object": 2**40}, "cut is not a place in a change table"),
        ({"operation": 256}, "cut is not a place in a change table"),
        ({"identity": []}, "identity is not an object"),
        ({"identity": {"family": 1}}, "family is not text"),
        ({"instances": []}, "instances is not an object"),
        ({"instances": {"a": [1, "00"]}}, "is not a capture instance"),
        ({"instances": {"a": [-1, "00", 2]}}, "is not a capture instance"),
        ({"instances": {"a": [1, "00", 2]}}, "instances is not an LSN"),
        ({"ddl": "x"}, "ddl is not an LSN"),
        ({"transaction": "x"}, "transaction is not hexadecimal"),
    ],
)
def test_a_position_in_another_form_is_refused_without_its_content(
    change: dict[str, Json], reason: str
) -> None:
    saved = dict(CUT.saved())
    inside = saved["cut"]
    assert isinstance(inside, dict)
    cut = {**inside, **{name: value for name, value in change.items() if name in inside}}
    with pytest.raises(Definite, match=reason) as caught:
        position_of(
            {**saved, "cut": cut, **{name: value for name, value in change.items() if name not in inside}}
        )
    assert caught.value.code == "sqlserver.position_unreadable"


@pytest.mark.parametrize(
    "wrong", [{"done": 3}, {"cut": CUT.cut}, {"cut": CUT.cut, "done": 0}, {"lsn": b"short"}]
)
def test_a_place_is_behind_a_row_or_behind_a_commit(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="behind"):
        replace(SqlServerPosition(1, lsn(7)), **wrong)  # type: ignore[arg-type]

"""Faults that other readers had with places in change tables: each is named by its issue."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.producers.sqlserver.change_model import ALL, TABLES, Server, changes, lsn, positions, read
from wrackline.producers.sources.sqlserver.log import page_merger, page_sql
from wrackline.producers.sources.sqlserver.log.change_rows import INSERT, RowPlace, row_key
from wrackline.producers.sources.sqlserver.log.lsn import HIGHEST, ZERO
from wrackline.producers.sources.sqlserver.log.page_merger import LoggedCommit, PageRequest
from wrackline.producers.sources.sqlserver.log.page_sql import ChangeTable
from wrackline.producers.sources.sqlserver.log.position import SqlServerPosition, position_of
from wrackline.schemas.errors import Definite

CUT = SqlServerPosition(1, lsn(7), 3, RowPlace(1, lsn(2), 99, 4))


def server_of(places: Sequence[RowPlace]) -> Server:
    """One commit whose rows are inserts at these places."""
    made = Server([LoggedCommit(lsn(5), 0, b"t" * 10)], {table: [] for table in TABLES})
    for place in sorted(places, key=lambda one: row_key(lsn(5), one)):
        made.rows[place.table].append((row_key(lsn(5), place), ALL, b""))
    return made


def rest_behind_each_place(server: Server) -> list[list[bytes]]:
    """The rows of the whole commit, and those that a restart behind each of them reads."""
    whole, _ = read(server)
    rests = [read(server, at)[0] for at in positions(whole)]
    return [[change[2] for _, _, change in changes(parts)] for parts in (whole, *rests)]


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_merger, "FIRST_ROWS", 2)
    monkeypatch.setattr(page_merger, "MOST_ROWS", 2)


@pytest.mark.parametrize("tables", [TABLES[:1], TABLES[:2]])
def test_seqvals_that_fall_inside_a_commit_hide_nothing_behind_a_restart(tables: Sequence[int]) -> None:
    """DBZ-2329: rows whose `__$seqval` was below that of the saved place were taken for rows that are out."""
    places = [RowPlace(number, lsn(90 - number), tables[number % len(tables)], INSERT) for number in range(6)]
    whole, *rests = rest_behind_each_place(server_of(places))
    assert whole == [row_key(lsn(5), place) for place in places]
    assert rests == [*(whole[out:] for out in range(1, 7)), []]


@pytest.mark.parametrize("tables", [TABLES[:1], TABLES[:2]])
def test_rows_of_one_command_are_told_apart_by_the_rest_of_their_places(tables: Sequence[int]) -> None:
    """redpanda#4831: all rows of a statement have one `__$command_id`."""
    places = [RowPlace(1, lsn(10 + number // 2), tables[number % len(tables)], INSERT) for number in range(6)]
    if len(tables) == 1:
        places = [one._replace(seqval=lsn(10 + number)) for number, one in enumerate(places)]
    whole, *rests = rest_behind_each_place(server_of(places))
    assert whole == [row_key(lsn(5), place) for place in places]
    assert rests == [*(whole[out:] for out in range(1, 7)), []]


@given(
    st.binary(min_size=10, max_size=10).filter(lambda one: one not in {ZERO, HIGHEST}),
    st.binary(min_size=10, max_size=10),
)
def test_no_byte_of_a_place_passes_for_text(commit: bytes, seqval: bytes) -> None:
    """redpanda#4642: a collation changed bytes above 127 on their way to the stored position and back."""
    at = SqlServerPosition(1, commit, 1, RowPlace(1, seqval, 7, INSERT), seqval, ddl=commit)
    stored = json.dumps(at.saved()).encode("ascii")
    back = position_of(json.loads(stored))
    assert (back.lsn, back.cut, back.transaction, back.ddl) == (commit, at.cut, seqval, commit)
    asked = page_sql.page(None, PageRequest(7, back.behind, HIGHEST, 4), ChangeTable(7, "x", ()))
    assert f"__$start_lsn = 0x{commit.hex()} AND" in asked
    assert f"__$seqval > 0x{seqval.hex()} OR" in asked
    assert asked.isascii()
    assert "'" not in asked


@pytest.mark.parametrize("part", ["command", "seqval", "operation", "object", "ordinal"])
def test_a_place_inside_a_commit_that_lacks_a_part_is_refused(part: str) -> None:
    """SDC-12269, seatunnel#11410: an offset that had the LSN alone began at a wrong row."""
    saved = CUT.saved()
    cut = dict(saved["cut"])  # type: ignore[arg-type]
    assert position_of({**saved, "cut": cut}) == CUT
    del cut[part]
    with pytest.raises(Definite) as caught:
        position_of({**saved, "cut": cut})
    assert caught.value.code == "sqlserver.position_unreadable"

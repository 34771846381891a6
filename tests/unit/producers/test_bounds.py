"""What a false server could write beyond a buffer; in a process of its own, so that a crash is a failure."""

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import pytest

from bench.plain_build import prefer_source

Run = Callable[..., Any]


@pytest.fixture(scope="module", params=[None, prefer_source], ids=["compiled", "plain"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Calls a function of this module in a process that has one of the two builds."""
    with ProcessPoolExecutor(
        max_workers=1, mp_context=multiprocessing.get_context("spawn"), initializer=request.param
    ) as pool:
        yield lambda function, *given: pool.submit(function, *given).result(timeout=120)


def postgres_row(count: int, text: bytes, growth: int | None = None) -> int | str:
    """Decode a row of numeric(38,38); return its event's size, or the error's code."""
    from tests.fixtures.pgoutput import insert  # noqa: PLC0415 - of that process, as all below
    from wrackline.producers.contract.steps import RowChange  # noqa: PLC0415
    from wrackline.producers.sources.postgres.rows import rows  # noqa: PLC0415
    from wrackline.schemas.errors import OperatorNeeded  # noqa: PLC0415
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415
    from wrackline.schemas.events.projection import project_all  # noqa: PLC0415
    from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema  # noqa: PLC0415
    from wrackline.schemas.tables.types import ColumnType, Kind  # noqa: PLC0415

    type_ = ColumnType(Kind.DECIMAL, "numeric(38,38)", 38, 38)
    columns = tuple(Column(f"c{i}", i + 1, type_) for i in range(count))
    table = TableSchema(TableId("d", "public", "t"), columns, (), KeyKind.NONE)
    made: list[RowChange] = []
    try:
        with ExitStack() as planted:
            if growth is not None:
                planted.enter_context(patch.object(rows, "growth_of", lambda _: growth))
                planted.enter_context(patch.object(rows, "beside_of", lambda _: -16))
            decoder = rows.PgRowDecoder(1, project_all(table), 1, 2)
        decoder.decode(insert([text] * count), 0, Frame(b"\0" * 9, b"00" * 11), 9, made)
    except OperatorNeeded as refused:
        return refused.code
    return len(made[0][3])


def mysql_row(type_: int, meta: int, cell: bytes, labels: tuple[str, ...], times: int) -> int | str:
    """Decode a row whose key names its one column so often; return the key's size, or the error's code."""
    from tests.fixtures.rows_events import WRITE, image, rows_event  # noqa: PLC0415 - of that process, as all below
    from wrackline.producers.contract.steps import RowChange  # noqa: PLC0415
    from wrackline.producers.sources.mysql.discover.types import column_type, of_wire  # noqa: PLC0415
    from wrackline.producers.sources.mysql.events.charsets import charset_of  # noqa: PLC0415
    from wrackline.producers.sources.mysql.events.table_map import WireColumn  # noqa: PLC0415
    from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder  # noqa: PLC0415
    from wrackline.schemas.errors import OperatorNeeded  # noqa: PLC0415
    from wrackline.schemas.events.frame import Frame  # noqa: PLC0415
    from wrackline.schemas.events.projection import project_all  # noqa: PLC0415
    from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema  # noqa: PLC0415

    column = WireColumn("c", type_, meta, False, False, 63, labels)
    kind = column_type(of_wire(column), column="t.c")
    table = TableSchema(
        TableId("d", "d", "t"), (Column("c", 1, kind, nullable=False),), ("c",) * times, KeyKind.PRIMARY
    )
    made: list[RowChange] = []
    event = rows_event(WRITE, 1, image([cell]))
    try:
        decoder = MySqlRowDecoder(
            1, project_all(table), [column], 1, 2, lambda one: charset_of(one, column="c")
        )
        decoder.decode(event, 0, len(event), WRITE, Frame(b"\0" * 9, b"00" * 11), 9, 0, made)
    except OperatorNeeded as refused:
        return refused.code
    return len(made[0][2] or b"")


def test_a_decimal_may_be_longer_than_its_text(run: Run) -> None:
    """Numeric(38,38) sent as `9` has 17 bytes: a server that pads is not the only one that we may meet."""
    one_more = run(postgres_row, 1600, b"9") - run(postgres_row, 1599, b"9")
    assert one_more == 1 + 1 + 17, "that it is there, its length, its bytes"


def test_a_reservation_that_is_too_small_ends_in_an_error_on_postgresql(run: Run) -> None:
    assert run(postgres_row, 1600, b"0." + b"9" * 38, 0) == "pg.value_unfit"


def test_a_label_that_is_written_more_often_than_reserved_ends_in_an_error(run: Run) -> None:
    assert run(mysql_row, 247, 1, b"\x01", ("A" * 60_000,), 1) == 60_000 + 5 + 3
    assert run(mysql_row, 247, 1, b"\x01", ("A" * 60_000,), 400) == "mysql.value_unfit"


def test_zeros_that_fill_a_cell_up_are_not_written_beyond_the_buffer(run: Run) -> None:
    assert run(mysql_row, 254, 60_000, b"\x01\x00a", (), 400) == "mysql.value_unfit"

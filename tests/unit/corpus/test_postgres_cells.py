"""Cells that no PostgreSQL writes, or that no type holds: refused in the log as in COPY, in either build."""

import json

import pytest

from tests.fixtures.pgoutput import insert
from tests.fixtures.plain_build import PlainBuild
from tests.unit.corpus.cases import Case, as_bytes, cases, tells_nothing
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.sources.postgres.rows.rows import PgRowDecoder
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema
from wrackline.schemas.tables.types import ColumnType, Kind

CASES = cases("postgres", "cells")


def type_of(case: Case) -> ColumnType:
    digits = {name: case[name] for name in ("precision", "scale", "length") if name in case}
    element = ColumnType(Kind[case["element"]], "x") if "element" in case else None
    return ColumnType(Kind[case["kind"]], case.get("source", "x"), element=element, **digits)


def refusals(case: Case) -> list[tuple[str, str, str]]:
    """What is said of the cell in a row of the log, and in a line of COPY if it is the same there."""
    cell = as_bytes(case["cell"])
    columns = (Column("id", 1, ColumnType(Kind.INT32, "integer")), Column("c", 2, type_of(case)))
    table = TableSchema(TableId("d", "p", "t"), columns, ("id",), KeyKind.PRIMARY)
    decoder = PgRowDecoder(1, project_all(table), 1, 2)
    frame, made, found = Frame(b"\0" * 9, b"00" * 11), list[RowChange](), []
    decoder.decode(insert([b"7", None]), 0, frame, 9, made)
    try:
        decoder.decode(insert([b"8", cell]), 0, frame, 9, made)
    except WracklineError as refused:
        found.append((refused.code, str(refused), refused.hint))
    try:
        if b"\\" not in cell:  # else COPY writes it in another way
            decoder.read_line(b"8\t" + cell + b"\n")
            found.append(("taken", "", ""))
    except WracklineError as refused:
        found.append((refused.code, str(refused), refused.hint))
    assert len(made) == 1, "the row before it"
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_cell_that_no_server_writes_is_refused(case: Case) -> None:
    found = refusals(case)
    assert {code for code, *_ in found} == {case["answer"]}
    tells_nothing(*(text for _, *texts in found for text in texts))
    cell = as_bytes(case["cell"]).decode()
    assert len(cell) < 4 or cell not in found[0][1], "no value in an error"


def codes(lines: list[str]) -> list[list[str]]:
    return [[code for code, *_ in refusals(json.loads(line))] for line in lines]


def test_the_plain_build_refuses_the_same(plain_build: PlainBuild) -> None:
    lines = [json.dumps(case.values[0]) for case in CASES]
    assert plain_build.call(codes, lines) == codes(lines)

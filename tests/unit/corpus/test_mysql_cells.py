"""Cells of MySQL's log that no server writes: each ends in the error that its case names."""

import pytest

from tests.fixtures.rows_events import WRITE, image, rows_event
from tests.unit.corpus.cases import Case, cases, tells_nothing
from wrackline.producers.contract.steps import RowChange
from wrackline.producers.sources.mysql.discover.types import column_type, of_wire
from wrackline.producers.sources.mysql.events import wire_types as wire
from wrackline.producers.sources.mysql.events.charsets import charset_of
from wrackline.producers.sources.mysql.events.table_map import WireColumn
from wrackline.producers.sources.mysql.rows.rows import MySqlRowDecoder
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.events.frame import Frame
from wrackline.schemas.events.projection import project_all
from wrackline.schemas.tables.table import Column, KeyKind, TableId, TableSchema


@pytest.mark.parametrize("case", cases("mysql", "cells"))
def test_a_cell_that_no_server_writes_is_refused(case: Case) -> None:
    type_ = getattr(wire, case["wire"])
    labels = ("a", "b", "c") if type_ in wire.LABELLED else ()
    column = WireColumn("c", type_, case["meta"], True, False, case.get("collation", 63), labels)
    kind = column_type(of_wire(column), column="t.c")
    table = TableSchema(TableId("d", "d", "t"), (Column("c", 1, kind),), (), KeyKind.NONE)
    decoder = MySqlRowDecoder(
        1, project_all(table), [column], 1, 2, lambda one: charset_of(one, column="c"), 4096
    )
    event = rows_event(WRITE, 1, image([bytes.fromhex(case["cell"])]))
    made: list[RowChange] = []
    with pytest.raises(WracklineError) as refused:
        decoder.decode(event, 0, len(event), WRITE, Frame(b"\0" * 9, b"00" * 11), 9, 0, made)
    assert refused.value.code == case["answer"]
    assert len(made) == case.get("rows", 0), "the rows before it"
    tells_nothing(str(refused.value), refused.value.hint)

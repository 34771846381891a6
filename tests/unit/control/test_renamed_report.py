"""What the source half reports of a table that was renamed."""

from collections.abc import Mapping

import pytest

from tests.unit.settings.shop import GOOD, checked
from wrackline.control.runtime.board.board_changes import LookScope
from wrackline.control.runtime.board.source_report import SourceReport
from wrackline.producers.observe.task_metrics import TaskMeasures
from wrackline.producers.snapshot.table_state import TableDeparture, TableState, render_state
from wrackline.schemas.tables.table import SourcePartition, TableId

OLD, NEW = TableId("d", "public", "old"), TableId("d", "public", "new")
RENAMED = render_state(TableState(gap=True, departure=TableDeparture(dropped=True, renamed_to=NEW)))
OVERRIDES = "snapshot.select.statement.overrides"


@pytest.mark.parametrize(
    ("given", "dropped"),
    [
        ({}, True),
        ({"snapshot.mode": "no_data"}, False),
        ({OVERRIDES: "public.new", f"{OVERRIDES}.public.new": "SELECT * FROM public.new WHERE n > 1"}, False),
        ({"snapshot.include.collection.list": "public.other"}, False),
    ],
)
def test_a_renamed_table_counts_as_dropped_only_if_all_of_its_rows_are_read_again(
    given: Mapping[str, str], *, dropped: bool
) -> None:
    values = checked({**GOOD, "snapshot.mode": "initial", **given}).values
    assert values is not None
    partition = SourcePartition(values.text("topic.prefix"), "d")
    measures = TaskMeasures(0, "postgres", [partition], 1, monotonic=lambda: 0.0, now_ms=lambda: 0)
    measures.figures()[partition].tables.take(OLD, RENAMED)
    shown = (
        SourceReport(values, "postgres", measures, lambda _, saved: str(saved))
        .look(LookScope.ALL)
        .tables["d.public.old"]
    )
    assert shown is not None
    assert (shown["state"], shown["renamed_to"], shown["dropped"]) == ("gone", "d.public.new", dropped)

"""What anybody may write on a board: no reader fails by it."""

from typing import Any

import orjson
import pytest

from wrackline.control.cli.terminal.database_text import StatusStyle
from wrackline.control.cli.terminal.status_text import page
from wrackline.control.console.log.log_page import log_page
from wrackline.control.console.pipeline_page import pipeline_page
from wrackline.control.console.pipelines_page import ListedPipeline, SmallLines, pipelines_page
from wrackline.control.console.rows.rows_page import rows_page
from wrackline.control.console.table_layout import TableChoice, table_layout
from wrackline.control.console.table_page import table_page
from wrackline.control.runtime.board.board_summary import summarise
from wrackline.control.runtime.rest.contexts.metrics_document import metrics_document
from wrackline.control.runtime.rest.contexts.state_document import GET_STATE, TableLines, state_document
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.services.status import pipeline_status
from wrackline.control.runtime.services.status_documents import (
    lag_document,
    status_document,
    tables_document,
)
from wrackline.producers.connect.restart_policy import TaskState
from wrackline.schemas.kafka.board_records import Board, BoardKey, Half, HalfState, encode

NOW = 1_700_000_000_000
TABLE = "shop.public.orders"
HALVES = [BoardKey("shop", half) for half in Half]
TABLES = [BoardKey("shop", half, TABLE) for half in Half]
FIELDS = [
    "since_ms", "error", "host", "pid", "events", "databases", "table", "state", "requests", "rows",
    "expected", "percent", "seconds_left", "letters", "nulls", "reason", "standing", "offsets", "behind",
    "behind_s", "held", "held_s", "merged_ms", "lag_ms", "batches", "dead_letters", "seconds",
    "upkeep", "incomplete", "ranges", "waits_since_ms", "through_ms", "current", "complete_ms",
]  # fmt: skip
VALUES: list[Any] = [
    7,
    -1,
    1 << 62,
    1e300,
    "x",
    True,
    None,
    [],
    [7],
    {},
    {"a": "b"},
    {"error": 7},
    {"d": {"lag_ms": "x"}},
    {"d": {"kept_s": 7, "expires_s": -1, "lost_in_s": 1e300}},
    {"d": {"spare_bytes": -9, "retained_bytes": 0, "log": "x", "status": "lost", "lost_in_s": 0}},
    [{"percent": -5, "held": 1 << 50, "reading": 1 << 50}],
    [{"percent": 1e15}, {}],
    {"d": {"through_ms": -1}},
    {"code": "x", "frames": 7},
    {"whole": 1 << 62},
    {"u": 1 << 62, "d": 1 << 62},
]


def look_everywhere(board: Board) -> None:
    halves = {half: board.half("shop", half) for half in Half}
    summary = summarise(halves, NOW)
    one = ListedPipeline("shop", "postgres", "iceberg", ConnectorState(TaskState.RUNNING), summary, (), "w")
    pipelines_page([one], SmallLines())
    pipeline_page(one, halves, table_layout(halves, TableChoice(), NOW), TableChoice(), NOW)
    table_page("shop", TABLE, halves, NOW, has_target=True)
    rows_page("shop", halves[Half.SOURCE], (), NOW)
    log_page(one, halves[Half.SOURCE], NOW, grouped=False)
    status = pipeline_status("shop", halves, NOW, has_target=True)
    for document in (lag_document, status_document, tables_document):
        orjson.dumps(document(status))
    for look in (page(status, StatusStyle(80, NOW)), page(status, StatusStyle(80, NOW), [TABLE])):
        assert list(look)
    lines = TableLines(GET_STATE)
    orjson.dumps(state_document("shop", halves, ConnectorState(TaskState.RUNNING), NOW, GET_STATE, lines))
    orjson.dumps(metrics_document("iceberg", halves, NOW))
    assert status.exit >= 0


@pytest.mark.parametrize("state", HalfState)
def test_a_record_that_says_only_a_state_is_shown(state: HalfState) -> None:
    board = Board()
    for key in HALVES:
        board.apply(key.encode(), encode({"state": state.value}, NOW), NOW)
    for key in TABLES:
        board.apply(key.encode(), encode({}, NOW), NOW)
    look_everywhere(board)


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_of_any_value_is_refused_or_shown(field: str) -> None:
    for value in VALUES:
        board = Board()
        for key in (*HALVES, *TABLES):
            written = orjson.loads(encode({"state": "failed"}, NOW))
            try:
                board.apply(key.encode(), orjson.dumps({**written, field: value}), NOW)
            except (ValueError, KeyError, TypeError):
                continue
        look_everywhere(board)

"""The state of a pipeline by the paths of CDAP's document, from boards made by hand."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson
import pytest

from tests.unit.console.made import MadeCrew, MadeViews, both, busy, half, source_table, target_table
from tests.unit.corpus.worker import GOOD, exchange, request, writing
from wrackline.control.runtime.board.half_standing import HalfStanding
from wrackline.control.runtime.ground.times import now_ms
from wrackline.control.runtime.group.group_connectors import OPEN_COORDINATOR
from wrackline.control.runtime.rest.contexts import app_routes, context_routes
from wrackline.control.runtime.rest.contexts.metrics_document import metrics_document
from wrackline.control.runtime.rest.contexts.state_document import (
    GET_STATE,
    STATE_FILE,
    TableLines,
    state_document,
)
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.rest.model.connectors import NO_CONNECTOR, GoodSettings
from wrackline.control.runtime.rest.routes import connector_routes
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import RestSettings
from wrackline.producers.connect.restart_policy import DesiredState, TaskState
from wrackline.schemas.kafka.board_records import Board, BoardKey, Document, Half, HalfBoard, encode

ORDERS = "shop.public.orders"
RUNS = ConnectorState(TaskState.RUNNING, target=ConnectorState(TaskState.RUNNING))
WRONG = {
    "code": "pg.slot_lost",
    "kind": "OperatorNeeded",
    "sentence": "the slot is lost",
    "hint": "read again",
}
FAILURE = {"message": "the slot is lost", "stackTrace": [], "code": "pg.slot_lost", "hint": "read again"}
AS_PRINTED = """
{
  sourceState: OK | FAILING,
  sourceError: {
    message: some string,
    stackTrace: [
      { },
      ...
    ]
  },
  tables: [
    {
      database:
      table:
      state: SNAPSHOTTING | REPLICATING | FAILING
      error: {
        message:
        stackTrace: [ ... ]
      }
    }
  ]
}
"""


def state(
    source: Mapping[str, Any] | None = None,
    target: Mapping[str, Any] | None = None,
    *,
    halves: Mapping[Half, HalfBoard] | None = None,
    standing: ConnectorState = RUNS,
) -> dict[str, Any]:
    known = halves or both(half(), half(target="iceberg"))
    if source is not None:
        known[Half.SOURCE].tables[ORDERS] = source_table(ORDERS, **source)
    if target is not None:
        known[Half.TARGET].tables[ORDERS] = target_table(**target)
    return written(known, standing, TableLines(GET_STATE))


def written(
    halves: Mapping[Half, HalfBoard],
    standing: ConnectorState,
    lines: TableLines,
) -> dict[str, Any]:
    """The document as it is sent."""
    sent: dict[str, Any] = orjson.loads(
        orjson.dumps(state_document("shop", halves, standing, now_ms(), GET_STATE, lines))
    )
    return sent


def of_table(source: Mapping[str, Any] | None, target: Mapping[str, Any] | None = None) -> Document:
    (only,) = state(source, target)["tables"]
    found: Document = only
    return found


def test_lines_that_are_kept_say_what_new_ones_would() -> None:
    halves, lines = both(half(), half(target="iceberg")), TableLines(GET_STATE)
    sources, targets = (halves[one].tables for one in (Half.SOURCE, Half.TARGET))

    def same() -> list[dict[str, Any]]:
        kept = written(halves, RUNS, lines)
        fresh = written(halves, RUNS, TableLines(GET_STATE))
        for one in (*kept["tables"], *fresh["tables"]):
            one["freshness_ms"] = one["freshness_ms"] is not None
        assert kept == fresh
        found: list[dict[str, Any]] = kept["tables"]
        return found

    assert same() == []
    sources[ORDERS], targets[ORDERS] = source_table(ORDERS), target_table()
    sources["shop.public.other"] = source_table("shop.public.other")
    assert [one["table"] for one in same()] == ["orders", "other"]
    sources[ORDERS] = source_table(ORDERS, state="snapshotting", percent=7)
    assert [one["percent"] for one in same()] == [7, None]
    targets[ORDERS] = target_table(current=True)
    report = dict(halves[Half.TARGET].report)
    halves[Half.TARGET].report = {**report, "through_ms": now_ms() - 5_000}
    assert [one["freshness_ms"] for one in same()] == [True, False]
    assert 5_000 <= written(halves, RUNS, lines)["tables"][0]["freshness_ms"] < 60_000
    error = {"code": "x.y", "kind": "Transient", "sentence": "s", "hint": "h"}
    halves[Half.TARGET].report = {**report, "error": error}
    assert [one["state"] for one in same()] == ["FAILING"] * 2, "an error of the target is each table's"
    halves[Half.TARGET].report = report
    assert [one["state"] for one in same()] == ["SNAPSHOTTING", "REPLICATING"]
    sources[ORDERS] = source_table(ORDERS, state="gone")
    assert [one["table"] for one in same()] == ["other"]
    del sources["shop.public.other"]
    assert same() == []


def test_lines_of_two_callers_at_once_are_not_mixed() -> None:
    class Interrupted(dict[str, Any]):
        """An error, while whose comparison another caller asks, before whom the target was well."""

        __hash__ = None

        def __eq__(self, other: object) -> bool:
            if other is not None:  # that is the other caller's
                lines.json(halves, None, {}, now_ms())
            return super().__eq__(other)

    halves, lines = both(half(), half(target="iceberg")), TableLines(GET_STATE)
    halves[Half.SOURCE].tables[ORDERS] = source_table(ORDERS)
    error = Interrupted(code="x.y", kind="Transient", sentence="s", hint="h")
    for _ in range(2):
        found = orjson.loads(orjson.dumps(lines.json(halves, error, {}, now_ms())))
        assert [one["state"] for one in found] == ["FAILING"]


def test_it_has_every_field_that_the_document_prints() -> None:
    half_failed = both(half("failed", error=WRONG), half())
    made = state({"reason": WRONG}, {}, halves=half_failed)
    printed = set(re.findall(r"(\w+):", AS_PRINTED))
    assert printed <= {*made, *made["sourceError"], *made["tables"][0]}
    (line,) = (line for line in AS_PRINTED.splitlines() if " state:" in line)
    assert set(re.findall(r"[A-Z]{3,}", line)) == set(GET_STATE[1:])
    assert set(re.findall(r"[A-Z]{2,}", AS_PRINTED.splitlines()[2])) == set(GET_STATE[:2])


def test_a_pipeline_at_work_is_ok_and_its_tables_replicate() -> None:
    made = state({}, {"behind": 3})
    assert (made["sourceState"], made["sourceError"]) == ("OK", None)
    assert (made["targetState"], made["targetError"]) == ("OK", None)
    assert made["silent"] == []
    (table,) = made["tables"]
    assert [table[part] for part in ("database", "schema", "table")] == ["shop", "public", "orders"]
    assert (table["state"], table["error"], table["source"]) == ("REPLICATING", None, "streaming")
    assert (table["target"], table["paused"]) == ("going", False)
    assert table["freshness_ms"] >= 900


@pytest.mark.parametrize("word", ["queued", "snapshotting", "refreshing"])
def test_a_table_whose_rows_are_read_or_wait_is_snapshotting(word: str) -> None:
    table = of_table({"state": word, "percent": 42})
    assert (table["state"], table["percent"], table["target"]) == ("SNAPSHOTTING", 42, None)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({"state": "failed", "reason": WRONG}, {}),
        ({"state": "snapshotting", "reason": WRONG}, {}),
        ({}, {"standing": "stopped", "error": WRONG}),
        ({}, {"standing": "waiting", "error": WRONG}),
    ],
)
def test_a_table_with_an_error_at_either_end_fails(source: Document, target: Document) -> None:
    table = of_table(source, target)
    assert (table["state"], table["error"]) == ("FAILING", FAILURE)


def test_a_paused_table_replicates_and_is_paused_and_one_that_is_gone_is_left_out() -> None:
    for source, target in (({"state": "paused"}, {}), ({}, {"standing": "paused"})):
        table = of_table(source, target)
        assert (table["state"], table["paused"]) == ("REPLICATING", True)
    assert state({"state": "gone"}, {})["tables"] == []


@pytest.mark.parametrize("word", ["failed", "recovering"])
def test_a_source_with_an_error_fails_and_its_tables_do_not(word: str) -> None:
    made = state({}, {}, halves=both(half(word, error=WRONG), half()))
    assert (made["sourceState"], made["sourceError"]) == ("FAILING", FAILURE)
    assert made["tables"][0]["state"] == "REPLICATING"


def test_a_fault_of_ours_has_its_frames_and_no_value() -> None:
    standing = HalfStanding()

    def divide(secret: int) -> float:
        return secret / 0

    with suppress(ZeroDivisionError), standing.until_its_end():
        divide(4711)
    board = Board()
    board.apply(BoardKey("shop", Half.SOURCE).encode(), encode(standing.document(), 1), now_ms())
    made = state(halves=both(board.half("shop", Half.SOURCE), half()))
    assert made["sourceError"]["code"] == "board.fault"
    assert made["sourceError"]["stackTrace"][0]["methodName"] == "divide"
    assert made["sourceError"]["stackTrace"][0]["fileName"] == "test_contexts.py"
    assert "4711" not in str(made)


def test_an_error_of_the_whole_target_is_each_tables() -> None:
    made = state({}, {}, halves=both(half(), half("failed", error=WRONG)))
    assert (made["sourceState"], made["targetState"]) == ("OK", "FAILING")
    assert (made["tables"][0]["state"], made["tables"][0]["error"]) == ("FAILING", FAILURE)


def test_an_error_of_one_database_is_that_of_its_tables_and_of_no_other() -> None:
    board = both(half(databases={"shop": {"error": WRONG}, "crm": {"error": None}}), half())
    for name in (ORDERS, "shop.public.items", "crm.public.people"):
        board[Half.SOURCE].tables[name] = source_table(name)
    lines = TableLines(GET_STATE)
    made = written(board, RUNS, lines)
    assert (made["sourceState"], made["sourceError"]) == ("OK", None), "the other database continues"
    assert [(one["database"], one["state"], one["error"]) for one in made["tables"]] == [
        ("crm", "REPLICATING", None),
        ("shop", "FAILING", FAILURE),
        ("shop", "FAILING", FAILURE),
    ]
    rests = ConnectorState(TaskState.PAUSED)
    assert {one["state"] for one in written(board, rests, lines)["tables"]} == {"REPLICATING"}
    board[Half.SOURCE].report = {**board[Half.SOURCE].report, "databases": {}}
    assert {one["state"] for one in written(board, RUNS, lines)["tables"]} == {"REPLICATING"}, (
        "it is repaired"
    )


def test_a_half_that_says_nothing_any_more_fails_unless_it_was_paused() -> None:
    silent = both(half(heard_ms=now_ms() - 60_000), half())
    made = state(halves=silent)
    assert (made["sourceState"], made["silent"]) == ("FAILING", ["source"])
    assert made["sourceError"]["code"] == "status.silent"
    rests = ConnectorState(TaskState.PAUSED, target=ConnectorState(TaskState.PAUSED))
    assert state(halves=silent, standing=rests)["sourceState"] == "OK"


def test_a_process_that_failed_before_it_could_report_fails() -> None:
    never = both(HalfBoard(), HalfBoard())
    made = state(halves=never, standing=ConnectorState(TaskState.FAILED, "[secret.missing] no such file"))
    assert made["sourceError"]["message"] == "[secret.missing] no such file"
    made = state(halves=never)
    assert (made["sourceState"], made["tables"], made["as_of_ms"]) == ("OK", [], None)


def test_a_name_with_dots_is_taken_from_its_topic() -> None:
    board = both(half(), half())
    board[Half.SOURCE].tables["shop.public.a_b"] = {**source_table("shop.public.a.b")}
    board[Half.SOURCE].tables["shop.public.tische"] = {**source_table("shop.public.tïsche")}
    tables = state(halves=board)["tables"]
    assert [one["table"] for one in tables] == ["a_b", "tïsche"]


def test_counts_have_the_documents_names_behind_the_targets_kind() -> None:
    board = both(half(databases={"shop": {"bytes": 7_000}}), half())
    counted = {"c": 3, "r": 4, "u": 5, "d": 6, "t": 1}
    more = {"schema_changes": {"ADD_COLUMN": 2}, "dead_letters": 9}
    board[Half.TARGET].tables[ORDERS] = {**target_table(), "events": counted, **more}
    board[Half.TARGET].tables["shop.public.items"] = {**target_table(), "schema_changes": {}}
    made = metrics_document("iceberg", board, now_ms())
    total = made["metrics"]
    assert [total[f"iceberg.dml.{name}"] for name in ("insert", "update", "delete")] == [7, 5, 6]
    assert [total[f"iceberg.dml.{name}"] for name in ("inserts", "updates", "deletes")] == [7, 5, 6]
    assert (total["iceberg.ddl"], total["iceberg.dml.errors"]) == (3, 9)
    assert total["iceberg.dml.data.processed.bytes"] == 7_000
    assert total["iceberg.dml.latency.seconds"] == pytest.approx(0.9)
    items, orders = made["tables"]
    assert (orders["table"], orders["metrics"]["dml.insert"], orders["metrics"]["ddl"]) == ("orders", 7, 3)
    assert items["metrics"]["dml.insert"] == 0


@pytest.fixture
def port() -> Iterator[int]:
    crew, views = MadeCrew({"shop": RUNS}), MadeViews({"shop": busy(3)})
    routes = [context_routes.routes(crew, views), app_routes.routes(crew)]
    with open_endpoint(RestSettings(0), routes, print) as door:
        yield door.port


def ask(port: int, what: str, body: object = None) -> tuple[int, Any]:
    sent = b"" if body is None else orjson.dumps(body)
    heard = exchange(port, request(what, {"Content-Type": "application/json"} if sent else {}, sent))
    return heard.status, heard.document


def test_get_state_is_asked_as_in_the_document_and_says_what_it_ignores(port: int) -> None:
    question = {"name": "shop", "offsetBasePath": "/cdap/delta"}
    status, told = ask(port, "POST /v1/contexts/default/getState", question)
    assert (status, told["sourceState"], len(told["tables"])) == (200, "OK", 3)
    assert told["ignored"] == ["offsetBasePath"]
    assert ask(port, "POST /v1/contexts/default/getState", {"name": "no"})[0] == 404
    status, told = ask(port, "POST /v1/contexts/prod/getState", question)
    assert (status, told["code"]) == (404, "rest.no_namespace")
    assert told["hint"].endswith(": default")


def test_the_file_of_states_has_the_older_words(port: int) -> None:
    _, told = ask(port, "GET /v1/contexts/default/pipelines/shop/state")
    words = {one["state"] for one in told["tables"]}
    assert words <= set(STATE_FILE)
    assert not words & set(GET_STATE)


def test_the_list_of_pipelines_has_a_line_for_each(port: int) -> None:
    status, (line,) = ask(port, "GET /v1/contexts/default/pipelines")
    assert (status, line["name"], line["source"], line["target"]) == (200, "shop", "postgres", "iceberg")
    assert (line["status"], line["tables"], line["tablesFailing"]) == ("RUNNING", 3, 0)


def test_a_pipeline_that_can_t_be_read_keeps_no_other_from_the_list() -> None:
    class Leaving(MadeCrew):
        def names(self) -> Sequence[str]:
            return [*super().names(), *(asked.pop() for _ in asked[:1])]  # each only once

    asked = ["deleted-meanwhile"]
    crew, views = Leaving({"bad": RUNS, "shop": RUNS}), MadeViews({"shop": busy(3)})
    routes = [context_routes.routes(crew, views), connector_routes.routes(crew)]
    with open_endpoint(RestSettings(0), routes, print) as door:
        status, (bad, shop) = ask(door.port, "GET /v1/contexts/default/pipelines")
        asked.append("another")
        assert list(ask(door.port, "GET /connectors?expand=status")[1]) == ["bad", "shop"]
    assert (status, bad["name"], bad["error"]) == (200, "bad", NO_CONNECTOR(name="bad").sentence)
    assert (bad["status"], bad["tables"], bad["states"]) == ("RUNNING", 0, {"source": None, "target": None})
    assert (shop["name"], shop["tables"], shop["error"]) == ("shop", 3, None)


def test_an_application_is_started_and_stopped_by_its_worker(port: int) -> None:
    app = "/v3/namespaces/default/apps/shop"
    assert ask(port, f"POST {app}/workers/DeltaWorker/stop")[0] == 200
    assert ask(port, f"POST {app}/workers/DeltaWorker/start")[0] == 200
    assert ask(port, f"GET {app}/workers/DeltaWorker/status") == (200, {"status": "RUNNING"})
    status, told = ask(port, f"GET {app}")
    assert (status, told["name"]) == (200, "shop")
    assert orjson.loads(told["configuration"])["database.password"] == "***"
    assert ask(port, "GET /v3/apps/shop")[1] == told
    status, told = ask(port, f"DELETE {app}")
    assert (status, told["code"]) == (405, "rest.by_file")


def test_positions_are_read_and_set_by_generation_and_instance() -> None:
    with writing() as (port, group):
        group.put("shop", GoodSettings({"name": "shop", **GOOD}, 1), DesiredState.STOP)
        apps = "/v1/contexts/prod/apps/shop"
        assert ask(port, f"GET {apps}/maxgeneration") == (200, {"maxGeneration": None})
        partition = {"server": "shop1", "database": "shop"}
        group.edit_offsets("shop", [(partition, {"lsn": "0/1", "epoch": 2})])
        assert ask(port, f"GET {apps}/maxgeneration") == (200, {"maxGeneration": 2})
        one = f"{apps}/generations/2/instances/0/offset"
        assert ask(port, f"GET {one}") == (200, {"offset": {"lsn": "0/1", "epoch": 2}})
        for wrong in (f"{apps}/generations/1/instances/0/offset", f"{apps}/generations/2/instances/1/offset"):
            assert ask(port, f"GET {wrong}")[1]["code"] == "rest.no_generation"
        assert ask(port, f"PUT {one}", {"offset": {"lsn": "0/9", "epoch": 2}})[0] == 200
        assert list(group.offsets("shop")) == [(partition, {"lsn": "0/9", "epoch": 2})]
        unfit: list[object] = [{"offset": None}, [], {"offset": {}, "more": 1}]
        for bad in unfit:
            assert ask(port, f"PUT {one}", bad)[1]["code"] == "rest.not_offsets"
        group.wish("shop", DesiredState.RUN)
        assert ask(port, f"PUT {one}", {"offset": {}})[1]["code"] == "rest.not_stopped"


def test_an_application_of_a_group_is_removed() -> None:
    with writing() as (port, group):
        group.put("shop", GoodSettings({"name": "shop", **GOOD}, 1), None)
        assert ask(port, "DELETE /v3/namespaces/prod/apps/shop")[0] == 200
        assert group.names() == []


def test_a_write_goes_to_the_coordinator_and_get_state_does_not() -> None:
    with writing() as (port, group):
        group.put("shop", GoodSettings({"name": "shop", **GOOD}, 1), None)
        group.coordinator = OPEN_COORDINATOR(worker="another")
        assert ask(port, "POST /v1/contexts/prod/getState", {"name": "shop"})[0] == 200
        status, told = ask(port, "POST /v3/namespaces/prod/apps/shop/workers/DeltaWorker/stop")
        assert (status, told["code"]) == (409, "group.open_coordinator")

"""Earlier positions by REST, and the way back to them."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import islice
from threading import Event
from typing import Any

import orjson
import pytest

from tests.unit.console.made import MadeViews
from tests.unit.corpus.worker import GOOD, Crew, exchange, request, working, writing
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.producers.connect.restart_policy import DesiredState

REWIND = "POST /connectors/shop/offsets/rewind"
THEN = {"to": "2026-05-01T14:00:00+02:00"}


def ask(port: int, what: str, body: object = None) -> tuple[int, Any]:
    sent = b"" if body is None else orjson.dumps(body)
    heard = exchange(port, request(what, {"Content-Type": "application/json"} if sent else {}, sent))
    return heard.status, heard.document


def test_the_newest_positions_are_listed_oldest_first() -> None:
    with working() as worker:
        status, whole = ask(worker.port, "GET /connectors/shop/offsets/history")
        assert (status, [one["place"] for one in whole["history"]]) == (200, ["0/1", "0/9"])
        _, one = ask(worker.port, "GET /connectors/shop/offsets/history?limit=1")
        assert (one["history"], one["left_out"]) == (whole["history"][1:], 1)
        assert ask(worker.port, "GET /connectors/shop/offsets/history?limit=0")[0] == 400
        assert ask(worker.port, "GET /connectors/nobody/offsets/history")[0] == 404
        assert ask(worker.port, REWIND, THEN)[1]["code"] == "rest.by_file"


def test_a_dry_run_says_how_far_back_it_goes_and_changes_nothing() -> None:
    with writing() as (port, group):
        group.put("shop", GoodSettings({"name": "shop", **GOOD}, 1), DesiredState.RUN)
        status, told = ask(port, f"{REWIND}?dry_run=true", {**THEN, "as_new": True})
        assert (status, told["dry_run"], told["as_new"]) == (200, True, True)
        assert told["positions"] == [
            {"database": "shop", "now": "0/9", "then": "0/1", "position": {"lsn": "0/1"}}
        ]
        assert group.asked[-1] == "preview shop 2026-05-01T14:00:00+02:00 True"


def test_only_a_stopped_connector_goes_back() -> None:
    with writing() as (port, group):
        group.put("shop", GoodSettings({"name": "shop", **GOOD}, 1), DesiredState.RUN)
        status, told = ask(port, REWIND, THEN)
        assert (status, told["code"]) == (400, "rest.not_stopped")
        group.wish("shop", DesiredState.STOP)
        assert ask(port, REWIND, THEN)[0] == 200
        assert group.asked[-1] == "rewind shop 2026-05-01T14:00:00+02:00 False"


@pytest.mark.parametrize(
    "body", [{}, [], {"to": 7}, {"to": "yesterday"}, {**THEN, "as_new": "no"}, {**THEN, "more": 1}]
)
def test_a_body_that_names_no_moment_is_refused(body: object) -> None:
    with writing() as (port, group):
        group.put("shop", GoodSettings({"name": "shop", **GOOD}, 1), DesiredState.STOP)
        status, told = ask(port, REWIND, body)
        assert (status, told["code"]) == (400, "rest.not_rewind")
        assert not [one for one in group.asked if one.startswith(("rewind", "preview"))]


@pytest.mark.parametrize(
    "path",
    [
        "connectors/shop/topics",
        "connectors/shop/offsets",
        "connectors/shop/offsets/history",
        "v1/contexts/default/apps/shop/maxgeneration",
    ],
)
def test_while_kafka_is_away_reads_that_wait_for_it_stop_no_pause(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Forty threads answer all other paths; as many reads of this kind would take each of them."""
    back = Event()

    def waits(_: Crew, name: str) -> Sequence[Any]:
        assert back.wait(60), name
        return ()

    for question in ("topics", "offsets", "offset_history"):
        monkeypatch.setattr(Crew, question, waits)
    with working() as worker, ThreadPoolExecutor(45) as pool:
        reads = [pool.submit(ask, worker.port, f"GET /{path}") for _ in range(45)]
        refused = [done.result() for done in islice(as_completed(reads, 10), 9)]
        assert {(status, told["code"]) for status, told in refused} == {(503, "rest.busy")}
        assert ask(worker.port, "PUT /connectors/shop/pause")[0] == 202
        back.set()
        assert sorted(read.result()[0] for read in reads) == [200] * 36 + [503] * 9


@pytest.mark.parametrize(
    ("what", "body", "status", "most"),
    [
        ("POST /connectors/shop/requests", {"type": "log", "data": {"message": "m"}}, 202, 68),
        (REWIND, THEN, 200, 36),
    ],
)
def test_while_kafka_is_away_writes_that_wait_for_it_stop_no_other_request(
    monkeypatch: pytest.MonkeyPatch, what: str, body: object, status: int, most: int
) -> None:
    back = Event()
    with writing() as (port, group), ThreadPoolExecutor(most + 9) as pool:
        group.begin_anew()

        def waits(*_: object, **__: object) -> Sequence[Any]:
            assert back.wait(60)
            return ()

        monkeypatch.setattr(group.desk, "send", waits)
        monkeypatch.setattr(group, "rewind", waits)
        writes = [pool.submit(ask, port, what, body) for _ in range(most + 9)]
        refused = [done.result() for done in islice(as_completed(writes, 10), 9)]
        assert {(got, told["code"]) for got, told in refused} == {(503, "rest.busy")}
        assert ask(port, "PUT /connectors/orders/pause")[0] == 202
        back.set()
        assert sorted(write.result()[0] for write in writes) == [status] * most + [503] * 9


def test_while_kafka_is_away_wishes_for_tables_stop_no_other_request(monkeypatch: pytest.MonkeyPatch) -> None:
    back = Event()
    monkeypatch.setattr(MadeViews, "wish_table", lambda *_: back.wait(60))
    with working() as worker, ThreadPoolExecutor(45) as pool:
        what = "POST /connectors/shop/tables/public.orders/pause"
        writes = [pool.submit(ask, worker.port, what) for _ in range(45)]
        refused = [done.result() for done in islice(as_completed(writes, 10), 9)]
        assert {(status, told["code"]) for status, told in refused} == {(503, "rest.busy")}
        assert ask(worker.port, "PUT /connectors/shop/pause")[0] == 202
        back.set()
        assert sorted(write.result()[0] for write in writes) == [202] * 36 + [503] * 9

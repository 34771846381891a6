"""Who wrote what by REST and by the console, and what was answered."""

from pathlib import Path
from typing import Any

from tests.unit.control.rest_users import bearer, written
from tests.unit.corpus.cases import CANARY
from tests.unit.corpus.worker import Worker, exchange, request, working
from wrackline.control.runtime.rest.server.rest_settings import RestSettings


def entries(worker: Worker, query: str = "") -> list[dict[str, Any]]:
    heard = exchange(worker.port, request(f"GET /audit{query}", bearer("admin"), b""))
    assert heard.status == 200
    found: list[dict[str, Any]] = heard.document["entries"]
    return found


def test_a_write_is_kept_with_its_user_and_its_outcome_and_a_look_is_not(tmp_path: Path) -> None:
    with working(RestSettings(0, users=written(tmp_path))) as worker:
        for role, ask in (
            ("viewer", "GET /connectors"),
            ("operator", f"PUT /connectors/shop/pause?token={CANARY}"),
            ("viewer", "PUT /connectors/shop/stop"),
            ("operator", "POST /connectors/nobody/restart"),
            ("viewer", "POST /v1/contexts/default/getState"),
            ("operator", "POST /console/p/shop/do/stop"),
        ):
            exchange(worker.port, request(ask, bearer(role), b""))
        found = entries(worker)
        assert [(one["by"], one["what"], one["status"]) for one in found[:3]] == [
            ("operator", "PUT /connectors/shop/pause", 202),
            ("viewer", "PUT /connectors/shop/stop", 403),
            ("operator", "POST /connectors/nobody/restart", 404),
        ]
        assert found[3]["what"] == "POST /console/p/shop/do/stop"
        assert len(found) == 4
        assert CANARY not in str(found)
        assert entries(worker, "?limit=1") == found[-1:]
        assert entries(worker, f"?since={found[-1]['ts_ms'] + 1}") == []
        denied = exchange(worker.port, request("GET /audit", bearer("operator"), b""))
        assert denied.status == 403


def test_without_users_nobody_is_named() -> None:
    with working() as worker:
        exchange(worker.port, request("PUT /connectors/shop/pause", {}, b""))
        (one,) = exchange(worker.port, request("GET /audit", {}, b"")).document["entries"]
        assert one["line"] == "(no log-in): PUT /connectors/shop/pause: 202"

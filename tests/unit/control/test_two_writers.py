"""Two callers that change one connector at once, by Connect's paths and by CDAP's: no write is lost."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import requests

from tests.fakes.drafts import made_access
from tests.fakes.group import FakeGroup
from tests.unit.control.test_drafts import FLAT
from wrackline.control.plane import draft_routes
from wrackline.control.plane.draft_service import DraftService
from wrackline.control.runtime.rest.contexts import app_routes
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.control.runtime.rest.routes import connector_routes, write_routes
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import LOOPBACK, RestSettings
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.settings.secret_refs import Allowed, Resolver

NEW = "another"
PATCH = ("PATCH", "/connectors/shop/config", {"database.port": "5433", "database.password": NEW})
PUT = (
    "PUT",
    "/v3/namespaces/default/apps/shop",
    {"config": {**FLAT, "table.include.list": "public.a", "database.password": "***"}},
)
DELETE = ("DELETE", "/v3/namespaces/default/apps/shop", None)
Sent = tuple[str, str, Mapping[str, Any] | None]


@pytest.fixture
def group() -> FakeGroup:
    made = FakeGroup()
    made.resolver = Resolver(Allowed(), {})
    made.put("shop", GoodSettings({**FLAT, "database.password": "typed"}, 1), None)
    return made


@pytest.fixture
def url(group: FakeGroup, tmp_path: Path) -> Iterator[str]:
    access, _ = made_access(tmp_path / "drafts", group.names, group.check, group=group)
    routes = (
        connector_routes.routes(group),
        write_routes.routes(group),
        app_routes.routes(group, group),
        draft_routes.routes(DraftService(access)),
    )
    with open_endpoint(RestSettings(0), routes, tell=print) as opened:
        yield f"http://{LOOPBACK}:{opened.port}"


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        (PATCH, PUT, {"table.include.list": "public.a", "database.password": NEW}),
        (
            PUT,
            PATCH,
            {"table.include.list": "public.a", "database.port": "5433", "database.password": NEW},
        ),
        (PATCH, DELETE, None),
        (PUT, DELETE, None),
    ],
)
def test_what_is_written_while_another_write_is_decided_is_not_undone(
    group: FakeGroup,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    first: Sent,
    second: Sent,
    left: Mapping[str, str] | None,
) -> None:
    decided, done, put = Event(), Event(), group.put

    def slow(name: str, good: GoodSettings, wish: DesiredState | None, *, new: bool) -> None:
        if not decided.is_set():
            decided.set()
            done.wait(0.5)  # the other one, if it may
        put(name, good, wish, new=new)

    monkeypatch.setattr(group, "put", slow)

    def send(sent: Sent) -> int:
        method, path, body = sent
        return requests.request(method, url + path, json=body, timeout=30).status_code

    def send_meanwhile() -> int:
        assert decided.wait(20)
        status = send(second)
        done.set()
        return status

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(send, first), pool.submit(send_meanwhile)]
        assert [one.result() for one in asked] == [200, 200]
    if left is None:
        assert group.names() == []
    else:
        stored = group.stored_settings("shop")
        assert {name: stored[name] for name in left} == left

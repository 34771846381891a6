"""Each route has a role, walked from the application's own list; a user with a lower one is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import APIRouter, Response
from fastapi.routing import APIRoute, iter_route_contexts

from tests.unit.control.rest_users import SEES_VALUES, TOKENS, bearer, written
from tests.unit.corpus.worker import Worker, exchange, request, working
from wrackline.control.runtime.rest.access.roles import ROLES, VALUES, Role, check_role, route_of
from wrackline.control.runtime.rest.server.endpoint import open_endpoint
from wrackline.control.runtime.rest.server.rest_settings import RestSettings

NO_ROLE = 403
ASKED = sorted(ROLES)


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    users = written(tmp_path_factory.mktemp("users"))
    with working(RestSettings(0, users=users)) as one:
        yield one


def test_the_table_has_every_route_and_no_other(worker: Worker) -> None:
    """A-ROLE-01."""
    listed = {
        f"{method} {one.path}"
        for one in iter_route_contexts(worker.application.routes)
        for method in one.methods or ["?"]
    }
    assert listed == set(ROLES), "a new route needs a role: control/runtime/rest/access/roles.py"


def test_the_check_comes_before_every_route(worker: Worker) -> None:
    """A-ROLE-03."""
    for one in iter_route_contexts(worker.application.routes):
        assert isinstance(one.original_route, APIRoute), f"{one.path} is no route that the check runs in"
        calls = [depends.dependency for depends in one.dependencies]
        assert calls[:1] == [check_role], f"{one.path} is not checked first"


def asked_at(route: str) -> str:
    """Return an address of a route."""
    return route.replace(":path", "").format(
        name="shop",
        task="0",
        id="one",
        file="console.css",
        table="shop.public.orders",
        code="pg.slot_lost",
        verb="pause",
        theme="dark",
        step="source",
        ns="default",
        generation="0",
        instance="0",
    )


@pytest.mark.parametrize("route", ASKED)
def test_a_request_means_its_own_route_before_it_is_routed(route: str) -> None:
    """A request is judged so before it is forwarded, and for the audit."""
    method, path = asked_at(route).split()
    assert route_of(method, path) == route


@pytest.mark.parametrize("route", ASKED)
@pytest.mark.parametrize("role", TOKENS)
def test_each_role_may_what_the_table_says(worker: Worker, route: str, role: str) -> None:
    """A-ROLE-04."""
    path = asked_at(route)
    worker.crew.wished.clear()
    worker.desk.bodies.clear()
    body = b'{"type":"execute-snapshot","data":{"data-collections":["public.orders"]}}'
    heard = exchange(worker.port, request(path, {"Content-Type": "application/json", **bearer(role)}, body))
    has_role = Role[role.upper()] >= ROLES[route]
    may = has_role and (route not in VALUES or role == SEES_VALUES)
    assert (heard.status == NO_ROLE) != may, heard
    if not may and has_role:
        assert b"rest.no_values" in heard.body
    elif not may:
        assert b"rest.not_allowed" in heard.body
        assert f"takes the role {ROLES[route].name.lower()}".encode() in heard.body
        assert not worker.crew.wished
        assert not worker.desk.bodies
    elif not route.startswith("GET ") and route != "POST /console/login":  # its own password is missing
        assert heard.status != 401


def test_what_each_role_may_is_this() -> None:
    """A-ROLE-05."""
    by_role = {role: {route for route, needed in ROLES.items() if needed is role} for role in Role}
    of_the_login = {"GET /console/login", "POST /console/login", "GET /console/static/{file}"}
    changes_nothing = {"POST /console/logout", "POST /v1/contexts/{ns}/getState"}
    assert by_role[Role.OPEN] == {
        "GET /health",
        "GET /v1/health",
        "POST /console/theme/{theme}",
        *of_the_login,
    }
    assert {route for route in by_role[Role.VIEWER] if not route.startswith("GET ")} == changes_nothing
    starts_a_process = {
        "GET /connectors/{name}/assessment",
        "GET /connectors/{name}/letters",
        "GET /console/draft/{id}/tables",
        "GET /console/draft/{id}/columns",
    }
    assert {route for route in by_role[Role.OPERATOR] if route.startswith("GET ")} == starts_a_process
    asks_the_source = {"GET /console/p/{name}/rewind"}
    assert {route for route in by_role[Role.ADMIN] if route.startswith("GET ")} == {
        "GET /audit",
        *asks_the_source,
    }
    changes = [
        route for route in ROLES if "/config" in route or "/offsets" in route or route.startswith("DELETE")
    ]
    drops_a_letter = {"DELETE /connectors/{name}/letters/{id}"}
    changes = [route for route in changes if not route.startswith("GET ") and route not in drops_a_letter]
    assert all(ROLES[route] is Role.ADMIN for route in changes)
    assert ROLES["POST /connectors"] is Role.ADMIN
    asks_what_is_sent = {route for route in ROLES if route.endswith(("Table", "Tables", "assessPipeline"))}
    asks_what_is_sent -= {route for route in ROLES if "/drafts/{id}/" in route}
    assert len(asks_what_is_sent) == 4
    assert all(ROLES[route] is Role.ADMIN for route in asks_what_is_sent), "references are resolved for it"


def test_a_route_without_a_role_is_refused_to_everybody(tmp_path: Path) -> None:
    """A-ROLE-02."""
    forgotten = APIRouter()

    @forgotten.get("/forgotten")
    def new() -> Response:
        raise AssertionError("it was answered")

    with open_endpoint(RestSettings(0, users=written(tmp_path)), [forgotten], tell=print) as door:
        heard = exchange(door.port, request("GET /forgotten", bearer("admin"), b""))
    assert (heard.status, heard.document["code"]) == (NO_ROLE, "rest.unlisted")

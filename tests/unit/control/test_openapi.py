"""The committed description of REST: valid, complete, and true of what is answered."""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import orjson
import pytest
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # its types are not installed
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.unit.control.test_status import BUSY, GONE, MEND, consumer, status
from tests.unit.corpus.worker import DRAFT, GOOD, Worker, exchange, request, working, writing
from wrackline.control.pages.openapi_page import page
from wrackline.control.runtime.ground.plain_json import plain_values
from wrackline.control.runtime.rest.access.roles import ROLES
from wrackline.control.runtime.rest.describe.openapi import document
from wrackline.control.runtime.rest.describe.route_descriptions import ROUTES
from wrackline.control.runtime.rest.model.connectors import GoodSettings
from wrackline.control.runtime.services.status import PipelineStatus
from wrackline.control.runtime.services.status_documents import lag_document, tables_document
from wrackline.producers.connect.restart_policy import DesiredState
from wrackline.schemas.language.findings import Finding, Severity
from wrackline.schemas.tables.table import TableId

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"
SIGNAL = b'{"type":"execute-snapshot","data":{"data-collections":["public.orders"]}}'
ERROR = "#/components/responses/Error"
DOCUMENT = document()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with working() as one:
        yield one


def test_it_is_what_the_code_says() -> None:
    assert COMMITTED.read_text() == page(), "run: ./run pages"


def test_it_is_valid() -> None:
    OpenAPIV31SpecValidator(DOCUMENT).validate()
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_a_worker_gives_it(worker: Worker) -> None:
    heard = exchange(worker.port, request("GET /openapi.json", {}, b""))
    assert heard.document == orjson.loads(COMMITTED.read_bytes())


@pytest.mark.filterwarnings("ignore:Duplicate Operation ID")  # of a description that nobody uses
def test_it_has_every_route_with_what_it_takes(worker: Worker) -> None:
    listed = list(iter_route_contexts(worker.application.routes))
    found = {f"{method} {one.path}" for one in listed for method in one.methods or ()}
    assert set(ROUTES) == {one for one in found if " /console" not in one}, "pages are for people"
    known = get_openapi(title="", version="", routes=listed)["paths"]
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            theirs = known[path][method].get("parameters", [])
            assert _queries(operation["parameters"]) == _queries(theirs), f"{method} {path}"


def _queries(parameters: list[dict[str, Any]]) -> set[str]:
    return {one["name"] for one in parameters if one["in"] == "query"}


@pytest.mark.parametrize("route", sorted(ROUTES))
def test_each_says_its_role_its_log_in_and_its_errors(route: str) -> None:
    method, path = route.replace(":path", "").split()
    operation = DOCUMENT["paths"][path][method.lower()]
    assert operation["x-wrackline-role"] == ROLES[route].name.lower()
    answers = operation["responses"]
    assert [status for status in answers if status.startswith("2")]
    assert all(answers[status] == {"$ref": ERROR} for status in answers if not status.startswith("2"))
    if path in ("/health", "/v1/health"):
        assert operation["security"] == []
    else:
        assert "security" not in operation, "the document's own holds"
        assert {"401", "403", "429", "503"} <= answers.keys()


def test_names_of_operations_are_distinguished() -> None:
    names = [one["operationId"] for path in DOCUMENT["paths"].values() for one in path.values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Tables", tables_document(status(BUSY, MEND))),
        ("Tables", tables_document(PipelineStatus("shop", MEND, GONE, consumer(outage=BUSY)))),
        ("Lag", lag_document(status(BUSY))),
        ("Lag", lag_document(PipelineStatus("shop", {}, GONE, None))),
    ],
)
def test_looks_are_as_they_are_described(name: str, told: Mapping[str, Any]) -> None:
    _holds({"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}}, told)


def test_findings_are_as_they_are_described() -> None:
    table = TableId("shop", "public", "orders")
    found = Finding("pg.wal_level", "n", "d", "s", "i", Severity.ERROR, table, "id")
    told = {"pipeline": "shop", "ok": False, "findings": plain_values([found]), "at_ms": 1}
    schema = {"$ref": "#/components/schemas/Assessment"}
    _holds({"content": {"application/json": {"schema": schema}}}, told)


MOVED = {"partition": {"server": "shop1", "database": "shop"}, "offset": {"lsn": "0/1"}}
BODIES = {
    "Signal": [
        SIGNAL,
        SIGNAL.replace(b"public.orders", b"("),
        b'{"type":"execute-snapshot","data":{}}',
        b"{",
    ],
    "NewConnector": [orjson.dumps({"name": "new", "config": GOOD}), b"{}", b"["],
    "ChangedOffsets": [orjson.dumps({"offsets": [MOVED]}), b"{}", b"["],
    "StateQuestion": [b'{"name":"shop","offsetBasePath":"/cdap"}', b'{"name":"nobody"}', b"{}", b"["],
    "SentDraft": [orjson.dumps({"config": DRAFT}), b"{}", b"["],
    "Question": [orjson.dumps({"config": DRAFT, "table": "orders"}), b'{"table":"orders"}', b"{}", b"["],
    "Rewind": [b'{"to":"2026-05-01T12:00:00Z"}', b'{"to":"yesterday"}', b"{}", b"["],
    "Offset": [b'{"offset":{"lsn":"0/1"}}', b'{"offset":null}', b"["],
}


def bodies(route: str) -> list[bytes]:
    body = ROUTES[route].body
    return [b""] if body is None else BODIES.get(body, [orjson.dumps(GOOD), b"{}", b"["])


@pytest.mark.parametrize("route", sorted(ROUTES))
def test_what_is_answered_is_as_it_is_described(worker: Worker, route: str) -> None:
    _asks_all(worker.port, route)


@pytest.mark.parametrize(
    "route",
    sorted(
        route
        for route in ROUTES
        if (" /connectors" in route or " /v" in route) and "/requests" not in route and "{table}" not in route
    ),
)
def test_so_it_is_in_a_group(route: str) -> None:
    with writing() as (port, group):
        for name in ("shop", "orders"):
            group.put(name, GoodSettings({"name": name, **GOOD}, 1), None)
        group.wish("orders", DesiredState.STOP)
        _asks_all(port, route)


def _asks_all(port: int, route: str) -> None:
    method, path = route.replace(":path", "").split()
    answers = DOCUMENT["paths"][path][method.lower()]["responses"]
    queries = (
        "",
        "?expand=info&expand=status",
        "?includeTasks=true&onlyFailed=true",
        "?onlyFailed=x",
        "?dry_run=true&limit=1",
        "?table=shop.public.orders&column=shop.public.orders.email",
    )
    for name in ("shop", "orders", "postgres", "nobody"):
        filled = path.format(
            name=name,
            task="0",
            id=name if "drafts" in path else "one",
            table="shop.public.orders",
            ns="other" if name == "nobody" else "default",
            generation="0",
            instance="0",
        )
        for query, body in product(queries, bodies(route)):
            asked = request(f"{method} {filled}{query}", {"Content-Type": "application/json"}, body)
            heard = exchange(port, asked)
            assert str(heard.status) in answers, heard
            _holds(answers[str(heard.status)], heard.document)


def _holds(answer: dict[str, Any], told: Any) -> None:
    if answer == {"$ref": ERROR}:
        answer = DOCUMENT["components"]["responses"]["Error"]
    if "content" not in answer:
        assert told is None
        return
    schema = answer["content"]["application/json"]["schema"]
    assert not list(_validator(orjson.dumps(schema)).iter_errors(told)), told


@cache
def _validator(schema: bytes) -> Draft202012Validator:
    return Draft202012Validator({**orjson.loads(schema), "components": DOCUMENT["components"]})

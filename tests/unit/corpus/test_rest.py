"""The corpus of bad requests, over a real socket: each has its answer, and nothing behind it hears of it."""

import re
from collections.abc import Iterable, Iterator, Mapping

import orjson
import pytest
from starlette.routing import BaseRoute, Route

from tests.unit.corpus.cases import Case, as_bytes, cases, made, tells_nothing
from tests.unit.corpus.worker import GOOD, Heard, Worker, exchange, request, working
from wrackline.schemas.kafka.signals import SIZE_MAX

GROUPS = ("paths", "bodies", "heads", "settings")
JSON = {"Content-Type": "application/json"}
SIGNAL = b'{"type":"execute-snapshot","data":{"data-collections":["public.orders"]}}'
LONGEST_ERROR = 1500
READ_AT_MOST = 50_000_000  # of 100 MB; the sockets between hold some


@pytest.fixture(scope="module")
def serves() -> Iterator[Worker]:
    with working() as one:
        yield one


@pytest.fixture
def worker(serves: Worker, caplog: pytest.LogCaptureFixture) -> Iterator[Worker]:
    serves.crew.wished.clear()
    serves.desk.bodies.clear()
    yield serves
    tells_nothing(caplog.text)


def asked(worker: Worker, ask: str, headers: Mapping[str, str] = JSON, body: bytes = b"") -> Heard:
    heard = exchange(worker.port, request(ask, headers, body))
    tells_nothing(heard.head, heard.body.decode("utf-8", "replace"))
    if heard.status >= 400 and heard.document is not None:
        assert heard.document["error_code"] == heard.status
        assert heard.document["message"]
        assert len(heard.body) < LONGEST_ERROR, "what was sent is not sent back"
    return heard


def body_of(case: Case) -> bytes:
    if "settings" not in case:
        return as_bytes(case.get("body", ""))
    given = {"name": "shop", **GOOD, **{made(name): made(value) for name, value in case["settings"].items()}}

    return orjson.dumps({name: value for name, value in given.items() if value is not None})


@pytest.mark.parametrize("case", cases("rest", *GROUPS))
def test_a_bad_request_has_its_answer_and_changes_nothing(case: Case, worker: Worker) -> None:
    """A-DATA-02."""
    headers = {**JSON, **{name: made(value) for name, value in case.get("headers", {}).items()}}
    body = body_of(case)
    heard = asked(worker, made(case["ask"]), headers, body)
    told = heard.document if isinstance(heard.document, dict) else {}
    assert (heard.status, told.get("code")) == (case["status"], case.get("code")), heard
    if "settings" in case and heard.status == 200:
        assert faults(heard) == {made(name): codes.split() for name, codes in case.get("faults", [])}
    assert heard.unsent >= len(body) - READ_AT_MOST, "what is too large is not read to its end"
    reached = case.get("reaches", [])
    assert [*map(list, worker.crew.wished), *(["sent"] for _ in worker.desk.bodies)] == reached


def faults(heard: Heard) -> Mapping[str, list[str]]:
    """The codes of a validated configuration, by setting."""
    told = {one["value"]["name"]: one["value"]["errors"] for one in heard.document["configs"]}
    return {
        name: [re.findall(r"^\[([a-z_.]+)\]", text)[0] for text in texts]
        for name, texts in told.items()
        if texts
    }


@pytest.mark.parametrize("case", cases("rest", "wire"))
def test_what_is_no_http_of_ours_is_refused(case: Case, worker: Worker) -> None:
    heard = exchange(worker.port, as_bytes(case["send"]))
    tells_nothing(heard.head, heard.body.decode("utf-8", "replace"))
    assert heard.status == case["status"], heard
    assert not worker.crew.wished
    assert not worker.desk.bodies
    assert asked(worker, "GET /health").status == 200, "others are served as before"


def every_route(worker: Worker) -> Iterator[tuple[str, str]]:
    """Each path with a method that it takes, from the application itself."""
    pages = {"/openapi.json"}  # the framework's own
    for route in routes_of(worker.application.routes):
        if route.path not in pages and not route.path.startswith("/console"):  # for people
            yield from ((method, route.path) for method in sorted(route.methods or ()))


def routes_of(listed: Iterable[BaseRoute]) -> Iterator[Route]:
    """All routes, with those of included routers."""
    for one in listed:
        inner = getattr(one, "original_router", None)
        if inner is not None:
            yield from routes_of(inner.routes)
        else:
            assert isinstance(one, Route), "what is mounted another way needs cases too"
            yield one


def test_each_route_has_its_cases(worker: Worker) -> None:
    """A-ROLE-06."""
    listed = [tuple(one.values[0]["route"].split()) for one in cases("rest", "routes")]
    assert sorted(listed) == sorted(every_route(worker)), "a new route needs a line in rest/routes.jsonl"


@pytest.mark.parametrize("case", cases("rest", "routes"))
def test_each_route_refuses_what_is_not_for_it(case: Case, worker: Worker) -> None:
    method, path = case["route"].split()
    known = path.replace(":path", "").format(
        name=case.get("of", "shop"),
        task="0",
        id="one",
        table="shop.public.orders",
        ns="default",
        generation="1",
        instance="0",
    )
    wrong = asked(worker, f"{case['wrong_method']} {known}")
    assert wrong.status == 405
    assert "allow:" in wrong.head.lower()
    assert not worker.crew.wished
    if "{name}" in path:
        unknown = known.replace(f"/{case.get('of', 'shop')}", "/nobody", 1)
        heard = asked(worker, f"{method} {unknown}", JSON, SIGNAL if method == "POST" else b"{}")
        assert (heard.status, heard.document["code"]) == tuple(case["unknown"])
    assert not worker.crew.wished
    large = asked(worker, f"{method} {known}", JSON, b"x" * (SIZE_MAX + 4096))
    assert large.status == case["oversized"]
    other = asked(worker, f"{method} {known}", {"Content-Type": "text/plain"}, b"{}")
    assert other.status == case["other_type"]
    assert not worker.desk.bodies
    assert asked(worker, f"{method} {known}", {"Origin": "http://evil.example"}).status == 403
    assert asked(worker, f"{method} {known}", {"Host": "evil.example"}).status == 400


def test_the_cases_are_those_promised() -> None:
    assert len(cases("rest", *GROUPS, "wire", "routes")) >= 110

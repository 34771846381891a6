"""The corpus of what is written to a group, over a real socket: each has its answer, and no bad one is kept.

In: `rest/writes.jsonl`.  Out: nothing of what was refused is kept, said or logged.
"""

from collections.abc import Iterator

import orjson
import pytest

from tests.unit.corpus.cases import Case, as_bytes, cases, made, tells_nothing
from tests.unit.corpus.worker import GOOD, Group, exchange, request, writing

JSON = {"Content-Type": "application/json"}
LONGEST_ERROR = 2500
READ_AT_MOST = 50_000_000  # of 100 MB; the sockets between hold some


@pytest.fixture(scope="module")
def serves() -> Iterator[tuple[int, Group]]:
    with writing() as both:
        yield both


@pytest.fixture
def worker(serves: tuple[int, Group], caplog: pytest.LogCaptureFixture) -> Iterator[tuple[int, Group]]:
    serves[1].begin_anew()
    yield serves
    tells_nothing(caplog.text)


def body_of(case: Case) -> bytes:
    """A body as it stands, or good settings changed; `connector` is what stands beside them for POST."""
    if "settings" not in case:
        return as_bytes(case.get("body", ""))
    changed = {made(name): made(value) for name, value in case["settings"].items()}
    many = {f"many.{number}": "x" for number in range(changed.pop("many", 0))}
    config = {name: value for name, value in {**GOOD, **many, **changed}.items() if value is not None}
    if "connector" not in case:
        return orjson.dumps(config)
    beside = {name: made(value) for name, value in case["connector"].items()}
    return orjson.dumps({"name": "new", "config": config, **beside})


@pytest.mark.parametrize("case", cases("rest", "writes"))
def test_what_is_written_has_its_answer_and_bad_ones_change_nothing(
    case: Case, worker: tuple[int, Group]
) -> None:
    port, group = worker
    before = {name: group.stored_settings(name) for name in group.names()}
    body = body_of(case)
    headers = {name: value for name, value in {**JSON, **case.get("headers", {})}.items() if value}
    heard = exchange(port, request(case["ask"], headers, body))
    tells_nothing(heard.head, heard.body.decode("utf-8", "replace"))
    told = heard.document if isinstance(heard.document, dict) else {}
    assert (heard.status, told.get("code")) == (case["status"], case.get("code")), heard
    assert group.asked == case.get("reaches", [])
    assert heard.unsent >= len(body) - READ_AT_MOST, "what is too large is not read to its end"
    if heard.status >= 400:
        assert (told["error_code"], bool(told["message"])) == (heard.status, True)
        assert len(heard.body) < LONGEST_ERROR, "what was sent is not sent back"
        assert {name: group.stored_settings(name) for name in group.names()} == before
    elif "***" in str(case):
        assert group.stored_settings("shop") == {"name": "shop", **GOOD}, (
            "the stars stand for what was stored"
        )


def test_the_cases_are_those_promised() -> None:
    assert len(cases("rest", "writes")) >= 150

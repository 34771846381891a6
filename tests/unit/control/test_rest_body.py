"""A request whose client hangs up before its body is whole: nothing of it is done, by whichever worker."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from wrackline.control.runtime.rest.model.kept_answers import AnswersInMemory
from wrackline.control.runtime.rest.server.forward import Forward
from wrackline.control.runtime.rest.server.once import Once

DEPLOY = "/v1/contexts/default/drafts/shop/deploy"  # without a body it makes a pipeline that runs
NOBODY = "http://127.0.0.1:1"


async def never(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError(scope, receive, send)


LAYERS: dict[str, Callable[[], ASGIApp]] = {
    "it is forwarded": lambda: Forward(never, lambda: NOBODY, None),
    "it is done here": lambda: Forward(never, lambda: None, None),
    "it has a key": lambda: Once(never, AnswersInMemory(), print),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_a_request_whose_body_does_not_come_whole_is_not_done(layer: str) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"40"), (b"idempotency-key", b"k")]
    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": DEPLOY, "raw_path": DEPLOY.encode(),
        "query_string": b"", "headers": headers,
    }  # fmt: skip
    come: list[Message] = [
        {"type": "http.request", "body": b'{"initial_state": "STO', "more_body": True},
        {"type": "http.disconnect"},
    ]
    said: list[Message] = []

    async def receive() -> Message:
        return come.pop(0)

    async def send(message: Message) -> None:
        said.append(message)

    async def ask() -> None:
        await LAYERS[layer]()(scope, receive, send)

    asyncio.run(ask())
    assert said[0]["status"] == 400
    assert orjson.loads(said[1]["body"])["code"] == "rest.incomplete"

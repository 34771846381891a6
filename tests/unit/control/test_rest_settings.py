"""Where a worker may listen, and what it has to ask for there."""

import asyncio
import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wrackline.control.runtime.rest.server import listener as rest_listening
from wrackline.control.runtime.rest.server.connection_counts import ConnectionCounts
from wrackline.control.runtime.rest.server.listener import listen
from wrackline.control.runtime.rest.server.rest_settings import RestSettings, listen_address
from wrackline.schemas.errors import OperatorNeeded

OUTSIDE = "192.0.2.7"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tested
SAFE = RestSettings(0, users=Path("u"), certificate=Path("c"), key=Path("k"), advertised="w1.example:8083")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.5.0.1", "localhost", "::1"])
def test_this_machine_alone_needs_nothing(host: str) -> None:
    """A-LOGIN-02."""
    assert listen_address(RestSettings(0, host)).place[1] == 0


@pytest.mark.parametrize("host", [EVERYWHERE, "::", OUTSIDE, "2001:db8::1", "::ffff:127.0.0.1", "0", "0x0"])
@pytest.mark.parametrize(
    ("left_out", "code"),
    [
        ({"users": None}, "rest.no_login"),
        ({"certificate": None, "key": None}, "rest.no_tls"),
    ],
)
def test_beyond_it_log_in_and_tls_are_needed(host: str, left_out: dict[str, Any], code: str) -> None:
    """A-LOGIN-01."""
    with pytest.raises(OperatorNeeded) as told:
        listen_address(replace(SAFE, host=host, **left_out))
    assert told.value.code == code
    listen_address(replace(SAFE, host=host))


def test_a_proxy_that_ends_tls_is_asked_for_by_name() -> None:
    proxied = replace(SAFE, host=OUTSIDE, certificate=None, key=None, tls_ends_before=True)
    listen_address(proxied)
    assert proxied.scheme == "https", "as others reach it"
    for here in ("127.0.0.1:28083", "[::1]:28083", "localhost:28083"):  # a container's published port
        assert replace(proxied, advertised=here).scheme == "http"
    with pytest.raises(OperatorNeeded, match=r"rest\.no_login"):
        listen_address(replace(proxied, users=None))


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"host": "no such host"}, "rest.no_host"),
        ({"host": "a" * 70}, "rest.no_host"),
        ({"host": EVERYWHERE, "advertised": None}, "rest.no_name"),
        ({"host": "0", "advertised": None}, "rest.no_name"),
        *(
            ({"advertised": text}, "rest.no_name")
            for text in (
                "w1",
                "w1:0",
                "w1:65536",
                "http://w1:1",
                "a b:1",
                "u@w:1",
                "0.0.0.0:1",
                "[::]:1",
                ":1",
            )
        ),
        ({"names": ("*",)}, "rest.no_name"),
        ({"names": ("w1:8083",)}, "rest.no_name"),
        ({"certificate": None}, "rest.no_certificate"),
        ({"certificate": None, "key": None, "client_ca": Path("a")}, "rest.no_certificate"),
    ],
)
def test_settings_of_no_use_are_reported(wrong: dict[str, Any], code: str) -> None:
    with pytest.raises(OperatorNeeded) as told:
        listen_address(replace(SAFE, **wrong))
    assert told.value.code == code


def test_a_worker_is_heard_by_all_of_its_names_and_no_other() -> None:
    own = {"127.0.0.1", "localhost", "[::1]"}
    assert RestSettings(0).hosts == own
    assert replace(SAFE, host=EVERYWHERE, names=("Wrackline",)).hosts == own | {"w1.example", "wrackline"}
    assert replace(SAFE, host="2001:db8::1", advertised=None).hosts == own | {"[2001:db8::1]"}


def test_a_worker_is_named_as_others_reach_it() -> None:
    assert RestSettings(0).worker(8083) == "127.0.0.1:8083"
    assert RestSettings(0, "::1").worker(8083) == "[::1]:8083"
    assert SAFE.worker(1) == "w1.example:8083"


@pytest.mark.parametrize(("of_one", "bound"), [(160, 160), (1000, 200)])
def test_one_connection_too_many_is_closed_and_one_that_leaves_makes_room(
    monkeypatch: pytest.MonkeyPatch, of_one: int, bound: int
) -> None:
    monkeypatch.setattr(rest_listening, "_OF_ONE", of_one)
    with listen(listen_address(RestSettings(0))) as listening, ExitStack() as held:
        where = listening.getsockname()
        taken = []
        for _ in range(bound):
            held.enter_context(socket.create_connection(where))
            taken.append(held.enter_context(listening.accept()[0]))
        with socket.create_connection(where) as late:
            with pytest.raises(ConnectionAbortedError):
                listening.accept()
            assert late.recv(1) == b""
        taken.pop().close()
        with socket.create_connection(where):
            listening.accept()[0].close()
        assert listening.open.total == bound - 1
        for one in taken:
            one.close()
        assert (listening.open.total, listening.open.neighbours) == (0, {})


@pytest.mark.parametrize(
    ("one", "another", "counts"),
    [
        ("127.0.0.1", "127.9.8.7", 2),
        ("127.0.0.1", "::ffff:127.0.0.1", 2),
        ("192.0.2.1", "::ffff:192.0.2.1", 2),
        ("192.0.2.1", "192.0.2.2", 1),
        ("2001:db8::1", "2001:db8::ffff:1:2:3", 2),
        ("2001:db8::1", "2001:db8:0:1::1", 1),
        ("fe80::1%eth0", "fe80::2", 2),
    ],
)
def test_addresses_of_one_host_share_its_connections(one: str, another: str, counts: int) -> None:
    shares = ConnectionCounts()
    shares.begin(one)
    shares.begin(another)
    assert (shares.of(one), shares.total) == (counts, 2)
    shares.end(one)
    shares.end(another)
    assert (shares.total, shares.neighbours) == (0, {})


def test_a_small_answer_is_sent_at_once() -> None:
    async def waits_for_nothing(listening: socket.socket) -> bool:
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def take(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            own = writer.get_extra_info("socket")
            taken.set_result(bool(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
            writer.close()
            await writer.wait_closed()

        async with await asyncio.start_server(take, sock=listening):
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            await reader.read()
            writer.close()
            await writer.wait_closed()
            return await taken

    assert asyncio.run(waits_for_nothing(listen(listen_address(RestSettings(0)))))

"""Lineage events on their way out, with real servers: good ones, slow ones, and those that send on."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import run
from sys import executable
from threading import Event, Thread

import orjson
import pytest

from wrackline.control.runtime.lineage import sending
from wrackline.control.runtime.lineage.sending import NotTakenError, Outbox, file_sender, http_sender
from wrackline.schemas.errors import WracklineError
from wrackline.schemas.redaction import Secret

KEY = "c4n4ry-key"


class Receiver(ThreadingHTTPServer):
    """Answers each request as the test says, and remembers what came."""

    daemon_threads = True

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.came: list[tuple[str, str | None, bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.came.append((self.path, self.headers["Authorization"], body))
                answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own name
                del format, args

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/api/v1/lineage?x=1"


def says(status: int, **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


@contextmanager
def receiving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[Receiver]:
    with Receiver(answer) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def told() -> list[WracklineError]:
    return []


def test_events_arrive_whole_and_in_order(told: list[WracklineError]) -> None:
    with receiving(says(201)) as server:
        outbox = Outbox(http_sender(server.url, Secret(KEY)), "there", told.append)
        for number in range(20):
            outbox.offer({"number": number})
        outbox.close()
        assert [orjson.loads(body)["number"] for _, _, body in server.came] == list(range(20))
        assert {(path, log_in) for path, log_in, _ in server.came} == {
            ("/api/v1/lineage?x=1", f"Bearer {KEY}")
        }
    assert told == []


def test_a_redirect_is_not_followed(told: list[WracklineError]) -> None:
    """A-HOST-07."""
    with receiving(says(200)) as elsewhere:
        for status in (301, 302, 303, 307, 308):
            with receiving(says(status, Location=elsewhere.url)) as server:
                outbox = Outbox(http_sender(server.url, Secret(KEY)), "there", told.append)
                outbox.offer({})
                outbox.close()
                assert len(server.came) == 1
        assert elsewhere.came == []
    assert [error.code for error in told] == ["lineage.not_sent", "lineage.lost"] * 5
    assert "it answers 307" in str(told[6])
    assert KEY not in str(told)


def test_a_passing_fault_is_tried_again(told: list[WracklineError], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_WAIT", 0.01)
    answers = iter([503, 429, 200, 400, 500, 500, 500])
    whole = Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        says(next(answers))(handler)
        if len(server.came) == 7:
            whole.set()

    with receiving(answer) as server:
        outbox = Outbox(http_sender(server.url, None), "there", told.append)
        for number in range(3):
            outbox.offer(number)
        assert whole.wait(60)
        outbox.close()
        assert [body for _, _, body in server.came] == [b"0"] * 3 + [b"1"] + [b"2"] * 3
    first, last = told
    assert (first.code, last.code) == ("lineage.not_sent", "lineage.lost")
    assert "it answers 400" in first.sentence, "said once, of the first"
    assert last.sentence.startswith("2 lineage events")


def test_nobody_waits_for_a_receiver_that_does_not_answer(
    told: list[WracklineError], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "MOST_WAITING", 10)
    monkeypatch.setattr(sending, "LAST_WORD", 0.2)
    arrived, leave = Event(), Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        del handler
        arrived.set()
        leave.wait(60)

    with receiving(answer) as server:
        outbox = Outbox(http_sender(server.url, None), "there", told.append)
        outbox.offer(0)
        assert arrived.wait(60)
        for number in range(1, 101):  # nobody takes any of them meanwhile
            outbox.offer(number)
        assert len(told) == 1
        outbox.close()
        leave.set()
    assert "too many wait" in told[0].sentence
    assert told[1].sentence.startswith("101 lineage events"), "one under way, ten that wait, ninety let go"


def test_an_answer_sent_byte_by_byte_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_PATIENCE", 0.2)
    leave = Event()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 2")
        handler.wfile.flush()
        leave.wait(60)

    with receiving(answer) as server:
        with pytest.raises(NotTakenError) as caught:
            http_sender(server.url, None)(b"{}")
        leave.set()
    assert caught.value.later


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x00" * 100_000])
def test_what_is_no_http_is_no_crash(answer: bytes) -> None:
    def garbage(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(answer)
        handler.close_connection = True

    with receiving(garbage) as server, pytest.raises(NotTakenError):
        http_sender(server.url, None)(b"{}")


def test_an_outbox_that_has_nothing_to_do_ends_at_once() -> None:
    Outbox(lambda _: None, "", lambda _: None).close()
    assert not [one for one in threading.enumerate() if one.name == "lineage"]


def test_a_file_has_one_event_a_line_though_several_writers_append(tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    outboxes = [Outbox(file_sender(file), "there", lambda _: None) for _ in range(4)]
    for number in range(200):
        for outbox in outboxes:
            outbox.offer({"number": number, "padding": "x" * 2000})
    for outbox in outboxes:
        outbox.close()
    lines = [orjson.loads(line) for line in file.read_bytes().splitlines()]
    assert sorted(line["number"] for line in lines) == sorted(list(range(200)) * 4)


def test_a_file_that_cannot_be_written_is_reported_once(tmp_path: Path, told: list[WracklineError]) -> None:
    outbox = Outbox(file_sender(tmp_path), str(tmp_path), told.append)
    for number in range(5):
        outbox.offer(number)
    outbox.close()
    assert [error.code for error in told] == ["lineage.not_sent", "lineage.lost"]
    assert "Is a directory" in told[0].sentence
    assert "5 lineage events" in told[1].sentence


def test_an_event_that_is_no_json_is_let_go(told: list[WracklineError]) -> None:
    outbox = Outbox(lambda _: None, "there", told.append)
    outbox.offer({"name": "\udc80"})
    outbox.close()
    assert [error.code for error in told] == ["lineage.not_sent", "lineage.lost"]


FULL = """
import resource, signal, sys
from pathlib import Path
from wrackline.control.runtime.lineage.sending import (NotTakenError, file_sender)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
send = file_sender(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (15, 99))
send(b"0123456789")
for _ in range(2):
    try:
        send(b"0123456789")
    except NotTakenError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (99, 99))
send(b"whole again")
"""


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    done = run([executable, "-c", FULL, str(tmp_path / "f")], capture_output=True, text=True, check=True)
    assert done.stdout == "it is full\nFile too large\n"
    assert (tmp_path / "f").read_text() == "0123456789\n0123\nwhole again\n"

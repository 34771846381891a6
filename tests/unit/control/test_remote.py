"""A worker is controlled from the command line: over a real socket, with a fake worker."""

import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import orjson
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.unit.console.made_promise import report
from tests.unit.control.test_connector_states import with_tasks
from tests.unit.corpus.worker import working
from wrackline.control.cli import command_line
from wrackline.control.cli.remote import remote_commands, worker_access
from wrackline.control.cli.remote.worker_client import NO_WORKER
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.slo.slo_answer import slo_answer
from wrackline.schemas.errors import WracklineError

CANARY = "c4n4ry-hunter2"
HOST = "127.0.0.1"


@dataclass
class Told:
    """What a worker answers next, and what it was asked."""

    answers: list[tuple[int, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    url: str = ""

    def states(self, *states: str, trace: str = "") -> None:
        """Answer to the looks at a connector with these states, and to each verb with 202."""
        for state in states:
            self.answers.append((200, status(state, trace)))


def status(state: str, trace: str = "") -> dict[str, Any]:
    rests = state in ("PAUSED", "STOPPED")
    why = {"trace": trace} if trace else {}
    tasks = [] if state == "STOPPED" else [{"id": 0, "state": state, "worker_id": "w:1", **why}]
    return {
        "name": "shop",
        "connector": {"state": state if rests else "RUNNING", "worker_id": "w:1"},
        "tasks": tasks,
    }


@pytest.fixture
def worker() -> Iterator[Told]:
    with serving(Told()) as told:
        yield told


class serving:  # noqa: N801 - a block
    """Listen until the block ends."""

    def __init__(self, told: Told, tls: ssl.SSLContext | None = None) -> None:
        class Answers(BaseHTTPRequestHandler):
            def answer(self) -> None:
                told.asked.append(f"{self.command} {self.path}")
                told.headers.append(dict(self.headers))
                told.bodies.append(self.rfile.read(int(self.headers.get("Content-Length", 0))))
                code, document = told.answers.pop(0)
                body = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_PUT = do_POST = answer  # noqa: N815 - the library's names

            def log_message(self, *_: object) -> None:
                pass

        self.told, self.server = told, HTTPServer((HOST, 0), Answers)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        told.url = f"{'https' if tls else 'http'}://{HOST}:{self.server.server_port}"
        self.thread = Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Told:
        self.thread.start()
        return self.told

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@dataclass
class Ended:
    code: int
    out: str
    err: str


class Wrackline:
    """The command line, over one worker."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.url, self.capsys = url, capsys

    def __call__(self, *words: str) -> Ended:
        with pytest.raises(SystemExit) as ended:
            command_line.main([*words, "--rest", self.url])
        assert isinstance(ended.value.code, int)
        said = self.capsys.readouterr()
        return Ended(ended.value.code, said.out, said.err)


@pytest.fixture
def wrackline(worker: Told, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Wrackline:
    monkeypatch.setattr(remote_commands, "_LOOK", 0.0)
    for variable in (worker_access.ADDRESS, worker_access.PASSWORD, worker_access.TOKEN, worker_access.CA):
        monkeypatch.delenv(variable, raising=False)
    return Wrackline(worker.url, capsys)


@pytest.mark.parametrize(
    ("verb", "asked"),
    [
        (["pause"], "PUT /connectors/shop/pause"),
        (["resume"], "PUT /connectors/shop/resume"),
        (["stop"], "PUT /connectors/shop/stop"),
        (["pause", "--half", "target"], "PUT /connectors/shop/tasks/1/pause"),
        (["resume", "--half", "source"], "PUT /connectors/shop/tasks/0/resume"),
        (["restart"], "POST /connectors/shop/restart?includeTasks=true&onlyFailed=false"),
        (["restart", "--only-failed"], "POST /connectors/shop/restart?includeTasks=true&onlyFailed=true"),
    ],
)
def test_a_verb_is_asked_as_kafka_connect_takes_it(
    wrackline: Wrackline, worker: Told, verb: list[str], asked: str
) -> None:
    worker.states("RUNNING")
    worker.answers.append((202, b""))
    said = wrackline(verb[0], "shop", *verb[1:])
    assert (said.code, said.out) == (Exit.OK, f"shop: asked to {verb[0]}; see: wrackline connectors\n")
    assert worker.asked == ["GET /connectors/shop/status", asked]


@pytest.mark.parametrize(
    ("verb", "states", "last"),
    [
        ("pause", ["RUNNING", "RUNNING", "PAUSED"], "shop is PAUSED"),
        ("pause", ["FAILED", "FAILED", "PAUSED"], "shop is PAUSED"),
        ("stop", ["RUNNING", "RUNNING", "STOPPED"], "shop is STOPPED"),
        ("resume", ["PAUSED", "PAUSED", "UNASSIGNED", "RUNNING"], "shop is RUNNING"),
        ("resume", ["RUNNING", "RUNNING"], "shop is RUNNING"),
        ("restart", ["RUNNING", "RUNNING", "UNASSIGNED", "RUNNING"], "shop is RUNNING"),
        ("restart", ["FAILED", "FAILED", "UNASSIGNED", "RUNNING"], "shop is RUNNING"),
        ("restart", ["PAUSED", "PAUSED"], "shop is PAUSED; restart does not change that, resume does"),
        ("restart --only-failed", ["RUNNING", "RUNNING"], "shop is RUNNING"),
        ("restart --only-failed", ["FAILED", "FAILED", "RESTARTING", "RUNNING"], "shop is RUNNING"),
    ],
)
def test_it_waits_until_what_was_asked_for_is_so(
    wrackline: Wrackline, worker: Told, verb: str, states: list[str], last: str
) -> None:
    worker.states(states[0])
    worker.answers.append((202, b""))
    worker.states(*states[1:])
    word, *flags = verb.split()
    said = wrackline(word, "shop", *flags, "--wait", "60")
    assert (said.code, said.out.strip()) == (Exit.OK, last)
    assert not worker.answers, "it looked until then and no longer"


@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_one_that_fails_again_says_why(wrackline: Wrackline, worker: Told, json_too: list[str]) -> None:
    worker.states("FAILED", trace="[a.b] old")
    worker.answers.append((202, b""))
    worker.states("FAILED", trace="[a.b] old")
    worker.states("UNASSIGNED")
    worker.states("FAILED", trace="[c.d] new\x1b[2J\n  hint: fix")
    said = wrackline("restart", "shop", "--wait", "60", *json_too)
    assert said.code == Exit.OPERATOR
    assert "[remote.has_failed] shop is FAILED: [c.d] new" in said.err
    assert "\x1b" not in said.err + said.out
    assert not json_too or json.loads(said.out)["error"]["code"] == "remote.has_failed"


def test_waiting_has_an_end(wrackline: Wrackline, worker: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    worker.states("RUNNING")
    worker.answers.append((202, b""))
    worker.states("RUNNING", "RUNNING")
    ticks = iter([0.0, 1.0, 1.0, 5.0, 6.0])
    monkeypatch.setattr(remote_commands, "_clock", lambda: next(ticks))
    said = wrackline("pause", "shop", "--wait", "5")
    assert said.code == Exit.TRANSIENT
    assert "[remote.not_yet] shop was asked to pause, and is RUNNING after 5 s" in said.err


def test_a_list_has_the_connectors_own_state_and_those_of_its_tasks(
    wrackline: Wrackline, worker: Told
) -> None:
    listed = {
        "both": with_tasks("RUNNING", "RUNNING"),
        "one": with_tasks("RUNNING", "PAUSED", "RUNNING"),
        "starts": with_tasks("UNASSIGNED", "RUNNING"),
        "all": with_tasks("PAUSED", "PAUSED", own="PAUSED"),
        "ended": with_tasks(own="STOPPED"),
        "failed": with_tasks("RUNNING", "FAILED"),
    }
    answer = {name: {"status": status} for name, status in listed.items()}
    worker.answers += [(200, answer), (200, answer)]
    said = wrackline("connectors")
    assert (said.code, [" ".join(line.split()) for line in said.out.splitlines()]) == (
        Exit.OPERATOR,
        [
            "all PAUSED c",
            "both RUNNING c",
            "ended STOPPED c",
            "failed FAILED w1",
            "tasks: 0 RUNNING; 1 FAILED",
            "one RUNNING c",
            "tasks: 0, 2 RUNNING; 1 PAUSED",
            "starts RUNNING c",
            "tasks: 0 UNASSIGNED; 1 RUNNING",
        ],
    )
    found = {one["name"]: one for one in json.loads(wrackline("connectors", "--json").out)["connectors"]}
    assert (found["one"]["state"], found["one"]["tasks"][1]) == ("RUNNING", {"id": 1, "state": "PAUSED"})
    assert found["ended"]["tasks"] == []


def test_a_file_names_its_connector_whatever_else_is_in_it(
    wrackline: Wrackline, worker: Told, tmp_path: Path
) -> None:
    file = tmp_path / "a.toml"
    file.write_text('name = "my/shop?"\n[source]\ndatabase.password = "${env:NOT_THERE}"')
    worker.states("PAUSED")
    worker.answers.append((202, b""))
    assert wrackline("resume", str(file)).code == Exit.OK
    assert worker.asked[1] == "PUT /connectors/my%2Fshop%3F/resume"
    file.write_text("[source]")
    assert "[remote.no_name]" in wrackline("resume", str(file)).err
    file.write_text("name = ")
    assert "[pipeline.syntax]" in wrackline("resume", str(file)).err


def test_connectors_are_listed_with_their_states(wrackline: Wrackline, worker: Told) -> None:
    told = {name: {"status": status(state, trace)} for name, state, trace in (
        ("shop", "RUNNING", ""), ("orders", "FAILED", "[a.b] it\x1b]0;x\n  hint: do"),
    )}  # fmt: skip
    told["shop"]["status"]["tables_with_errors"] = {"count": 1200, "first": []}
    told["shop"]["status"]["databases_with_errors"] = {"count": 3, "first": []}
    worker.answers += [(200, told), (200, told), (200, {})]
    said = wrackline("connectors")
    assert said.out.splitlines() == [
        "orders  FAILED      w:1",
        "  [a.b] it\\u001b]0;x",
        "  hint: do",
        "shop    RUNNING     w:1",
        "  databases with errors: 3; which: GET /connectors/shop/status",
        "  tables with errors: 1,200; which: GET /connectors/shop/tables",
    ]  # fmt: skip
    assert said.code == Exit.OPERATOR
    strange = {**status("UP\x1b[2J"), "tables_with_errors": {"count": "\x1b"}}
    worker.answers.insert(0, (200, {"a": {"status": strange}}))
    assert "\x1b" not in wrackline("connectors").out
    (first, second) = json.loads(wrackline("connectors", "--json").out)["connectors"]
    assert (first["name"], first["state"], second["trace"]) == ("orders", "FAILED", None)
    assert (first["tables_with_errors"], second["tables_with_errors"]) == (0, 1200)
    assert wrackline("connectors").out == "the worker has no connectors\n"


@pytest.mark.parametrize(("answer", "done"), [(201, "made"), (200, "changed")])
@pytest.mark.parametrize("form", ["toml", "json", "flat"])
def test_settings_are_applied_as_they_stand(
    wrackline: Wrackline, worker: Told, tmp_path: Path, answer: int, done: str, form: str
) -> None:
    config = {"name": "shop", "database.password": "${env:NOT_THERE}", "tasks.max": "1"}
    file = tmp_path / f"shop.{'toml' if form == 'toml' else 'json'}"
    texts = {
        "toml": 'name = "shop"\ntasks.max = 1\n[source]\ndatabase.password = "${env:NOT_THERE}"',
        "json": json.dumps({"name": "shop", "config": config}),
        "flat": json.dumps(config),
    }
    file.write_text(texts[form])
    worker.answers.append((answer, {"name": "shop"}))
    said = wrackline("apply", str(file), "--json")
    assert json.loads(said.out) == {"name": "shop", "done": done}
    assert worker.asked == ["PUT /connectors/shop/config"]
    assert json.loads(worker.bodies[0]) == config


def test_apply_shows_what_the_worker_warns_of(wrackline: Wrackline, worker: Told, tmp_path: Path) -> None:
    file = tmp_path / "shop.json"
    file.write_text('{"name": "shop", "poll.interval.ms": "1"}')
    warning = {"setting": "a", "code": "settings.not_honoured", "sentence": "no\x1b", "hint": "take it out"}
    answer = {"name": "shop", "warnings": [warning, {"code": 1}, 1]}
    worker.answers += [(201, answer), (200, answer), (201, {"name": "shop", "warnings": 1})]
    said = wrackline("apply", str(file))
    assert said.out.splitlines() == [
        "shop: made; see: wrackline connectors",
        "warning [settings.not_honoured] no\\u001b",
        "  hint: take it out",
    ]
    told = json.loads(wrackline("apply", str(file), "--json").out)
    assert told == {"name": "shop", "done": "changed", "warnings": [warning]}
    assert json.loads(wrackline("apply", str(file), "--json").out) == {"name": "shop", "done": "made"}


def test_how_a_promise_went_is_shown_and_a_broken_one_needs_somebody(
    wrackline: Wrackline, worker: Told
) -> None:
    broken, kept = (orjson.loads(orjson.dumps(slo_answer("shop", report(bad)))) for bad in (5, 4))
    worker.answers += [(200, broken), (200, kept), (200, {"pipeline": "shop", "promise": None}), (200, kept)]
    said = wrackline("slo", "shop")
    assert said.code == Exit.OPERATOR
    lines = said.out.splitlines()
    assert lines[0] == "shop: copies at most 5 min old, in 99.9 % of the minutes of 3 days"
    assert "99.68 % good, 5 bad, 20 paused, 42 % of the budget left; 1 of 2 tables broke it" in lines[1]
    assert lines[2] == "  shop.public.stuck  99.35 % good, 5 bad, 10 paused, -16 % of the budget left"
    said = wrackline("slo", "shop")
    assert (said.code, "kept for all 2 tables" in said.out) == (Exit.OK, True)
    assert "slo.minutes = 5" in wrackline("slo", "shop").out
    assert json.loads(wrackline("slo", "shop", "--table", "a b", "--json").out) == kept
    assert worker.asked[-1] == "GET /connectors/shop/slo?table=a%20b"


@pytest.mark.parametrize(
    "wrong", [[], "x", {}, {"promise": {}}, {"promise": {"minutes": 5, "percent": "x", "window_days": 3}}]
)
def test_what_no_worker_of_ours_answers_about_a_promise_is_refused(
    wrackline: Wrackline, worker: Told, wrong: object
) -> None:
    worker.answers += [(200, wrong)]
    said = wrackline("slo", "shop")
    assert (said.code, NO_WORKER.code in said.err) == (Exit.OPERATOR, True)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"name": 1}', '{"name": "a", "config": []}', '{"config": {}}']
)
def test_what_is_no_connector_is_not_applied(
    wrackline: Wrackline, worker: Told, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "shop.json"
    file.write_text(text)
    said = wrackline("apply", str(file))
    assert (said.code, worker.asked) == (Exit.DEFINITE, [])
    assert "[remote.no_name]" in said.err


@pytest.mark.parametrize(
    ("answer", "code", "shown"),
    [
        ((404, {"message": "n\x1b", "code": "rest.no_connector", "hint": "h\x1b"}), 5, "rest.no_connector"),
        ((503, {"error_code": 503, "message": "no", "code": "zz.unknown", "hint": "h"}), 3, "zz.unknown"),
        ((409, {"error_code": 409, "message": "rebalance"}), 3, "remote.busy"),
        ((404, {"error_code": 404, "message": "Connector x not found"}), 5, "remote.refused"),
        ((401, {"error_code": 401, "message": "who?"}), 4, "remote.log_in"),
        ((403, b"<html>"), 4, "remote.log_in"),
        ((500, b"<html>"), 4, "remote.no_worker"),
        ((200, b"<html>"), 4, "remote.no_worker"),
        ((200, []), 4, "remote.no_worker"),
        ((200, {"shop": 1}), 4, "remote.no_worker"),
        ((200, {"shop": {"status": {"connector": {}, "tasks": None}}}), 4, "remote.no_worker"),
        ((302, b""), 4, "remote.no_worker"),
        ((404, {"message": "n", "code": "zz\x1b[2J"}), 5, "zz\\u001b[2J"),
    ],
)  # fmt: skip
def test_an_error_keeps_its_code_or_gets_one(
    wrackline: Wrackline, worker: Told, answer: tuple[int, Any], code: int, shown: str
) -> None:
    worker.answers.append(answer)
    said = wrackline("connectors")
    assert (said.code, len(worker.asked)) == (code, 1), said.err
    assert f"[{shown}]" in said.err
    assert "\x1b" not in said.err


def test_a_worker_of_files_says_that_it_makes_no_connectors(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "new.json"
    file.write_text('{"name": "new", "connector.class": "postgres"}')
    with working() as real:
        wrackline = Wrackline(f"http://{HOST}:{real.port}", capsys)
        refused = wrackline("apply", str(file))
        assert (refused.code, "[rest.by_file]" in refused.err) == (Exit.OPERATOR, True)
        assert wrackline("pause", "shop").code == Exit.OK
        assert real.crew.wished == [("shop", "pause")]
        assert "[rest.no_connector]" in wrackline("pause", "nobody").err
        assert wrackline("connectors").code == Exit.OPERATOR, "orders has failed"


def test_the_log_in_goes_along_and_is_never_shown(
    wrackline: Wrackline, worker: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(worker_access.TOKEN, f" {CANARY}\n")
    worker.answers += [(200, {}), (200, {}), (401, {"error_code": 401, "message": "no"})]
    assert wrackline("connectors").code == Exit.OK
    monkeypatch.setenv(worker_access.PASSWORD, CANARY)
    assert wrackline("connectors", "--user", "anna").code == Exit.OK
    assert [one["Authorization"] for one in worker.headers] == [
        f"Bearer {CANARY}",
        "Basic YW5uYTpjNG40cnktaHVudGVyMg==",
    ]
    refused = wrackline("connectors", "--user", "anna", "--json")
    assert CANARY not in refused.out + refused.err
    monkeypatch.delenv(worker_access.PASSWORD)
    assert "[remote.no_password]" in wrackline("connectors", "--user", "anna").err
    monkeypatch.setenv(worker_access.TOKEN, f"{CANARY}\r\nHost: evil")
    injected = wrackline("connectors")
    assert "[remote.token]" in injected.err
    assert CANARY not in injected.err
    assert len(worker.asked) == 3


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h", "h:8083", "http://", "http://u:p@h:1", "http://h:99999", "http://h/?a=b", "http://h/#a",
        "http://h\n.evil", "http://[::1", "http://a b", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_an_address_is_a_host_and_no_more(url: str) -> None:
    with pytest.raises(WracklineError, match=r"remote\.address"):
        worker_access.open_access(url, None, None, {})


def test_a_secret_leaves_this_machine_over_tls_alone() -> None:
    token = {worker_access.TOKEN: CANARY}
    for url in ("http://localhost:1", "http://127.9.9.9", "http://[::1]:8083", "https://far.example/x/"):
        assert worker_access.open_access(url, None, None, token).headers
    for url in ("http://far.example", "http://127.0.0.1.far.example", "http://10.0.0.1"):
        with pytest.raises(WracklineError, match=r"remote\.plain") as refused:
            worker_access.open_access(url, None, None, token)
        assert CANARY not in str(refused.value)
        far = worker_access.open_access(url, None, None, {})
        with pytest.raises(WracklineError, match=r"remote\.plain"):
            far.keep_secret("settings")
    assert worker_access.open_access("https://far.example/x/", None, None, {}).url == "https://far.example/x"


def test_an_address_that_does_not_answer_is_reported(wrackline: Wrackline, worker: Told) -> None:
    wrackline.url = f"http://{HOST}:1"
    said = wrackline("connectors", "--json")
    assert said.code == Exit.TRANSIENT
    assert json.loads(said.out)["error"]["code"] == "remote.no_answer"
    wrackline.url = f"http://no-such-host.invalid:{worker.url.rpartition(':')[2]}"
    assert "[remote.no_answer]" in wrackline("connectors").err


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1 that vouches for itself; return it and its key."""
    from ipaddress import ip_address  # noqa: PLC0415

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "worker")])
    today = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOST))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "worker.pem", folder / "worker.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return paths


def test_over_tls_whom_to_trust_is_named(wrackline: Wrackline, tmp_path: Path) -> None:
    pem, key = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem, key)
    with serving(Told([(200, {})]), tls) as worker:
        wrackline.url = worker.url
        stranger = wrackline("connectors")
        assert (stranger.code, "[remote.no_trust]" in stranger.err) == (Exit.OPERATOR, True), stranger.err
        assert wrackline("connectors", "--ca", str(pem)).code == Exit.OK
        assert len(worker.asked) == 1
        for file in (tmp_path / "none.pem", key):
            assert "[remote.no_ca]" in wrackline("connectors", "--ca", str(file)).err

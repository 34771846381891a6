"""The lines of the long-running commands: two forms of one thing, and nobody prints beside them."""

import ast
import io
import json
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from rich.text import Text

from tests.fixtures.prepared import run_command
from tests.unit.settings.shop import GOOD
from tests.unit.test_house import ROOT, imported
from wrackline.control.cli.terminal.output import say
from wrackline.control.runtime.ground.exits import Exit
from wrackline.control.runtime.logs.libraries import QUIET, LibraryHandler, RepeatFilter, log_libraries
from wrackline.control.runtime.logs.lines import log_through, log_to, relay_line
from wrackline.control.runtime.rest.model.connect_documents import ConnectorState
from wrackline.control.runtime.worker.worker_log import WorkerLog
from wrackline.producers.connect.restart_policy import TaskState, TaskStatus
from wrackline.producers.kafka.client import client
from wrackline.schemas.errors import Transient
from wrackline.schemas.redaction import Redactor, Secret

BUSY = Transient("test.busy", "busy", "wait")
LONG_RUNNING = (
    "control.runtime.running.run",
    "control.runtime.worker.worker",
    "control.runtime.worker.task_process",
    "control.runtime.running.consume",
    "control.auto_cdc",
)
PRINTS = {
    "control.runtime.logs.lines",  # the one way out
    "control.runtime.running.status_line",  # a terminal's last line
    "control.cli.terminal.output",  # findings, for people
    "producers.connect.nursery",  # gives a task's process the outputs that its worker hears
    "control.runtime.spark.spark_session",  # flushes what is ours before Java gets the descriptor
}


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_for_programs_begins_with_what_every_line_has() -> None:
    out = io.StringIO()
    log = log_to(out, for_programs=True).bind(pipeline="shop")
    log.warning("waits", line=f"waits: {BUSY}", table="d.p.t", error=BUSY.document())
    (line,) = lines(out)
    assert list(line)[:4] == ["ts_ms", "level", "event", "pipeline"]
    assert (line["level"], line["event"], line["pipeline"]) == ("warning", "waits", "shop")
    assert line["error"] == {"code": "test.busy", "kind": "Transient", "sentence": "busy", "hint": "wait"}
    assert line["line"] == "waits: [test.busy] busy\n  hint: wait"


def test_the_kafka_clients_words_beside_an_error_that_it_raises_are_not_said() -> None:
    out = io.StringIO()
    logger = logging.getLogger("wrackline.kafka")
    with log_libraries(log_to(out, for_programs=False), str):
        logger.error("GETPID [rdkafka#producer-2] [thrd:main]: Failed to acquire transactional PID: retrying")
        logger.error("TXNERR [rdkafka#producer-1] [thrd:main]: Fatal transaction error: fenced")
        logger.error(
            'ADDPARTS [x#producer-1] [thrd:main]: Failed to add partition "o" [0]: with an old epoch'
        )
        logger.error("FATAL [x#producer-1] [thrd:main]: This instance has been fenced by a newer instance")
        logger.error("FAIL [rdkafka#producer-2] [thrd:127.0.0.1:1/1]: Connect failed")
    assert out.getvalue().startswith("wrackline.kafka: FAIL [rdkafka#producer-2]")
    assert len(out.getvalue().splitlines()) == 1


def test_other_fatal_words_of_the_kafka_client_are_said() -> None:
    out = io.StringIO()
    with log_libraries(log_to(out, for_programs=False), str):
        logging.getLogger("wrackline.kafka").error("FATAL [x#producer-1] [thrd:main]: out of order sequence")
    assert "out of order sequence" in out.getvalue()


def test_a_short_command_says_nothing_of_the_kafka_clients_log() -> None:
    logs = "from wrackline.producers.kafka.client import _LOG; _LOG.error('FAIL [rdkafka#producer-2]')"
    done = subprocess.run(
        [sys.executable, "-c", logs], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""


HOSTILE = "table \x1b]0;owned\x07\x1b[2J\x9b2J\u202e.t\n[orders] RUNNING"


def test_a_line_for_people_makes_a_terminal_do_nothing() -> None:
    out = io.StringIO()
    log_to(out, for_programs=False, named=True).info("x", line=HOSTILE, pipeline="shop")
    first, second = out.getvalue().splitlines()
    assert first == "[shop] table ␛]0;owned␇␛[2J\ufffd2J\ufffd.t"
    assert second == "  [orders] RUNNING"


@pytest.mark.parametrize("text", [HOSTILE, Text.assemble(("table", "bold"), HOSTILE)])
def test_what_is_said_makes_a_terminal_do_nothing(
    text: str | Text, capsys: pytest.CaptureFixture[str]
) -> None:
    say(text)
    assert "␛[2J" in (said := capsys.readouterr().out)
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(said)


def test_a_line_for_people_is_its_sentence() -> None:
    out = io.StringIO()
    log_to(out, for_programs=False).info("running", line="running", pid=7)
    log_to(out, for_programs=False, named=True).info("running", line="running", pipeline="shop")
    assert out.getvalue() == "running\n[shop] running\n"


def test_what_another_process_hands_on_is_said_again_as_it_was() -> None:
    handed: list[Mapping[str, object]] = []
    log = log_through(handed.append).bind(pipeline="its own")
    log.error("set aside", line="t is set aside", table="t", error=BUSY.document())
    log.info("figures", line="7 in all", events=7)
    sent = json.loads(json.dumps([{**record, "ts_ms": 7} for record in handed]))  # through a line, long ago
    out = io.StringIO()
    for record in sent:
        relay_line(log_to(out, for_programs=True), record, "shop")
    assert lines(out) == [{**record, "pipeline": "shop"} for record in sent]


def test_what_is_no_text_is_said_all_the_same() -> None:
    out, handed = io.StringIO(), list[Mapping[str, object]]()
    for log in (log_to(out, for_programs=True), log_through(handed.append)):
        log.info("file", line="a\udc80", file=Path("b\udc80"), fault={1: 2})
    (line,) = lines(out)
    assert (line["line"], line["file"]) == (handed[0]["line"], handed[0]["file"]) == ("a?", "b?")


def test_a_worker_says_states_lines_and_what_was_printed() -> None:
    out, stands = io.StringIO(), list[tuple[str, ConnectorState]]()
    telling = WorkerLog(
        lambda *stand: stands.append(stand), log_to(out, for_programs=True), Redactor([]).clean
    )
    telling.changed("shop", TaskStatus(TaskState.RUNNING, 1.0), 7, None)
    telling.output("shop", "java says password=c4n4ry")
    telling.reported("shop", {"line": {"event": "tables", "level": "info", "line": "tables: 1", "ts_ms": 5}})
    telling.reported("shop", {"error": BUSY.document()})
    telling.changed("shop", TaskStatus(TaskState.FAILED, 2.0), None, 3)
    state, printed, own, failed = lines(out)
    assert (state["event"], state["state"], state["pid"]) == ("state", "RUNNING", 7)
    assert (printed["event"], printed["line"]) == ("printed", "java says password=***")
    assert own == {"ts_ms": 5, "level": "info", "event": "tables", "pipeline": "shop", "line": "tables: 1"}
    assert (failed["level"], failed["error"], failed["exit"]) == ("error", BUSY.document(), 3)
    assert failed["line"] == "FAILED exit=3: [test.busy] busy"
    assert stands[-1] == ("shop", ConnectorState(TaskState.FAILED, str(BUSY)))
    assert telling.failed == {"shop": 3}


def test_a_worker_keeps_the_tables_errors_of_the_process_that_runs() -> None:
    stands = list[tuple[str, ConnectorState]]()
    telling = WorkerLog(lambda *stand: stands.append(stand), log_to(io.StringIO(), for_programs=True), str)
    tables = {"count": 1, "first": [{"table": "t", **BUSY.document()}]}
    telling.reported("shop", {"tables": tables})
    assert stands == [], "nothing is known of it"
    telling.changed("shop", TaskStatus(TaskState.RUNNING, 1.0), 7, None)
    telling.reported("shop", {"tables": tables})
    telling.changed("shop", TaskStatus(TaskState.RECOVERING, 2.0), 7, None)
    telling.changed("shop", TaskStatus(TaskState.STARTING, 2.0), 7, None)  # it opens its log again
    telling.changed("shop", TaskStatus(TaskState.PAUSED, 2.0), None, 0)
    telling.changed("shop", TaskStatus(TaskState.STARTING, 3.0), 8, None)
    assert [(one.state, one.tables) for _, one in stands] == [
        (TaskState.RUNNING, None),
        (TaskState.RUNNING, tables),
        (TaskState.RECOVERING, tables),
        (TaskState.STARTING, tables),
        (TaskState.PAUSED, tables),
        (TaskState.STARTING, None),
    ]


def test_a_repeated_line_is_said_once_in_a_while() -> None:
    now = [0.0]
    repeats = RepeatFilter(lambda: now[0])
    assert [repeats.admit(f"{count} errors") for count in range(5)] == [0, None, None, None, None]
    assert repeats.admit("another") == 0
    now[0] = QUIET
    assert repeats.admit("9 errors") == 4
    assert repeats.admit("9 errors") is None


def test_repeats_are_remembered_within_a_bound() -> None:
    repeats = RepeatFilter(lambda: 0.0)
    for number in range(2000):
        repeats.admit("x" * number)
    assert len(repeats._recent) <= 200


def test_libraries_are_said_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A-SECRET-12."""
    out = io.StringIO()
    root = logging.getLogger()
    before = list(root.handlers)
    monkeypatch.setattr(warnings, "filters", [])
    with log_libraries(log_to(out, for_programs=True), Redactor([Secret("c4n4ry")]).clean):
        broker = logging.getLogger("wrackline.kafka")
        for number in range(50):
            broker.log(logging.WARNING, "FAIL [rdkafka#%s] c4n4ry refused, token=abc", number)
        broker.info("nobody need know")
        warnings.warn("soon gone", stacklevel=1)
    said = lines(out)
    assert said[0]["line"] == "wrackline.kafka: FAIL [rdkafka#0] *** refused, token=***"
    assert (said[0]["event"], said[0]["logger"], said[0]["level"]) == (
        "library",
        "wrackline.kafka",
        "warning",
    )
    assert "soon gone" in str(said[1]["line"])
    assert len(said) == 2
    assert root.handlers == before


def test_how_often_a_line_was_left_out_is_said() -> None:
    out, now = io.StringIO(), [0.0]
    handler = LibraryHandler(log_to(out, for_programs=True), lambda text: text, lambda: now[0])
    record = logging.LogRecord("x", logging.ERROR, "", 0, "away", (), None)
    for _ in range(3):
        handler.handle(record)
    now[0] = QUIET
    handler.handle(record)
    unfit = logging.LogRecord("x", logging.ERROR, "", 0, "words %s that do not fit", ("a", "b"), None)
    handler.handle(unfit)
    assert [line.get("repeated") for line in lines(out)] == [None, 2]


def test_a_broker_that_is_not_there_is_said_among_our_lines() -> None:
    out = io.StringIO()
    with log_libraries(log_to(out, for_programs=True), lambda text: text):
        admin = AdminClient(client("127.0.0.1:1").admin())
        while not out.getvalue():  # ends with the test's own limit
            admin.poll(0.1)
    line = lines(out)[0]
    assert (line["event"], line["logger"]) == ("library", "wrackline.kafka")
    assert "127.0.0.1:1" in str(line["line"])


def reached(modules: tuple[str, ...]) -> dict[str, ast.AST]:
    """Every module of ours that these import, near or far, but those that a command line alone needs."""
    found: dict[str, ast.AST] = {}
    todo = list(modules)
    while todo:
        name = todo.pop()
        path = ROOT / name.replace(".", "/")
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in found or not file.exists():
            continue
        tree = found[name] = ast.parse(file.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wrackline."):
                module = (node.module or "").removeprefix("wrackline.")
                todo += [module, *(f"{module}.{alias.name}" for alias in node.names)]
        todo += [one.removeprefix("wrackline.") for one in imported(tree) if one.startswith("wrackline.")]
    return found


def printing(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield "print"
        if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr"):
            of = node.value
            if isinstance(of, ast.Name) and of.id == "sys":
                yield f"sys.{node.attr}"


def test_no_module_prints_beside_the_log() -> None:
    found = reached(LONG_RUNNING)
    assert {
        "control.runtime.running.consumer_loop",
        "producers.task",
        "consumers.drive.driver",
        "control.runtime.logs.libraries",
    } <= found.keys()
    beside = {name: said for name, tree in found.items() if (said := set(printing(tree)))}
    assert beside.keys() <= PRINTS | {"control.auto_cdc"}, beside
    assert beside["control.auto_cdc"] == {"sys.stdout"}  # where its log goes
    assert set(printing(ast.parse("print(1)\nsys.stderr.write('x')"))) == {"print", "sys.stderr"}


def wrackline(*words: str) -> subprocess.CompletedProcess[str]:
    return run_command(words, env={**os.environ, "NO_COLOR": "1"})


def test_off_a_terminal_the_error_that_ends_it_is_a_line_too(tmp_path: Path) -> None:
    file = tmp_path / "good.toml"
    file.write_text("\n".join(f"{name} = '{text}'" for name, text in GOOD.items()))
    ended = wrackline("consume", str(file))
    (line,) = map(json.loads, ended.stdout.splitlines())
    assert (line["level"], line["event"], line["error"]["code"]) == ("error", "failed", "consume.no_target")
    assert (ended.returncode, ended.stderr) == (Exit.OPERATOR, "")
    for_people = wrackline("consume", "--text", str(file))
    assert for_people.stderr.startswith("error [consume.no_target] ")
    assert (for_people.returncode, for_people.stdout) == (Exit.OPERATOR, "")


@pytest.mark.parametrize("verb", ["run", "worker", "consume"])
def test_off_a_terminal_findings_are_lines_for_programs(verb: str, tmp_path: Path) -> None:
    missing = wrackline(verb, str(tmp_path / "none.toml"))
    (line,) = map(json.loads, missing.stdout.splitlines())
    assert (line["event"], line["error"]["code"]) == ("finding", "pipeline.file")
    assert missing.stderr == ""
    (tmp_path / "bad.toml").write_text('name = "shop"\nnonsense = 1\n')
    found = wrackline(verb, str(tmp_path / "bad.toml"))
    told = [json.loads(line) for line in found.stdout.splitlines()]
    assert {one["event"] for one in told} == {"finding"}
    assert all(one["level"] == "error" and one["error"]["hint"] for one in told)
    for_people = wrackline(verb, "--text", str(tmp_path / "bad.toml"))
    assert for_people.returncode == found.returncode
    assert not for_people.stdout.startswith("{")
    assert "\n  hint: " in for_people.stdout


def test_databases_with_errors_are_kept_while_the_process_lives() -> None:
    stands = list[ConnectorState]()
    telling = WorkerLog(
        lambda _task, stand: stands.append(stand), log_to(io.StringIO(), for_programs=True), str
    )
    down = {"count": 1, "first": [{"database": "crm", "code": "a.b", "sentence": "s", "hint": "h"}]}
    telling.changed("shop", TaskStatus(TaskState.STARTING, 1.0), 7, None)
    telling.reported("shop", {"databases": down})
    telling.changed("shop", TaskStatus(TaskState.RUNNING, 2.0), 7, None)
    assert [one.databases for one in stands] == [None, down, down]
    telling.changed("shop", TaskStatus(TaskState.PAUSED, 3.0), None, 0)
    assert stands[-1].databases is None, "nothing is read, because somebody wished so"

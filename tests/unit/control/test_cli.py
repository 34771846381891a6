"""The command line as its users meet it: a process, its two outputs and its exit code."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.fixtures.prepared import run_command
from wrackline.control.cli import command_line
from wrackline.control.runtime.ground.exits import Exit, exit_of
from wrackline.control.runtime.ground.revision import commit
from wrackline.schemas.errors import Definite, OperatorNeeded, Transient
from wrackline.schemas.versions import PYSPARK_LINE

CANARY = "c4n4ry-hunter2"
GOOD = f"""
name = "shop"
topic.prefix = "shop1"
snapshot.mode = "no_data"
[source]
connector.class = "postgres"
database.hostname = "db"
database.user = "u"
database.password = "{CANARY}"
database.dbname = "d"
[kafka]
bootstrap.servers = "a:9092"
[schema.registry]
url = "http://r:8081"
"""


def wrackline(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return run_command(arguments, env={**os.environ, **environ})


@pytest.fixture
def good(tmp_path: Path) -> Path:
    file = tmp_path / "shop.toml"
    file.write_text(GOOD)
    return file


def test_a_good_file_passes(good: Path) -> None:
    said = wrackline("check", str(good), "--offline")
    assert (said.returncode, said.stderr) == (Exit.OK, "")
    assert said.stdout.strip().endswith(": good")


def test_every_fault_of_a_file_is_a_finding(good: Path) -> None:
    good.write_text(GOOD.replace("topic.prefix", "topic.prefx").replace('"a:9092"', '"a:9092"\nacks = "1"'))
    said = wrackline("check", str(good), "--json")
    document = json.loads(said.stdout)
    assert said.returncode == Exit.FINDINGS
    assert document["ok"] is False
    assert {(f["id"], f["name"]) for f in document["findings"]} == {
        ("settings.unknown", "topic.prefx"),
        ("settings.missing", "topic.prefix"),
        ("settings.refused", "kafka.acks"),
    }
    shape = {
        "id",
        "name",
        "description",
        "suggestion",
        "impact",
        "severity",
        "table",
        "column",
        "fixes",
        "connects",
    }
    assert all(set(finding) == shape for finding in document["findings"])
    assert {finding["severity"] for finding in document["findings"]} == {"ERROR"}
    plain = wrackline("check", str(good))
    assert "did you mean topic.prefix?" in plain.stdout
    assert CANARY not in said.stdout + said.stderr + plain.stdout + plain.stderr


def test_a_warning_alone_does_not_fail(good: Path) -> None:
    good.write_text('include.unknown.datatypes = "true"\n' + GOOD)
    said = wrackline("check", str(good), "--offline", "--json")
    assert said.returncode == Exit.OK
    assert [finding["severity"] for finding in json.loads(said.stdout)["findings"]] == ["WARNING"]


@pytest.mark.parametrize(
    ("text", "finding"), [(None, "pipeline.file"), ("a = ", "pipeline.syntax"), ("", "settings.missing")]
)
def test_a_file_that_cannot_be_used_is_a_finding_too(tmp_path: Path, text: str | None, finding: str) -> None:
    file = tmp_path / "bad.toml"
    if text is not None:
        file.write_text(text)
    said = wrackline("check", str(file), "--json")
    assert said.returncode == Exit.FINDINGS
    assert json.loads(said.stdout)["findings"][0]["id"] == finding
    assert "Traceback" not in said.stdout + said.stderr


def test_an_error_prints_its_code_and_hint_and_no_traceback() -> None:
    said = wrackline("errors", "no.such")
    assert said.returncode == Exit.DEFINITE
    assert said.stdout == ""
    assert "[cli.no_code]" in said.stderr
    assert "hint: all codes: wrackline errors" in said.stderr
    assert "Traceback" not in said.stderr
    assert "Traceback" in wrackline("--debug", "errors", "no.such").stderr
    as_json = wrackline("errors", "no.such", "--json")
    assert json.loads(as_json.stdout)["error"]["code"] == "cli.no_code"


@pytest.mark.parametrize("arguments", [["chek"], ["check"], ["check", "a", "b"], ["doctor", "--jason"]])
def test_a_wrong_command_line_says_how_it_is_used(arguments: list[str]) -> None:
    said = wrackline(*arguments)
    assert said.returncode == Exit.USAGE
    assert "Usage: wrackline" in said.stderr


def test_the_version_and_short_help_are_where_people_look() -> None:
    assert wrackline("--version").stdout == f"wrackline {version('wrackline')} (commit {commit()})\n"
    assert re.fullmatch("[0-9a-f]{40}|unknown", commit())
    assert wrackline("status", "-h").stdout == wrackline("status", "--help").stdout != ""


def test_an_error_code_is_explained() -> None:
    said = wrackline("errors", "settings.unknown")
    assert said.returncode == Exit.OK
    assert "Definite" in said.stdout
    document = json.loads(wrackline("errors", "--json").stdout)
    codes = [error["code"] for error in document["errors"]]
    assert codes == sorted(codes)
    assert {"settings.unknown", "stack.java_missing", "secret.not_allowed"} <= set(codes)
    assert {"pg.slot_keep_unlimited", "pg.key_missing", "filter.matches_nothing"} <= set(codes)


def test_what_only_a_check_finds_is_explained() -> None:
    said = wrackline("errors", "pg.slot_keep_unlimited")
    assert said.returncode == Exit.OK
    assert "WARNING" in said.stdout
    assert "hint: as a superuser" in said.stdout


def test_a_setting_is_explained() -> None:
    said = wrackline("settings", "snapshot.mode")
    assert said.returncode == Exit.OK
    assert "default initial" in said.stdout
    assert "no_data" in said.stdout
    document = json.loads(wrackline("settings", "--json").stdout)
    assert {"topic.prefix", "slot.name"} <= {setting["name"] for setting in document["settings"]}
    refused = wrackline("settings", "kafka.acks", "--json")
    assert json.loads(refused.stdout)["refused"] is True
    near = wrackline("settings", "topic.prefx")
    assert near.returncode == Exit.DEFINITE
    assert "did you mean topic.prefix?" in near.stderr


def test_the_doctor_looks_at_everything() -> None:
    said = wrackline("doctor", "--json", JAVA_HOME="/nowhere")
    facts = {fact["name"]: fact for fact in json.loads(said.stdout)["facts"]}
    assert said.returncode == Exit.OK
    assert facts["Python"]["found"] == sys.version.split()[0]
    assert set(facts) >= {"platform", "Java", "C compiler", "codec", "librdkafka", "disk free", "memory"}
    assert wrackline("doctor").stdout.count("\n") >= len(facts)


def doctors_pyspark(tmp_path: Path, package: str) -> dict[str, Any]:
    """What the doctor says where this is the first PySpark that Python finds."""
    folder = tmp_path / "pyspark"
    folder.mkdir()
    (folder / "__init__.py").write_text(package)
    command = [sys.executable, "-m", "wrackline.control", "doctor", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, timeout=120, check=False, env=environment)
    facts = json.loads(done.stdout)["facts"]
    found: dict[str, Any] = next(fact for fact in facts if fact["name"] == "PySpark")
    return found


def test_the_doctor_says_which_pyspark_is_here() -> None:
    facts = json.loads(wrackline("doctor", "--json").stdout)["facts"]
    assert [(fact["found"], fact["good"]) for fact in facts if fact["name"] == "PySpark"] == [
        (version("pyspark"), True)
    ]


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ("__version__ = '3.5.1'", "3.5.1"),
        ("raise ImportError('a library of it is not here')", "not found"),
    ],
)
def test_the_doctor_says_how_a_pyspark_comes_that_consume_takes(
    tmp_path: Path, package: str, said: str
) -> None:
    found = doctors_pyspark(tmp_path, package)
    assert (found["found"], found["good"]) == (said, False)
    assert f"pip install 'pyspark~={PYSPARK_LINE}.0'" in found["hint"]


def test_colours_only_on_a_terminal(good: Path) -> None:
    good.write_text("a = ")
    assert "\x1b[" not in wrackline("check", str(good)).stdout
    assert "\x1b[" in wrackline("check", str(good), FORCE_COLOR="1", TERM="xterm-256color").stdout


def test_a_fault_of_our_own_shows_no_text_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> object:
        raise RuntimeError(CANARY)

    monkeypatch.setattr(command_line, "examine", broken)
    with pytest.raises(SystemExit) as caught:
        command_line.main(["doctor"])
    shown = capsys.readouterr()
    assert caught.value.code == Exit.FAULT
    assert CANARY not in shown.out + shown.err
    assert "RuntimeError" in shown.err


def test_each_kind_of_error_has_its_exit_code() -> None:
    codes = [exit_of(kind("a.b", "c", "")) for kind in (Transient, OperatorNeeded, Definite)]
    assert codes == [Exit.TRANSIENT, Exit.OPERATOR, Exit.DEFINITE] == [3, 4, 5]


def test_the_command_line_needs_no_spark() -> None:
    """Spark is an extra: a machine that only publishes has none."""
    code = "import sys; sys.modules['pyspark'] = None; import wrackline.control.cli.command_line"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["errors"], Exit.OK),
        (["errors", "--json"], Exit.OK),
        (["settings"], Exit.OK),
        (["doctor"], Exit.OK),
        (["--help"], Exit.OK),
        (["check", "/nowhere/none.toml"], Exit.FINDINGS),
        (["check", "/nowhere/none.toml", "--json"], Exit.FINDINGS),
        (["errors", "no.such", "--json"], Exit.DEFINITE),
    ],
)
def test_a_reader_that_leaves_causes_no_error_output(words: list[str], code: int) -> None:
    """As `| head` does; the reader is gone before the first word."""
    reads, writes = os.pipe()
    os.close(reads)
    try:
        done = run_command(words, stdout=writes)
    finally:
        os.close(writes)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


def test_the_list_of_commands_begins_with_the_first_one_to_call_and_cuts_no_summary() -> None:
    said = wrackline("--help", COLUMNS="80").stdout
    listed = re.findall(r"^  ([a-z]+)  +(.+)$", said.partition("Commands:")[2], re.MULTILINE)
    assert [name for name, _ in listed][:4] == ["init", "check", "assess", "run"]
    known = typer.main.get_command(command_line.app).commands  # type: ignore[attr-defined]  # it is a group
    assert {name for name, _ in listed} == set(known), "each command is listed"
    assert [summary for _, summary in listed if summary.endswith("...")] == []

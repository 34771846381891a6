"""Every command speaks JSON: what it found, and what went wrong; and every end is one of `Exit`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from wrackline.control.cli import command_line
from wrackline.control.runtime.ground.exits import Exit

LOGS = {"run", "worker", "consume"}  # these print lines of a log, an object a line
NOBODY = "http://127.0.0.1:1"  # where no worker listens
FILES = {"worker"}  # whose files may be left out
NEEDS = {  # what a command has to be given beside files, so that it gets past its usage
    "settings": ["topic.prefix"],
    "offsets set": ["{}"],
    "offsets rewind": ["--to", "2026-05-01T12:00:00Z"],
}
CLEAN = {"doctor", "errors", "rest token", "settings", "spark application"}  # without a pipeline's file


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that does something, by its whole name."""
    below = getattr(command, "commands", None)
    if below is None:
        yield " ".join(path), command
        return
    for name, one in below.items():
        yield from leaves(one, (*path, name))


COMMANDS = dict(leaves(typer.main.get_command(command_line.app)))


def options(command: Any) -> set[str]:
    return {word for one in command.params for word in one.opts}


def end(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        command_line.main(words)
    assert isinstance(ended.value.code, int)
    return ended.value.code


def words_for(name: str, missing: Path) -> list[str]:
    """A command line that is right, over a file that is not there and a worker that does not answer."""
    command = COMMANDS[name]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    files = [str(missing) for one in arguments if one.required or name in FILES]
    given = NEEDS.get(name, [])
    files = files[: max(0, len(files) - sum(not word.startswith("--") for word in given[:1]))]
    rest = ["--rest", NOBODY] if "--rest" in options(command) else []
    return [*name.split(), *files, *given, *rest, "--json"]


def documents(name: str, said: str) -> list[Any]:
    """What was printed: one document, or an object a line."""
    return [json.loads(line) for line in said.splitlines()] if name in LOGS else [json.loads(said)]


def test_every_command_has_the_flag() -> None:
    assert not {name for name, one in COMMANDS.items() if "--json" not in options(one)}
    assert len(COMMANDS) > 25, "the walk saw the groups' commands too"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_what_goes_wrong_is_a_document(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = end(*words_for(name, tmp_path / "none.toml"))
    (document,) = documents(name, capsys.readouterr().out)
    assert code in set(Exit)
    assert (code == Exit.OK) == (name in CLEAN), document
    if name in LOGS:
        assert (document["event"], document["error"]["code"]) == ("finding", "pipeline.file")
    elif code == Exit.FINDINGS:
        assert document["findings"][0]["id"] == "pipeline.file"
    elif code != Exit.OK:
        assert set(document["error"]) == {"code", "kind", "sentence", "hint"}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_wrong_command_line_is_a_document_too(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert end(*name.split(), "--no-such-flag", "--json") == Exit.USAGE
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert error["code"] == "cli.usage"
    assert error["hint"] == f"how it is used: wrackline {name} --help"
    assert f"Usage: wrackline {name}" in said.err


def test_a_command_that_is_not_there_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert end("chek", "--json") == Exit.USAGE
    assert "Did you mean 'check'" in json.loads(capsys.readouterr().out)["error"]["sentence"]


def test_a_fault_of_our_own_is_a_document_without_its_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> object:
        raise RuntimeError("c4n4ry")

    monkeypatch.setattr(command_line, "examine", broken)
    assert end("doctor", "--json") == Exit.FAULT
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "cli.fault"
    assert "c4n4ry" not in str(error)


def test_a_question_answered_with_no_ends_as_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> object:
        raise typer.Abort

    monkeypatch.setattr(command_line, "examine", refused)
    assert end("doctor", "--json") == Exit.LEFT
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "cli.left"

"""What a command does while it takes its time is shown on a terminal, and nowhere else."""

import os
import pty
import select
import subprocess
import sys

import pytest

from wrackline.control.cli.terminal.progress import show_progress

WORKS = """
from wrackline.control.cli.terminal.progress import show_progress
from wrackline.control.cli.terminal.output import say
with show_progress("it is asked", json={json}) as shown:
    shown.now("shop.[bold]a", 1, 3)
    say("a line")
print("the end")
"""


def on_a_terminal(code: str, **environ: str) -> bytes:
    ours, theirs = pty.openpty()
    given = {**os.environ, "TERM": "xterm", "COLUMNS": "80", **environ}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=given)
    os.close(theirs)
    seen = bytearray()
    try:
        while b"the end" not in seen and select.select([ours], [], [], 60)[0]:
            seen.extend(os.read(ours, 1 << 16))
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return bytes(seen)


def test_a_terminal_shows_it_and_is_left_as_it_was() -> None:
    seen = on_a_terminal(WORKS.format(json=False))
    assert b"shop.[bold]a" in seen
    assert b"a line" in seen
    assert seen.count(b"\x1b[?25l") == seen.count(b"\x1b[?25h") == 1


def test_with_json_and_on_the_simplest_terminal_nothing_moves() -> None:
    for seen in (
        on_a_terminal(WORKS.format(json=True)),
        on_a_terminal(WORKS.format(json=False), TERM="dumb"),
    ):
        assert b"\x1b[?25l" not in seen
        assert seen.split() == [b"a", b"line", b"the", b"end"]


def test_a_pipe_is_shown_nothing_whatever_the_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress("it is asked", json=False) as shown:
        shown.now("a", 1, 2)
    said = capsys.readouterr()
    assert said.out + said.err == ""

"""What is made once is made once, also by two processes, and never half."""

import subprocess
import sys
from pathlib import Path

import pytest

from wrackline.control.local.processes.ports import choose
from wrackline.control.runtime.spark.cache import fill_once

FILL = """
import sys, time
from pathlib import Path
from wrackline.control.runtime.spark.cache import fill_once
def fill(folder):
    with (Path(sys.argv[1]) / "filled").open("a") as count:
        count.write("x")
    (folder / "part").touch()
    time.sleep(0.2)
    (folder / "whole").touch()
assert (fill_once("thing", fill, cache=Path(sys.argv[1])) / "whole").exists()
"""


def test_two_processes_fill_a_folder_once(tmp_path: Path) -> None:
    both = [subprocess.Popen([sys.executable, "-c", FILL, str(tmp_path)]) for _ in range(2)]
    assert [one.wait(30) for one in both] == [0, 0]
    assert (tmp_path / "filled").read_text() == "x"


def test_what_failed_halfway_is_made_again(tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fill_once("thing", fail, cache=tmp_path)
    made = fill_once("thing", lambda folder: (folder / "whole").touch(), cache=tmp_path)
    assert [path.name for path in made.iterdir()] == ["whole"]


def test_ports_are_remembered_and_a_fixed_one_wins(tmp_path: Path) -> None:
    first = choose(tmp_path, "a", "b")
    assert first["a"] != first["b"]
    assert choose(tmp_path, "a", "b") == first
    assert choose(tmp_path, "a", "b", fixed={"a": 4711}) == {"a": 4711, "b": first["b"]}

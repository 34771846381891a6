"""The bench's framework, with contenders that do next to nothing."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from bench.__main__ import BENCHES, listed, load, main
from bench.cost import Cost
from bench.report import ROOT, as_json, as_table
from bench.runner import Contender, alternate
from bench.score import Turn, rows, spreads
from tests.unit.bench import trivial
from wrackline.schemas.errors import Definite

UNITS = {"rows_per_s": "rows/s"}


STARTER = """
import sys
from pathlib import Path
from bench.runner import Contender, alternate
from tests.unit.bench import trivial
if __name__ == "__main__":
    alternate([Contender("lingers", trivial.linger, (Path(sys.argv[1]),))], 1, print)
"""


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def ended(process: psutil.Process) -> bool:
    """Whether a process is gone, or only waits for its parent to ask how it ended."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def silent(_: str) -> None:
    """Report to nobody."""


def rounds_of(*rates: tuple[float, float]) -> list[dict[str, Turn]]:
    return [
        {
            "ours": Turn({"rows_per_s": ours}, Cost(ours / 10, ours)),
            "peer": Turn({"rows_per_s": peer}, Cost(peer / 10, peer)),
        }
        for ours, peer in rates
    ]


def test_contenders_alternate_and_the_first_of_a_round_moves_on(tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    two = [
        Contender("ours", trivial.count, ("ours", diary, 300.0), ours=True),
        Contender("peer", trivial.count, ("peer", diary, 100.0)),
    ]
    done = alternate(two, 3, silent)
    assert diary.read_text().split() == ["ours", "peer", "peer", "ours", "ours", "peer"]
    assert [list(turns) for turns in done] == [["ours", "peer"]] * 3
    assert {row.ratio for row in rows(done, UNITS, "ours") if row.against} == {3.0}


def test_a_turn_is_metered_in_its_own_process() -> None:
    lean, fat = Contender("lean", trivial.hold, (1, 0.0)), Contender("fat", trivial.hold, (200, 1.0))
    (turns,) = alternate([fat, lean], 1, silent)
    assert turns["fat"].cost.peak_mb > turns["lean"].cost.peak_mb + 150
    assert turns["fat"].cost.cpu_s > turns["lean"].cost.cpu_s


def test_a_failed_turn_names_the_contender_and_the_reason(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Definite, match="away failed: the server is away"):
        alternate([Contender("away", trivial.fail)], 1, silent)
    assert "RuntimeError" in capfd.readouterr().err


def test_a_turn_ends_with_the_run_that_started_it(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = tmp_path / "starter.py"
    program.write_text(STARTER)
    run = subprocess.Popen(
        [sys.executable, str(program), str(note)], cwd=ROOT, env=os.environ | {"PYTHONPATH": "."}
    )
    until(note.exists)
    turn = psutil.Process(int(note.read_text()))
    run.kill()
    run.wait()
    until(lambda: ended(turn))


def test_ratios_are_taken_round_by_round() -> None:
    ours, peer = rows(rounds_of((100, 50), (300, 100), (80, 80)), UNITS, "ours")
    assert (ours.metric, ours.value, ours.against) == ("rows_per_s", 100, "peer")
    assert (ours.ratio, ours.ratio_min, ours.ratio_max) == (2.0, 1.0, 3.0)
    assert (ours.cpu_s, ours.peak_mb) == (10, 300)
    assert (peer.metric, peer.value, peer.against, peer.ratio) == ("peer.rows_per_s", 80, "", None)


def test_without_ours_the_peers_stand_alone() -> None:
    found = rows(rounds_of((100, 50)), UNITS, None)
    assert [(row.metric, row.against) for row in found] == [("ours.rows_per_s", ""), ("peer.rows_per_s", "")]


def test_json_has_exactly_the_promised_shape() -> None:
    found = rows(rounds_of((100, 50)), UNITS, "ours")
    report = json.loads(as_json(found))
    assert list(report) == ["machine", "commit", "rows"]
    assert report["rows"][0] == {
        "metric": "rows_per_s",
        "value": 100,
        "unit": "rows/s",
        "against": "peer",
        "ratio": 2.0,
        "ratio_min": 2.0,
        "ratio_max": 2.0,
        "cpu_s": 10,
        "peak_mb": 100,
    }


def test_the_table_shows_every_contender_and_the_ratio() -> None:
    done = rounds_of((1234, 617))
    drawn = as_table("trivial", spreads(done, UNITS), rows(done, UNITS, "ours"))
    assert "1,234" in drawn
    assert "617" in drawn
    assert "2.00" in drawn


def test_the_list_is_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    files = {file.stem.replace("_", "-") for file in BENCHES.glob("*.py")} - {"--init--"}
    assert shown == files
    assert all(listed().values())


def test_an_unknown_bench_is_refused_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    near = next(iter(listed()))
    assert main([near + "x"]) == 1
    assert f"nearest: {near}" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(listed()))
def test_every_bench_keeps_its_contract(name: str) -> None:
    bench = load(name)
    assert bench.UNITS
    assert bench.QUICK.rows < bench.FULL.rows
    assert bench.QUICK.rounds <= bench.FULL.rounds

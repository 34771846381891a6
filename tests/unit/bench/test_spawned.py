"""A program that a bench started ends with it, however the bench ends."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

_BENCH = """
import sys, time
from pathlib import Path
from bench.spawned import spawned
with spawned([sys.executable, "-c", "import time; time.sleep(600)"], Path(sys.argv[1])) as process:
    print(process.pid, flush=True)
    time.sleep(600)
"""
_PATIENCE_MS = 15_000


def test_what_a_killed_bench_has_started_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _BENCH, str(tmp_path / "said")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as bench:
        assert bench.stdout is not None
        program = os.pidfd_open(int(bench.stdout.readline()))
        bench.send_signal(signal.SIGKILL)
    ended = select.poll()
    ended.register(program, select.POLLIN)
    found = ended.poll(_PATIENCE_MS)
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(program, signal.SIGKILL)
    os.close(program)
    assert found, "it runs on without the bench"

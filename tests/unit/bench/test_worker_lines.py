"""What a bench reads in a worker's lines: a task runs also while some of its databases have not answered."""

import io
from pathlib import Path

from bench.ours.worker_lines import read_databases, running_tasks
from wrackline.control.runtime.logs.lines import log_to


def test_databases_are_read_once_they_have_said_so_at_last(tmp_path: Path) -> None:
    said, out = tmp_path / "said", io.StringIO()
    log = log_to(out, for_programs=True)
    for database, health in (("a", "starting"), ("b", "running"), ("a", "running"), ("b", "recovering")):
        log.info("database", line="a line", database=database, health=health)
    log.info("task", line="it runs", pipeline="one", state="RUNNING")
    said.write_text(out.getvalue() + '{"database": "c", "hea')
    assert (running_tasks(said), read_databases(said)) == (1, 1)

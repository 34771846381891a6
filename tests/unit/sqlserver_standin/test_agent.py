"""The agent of a stand-in lets time pass, and its jobs scan if they are asked to."""

import time
from collections.abc import Callable

from tests.unit.sqlserver_standin.shop import outcomes, rows, session, shop
from wrackline.control.local.sqlserver_standin.agent import Agent


def until(ready: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_time_passes_and_jobs_scan() -> None:
    one = shop()
    before = one.server.now
    with Agent(one.server, 0.01):
        with one.database.transaction() as write:
            write.insert("orders", {"id": 1})
        until(lambda: one.instance.rows)
        until(lambda: one.server.now > before)
    assert one.instance.rows[0].operation == 2


def test_without_an_interval_nothing_scans() -> None:
    one = shop()
    with one.database.transaction() as write:
        write.insert("orders", {"id": 1})
    with Agent(one.server):
        before = one.server.now
        until(lambda: one.server.now > before)
    assert not one.instance.rows


SERVICES = "SELECT status_desc FROM sys.dm_server_services WHERE servicename LIKE N'SQL Server Agent%';"


def test_a_job_can_be_stopped_beside_a_running_agent_and_not_the_other_way() -> None:
    one = shop()
    ask, job = session(one.server), one.database.job()
    outcomes(ask, "EXEC sys.sp_cdc_stop_job;")
    assert (rows(ask, SERVICES), job.runs) == ([("Running",)], False)
    one.server.run_agent(runs=True)
    assert job.runs, "a capture job starts with its agent"
    one.server.run_agent(runs=False)
    assert (rows(ask, SERVICES), job.runs) == ([("Stopped",)], False)

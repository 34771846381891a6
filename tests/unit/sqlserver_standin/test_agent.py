"""The stand-in as a process of its own: time passes, and jobs scan if they are told to."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytds
import pytest

from tests.unit.sqlserver_standin.shop import shop
from wrackline.control.local.sqlserver_standin.__main__ import PASSWORD, USER
from wrackline.control.local.sqlserver_standin.agent import Agent

NEWEST = "SELECT MAX(start_lsn) FROM cdc.lsn_time_mapping;"


def until(ready: Any) -> None:  # noqa: ANN401 - a function of no arguments
    deadline = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_agent_lets_time_pass_and_jobs_scan() -> None:
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


@contextmanager
def served(*arguments: str) -> Iterator[int]:
    command = [sys.executable, "-m", "wrackline.control.local.sqlserver_standin", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("a stand-in for SQL Server listens on 127.0.0.1:"), line
        yield int(line.rpartition(":")[2])
    finally:
        process.terminate()
        process.stdout.close()
        assert process.wait() == 0, "it ends when it is asked to"


@pytest.mark.parametrize("scans", [True, False])
def test_a_client_makes_a_captured_table_by_statements(scans: bool) -> None:  # noqa: FBT001
    with served(*(("--scan-every", "0.05") if scans else ())) as port:
        with pytds.connect("127.0.0.1", "master", USER, PASSWORD, port=port, autocommit=True) as made:
            cursor = made.cursor()
            for text in (
                "CREATE DATABASE shop;",
                "USE shop; EXEC sys.sp_cdc_enable_db;",
                "CREATE TABLE dbo.orders (id int PRIMARY KEY, note nvarchar(20));",
                "EXEC sys.sp_cdc_enable_table N'dbo', N'orders', @role_name = NULL;",
            ):
                cursor.execute(text)

            def newest() -> object:
                cursor.execute(NEWEST)
                return cursor.fetchone()[0]

            if scans:
                until(lambda: _started(cursor))
            else:
                cursor.execute("EXEC sys.sp_cdc_scan;")
            cursor.execute("INSERT INTO dbo.orders VALUES (1, N'a');")
            if scans:
                until(newest)
            else:
                assert newest() is None
                cursor.execute("EXEC sys.sp_cdc_scan;")
                assert newest() is not None


def _started(cursor: Any) -> bool:  # noqa: ANN401 - of the driver
    cursor.execute("SELECT start_lsn FROM cdc.change_tables;")
    return cursor.fetchone()[0] is not None

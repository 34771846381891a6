"""The stand-in as a process of its own: a client makes a captured table there by statements alone."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytds
import pytest

from tests.unit.sqlserver_standin.test_agent import until
from wrackline.control.local.sqlserver_standin.__main__ import PASSWORD, USER

WORLD = (
    "CREATE DATABASE shop;",
    "USE shop; EXEC sys.sp_cdc_enable_db;",
    "CREATE TABLE dbo.orders (id int PRIMARY KEY, note nvarchar(20));",
    "EXEC sys.sp_cdc_enable_table N'dbo', N'orders', @role_name = NULL;",
)
STARTED = "SELECT start_lsn FROM cdc.change_tables;"
NEWEST = "SELECT MAX(start_lsn) FROM cdc.lsn_time_mapping;"


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


@contextmanager
def world(port: int) -> Iterator[Any]:
    """A captured table, and a cursor."""
    with pytds.connect("127.0.0.1", "master", USER, PASSWORD, port=port, autocommit=True) as made:
        cursor = made.cursor()
        for text in WORLD:
            cursor.execute(text)
        yield cursor


def value(cursor: Any, text: str) -> object:
    cursor.execute(text)
    return cursor.fetchone()[0]


def test_jobs_scan_by_themselves() -> None:
    with served("--scan-every", "0.05") as port, world(port) as cursor:
        until(lambda: value(cursor, STARTED))
        cursor.execute("INSERT INTO dbo.orders VALUES (1, N'a');")
        until(lambda: value(cursor, NEWEST))


def test_a_scan_is_asked_for() -> None:
    with served() as port, world(port) as cursor:
        cursor.execute("EXEC sys.sp_cdc_scan; INSERT INTO dbo.orders VALUES (1, N'a');")
        assert value(cursor, NEWEST) is None
        cursor.execute("EXEC sys.sp_cdc_scan;")
        assert value(cursor, NEWEST) is not None


def test_an_option_that_is_not_one_is_refused() -> None:
    command = [sys.executable, "-m", "wrackline.control.local.sqlserver_standin", "--scan-every", "0"]
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run(command, check=True, capture_output=True)
